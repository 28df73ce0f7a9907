"""Processes that play pairs, watched from outside, so that a bot that hangs holds up nobody else."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Final

from buraco_bots.arena.pairs import PairFigures, PairTask, forfeited, play_pair

LOOK_SECONDS: Final = 0.5
"""From one look for hanging bots to the next."""
GRACE_SECONDS: Final = 1.0
"""A choice that takes longer than the limit by this ends its process: it may never return."""
_IDLE: Final = 0.0

_context = multiprocessing.get_context("spawn")


class WorkerFailed(Exception):
    """A worker ended by itself, or raised what is no fault of a bot. The message has its words."""


class _SharedWatch:
    """A `Watch` in memory that the parent sees: since when which bot has been thinking."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def begin(self, match: int, place: int) -> None:
        self._memory[1], self._memory[2] = float(match), float(place)
        self._memory[0] = time.monotonic()

    def end(self) -> None:
        self._memory[0] = _IDLE


def _work(tasks: Connection, memory: Any) -> None:
    """Play the pairs that come, until None. Ctrl-C reaches all processes of a terminal: the parent alone acts on it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    watch = _SharedWatch(memory)
    while (task := tasks.recv()) is not None:
        try:
            tasks.send(play_pair(task, watch))
        except Exception as error:  # noqa: BLE001 - it is raised in the parent
            tasks.send(WorkerFailed(f"{type(error).__name__}: {error}"))


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    connection: Connection
    memory: Any
    task: PairTask | None = None


class Workers:
    """So many processes, each of which plays a pair at a time."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._workers: list[_Worker] = []
        self._stopped = False

    def stop(self) -> None:
        """Let `play` end as soon as it looks again; pairs under way are lost. From any thread."""
        self._stopped = True

    def play(self, tasks: Iterator[PairTask]) -> Iterator[PairFigures]:
        """Yield the pairs as they are finished, in no certain order. Raise WorkerFailed.

        A bot that exceeds its time by GRACE_SECONDS forfeits both matches of its pair: what was finished is lost with the process.
        """
        try:
            self._workers = [_start() for _ in range(self._count)]
            for worker in self._workers:
                _give(worker, tasks)
            while not self._stopped and any([worker.task for worker in self._workers]):
                yield from self._look(tasks)
        finally:
            for worker in self._workers:
                worker.process.kill()
            for worker in self._workers:
                worker.process.join()
                worker.connection.close()

    def _look(self, tasks: Iterator[PairTask]) -> Iterator[PairFigures]:
        busy = {worker.connection: worker for worker in self._workers if worker.task}
        for ready in wait(list(busy), LOOK_SECONDS):
            assert isinstance(ready, Connection)
            worker = busy[ready]
            try:
                answer = ready.recv()
            except EOFError:
                worker.process.join()
                raise WorkerFailed(f"a worker ended with status {worker.process.exitcode}: {worker.task}") from None
            if isinstance(answer, WorkerFailed):
                raise answer
            _give(worker, tasks)
            yield answer
        for number, worker in enumerate(self._workers):
            if (hung := _hung(worker)) is not None:
                worker.process.kill()
                worker.process.join()
                worker.connection.close()
                self._workers[number] = _start()
                _give(self._workers[number], tasks)
                yield hung


def _start() -> _Worker:
    ours, theirs = _context.Pipe()
    memory = _context.RawArray("d", 3)
    process = _context.Process(target=_work, args=(theirs, memory), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours, memory)


def _give(worker: _Worker, tasks: Iterator[PairTask]) -> None:
    worker.task = next(tasks, None)
    with suppress(BrokenPipeError):  # found out when it is read from
        worker.connection.send(worker.task)


def _hung(worker: _Worker) -> PairFigures | None:
    """Return the pair of a worker whose bot thinks for too long; None if it does not."""
    task, since = worker.task, worker.memory[0]
    if task is None or since == _IDLE or time.monotonic() - since < task.thinking_limit + GRACE_SECONDS:
        return None
    place = int(worker.memory[2])
    lost = forfeited(place, "late", f"{task.contenders[place]} did not answer within {task.thinking_limit:g} s")
    return PairFigures(task.first, task.second, task.number, (lost, lost))
