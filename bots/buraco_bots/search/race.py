"""Which of several choices is best, by trials that cost time: it goes to the close ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean, stdev
from typing import Final

MIN_TRIALS: Final = 6
"""Trials without which nothing is preferred to the first choice."""

Trial = Callable[[Sequence[int]], Sequence[float]]
"""Tries these choices under the same chance, and returns the value of each."""


def race(choices: int, trial: Trial, has_time: Callable[[float], bool], certainty: float) -> int:
    """Return the best of so many choices: the first, unless another one is better on good evidence.

    The choices are tried together, so that chance favours none, for as long as `has_time(share)` of the whole time
    holds. After each equal share of it the worse half of the rivals is dropped (sequential halving). A rival wins if
    its mean gain over the first choice is more than `certainty` standard errors.
    """
    rivals = list(range(1, choices))
    gains: list[list[float]] = [[] for _ in range(choices)]
    rounds = max(1, math.ceil(math.log2(choices)))
    for number in range(1, rounds + 1):
        while has_time(number / rounds):
            base, *values = trial([0, *rivals])
            for rival, value in zip(rivals, values, strict=True):
                gains[rival].append(value - base)
        if not gains[rivals[0]]:
            return 0
        rivals.sort(key=lambda rival: fmean(gains[rival]), reverse=True)
        if number < rounds:
            del rivals[(len(rivals) + 1) // 2 :]
    best = rivals[0]
    return best if _is_better(gains[best], certainty) else 0


def _is_better(gains: list[float], certainty: float) -> bool:
    return len(gains) >= MIN_TRIALS and fmean(gains) > certainty * stdev(gains) / math.sqrt(len(gains))
