"""How many deals the arena plays in a second, by the number of its workers."""

import itertools
import multiprocessing
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from buraco_bots.arena.pairs import PairTask
from buraco_bots.arena.workers import Workers
from tests.bench.processes import processor_seconds

WORKERS = (1, 2, 4)
_LIMIT = 60.0


class Pace(NamedTuple):
    """How fast so many workers are, and what it costs: that bears other work on the machine."""

    deals: float
    """A second."""
    worked: float
    """Milliseconds of the processor that the workers spend, a deal."""
    shared: float
    """Microseconds of the processor that the one process spends that gives them pairs, a deal."""


def measure_arena(seconds: float, rounds: int) -> None:
    """Print deals a second for each number of workers, the best of the rounds, and that beside one worker."""
    print(f"arena: greedy against random, pairs of single deals; {os.cpu_count()} processors")
    print(f"  {'':38}{'deals/s':>11}{'times one':>14}{'worker ms':>14}{'shared µs':>14}")
    paces = dict.fromkeys(WORKERS, Pace(0.0, 0.0, 0.0))
    for _, count in itertools.product(range(rounds), WORKERS):
        paces[count] = max(paces[count], _measure(count, seconds))
    for count, pace in paces.items():
        ratio = pace.deals / paces[1].deals
        print(
            f"  {f'{count} workers':38}{pace.deals:>11.1f}{ratio:>14.2f}{pace.worked:>14.1f}{pace.shared:>14.0f}",
            flush=True,
        )


def _measure(count: int, seconds: float) -> Pace:
    """Play for so many seconds, from when every worker has played a few pairs: its meld book is filled by then."""
    workers = Workers(count)
    deals, began, ended, used, worked = 0, 0.0, 0.0, 0.0, 0.0
    warm_up = 8 * count
    playing = workers.play(_tasks())
    for pair in playing:
        if warm_up:
            warm_up -= 1
            began, used, worked = time.perf_counter(), time.process_time(), _workers_seconds()
        else:
            deals += sum([len(match.deals) for match in pair.matches])
            ended = time.perf_counter()
            if ended - began > seconds:
                worked = _workers_seconds() - worked
                used = time.process_time() - used
                break
    playing.close()
    return Pace(deals / (ended - began), worked / deals * 1e3, used / deals * 1e6)


def _workers_seconds() -> float:
    """What the processes of the workers have used so far, of the processor."""
    return sum([processor_seconds(worker.pid or 0) for worker in multiprocessing.active_children()])


def _tasks() -> Iterator[PairTask]:
    for number in itertools.count():
        yield PairTask("greedy", "random", "buraco-plus-classic", 2, 0, "bench", number, _LIMIT)
