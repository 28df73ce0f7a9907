"""A match between bots at a table of a service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass

from buraco.v1 import table_pb2
from buraco_bots.arena import bot_random, master_seed
from buraco_bots.bot import BotFactory
from buraco_bots.player import play_seat
from buraco_bots.registry import player_name
from buraco_bots.report import MatchReport, replay
from buraco_bots.thinking import USUAL, Thinker, Tolerance
from buraco_client import BuracoClient, PlayUpdate


@dataclass(frozen=True, slots=True)
class Contest:
    """Who plays what."""

    bots: tuple[str, ...]
    """Their names, one a seat (2 or 4)."""
    factories: tuple[BotFactory, ...]
    """What makes them, one a seat."""
    rule_set: str
    """A preset's id."""
    target: int | None
    """The target score, 0 = one deal; None: the one usual for the rule set."""
    seed: str
    """Any text: the same seed gives the same match."""
    tolerance: Tolerance = USUAL
    """How much each bot is allowed."""


@dataclass(frozen=True, slots=True)
class Audience:
    """Who is told how the match goes."""

    began: Callable[[table_pb2.Table], None]
    """Called once the seats are taken."""
    saw: Callable[[PlayUpdate], None]
    """Called with all that seat 0 is sent."""


async def play_match(client: BuracoClient, contest: Contest, audience: Audience) -> MatchReport:
    """Open a table, seat the bots, play the match and check its records.

    Raise BuracoError, BotFault and RecordWrong.
    """
    with ExitStack() as stack:
        names = [player_name(name, f" {seat}") for seat, name in enumerate(contest.bots)]
        thinkers = [stack.enter_context(closing(Thinker(name, name, contest.tolerance))) for name in names]
        bots = [
            await thinker.make(factory, bot_random(contest.seed, seat))
            for seat, (thinker, factory) in enumerate(zip(thinkers, contest.factories, strict=True))
        ]
        table = await client.create_table(
            contest.rule_set, len(bots), target_score=contest.target, seed=master_seed(contest.seed)
        )
        seats = [await client.join_table(table.id, name, seat=seat) for seat, name in enumerate(names)]
        audience.began(seats[-1].table or table)
        began = time.monotonic()
        try:
            async with asyncio.TaskGroup() as players:
                for seat, bot, thinker in zip(seats, bots, thinkers, strict=True):
                    notice = audience.saw if seat.seat == 0 else None
                    players.create_task(play_seat(seat, bot, notice, thinker))
        except BaseExceptionGroup as group:
            raise _first(group) from None
    seconds = time.monotonic() - began
    deals = tuple([replay(record) async for record in client.get_record(table.id)])
    over = await client.get_table(table.id)
    first, second = over.result.scores
    return MatchReport(
        table_id=table.id,
        bots=contest.bots,
        rule_set=contest.rule_set,
        target=over.target_score,
        seed=contest.seed,
        deals=deals,
        winner=over.result.winner if over.result.HasField("winner") else None,
        totals=(first, second),
        seconds=seconds,
    )


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that made the others stop."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
