"""How many requests a second each peer may send to this replica: a token bucket a peer."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

MOST_PEERS: Final = 10_000


class RequestRate:
    """Buckets that hold `burst` requests and gain `rate` a second. Of the peers, the newest MOST_PEERS are known.

    A peer that is forgotten starts anew with a full bucket, as it would after some time anyway.
    """

    def __init__(self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._burst = float(burst)
        self._clock = clock
        # What each held, and when; the peer heard of longest ago first.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_of(self, peer: str) -> float:
        """Takes a request out of the peer's bucket and returns 0, or else the seconds until there is one."""
        now = self._clock()
        held, at = self._buckets.get(peer, (self._burst, now))
        held = min(self._burst, held + (now - at) * self.rate)
        wait = 0.0 if held >= 1.0 else (1.0 - held) / self.rate
        self._buckets[peer] = (held if wait else held - 1.0, now)
        self._buckets.move_to_end(peer)
        if len(self._buckets) > MOST_PEERS:
            self._buckets.popitem(last=False)
        return wait
