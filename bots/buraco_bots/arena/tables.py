"""Pairs of matches at tables of a server: with the cards of those in this process, so that the figures are the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from buraco.v1 import event_pb2
from buraco_bots.arena.figures import DealFigures, MatchFigures, PairFigures, deal_figures, forfeited, match_figures
from buraco_bots.arena.pairs import PairTask, Stopwatch, Watch
from buraco_bots.bot import Bot, BotFactory, BotFault
from buraco_bots.match import MatchSetup, play_match
from buraco_bots.report import DealReport, MatchReport
from buraco_bots.server_access import Access
from buraco_bots.thinking import Thinker, Tolerance
from buraco_client import BuracoClient
from buraco_rules import Move, View, replay_deal, view_of


@dataclass(frozen=True, slots=True)
class Venue:
    """A server to play at."""

    server: str
    """As `host:port`."""
    access: Access


class _MeasuredThinker(Thinker):
    """A thinker of the arena: nothing is played in place of a bot that fails."""

    def __init__(self, seat: int, name: str, limit: float, stopwatch: Stopwatch) -> None:
        super().__init__(name, name, Tolerance(limit))
        self._number = seat
        self._stopwatch = stopwatch

    async def make(self, factory: BotFactory, random: Random) -> Bot:
        self._stopwatch.begin(self._number)
        try:
            return await super().make(factory, random)
        finally:
            self._stopwatch.end(is_choice=False)

    async def choose(
        self, bot: Bot, view: View, moves: Sequence[Move], moves_made: int, events: Sequence[event_pb2.Event] = ()
    ) -> Sequence[Move]:
        self._stopwatch.begin(self._number)
        try:
            return await super().choose(bot, view, moves, moves_made, events)
        finally:
            self._stopwatch.end()


def play_pair_at(venue: Venue, task: PairTask, watch: Watch) -> PairFigures:
    """Play both matches of a pair at tables of a server. Raise UnknownBot, BuracoError and RecordMismatch."""
    return asyncio.run(_play_pair(venue, task, watch))


async def _play_pair(venue: Venue, task: PairTask, watch: Watch) -> PairFigures:
    async with venue.access.connect(venue.server) as client:
        matches = (await _play(client, task, 0, watch), await _play(client, task, 1, watch))
    return PairFigures(task.first, task.second, task.number, matches)


async def _play(client: BuracoClient, task: PairTask, match: int, watch: Watch) -> MatchFigures:
    stopwatch = Stopwatch(match, watch)
    seats = range(task.seats)
    setup = MatchSetup(
        bots=tuple([task.bot(seat, match) for seat in seats]),
        factories=tuple([task.factory(seat, match) for seat in seats]),
        rule_set=task.rule_set,
        target=task.target,
        seed=task.deal_seed,
    )

    def thinker(seat: int, name: str) -> Thinker:
        return _MeasuredThinker(seat, name, task.thinking_limit, stopwatch)

    try:
        report = await play_match(client, setup, make_thinker=thinker, resigns=True)
    except BotFault as fault:
        return forfeited(stopwatch.place, fault.kind, fault.describe(), stopwatch.times)
    deals = [*_figures(report, match)]
    return match_figures(report.winner, report.totals, deals, match, stopwatch.times)


def _figures(report: MatchReport, match: int) -> Iterator[DealFigures]:
    for deal in report.deals:
        yield deal_figures(deal.end, deal.moves, _leads(report, deal), match)


def _leads(report: MatchReport, deal: DealReport) -> list[int]:
    """Return by how many points side 0 led without the hands, at the start of every turn."""
    leads: list[int] = []
    turn = 0
    for step in replay_deal(report.record, deal.record):
        if step.before.turn.number != turn:
            turn = step.before.turn.number
            first, second = view_of(step.before, 0).sides
            leads.append(first.table_points - second.table_points)
    return leads
