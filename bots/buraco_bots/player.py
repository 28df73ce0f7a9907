"""The bridge between a bot and a seat at a table: the bot sees values of the rules and no network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress

from buraco.v1 import event_pb2, table_pb2, table_service_pb2
from buraco_bots.bot import Bot, BotFault, name_of
from buraco_bots.pauses import Pauses
from buraco_bots.thinking import DEFAULT_TOLERANCE, Thinker
from buraco_client import PlayUpdate, RevisionStale, RuleBroken, Seat, SeatNotYours, TableRefused
from buraco_codec.moves import move_from_pb, move_to_pb
from buraco_codec.views import view_from_pb


async def play_seat(
    seat: Seat,
    bot: Bot,
    on_update: Callable[[PlayUpdate], object] | None = None,
    thinker: Thinker | None = None,
    pauses: Pauses | None = None,
) -> int:
    """Play a seat until the match is over, and return the number of moves made.

    The stream is opened again if it breaks, and a move without an answer is sent again but made once. The bot thinks in
    the thread of the `thinker` (None: a new one with the default tolerance). `on_update` is called with every update.
    What the bot has chosen is played after a pause (None: at once); its time to think is a part of the pause. Scores
    that are shown are confirmed at once. Raise BotFault, and a BuracoError if the match cannot go on.
    """
    if thinker is None:
        name = type(bot).__name__
        with closing(Thinker(name, name, DEFAULT_TOLERANCE)) as new:
            return await play_seat(seat, bot, on_update, new, pauses)
    moves_made = 0
    turn: tuple[int, int] | None = None
    moves_in_turn = 0
    events: list[event_pb2.Event] = []
    async with seat.play() as session:
        async for update in session:
            if on_update is not None:
                on_update(update)
            if isinstance(update, table_pb2.Events):
                events += update.events
            await _confirm_score(seat, update)
            if not isinstance(update, table_service_pb2.PlayTurn):
                continue
            since = asyncio.get_running_loop().time()
            view = view_from_pb(update.view)
            if turn != (view.match.deal_number, view.turn_number):
                turn, moves_in_turn = (view.match.deal_number, view.turn_number), 0
            moves = [move_from_pb(move) for move in update.moves]
            chosen = await thinker.choose(bot, view, moves, moves_in_turn, tuple(events))
            events.clear()
            if pauses is not None:
                await pauses.wait(update.view, since)
            try:
                try:
                    await session.submit(map(move_to_pb, chosen), update.revision)
                except RuleBroken as broken:  # none of them was played
                    fault = BotFault("illegal", f"{name_of(bot)} planned {chosen!r}: {broken}")
                    chosen = thinker.tolerate(fault, view, moves)
                    await session.submit(map(move_to_pb, chosen), update.revision)
            except RevisionStale:
                continue  # somebody left, joined or resigned meanwhile: the turn comes again, or the match is over
            moves_made += len(chosen)
            moves_in_turn += len(chosen)
    return moves_made


async def _confirm_score(seat: Seat, update: PlayUpdate) -> None:
    """Confirm the score of a deal if an update shows it: a bot keeps nobody waiting."""
    shown = []
    if isinstance(update, table_pb2.Events):
        shown = [
            event.confirmation_awaited.deal_number for event in update.events if event.HasField("confirmation_awaited")
        ]
    elif isinstance(update, table_service_pb2.TableUpdate) and update.table.HasField("awaiting_confirmation"):
        shown = [update.table.awaiting_confirmation.deal_number]
    for deal_number in shown:
        # The others were faster, or the seat is another's, who need not wait for a bot.
        with suppress(TableRefused, SeatNotYours):
            await seat.confirm_score(deal_number)
