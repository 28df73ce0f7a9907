"""The bridge between a bot and a seat at a table: the bot sees values of the rules and knows nothing of the network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from buraco.v1 import table_service_pb2
from buraco_bots.bot import Bot, ask
from buraco_bots.codec import move_from_message, move_to_message, view_from_message
from buraco_client import PlayUpdate, RevisionStale, Seat
from buraco_rules.moves import Move
from buraco_rules.view import View


async def play_seat(
    seat: Seat,
    bot: Bot,
    notice: Callable[[PlayUpdate], None] | None = None,
    thought: Callable[[float], None] | None = None,
) -> int:
    """Plays a seat until the match is over; returns the number of moves made.

    The stream is opened anew when it breaks, and a move without an answer is sent again, but never made twice. The bot
    thinks in a thread of the event loop's: however long it takes, others play on. `notice` is told of all that comes
    down the stream, `thought` of the seconds that the bot took for each choice. Raises BotFault, and a BuracoError
    where the match cannot go on.
    """
    total = 0
    turn: tuple[int, int] | None = None
    made = 0
    async with seat.play() as session:
        async for update in session:
            if notice is not None:
                notice(update)
            if not isinstance(update, table_service_pb2.PlayTurn):
                continue
            view = view_from_message(update.view)
            if turn != (view.match.deal_number, view.turn_number):
                turn, made = (view.match.deal_number, view.turn_number), 0
            moves = [move_from_message(move) for move in update.moves]
            move, seconds = await asyncio.to_thread(_timed, bot, view, moves, made)
            if thought is not None:
                thought(seconds)
            try:
                await session.submit([move_to_message(move)], update.revision)
            except RevisionStale:
                continue  # somebody left or joined meanwhile: the turn comes again
            total += 1
            made += 1
    return total


def _timed(bot: Bot, view: View, moves: Sequence[Move], made: int) -> tuple[Move, float]:
    begun = time.perf_counter()
    return ask(bot, view, moves, made), time.perf_counter() - begun
