"""What pairs of matches prove: rates with intervals, Elo, and a sequential test.

The unit is the pair, not the match: the two matches of a pair have the same cards and so are not independent. A pair
gives a contender 0, half a point, 1, 1.5 or 2 (the *pentanomial* counts); its rate is the mean of half of that. Two
equal deterministic bots have 1 of every pair, and so a rate of 50 % without width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from typing import Final, Literal

Z: Final = NormalDist().inv_cdf(0.975)
"""Standard deviations of the intervals: they hold the true value with 95 %."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the bounds between which the true value is with 95 %."""

    value: float
    low: float
    high: float

    def covers(self, value: float) -> bool:
        """Return True if the value is within the bounds."""
        return self.low <= value <= self.high


def win_rate(scores: Sequence[float]) -> Interval:
    """Return the share of the points that pairs gave (each 0 to 2), with Wilson's interval for their spread.

    Wilson's interval is that of as many independent matches as would have the spread of these pairs. ValueError without
    a pair.

    >>> win_rate([1, 1, 1, 1])
    Interval(value=0.5, low=0.5, high=0.5)
    >>> rate = win_rate([2, 2, 2, 2])
    >>> rate.value, round(rate.low, 2)
    (1.0, 0.51)
    """
    rates = [score / 2 for score in scores]
    if not rates:
        raise ValueError("a pair is needed")
    mean, count = fmean(rates), len(rates)
    spread = mean * (1 - mean)
    variance = fmean([(rate - mean) ** 2 for rate in rates]) * count / max(1, count - 1)
    if spread and not variance:
        return Interval(mean, mean, mean)
    weight = count * spread / variance if spread else count
    centre = mean + Z * Z / (2 * weight)
    width = Z * math.sqrt(spread / weight + Z * Z / (4 * weight * weight))
    scale = 1 + Z * Z / weight
    return Interval(mean, max(0.0, (centre - width) / scale), min(1.0, (centre + width) / scale))


def mean_difference(differences: Sequence[float]) -> Interval | None:
    """Return the mean of differences of points with its interval; None without any, infinitely wide for one."""
    if not differences:
        return None
    mean = fmean(differences)
    if len(differences) == 1:
        return Interval(mean, -math.inf, math.inf)
    width = Z * stdev(differences) / math.sqrt(len(differences))
    return Interval(mean, mean - width, mean + width)


def elo(rate: Interval) -> Interval:
    """Return by how much Elo a rate is better than 50 %; infinite at 0 and 1.

    >>> round(elo(Interval(0.75, 0.7, 0.8)).value)
    191
    """
    return Interval(*map(_elo, (rate.value, rate.low, rate.high)))


def _elo(rate: float) -> float:
    if rate <= 0 or rate >= 1:
        return math.copysign(math.inf, rate - 0.5)
    return 400 * math.log10(rate / (1 - rate))


def _rate_of(difference: float) -> float:
    return 1 / (1 + 10 ** (-difference / 400))


def pentanomial(scores: Sequence[float]) -> tuple[int, int, int, int, int]:
    """Return how many pairs gave 0, half a point, 1, 1.5 and 2.

    >>> pentanomial([1, 2, 1])
    (0, 0, 2, 0, 1)
    """
    counts = [0] * 5
    for score in scores:
        counts[round(2 * score)] += 1
    return counts[0], counts[1], counts[2], counts[3], counts[4]


MIN_PAIRS: Final = 16
"""Pairs that a sequential test needs: the spread of fewer is not known."""

Decision = Literal["better", "not better", "open"]


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """A test that stops as soon as it knows: is a contender `high` Elo better than the other, or only `low`?

    It is the generalised SPRT on pentanomial counts, as engines of chess are tested.
    """

    low: float = 0.0
    """The hypothesis to be rejected, in Elo."""
    high: float = 20.0
    """What is hoped for, in Elo."""
    alpha: float = 0.05
    """The chance to call a contender better that is `low`."""
    beta: float = 0.05
    """The chance to miss one that is `high`."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the logarithms of the likelihood ratio below and above which the test stops."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def ratio(self, scores: Sequence[float]) -> float:
        """Return the logarithm of the likelihood ratio of the two hypotheses; 0 without pairs."""
        # A count of 0 would claim to know that such pairs cannot be.
        counts = [count or 1e-3 for count in pentanomial(scores)]
        total = sum(counts)
        if not scores:
            return 0.0
        mean = sum([count * step / 4 for step, count in enumerate(counts)]) / total
        variance = sum([count * (step / 4 - mean) ** 2 for step, count in enumerate(counts)]) / total
        low, high = _rate_of(self.low), _rate_of(self.high)
        return total * (high - low) * (2 * mean - low - high) / (2 * variance)

    def decide(self, scores: Sequence[float]) -> Decision:
        """Return what the pairs prove so far: nothing before there are MIN_PAIRS.

        >>> SequentialTest().decide([2, 2, 1, 2, 1.5, 2] * 10)
        'better'
        >>> SequentialTest().decide([1])
        'open'
        """
        if len(scores) < MIN_PAIRS:
            return "open"
        low, high = self.bounds
        ratio = self.ratio(scores)
        return "better" if ratio >= high else "not better" if ratio <= low else "open"
