"""What pairs of matches prove: rates with intervals, Elo, and a sequential test.

The unit is the pair, not the match: the two matches of a pair have the same cards and so are not independent. A pair
gives a contender 0, half a point, 1, 1.5 or 2 (the *pentanomial* counts); its rate is the mean of half of that.
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

    It is the interval of as many independent matches as would have this spread. To the spread that is seen, that of one
    pair of independent matches is added: a few pairs that happen to be alike prove little. ValueError without a pair.

    >>> rate = win_rate([1, 2, 1, 2, 2, 1, 2, 2])
    >>> rate.value, round(rate.low, 2), round(rate.high, 2)
    (0.8125, 0.58, 0.93)
    """
    rates = [score / 2 for score in scores]
    if not rates:
        raise ValueError("a pair is needed")
    mean, count = fmean(rates), len(rates)
    independent = mean * (1 - mean)
    variance = (sum([(rate - mean) ** 2 for rate in rates]) + independent / 2) / count
    weight = count * independent / variance if independent else count
    centre = mean + Z * Z / (2 * weight)
    width = Z * math.sqrt(independent / weight + Z * Z / (4 * weight * weight))
    scale = 1 + Z * Z / weight
    return Interval(mean, max(0.0, min(mean, (centre - width) / scale)), min(1.0, max(mean, (centre + width) / scale)))


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
    """A test that stops as soon as it is known whether a contender is `high` Elo better than the other, or only `low`.

    It is the generalised sequential probability ratio test (SPRT) on pentanomial counts, as engines of chess are
    tested.
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

    def ratio(self, counts: Sequence[float]) -> float:
        """Return the logarithm of the likelihood ratio of the two hypotheses for pentanomial counts; 0 without any.

        >>> round(SequentialTest(0, 20).ratio((1, 2, 10, 4, 3)), 2)
        0.55
        """
        if not any(counts):
            return 0.0
        # A count of 0 would claim to know that such pairs cannot be.
        shares = [count or 1e-3 for count in counts]
        total = sum(shares)
        mean = sum([count * step / 4 for step, count in enumerate(shares)]) / total
        variance = sum([count * (step / 4 - mean) ** 2 for step, count in enumerate(shares)]) / total
        low, high = _rate_of(self.low), _rate_of(self.high)
        return total * (high - low) * (2 * mean - low - high) / (2 * variance)


class SequentialRun:
    """The course of a sequential test: pairs are added one by one, and the first decision stays."""

    def __init__(self, test: SequentialTest, scores: Sequence[float] = ()) -> None:
        """`scores`: those of the first pairs.

        >>> SequentialRun(SequentialTest(), [2, 2, 1, 2, 1.5, 2] * 10).decision
        'better'
        >>> SequentialRun(SequentialTest(), [1]).decision
        'open'
        """
        self.test = test
        self.decision: Decision = "open"
        self.ratio = 0.0
        """Of the pairs up to the decision."""
        self.pairs = 0
        """How many were counted: those up to the decision."""
        self._counts = [0] * 5
        for score in scores:
            self.add(score)

    def add(self, score: float) -> None:
        """Count the next pair, unless the test has ended. It can end from MIN_PAIRS on."""
        if self.decision != "open":
            return
        self.pairs += 1
        self._counts[round(2 * score)] += 1
        self.ratio = self.test.ratio(self._counts)
        low, high = self.test.bounds
        if self.pairs >= MIN_PAIRS and not low < self.ratio < high:
            self.decision = "better" if self.ratio >= high else "not better"
