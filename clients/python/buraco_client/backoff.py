"""How long to wait before another attempt."""

from __future__ import annotations

import random
from dataclasses import dataclass

# A generator that no seed reaches: bots seed the shared one, and would all wait equally long.
_random = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Backoff:
    """Capped exponential backoff with full jitter, so that clients that failed together do not return together."""

    first: float = 0.05
    """The longest wait after the first failure, in seconds; it doubles with every further failure."""
    cap: float = 2.0
    """The longest wait of all, in seconds."""

    def delay(self, failures: int) -> float:
        """Return a random wait in seconds after that many failures in a row (1 or more).

        >>> backoff = Backoff(first=0.5, cap=2.0)
        >>> [backoff.delay(failures) <= longest for failures, longest in [(1, 0.5), (2, 1.0), (9, 2.0)]]
        [True, True, True]
        """
        longest = min(self.cap, self.first * 2.0 ** min(failures - 1, 60))
        return _random.uniform(0.0, longest)
