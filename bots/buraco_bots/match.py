"""A match between bots at a table of a service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass

from buraco.v1 import table_pb2
from buraco_bots.bot import BotFactory, BotFault
from buraco_bots.matches import bot_random, master_seed
from buraco_bots.player import play_seat
from buraco_bots.registry import player_name
from buraco_bots.report import MatchReport, replay
from buraco_bots.thinking import DEFAULT_TOLERANCE, Thinker, Tolerance
from buraco_client import BuracoClient, BuracoError, PlayUpdate, Seat


@dataclass(frozen=True, slots=True)
class MatchSetup:
    """Who plays what."""

    bots: tuple[str, ...]
    """The names of the bots, one a seat (2 or 4)."""
    factories: tuple[BotFactory, ...]
    """What makes the bots, one a seat."""
    rule_set: str
    """The id of a preset."""
    target: int | None
    """The target score, 0 = one deal; None: the usual one of the rule set."""
    seed: str
    """Any text: the same seed gives the same match."""
    tolerance: Tolerance = DEFAULT_TOLERANCE
    """How much time and how many faults each bot is allowed."""


async def play_match(
    client: BuracoClient,
    setup: MatchSetup,
    on_start: Callable[[table_pb2.Table], object] | None = None,
    on_update: Callable[[PlayUpdate], object] | None = None,
    *,
    make_thinker: Callable[[int, str], Thinker] | None = None,
    resigns: bool = False,
) -> MatchReport:
    """Create a table, seat the bots, play the match and check its records.

    `on_start` is called with the table once the seats are taken, `on_update` with every update that seat 0 receives.
    `make_thinker` returns what asks the bot of a seat, of this number and player name; None: one with the setup's
    tolerance. Raise BuracoError, BotFault and RecordMismatch; after an error the table stays, unfinished, but after a
    BotFault the side of seat 0 ends it by resigning if it `resigns`.
    """
    make_thinker = make_thinker or (lambda seat, name: Thinker(name, name, setup.tolerance))
    with ExitStack() as stack:
        names = [player_name(name, f" {seat}") for seat, name in enumerate(setup.bots)]
        thinkers = [stack.enter_context(closing(make_thinker(seat, name))) for seat, name in enumerate(names)]
        bots = [
            await thinker.make(factory, bot_random(setup.seed, seat))
            for seat, (thinker, factory) in enumerate(zip(thinkers, setup.factories, strict=True))
        ]
        table = await client.create_table(
            setup.rule_set, len(bots), target_score=setup.target, seed=master_seed(setup.seed)
        )
        seats = [await client.join_table(table.id, name, seat=seat) for seat, name in enumerate(names)]
        if on_start is not None:
            on_start(seats[-1].table or table)
        start = time.monotonic()
        try:
            async with asyncio.TaskGroup() as players:
                for seat, bot, thinker in zip(seats, bots, thinkers, strict=True):
                    players.create_task(play_seat(seat, bot, on_update if seat.seat == 0 else None, thinker))
        except BaseExceptionGroup as group:
            error = _first_error(group)
            if resigns and isinstance(error, BotFault):
                await _resign(seats[::2])
            raise error from None
    seconds = time.monotonic() - start
    deals = tuple([replay(record) async for record in client.get_record(table.id)])
    finished = await client.get_table(table.id)
    first, second = finished.result.scores
    return MatchReport(
        table_id=table.id,
        bots=setup.bots,
        rule_set=setup.rule_set,
        target=finished.target_score,
        seed=setup.seed,
        deals=deals,
        winner=finished.result.winner if finished.result.HasField("winner") else None,
        totals=(first, second),
        seconds=seconds,
    )


async def _resign(partners: Sequence[Seat]) -> None:
    with suppress(BuracoError):  # nobody waits for that table
        for seat in partners:
            await seat.resign()


def _first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that made the other tasks of the group stop."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
