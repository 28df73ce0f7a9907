"""Decides when a worker that has ended is replaced, and when the supervisor gives up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

MIN_HEALTHY_UPTIME: Final = 10.0
"""Seconds. A worker that ends earlier, or that never served, has failed."""
MAX_FAILURES: Final = 5
"""Failures in a row of every worker after which the supervisor gives up."""
_FIRST_DELAY: Final = 0.2
_MAX_DELAY: Final = 30.0


class Restarts:
    """Counts the failures in a row of each worker number."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._failures = dict.fromkeys(numbers, 0)

    def count_end(self, number: int, has_served: bool, age: float) -> float:
        """Count the end of a worker; return the seconds to wait before its replacement starts.

        They are 0 if it served and lived for MIN_HEALTHY_UPTIME, else 0.2, doubled by every failure in a row, up to 30.
        """
        if has_served and age >= MIN_HEALTHY_UPTIME:
            self._failures[number] = 0
            return 0.0
        self._failures[number] += 1
        # The exponent is bounded: a large one would overflow.
        return min(_FIRST_DELAY * 2.0 ** min(self._failures[number] - 1, 16), _MAX_DELAY)

    def should_give_up(self, ages: Iterable[float]) -> bool:
        """Return True if every worker keeps failing and none of those that serve now, of these ages, is healthy."""
        return min(self._failures.values()) >= MAX_FAILURES and max(ages, default=0.0) < MIN_HEALTHY_UPTIME
