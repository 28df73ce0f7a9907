"""How many requests a second each peer may send to this replica: a token bucket a peer."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

MAX_PEERS: Final = 10_000
"""Peers whose buckets are kept."""


class RequestRate:
    """Buckets that hold `burst` requests and gain `rate` a second, for the MAX_PEERS peers heard of last.

    A peer that was dropped starts anew with a full bucket, as it would after some time anyway.

    >>> rate = RequestRate(2, burst=1, clock=lambda: 0)
    >>> rate.take("192.0.2.7"), rate.take("192.0.2.7")
    (0.0, 0.5)
    """

    def __init__(self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._burst = float(burst)
        self._clock = clock
        # What each held, and when; the peer heard of longest ago first.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, peer: str) -> float:
        """Take a request out of the peer's bucket and return 0; if it has none, return the seconds until it has one."""
        now = self._clock()
        held, at = self._buckets.get(peer, (self._burst, now))
        held = min(self._burst, held + (now - at) * self.rate)
        wait = 0.0 if held >= 1.0 else (1.0 - held) / self.rate
        self._buckets[peer] = (held if wait else held - 1.0, now)
        self._buckets.move_to_end(peer)
        if len(self._buckets) > MAX_PEERS:
            self._buckets.popitem(last=False)
        return wait
