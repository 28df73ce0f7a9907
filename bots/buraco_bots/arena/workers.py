"""Processes that play pairs, watched from outside, so that a bot that hangs holds up nobody else."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Final

from buraco_bots.arena.figures import PairFigures, forfeited
from buraco_bots.arena.pairs import PairTask, play_pair
from buraco_bots.arena.tables import Venue, play_pair_at
from buraco_bots.bot import FaultKind

LOOK_SECONDS: Final = 0.5
"""From one look for hanging bots to the next."""
GRACE_SECONDS: Final = 1.0
"""A choice that takes longer than the limit by this ends its process: it may never return."""
_IDLE: Final = 0.0

_context = multiprocessing.get_context("spawn")


class WorkerFailed(Exception):
    """A worker ended while no bot was thinking, or raised what is no fault of a bot. The message has the reason."""


class _SharedWatch:
    """A `Watch` in memory that the parent sees: since when the bot of which contender has been thinking."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def begin(self, place: int) -> None:
        self._memory[1] = float(place)
        self._memory[0] = time.monotonic()

    def end(self) -> None:
        self._memory[0] = _IDLE


def _work(tasks: Connection, memory: Any, venue: Venue | None) -> None:
    """Play the pairs that come."""
    # A group of its own: Ctrl-C reaches the parent alone, and a kill reaches the programs of bots, too.
    os.setpgid(0, 0)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    watch = _SharedWatch(memory)
    while True:
        task = tasks.recv()
        try:
            tasks.send(play_pair(task, watch) if venue is None else play_pair_at(venue, task, watch))
        except Exception as error:  # noqa: BLE001 - it is raised in the parent
            tasks.send(WorkerFailed(f"{type(error).__name__}: {error}"))


def _end_with_parent() -> None:
    """Kill the worker and its programs when the parent has ended, even if a bot hangs."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.killpg(0, signal.SIGKILL)


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    connection: Connection
    memory: Any
    task: PairTask | None = None

    @property
    def thinking(self) -> tuple[PairTask, int, float] | None:
        """Return the pair, the place of the contender whose bot is thinking, and since when; None if none is."""
        since = self.memory[0]
        return None if self.task is None or since == _IDLE else (self.task, int(self.memory[1]), since)

    def kill(self) -> None:
        """Kill the process with all that it has started."""
        with suppress(ProcessLookupError, PermissionError):  # it has no group of its own yet, or has ended
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.kill()


class Workers:
    """So many processes, each of which plays a pair at a time."""

    def __init__(self, count: int, venue: Venue | None = None) -> None:
        """`venue`: the server to play at; None plays in the processes."""
        self._count = count
        self._venue = venue
        self._workers: list[_Worker] = []
        self._stopped = False

    def stop(self) -> None:
        """Let `play` end as soon as it looks again; pairs under way are lost. From any thread."""
        self._stopped = True

    def kill(self) -> None:
        """Kill all processes at once. From any thread."""
        for worker in tuple(self._workers):
            worker.kill()

    def play(self, tasks: Iterator[PairTask]) -> Generator[PairFigures, None, None]:
        """Yield the pairs as they are finished, in no certain order. Raise WorkerFailed.

        A bot that exceeds its time by GRACE_SECONDS, or ends its process, forfeits both matches of its pair: what was
        finished of it is lost with the process.
        """
        try:
            for _ in range(self._count):
                self._workers.append(self._start(tasks))
            while not self._stopped and any([worker.task for worker in self._workers]):
                yield from self._look(tasks)
        finally:
            self.kill()
            for worker in self._workers:
                worker.process.join()
                worker.connection.close()

    def _look(self, tasks: Iterator[PairTask]) -> Iterator[PairFigures]:
        busy = {worker.connection: number for number, worker in enumerate(self._workers) if worker.task}
        for ready in wait(list(busy), LOOK_SECONDS):
            assert isinstance(ready, Connection)
            number = busy[ready]
            try:
                answer = ready.recv()
            except (EOFError, ConnectionError):
                yield self._replace_ended(number, tasks)
                continue
            if isinstance(answer, WorkerFailed):
                raise answer
            _give(self._workers[number], tasks)
            yield answer
        for number, worker in enumerate(self._workers):
            thinking = worker.thinking
            if thinking is not None:
                task, place, since = thinking
                if time.monotonic() - since > task.thinking_limit + GRACE_SECONDS:
                    text = f"did not answer within {task.thinking_limit:g} s, and was ended"
                    yield self._replace(number, tasks, task, place, "late", text)

    def _replace_ended(self, number: int, tasks: Iterator[PairTask]) -> PairFigures:
        """Return the forfeited pair of a worker that has ended. Raise WorkerFailed if no bot did that."""
        worker = self._workers[number]
        worker.process.join()
        status = worker.process.exitcode
        thinking = worker.thinking
        if thinking is None:
            raise WorkerFailed(f"a worker ended with status {status} while it played {worker.task}")
        task, place, _ = thinking
        return self._replace(number, tasks, task, place, "error", f"ended its process with status {status}")

    def _replace(
        self, number: int, tasks: Iterator[PairTask], task: PairTask, place: int, kind: FaultKind, text: str
    ) -> PairFigures:
        """Start a worker in place of one whose bot broke off its pair, and return the forfeited pair."""
        worker = self._workers[number]
        worker.kill()
        worker.process.join()
        worker.connection.close()
        self._workers[number] = self._start(tasks)
        lost = forfeited(place, kind, f"{task.contenders[place]} {text}")
        return PairFigures(task.first, task.second, task.number, (lost, lost))

    def _start(self, tasks: Iterator[PairTask]) -> _Worker:
        ours, theirs = _context.Pipe()
        memory = _context.RawArray("d", 2)
        process = _context.Process(target=_work, args=(theirs, memory, self._venue), daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process, ours, memory)
        _give(worker, tasks)
        return worker


def _give(worker: _Worker, tasks: Iterator[PairTask]) -> None:
    worker.task = next(tasks, None)
    if worker.task is not None:
        with suppress(BrokenPipeError):  # found out when it is read from
            worker.connection.send(worker.task)
