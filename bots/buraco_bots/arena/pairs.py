"""A pair of matches: two contenders play the same deals twice, with sides exchanged, so that cards favour nobody.

**Forfeits.** A bot that raises an error, chooses an illegal move or exceeds the thinking limit loses that match at once,
by 0 points: nothing is played in its place. One that does not return has to be ended with its process, and forfeits
both matches of the pair.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Final, Protocol

from buraco.v1 import event_pb2
from buraco_bots.bot import Bot, BotFactory, BotFault, FaultKind, ask_for_moves
from buraco_bots.matches import PlayedDeal, PlayedMatch, play_match
from buraco_bots.registry import load_factory
from buraco_rules import PRESETS_BY_ID, Ending, Move, View, score_deal

LEAD_SAMPLES: Final = 11
"""At so many moments of a deal the lead is kept, from its start to its end."""


@dataclass(frozen=True, slots=True)
class PairTask:
    """A pair to be played."""

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


@dataclass(frozen=True, slots=True)
class Forfeit:
    """A match that a contender lost by a fault of its bot."""

    by: int
    """The place of the contender."""
    kind: FaultKind
    detail: str


@dataclass(frozen=True, slots=True)
class ThinkTime:
    """How long a contender's bots took for their choices in a match, in seconds."""

    choices: int = 0
    total: float = 0.0
    longest: float = 0.0


@dataclass(frozen=True, slots=True)
class DealFigures:
    """What is kept of a deal. Pairs of numbers are by the contenders' places."""

    points: tuple[int, int]
    turns: int
    moves: int
    closed_by: int | None
    """The place of the contender that closed."""
    buracos: dict[str, tuple[int, int]]
    """By kind, those there are."""
    leads: tuple[int, ...]
    """By how many points the first contender led, at LEAD_SAMPLES moments from start to end."""


@dataclass(frozen=True, slots=True)
class MatchFigures:
    """What is kept of a match. Pairs of numbers are by the contenders' places."""

    result: float
    """Of the first contender: 1 won, 0 lost, 0.5 drawn."""
    points: tuple[int, int]
    deals: tuple[DealFigures, ...]
    think: tuple[ThinkTime, ThinkTime]
    forfeit: Forfeit | None = None


@dataclass(frozen=True, slots=True)
class PairFigures:
    """What a pair of matches came to; in the second one the first contender had side 1."""

    first: str
    second: str
    number: int
    matches: tuple[MatchFigures, MatchFigures]

    @property
    def score(self) -> float:
        """Return the results of the first contender, summed: 0, 0.5, 1, 1.5 or 2."""
        return self.matches[0].result + self.matches[1].result

    @property
    def difference(self) -> float | None:
        """Return by how many points the first contender was better in a match on average; None after a forfeit."""
        if any(match.forfeit for match in self.matches):
            return None
        return sum(match.points[0] - match.points[1] for match in self.matches) / 2

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> PairFigures:
        """Return what `to_json` made. Raise KeyError, TypeError or ValueError for other values."""
        first, second = map(_match_from_json, values["matches"])
        return cls(values["first"], values["second"], values["number"], (first, second))


def _match_from_json(values: dict[str, Any]) -> MatchFigures:
    deals = tuple(
        [
            DealFigures(
                _both(deal["points"]),
                deal["turns"],
                deal["moves"],
                deal["closed_by"],
                {kind: _both(counts) for kind, counts in deal["buracos"].items()},
                tuple(deal["leads"]),
            )
            for deal in values["deals"]
        ]
    )
    first, second = (ThinkTime(**think) for think in values["think"])
    forfeit = None if values["forfeit"] is None else Forfeit(**values["forfeit"])
    return MatchFigures(values["result"], _both(values["points"]), deals, (first, second), forfeit)


def _both(values: Sequence[int]) -> tuple[int, int]:
    first, second = values
    return first, second


class Watch(Protocol):
    """Is told when a bot begins to think and when it has finished, so that one that hangs can be ended."""

    def begin(self, match: int, place: int) -> None:
        """Note that the bot of a contender begins to think in match 0 or 1."""

    def end(self) -> None:
        """Note that it has finished."""


def play_pair(task: PairTask, watch: Watch) -> PairFigures:
    """Play both matches of a pair in this process. Raise UnknownBot."""
    return PairFigures(task.first, task.second, task.number, (_play(task, 0, watch), _play(task, 1, watch)))


Times = tuple[ThinkTime, ThinkTime]
NO_TIME: Final = (ThinkTime(), ThinkTime())


def forfeited(by: int, kind: FaultKind, detail: str, think: Times = NO_TIME) -> MatchFigures:
    """Return the figures of a match that a contender forfeits."""
    return MatchFigures(float(by), (0, 0), (), think, Forfeit(by, kind, detail))


class _Asking:
    """Asks bots for their moves, measures how long they take, and knows whose bot was asked last."""

    def __init__(self, match: int, limit: float, watch: Watch) -> None:
        self._match = match
        self._limit = limit
        self._watch = watch
        self.place = 0
        self.think = [_Stopwatch(), _Stopwatch()]

    def maker(self, seat: int, factory: BotFactory) -> BotFactory:
        """Return a factory that notes whose bot is being made."""

        def make(random: Random) -> Bot:
            self._begin(seat)
            try:
                return factory(random)
            finally:
                self._watch.end()

        return make

    @property
    def times(self) -> Times:
        """Return how long the bots of each contender have taken."""
        first, second = self.think
        return first.read(), second.read()

    def _begin(self, seat: int) -> None:
        self.place = (seat & 1) ^ self._match
        self._watch.begin(self._match, self.place)

    def __call__(
        self, seat: int, bot: Bot, view: View, moves: Sequence[Move], moves_made: int, events: Iterable[event_pb2.Event]
    ) -> Sequence[Move]:
        self._begin(seat)
        start = time.perf_counter()
        try:
            chosen = ask_for_moves(bot, view, moves, moves_made, events)
        finally:
            self._watch.end()
            seconds = time.perf_counter() - start
            self.think[self.place].add(seconds)
        if seconds > self._limit:
            raise BotFault("late", f"{type(bot).__name__} took {seconds:.1f} s")
        return chosen


@dataclass(slots=True)
class _Stopwatch:
    choices: int = 0
    total: float = 0.0
    longest: float = 0.0

    def add(self, seconds: float) -> None:
        self.choices += 1
        self.total += seconds
        self.longest = max(self.longest, seconds)

    def read(self) -> ThinkTime:
        return ThinkTime(self.choices, round(self.total, 6), round(self.longest, 6))


def _play(task: PairTask, match: int, watch: Watch) -> MatchFigures:
    """Play one match: in match 1 the first contender has side 1."""
    factories = [load_factory(task.contenders[side ^ match]) for side in (0, 1)]
    asking = _Asking(match, task.thinking_limit, watch)
    makers = [asking.maker(seat, factories[seat & 1]) for seat in range(task.seats)]
    rules, seed = PRESETS_BY_ID[task.rule_set], f"{task.seed}/{task.number}"
    try:
        played = play_match(rules, makers, seed, task.target, asking)
    except BotFault as fault:
        return forfeited(asking.place, fault.kind, fault.describe(), asking.times)
    return figures_of(played, match, asking.times)


def figures_of(played: PlayedMatch, match: int, think: Times) -> MatchFigures:
    """Return the figures of a match; in match 1 the first contender has side 1."""
    result = 0.5 if played.winner is None else float(played.winner == match)
    points = played.scores[match], played.scores[1 - match]
    return MatchFigures(result, points, tuple([_deal_figures(deal, match) for deal in played.deals]), think)


def _deal_figures(played: PlayedDeal, match: int) -> DealFigures:
    deal = played.deal
    scores = score_deal(deal).sides
    kinds = [Counter(meld.buraco.name.lower() for meld in deal.sides[side].melds if meld.buraco) for side in (0, 1)]
    return DealFigures(
        points=(scores[match].total, scores[1 - match].total),
        turns=deal.turn.number,
        moves=played.moves,
        closed_by=(deal.seat_to_move & 1) ^ match if deal.ending is Ending.CLOSED else None,
        buracos={kind: (kinds[match][kind], kinds[1 - match][kind]) for kind in sorted({*kinds[0], *kinds[1]})},
        leads=tuple([lead * (-1 if match else 1) for lead in _sampled(played.leads)]),
    )


def _sampled(leads: Sequence[int]) -> list[int]:
    last = len(leads) - 1
    return [leads[round(last * step / (LEAD_SAMPLES - 1))] for step in range(LEAD_SAMPLES)]
