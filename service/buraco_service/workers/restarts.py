"""When another worker takes a place, and when that is given up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

GROWN_UP: Final = 10.0
"""Seconds of life that a worker reaches if all is well. One that ends younger, or never came to serve, has failed."""
MOST_FAILURES: Final = 5
_FIRST_DELAY: Final = 0.2
_LONGEST_DELAY: Final = 30.0


class Restarts:
    """The failures in a row, place by place."""

    def __init__(self, places: Iterable[int]) -> None:
        self._failures = dict.fromkeys(places, 0)

    def delay(self, place: int, served: bool, age: float) -> float:
        """Counts the end of a worker; returns the seconds until another is to take its place."""
        if served and age >= GROWN_UP:
            self._failures[place] = 0
            return 0.0
        self._failures[place] += 1
        # More doublings than these would only end in an overflow.
        return min(_FIRST_DELAY * 2.0 ** min(self._failures[place] - 1, 16), _LONGEST_DELAY)

    def in_vain(self, ages: Iterable[float]) -> bool:
        """Whether to give up: every place has failed often, and none of those that serve now has grown up."""
        return min(self._failures.values()) >= MOST_FAILURES and max(ages, default=0.0) < GROWN_UP
