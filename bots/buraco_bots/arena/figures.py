"""What is kept of the matches that two contenders play: plain values, which JSON can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from buraco_bots.bot import FaultKind
from buraco_rules import Deal, Ending, score_deal

LEAD_SAMPLES: Final = 11
"""At so many moments of a deal the lead is kept, from its start to its end."""


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
    """A pair of matches; in the second one the first contender had side 1."""

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

    @property
    def is_mirrored(self) -> bool:
        """Return True if both matches went the same way, with the contenders exchanged: neither plays better."""
        first, second = self.matches
        if first.forfeit or second.forfeit or first.points != second.points[::-1]:
            return False
        alike = [
            (one.turns, one.moves, one.leads) == (other.turns, other.moves, tuple([-lead for lead in other.leads]))
            for one, other in zip(first.deals, second.deals, strict=False)
        ]
        return len(first.deals) == len(second.deals) and all(alike)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> PairFigures:
        """Return what `to_json` made. Raise KeyError, TypeError or ValueError for other values."""
        first, second = map(_match_from_json, values["matches"])
        return cls(values["first"], values["second"], values["number"], (first, second))


Times = tuple[ThinkTime, ThinkTime]
NO_TIME: Final = (ThinkTime(), ThinkTime())


def forfeited(by: int, kind: FaultKind, detail: str, think: Times = NO_TIME) -> MatchFigures:
    """Return the figures of a match that a contender forfeits."""
    return MatchFigures(float(by), (0, 0), (), think, Forfeit(by, kind, detail))


def deal_figures(deal: Deal, moves: int, leads: Sequence[int], match: int) -> DealFigures:
    """Return the figures of a finished deal of match 0 or 1, in which the first contender had that side.

    `leads`: by how many points side 0 led without the hands, at the start of every turn.
    """
    scores = score_deal(deal).sides
    kinds = [Counter([meld.buraco.name.lower() for meld in deal.sides[side].melds if meld.buraco]) for side in (0, 1)]
    return DealFigures(
        points=(scores[match].total, scores[1 - match].total),
        turns=deal.turn.number,
        moves=moves,
        closed_by=(deal.seat_to_move & 1) ^ match if deal.ending is Ending.CLOSED else None,
        buracos={kind: (kinds[match][kind], kinds[1 - match][kind]) for kind in sorted({*kinds[0], *kinds[1]})},
        leads=tuple([lead * (-1 if match else 1) for lead in _sampled(leads)]),
    )


def match_figures(
    winner: int | None, scores: Sequence[int], deals: Sequence[DealFigures], match: int, think: Times
) -> MatchFigures:
    """Return the figures of match 0 or 1, in which the first contender had that side; `winner` and `scores` by side."""
    result = 0.5 if winner is None else float(winner == match)
    return MatchFigures(result, (scores[match], scores[1 - match]), tuple(deals), think)


def _sampled(leads: Sequence[int]) -> list[int]:
    last = len(leads) - 1
    return [leads[round(last * step / (LEAD_SAMPLES - 1))] for step in range(LEAD_SAMPLES)]


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
