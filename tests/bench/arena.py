"""How many deals the arena plays in a second, by the number of its workers."""

import itertools
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from buraco_bots.arena.pairs import PairTask
from buraco_bots.arena.workers import Workers

WORKERS = (1, 2, 4)
_LIMIT = 60.0


class Pace(NamedTuple):
    """How fast so many workers are."""

    deals: float
    """A second."""
    shared: float
    """Microseconds of the processor that the one process spends that gives them pairs, a deal."""


def measure_arena(seconds: float, rounds: int) -> None:
    """Print deals a second for each number of workers, the best of the rounds, and that beside one worker."""
    print(f"arena: greedy against random, pairs of single deals; {os.cpu_count()} processors")
    print(f"  {'':38}{'deals/s':>11}{'times one':>14}{'shared µs':>14}")
    paces = dict.fromkeys(WORKERS, Pace(0.0, 0.0))
    for _, count in itertools.product(range(rounds), WORKERS):
        paces[count] = max(paces[count], _measure(count, seconds))
    for count, pace in paces.items():
        ratio = pace.deals / paces[1].deals
        print(f"  {f'{count} workers':38}{pace.deals:>11.1f}{ratio:>14.2f}{pace.shared:>14.0f}", flush=True)


def _measure(count: int, seconds: float) -> Pace:
    """Play for so many seconds, from when every worker has played a few pairs: its meld book is filled by then."""
    workers = Workers(count)
    deals, began, ended, used = 0, 0.0, 0.0, 0.0
    warm_up = 8 * count
    for pair in workers.play(_tasks()):
        if warm_up:
            warm_up -= 1
            began, used = time.perf_counter(), time.process_time()
        else:
            deals += sum([len(match.deals) for match in pair.matches])
            ended = time.perf_counter()
            if ended - began > seconds:
                workers.stop()
    return Pace(deals / (ended - began), (time.process_time() - used) / deals * 1e6)


def _tasks() -> Iterator[PairTask]:
    for number in itertools.count():
        yield PairTask("greedy", "random", "buraco-plus-classic", 2, 0, "bench", number, _LIMIT)
