"""Replicas that are killed now and then, one at a time, and come back."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from typing import NamedTuple

from tests.soak.replicas import Replica

_AFTERMATH = 1.0
"""Seconds after a replica is back that still belong to the fault: connections are made anew."""
_RESTART = 5.0
"""Seconds that a replica may well take to be back."""


class Fault(NamedTuple):
    """A time, of `time.monotonic`, in which one replica was away or stopping."""

    begin: float
    end: float
    kill: bool


_RESTART = 5.0
"""Seconds that a replica may well take to be back."""


class Faults:
    """Strikes at random, about `every` seconds (half of it at least) after a replica is back."""

    def __init__(self, replicas: Sequence[Replica], every: float, rng: random.Random) -> None:
        self.struck: list[Fault] = []
        self._replicas = replicas
        self._every = every
        self._rng = rng

    async def strike(self, until: float) -> None:
        """Strike, the last time some time before `until`; SIGKILL and SIGTERM take turns. In the end all are back."""
        kill = True
        while True:
            pause = self._every * self._rng.uniform(0.5, 1.5)
            if time.monotonic() + pause + _RESTART > until:
                return
            await asyncio.sleep(pause)
            replica = self._rng.choice(self._replicas)
            begin = time.monotonic()
            await replica.restart(kill=kill)
            self.struck.append(Fault(begin, time.monotonic() + _AFTERMATH, kill))
            kill = not kill

    def during(self, begin: float, end: float) -> bool:
        """Whether any of this time belongs to a fault."""
        return any([fault.begin < end and begin < fault.end for fault in self.struck])
