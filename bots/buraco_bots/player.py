"""The bridge between a bot and a seat at a table: the bot sees values of the rules and knows nothing of the network."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from buraco.v1 import table_service_pb2
from buraco_bots.bot import Bot
from buraco_bots.thinking import USUAL, Thinker
from buraco_client import PlayUpdate, RevisionStale, Seat
from buraco_codec.moves import move_from_pb, move_to_pb
from buraco_codec.views import view_from_pb


async def play_seat(
    seat: Seat, bot: Bot, notice: Callable[[PlayUpdate], None] | None = None, thinker: Thinker | None = None
) -> int:
    """Play a seat until the match is over; return the number of moves made.

    The stream is opened anew when it breaks, and a move without an answer is sent again, but never made twice. The bot
    thinks in the thread of the `thinker` (None: one with the usual limit, which tolerates no fault). `notice` is called
    with all that comes down the stream. Raise BotFault, and a BuracoError where the match cannot go on.
    """
    if thinker is None:
        name = type(bot).__name__
        with closing(Thinker(name, name, USUAL)) as own:
            return await play_seat(seat, bot, notice, own)
    total = 0
    turn: tuple[int, int] | None = None
    made = 0
    async with seat.play() as session:
        async for update in session:
            if notice is not None:
                notice(update)
            if not isinstance(update, table_service_pb2.PlayTurn):
                continue
            view = view_from_pb(update.view)
            if turn != (view.match.deal_number, view.turn_number):
                turn, made = (view.match.deal_number, view.turn_number), 0
            move = await thinker.choose(bot, view, [move_from_pb(move) for move in update.moves], made)
            try:
                await session.submit([move_to_pb(move)], update.revision)
            except RevisionStale:
                continue  # somebody left or joined meanwhile: the turn comes again
            total += 1
            made += 1
    return total
