"""Replicas that are killed or stopped now and then, one at a time, and started again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from typing import NamedTuple

from tests.soak.replicas import Replica

_AFTERMATH = 1.0
"""Seconds after a restart that still belong to the fault, because clients connect again."""
_RESTART = 5.0
"""Seconds that a restart may take."""


class Fault(NamedTuple):
    """The time, by `time.monotonic`, in which one replica was stopping, down or starting."""

    begin: float
    end: float
    kill: bool


class Faults:
    """Ends a random replica about `every` seconds, at least half of that, after the last one has been started again."""

    def __init__(self, replicas: Sequence[Replica], every: float, rng: random.Random) -> None:
        self.past: list[Fault] = []
        self._replicas = replicas
        self._every = every
        self._rng = rng

    async def run(self, until: float) -> None:
        """End replicas by SIGKILL and SIGTERM in turn until shortly before `until`. All serve when this returns."""
        kill = True
        while True:
            pause = self._every * self._rng.uniform(0.5, 1.5)
            if time.monotonic() + pause + _RESTART > until:
                return
            await asyncio.sleep(pause)
            replica = self._rng.choice(self._replicas)
            begin = time.monotonic()
            await replica.restart(kill=kill)
            self.past.append(Fault(begin, time.monotonic() + _AFTERMATH, kill))
            kill = not kill

    def during(self, begin: float, end: float) -> bool:
        """Return True if any of this time belongs to a fault."""
        return any([fault.begin < end and begin < fault.end for fault in self.past])
