"""What the finished pairs of an arena prove of its contenders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from buraco_bots.arena.figures import DealFigures, MatchFigures, PairFigures
from buraco_bots.arena.statistics import Interval, mean_difference, win_rate


@dataclass(frozen=True, slots=True)
class Pairing:
    """All finished pairs of two contenders, seen by the first."""

    first: str
    second: str
    pairs: tuple[PairFigures, ...]
    """In order of their numbers."""

    @property
    def scores(self) -> list[float]:
        """Return the scores of the pairs."""
        return [pair.score for pair in self.pairs]

    @property
    def rate(self) -> Interval:
        """Return the win rate of the first contender.

        It is 50 % without width if both matches of every pair went alike: then the contenders are known to be equal in
        these deals, whatever the number of pairs.
        """
        if all([pair.is_mirrored for pair in self.pairs]):
            return Interval(0.5, 0.5, 0.5)
        return win_rate(self.scores)

    @property
    def difference(self) -> Interval | None:
        """Return by how many points the first contender is better in a match; forfeited pairs are left out."""
        return mean_difference([pair.difference for pair in self.pairs if pair.difference is not None])

    @property
    def verdict(self) -> str:
        """Return who is better: inconclusive if the interval covers 50 %, equal if it is no wider than that."""
        rate = self.rate
        if rate.covers(0.5):
            return "equal" if rate.low == rate.high else "inconclusive"
        return f"{self.first if rate.value > 0.5 else self.second} is better"

    @property
    def matches(self) -> list[MatchFigures]:
        """Return the matches of all pairs."""
        return [match for pair in self.pairs for match in pair.matches]

    @property
    def deals(self) -> list[DealFigures]:
        """Return the deals of all matches; a forfeited match has none."""
        return [deal for match in self.matches for deal in match.deals]

    def forfeits(self, place: int) -> Counter[str]:
        """Return how many matches a contender forfeited, by the kind of fault."""
        found = [match.forfeit for match in self.matches]
        return Counter([forfeit.kind for forfeit in found if forfeit is not None and forfeit.by == place])

    def think_time(self, place: int) -> tuple[float, float]:
        """Return how long a choice of a contender took on average and at most, in seconds."""
        think = [match.think[place] for match in self.matches]
        choices = sum([times.choices for times in think])
        return sum([times.total for times in think]) / max(1, choices), max([times.longest for times in think])

    def buracos(self, place: int) -> dict[str, float]:
        """Return a contender's buracos a deal, by kind."""
        deals = self.deals
        kinds = sorted({kind for deal in deals for kind in deal.buracos})
        return {kind: sum([deal.buracos.get(kind, (0, 0))[place] for deal in deals]) / len(deals) for kind in kinds}


def pairings_of(pairs: Sequence[PairFigures], order: Sequence[tuple[str, str]]) -> list[Pairing]:
    """Return the pairings that have a finished pair, in the order given."""
    found = []
    for first, second in order:
        own = sorted([pair for pair in pairs if (pair.first, pair.second) == (first, second)], key=lambda p: p.number)
        if own:
            found.append(Pairing(first, second, tuple(own)))
    return found
