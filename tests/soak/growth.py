"""Measure whether the memory of a replica stays level under a constant load."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from buraco_bots.match import MatchSetup, play_match
from buraco_bots.registry import load_factory
from buraco_client import BuracoClient
from buraco_rules import PRESETS
from tests.soak.replicas import Replica, Sample, running_replicas

WARM_UP: Final = 1 / 3
"""The first part of the time, in which caches may fill."""
MAX_GROWTH: Final = 0.25
"""MiB a minute by which the memory may grow after that."""

_BOTS: Final = ("greedy", "random", "greedy", "random")
_MIB: Final = 1 << 20
_PERIOD: Final = 60.0
_SAMPLES: Final = 12
"""In each period."""


async def measure_growth(
    store: str, place: Callable[[Path], AbstractContextManager[str]], *, seconds: float, matches: int, seed: str
) -> bool:
    """Print the memory of one replica every minute of bots' matches, and return whether it was level after warm-up.

    `matches` are played at a time, each followed by the next, in all rule sets in turn.
    """
    with tempfile.TemporaryDirectory(prefix="buraco-soak-") as name:
        folder = Path(name)
        kept = folder / "store"
        kept.mkdir()
        with place(kept) as url, running_replicas(folder, url, count=1) as (replica,):
            print(f"{store}: {matches} matches at a time for {seconds:.0f} s, one replica", flush=True)
            numbers = itertools.count()
            begun = time.monotonic()
            async with BuracoClient(replica.address) as client:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
                        for _ in range(matches):
                            tasks.create_task(_play(client, numbers, seed))
                        tasks.create_task(_sample(replica))
            moves = replica.read_counters()["buraco_moves_total"]
    growth = growth_after(replica.samples, begun + WARM_UP * seconds)
    level = growth <= MAX_GROWTH
    print(f"  {next(numbers) - matches} matches and {moves} moves; {moves / seconds:.0f} moves/s")
    print(f"  after {WARM_UP * seconds / 60:.0f} minutes the memory grew by {growth:+.2f} MiB a minute", end=": ")
    print("level" if level else f"more than {MAX_GROWTH}", flush=True)
    return level


def growth_after(samples: Sequence[Sample], begin: float = 0.0) -> float:
    """Return the growth since a time in MiB a minute, by least squares."""
    late = [sample for sample in samples if sample.at >= begin]
    slope, _ = statistics.linear_regression(
        [sample.at / 60 for sample in late], [sample.resident / _MIB for sample in late]
    )
    return slope


async def _play(client: BuracoClient, numbers: itertools.count[int], seed: str) -> None:
    factories = tuple(map(load_factory, _BOTS))
    for number in numbers:
        rules = PRESETS[number % len(PRESETS)]
        seats = 4 if number % 2 else 2
        setup = MatchSetup(_BOTS[:seats], factories[:seats], rules.id, None, f"{seed}/{number}")
        await play_match(client, setup)


async def _sample(replica: Replica) -> None:
    for number in itertools.count(1):
        await asyncio.sleep(_PERIOD / _SAMPLES)
        replica.sample()
        if number % _SAMPLES == 0:
            mean = statistics.mean(sample.resident for sample in replica.samples[-_SAMPLES:])
            print(f"  minute {number // _SAMPLES:>3}{mean / _MIB:>9.1f} MiB", flush=True)
