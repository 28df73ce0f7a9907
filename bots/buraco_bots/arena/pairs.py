"""A pair of matches: two contenders play the same deals twice, with sides exchanged, so that cards favour nobody.

**Forfeits.** A bot that raises an error, chooses an illegal move or exceeds the thinking limit loses that match at
once, by 0 points: nothing is played in its place. One that does not return, or ends the process that it runs in, is
ended with that process and forfeits both matches of the pair.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol, TypeVar

from buraco.v1 import event_pb2
from buraco_bots.arena.figures import (
    MatchFigures,
    PairFigures,
    ThinkTime,
    Times,
    deal_figures,
    forfeited,
    match_figures,
)
from buraco_bots.bot import Bot, BotFactory, BotFault, ask_for_moves, make_bot
from buraco_bots.matches import play_match
from buraco_bots.registry import load_factory
from buraco_rules import PRESETS_BY_ID, Move, View

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PairTask:
    """A pair that is to be played."""

    first: str
    """The first contender, as given on the command line."""
    second: str
    rule_set: str
    seats: int
    target: int
    """0 = a match is one deal."""
    seed: str
    number: int
    """Which pair of this pairing it is, from 0: it has cards of its own."""
    thinking_limit: float
    """Seconds for a choice."""

    @property
    def contenders(self) -> tuple[str, str]:
        """Return both, by their place."""
        return self.first, self.second

    @property
    def deal_seed(self) -> str:
        """Return the seed of both matches."""
        return f"{self.seed}/{self.number}"

    def bot(self, seat: int, match: int) -> str:
        """Return who plays at a seat in match 0 or 1: in match 1 the first contender has side 1."""
        return self.contenders[(seat & 1) ^ match]

    def factory(self, seat: int, match: int) -> BotFactory:
        """Return what makes the bot of a seat. Raise UnknownBot."""
        return load_factory(self.bot(seat, match))


class Watch(Protocol):
    """Is notified when a bot begins to think and when it has finished, so that one that hangs can be ended."""

    def begin(self, place: int) -> None:
        """Note that the bot of a contender begins to think."""

    def end(self) -> None:
        """Note that it has finished."""


class Stopwatch:
    """Measures how long the bots of a match think, and knows whose bot was asked last."""

    def __init__(self, match: int, watch: Watch) -> None:
        """`match`: 0 or 1; in match 1 the first contender has side 1."""
        self._match = match
        self._watch = watch
        self._began = 0.0
        self._seconds: tuple[list[float], list[float]] = ([], [])
        self.place = 0
        """The contender whose bot was asked last."""

    def begin(self, seat: int) -> None:
        """Note that the bot of a seat begins to think."""
        self.place = (seat & 1) ^ self._match
        self._watch.begin(self.place)
        self._began = time.perf_counter()

    def end(self, *, is_choice: bool = True) -> float:
        """Note that it has finished, and return for how many seconds it thought."""
        seconds = time.perf_counter() - self._began
        self._watch.end()
        if is_choice:
            self._seconds[self.place].append(seconds)
        return seconds

    @property
    def times(self) -> Times:
        """Return how long the bots of each contender have thought."""
        first, second = [
            ThinkTime(len(taken), round(sum(taken), 6), round(max(taken, default=0.0), 6)) for taken in self._seconds
        ]
        return first, second


def play_pair(task: PairTask, watch: Watch) -> PairFigures:
    """Play both matches of a pair in this process. Raise UnknownBot."""
    return PairFigures(task.first, task.second, task.number, (_play(task, 0, watch), _play(task, 1, watch)))


def _play(task: PairTask, match: int, watch: Watch) -> MatchFigures:
    stopwatch = Stopwatch(match, watch)

    def timed(seat: int, call: Callable[[], T], *, is_choice: bool) -> T:
        stopwatch.begin(seat)
        try:
            result = call()
        finally:
            seconds = stopwatch.end(is_choice=is_choice)
        if seconds > task.thinking_limit:
            raise BotFault("late", f"{task.contenders[stopwatch.place]} took {seconds:.1f} s")
        return result

    def ask(
        seat: int, bot: Bot, view: View, moves: Sequence[Move], moves_made: int, events: Iterable[event_pb2.Event]
    ) -> Sequence[Move]:
        return timed(seat, lambda: ask_for_moves(bot, view, moves, moves_made, events), is_choice=True)

    def maker(seat: int) -> BotFactory:
        def make(random: Random) -> Bot:
            return timed(seat, lambda: make_bot(task.factory(seat, match), random), is_choice=False)

        return make

    try:
        played = play_match(
            PRESETS_BY_ID[task.rule_set], [*map(maker, range(task.seats))], task.deal_seed, task.target, ask
        )
    except BotFault as fault:
        return forfeited(stopwatch.place, fault.kind, fault.describe(), stopwatch.times)
    deals = [deal_figures(deal.deal, deal.moves, deal.leads, match) for deal in played.deals]
    return match_figures(played.winner, played.scores, deals, match, stopwatch.times)
