"""How long to wait before trying again."""

from __future__ import annotations

import random
from dataclasses import dataclass

# Of its own: bots seed the shared generator, and must not come back together for it.
_random = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Backoff:
    """Capped exponential backoff with full jitter: many clients that fail together do not come back together.

    `first` and `cap` are seconds: the longest wait after the first failure, which doubles with every further
    one, and the longest wait at all.
    """

    first: float = 0.05
    cap: float = 2.0

    def delay(self, failures: int) -> float:
        """A random wait in seconds after so many failures in a row (1 or more)."""
        longest = min(self.cap, self.first * 2.0 ** min(failures - 1, 60))
        return _random.uniform(0.0, longest)
