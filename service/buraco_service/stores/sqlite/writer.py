"""The thread that writes to the SQLite store's file, with group commit.

The statements of quick jobs run on the event loop, and the thread waits for the disk. Python lets go of its lock four
times a statement, and a thread beside a busy loop waits each time until it gets the lock back: this took a sixth of the
processor time of a move. Locks of other processes, large jobs and everything that fails are left to the thread.

The price: a page that the system has not in memory is read while the loop waits. A move needs three or four.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from buraco_service.stores.sqlite.schema import begin, primary_code, roll_back
from buraco_service.stores.sqlite.threads import MOST_JOBS, DatabaseThread, Job

_FOR_COMPANY = 0.001
"""Seconds that a batch waits, at most, while there are fewer jobs in it than lately came at a time."""

# Trouble that no single job can be the cause of: trying the jobs one by one would only multiply the waiting.
_TROUBLE_OF_ALL = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_READONLY,
}


class WriterThread(DatabaseThread):
    """Runs jobs that write. A job is answered when its transaction is durable.

    Thread and event loop have the connection by turns: from the hand-over of a batch until it is delivered it is the
    thread's, and what is submitted meanwhile is the next batch.
    """

    def __init__(self, name: str, path: Path, connect: Callable[[Path], sqlite3.Connection], patience: float) -> None:
        super().__init__(name, path, connect)
        self._patience = patience
        self._threads_turn = False
        self._begun = False
        """The batch that the thread has, or gets next, only wants its transaction to be committed."""
        self._company = 1
        """As many jobs as came at a time lately: the last batch, and what was submitted while it was written."""
        self._wait: asyncio.TimerHandle | None = None

    def _gather(self, job: Job[Any]) -> None:
        self._gathered.append(job)
        if not self._threads_turn and len(self._gathered) in (1, self._company):
            self._loop.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        if self._threads_turn or not self._gathered:
            return
        if len(self._gathered) >= self._company or self._stopping:
            self._hand_over_now()
        elif self._wait is None:
            self._wait = self._loop.call_later(_FOR_COMPANY, self._hand_over_now)

    def _hand_over_now(self) -> None:
        if self._wait is not None:
            self._wait.cancel()
            self._wait = None
        batch, self._gathered = self._gathered[:MOST_JOBS], self._gathered[MOST_JOBS:]
        self._begun = self._begin_here(batch)
        self._threads_turn = True
        self._queue.put(batch)

    def _begin_here(self, batch: Sequence[Job[Any]]) -> bool:
        """Run the jobs up to their transaction's end, if all are quick and nothing is in the way."""
        db = self._db
        if db is None or db.in_transaction or not all([job.quick for job in batch]):
            return False
        try:
            for job in batch:
                if job.transaction and not db.in_transaction:
                    db.execute("BEGIN IMMEDIATE")
                job.run(db)
        except Exception:  # noqa: BLE001 (the thread tries again, and tells what comes of it)
            with contextlib.suppress(sqlite3.Error):  # then the thread tries that again, too
                roll_back(db)
            return False
        return True

    def _deliver(self, jobs: Sequence[Job[Any]]) -> None:
        self._threads_turn = False
        self._company = min(len(jobs) + len(self._gathered), MOST_JOBS)
        super()._deliver(jobs)
        if self._stopping:
            self._finish()
        else:
            self._hand_over()

    def _finish(self) -> None:
        if self._gathered or self._threads_turn:
            self._hand_over()
        else:
            self._queue.put(None)

    def _run_batch(self, db: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> None:
        together = [job for job in jobs if job.transaction]
        if not self._begun:
            for job in jobs:
                if not job.transaction:
                    self._run_alone(db, job)
        if not together:
            return
        try:
            if self._begun:
                _commit(db)
            else:
                self._transact(db, together)
        except Exception as error:  # noqa: BLE001 (each of the jobs is told)
            if len(together) > 1 and not _is_trouble_of_all(error):
                for job in together:
                    self._run_alone(db, job)
            else:
                for job in together:
                    job.error = self._translated(error)

    def _run_alone(self, db: sqlite3.Connection, job: Job[Any]) -> None:
        try:
            if job.transaction:
                self._transact(db, [job])
            else:
                job.run(db)
        except Exception as error:  # noqa: BLE001 (the job is told)
            job.error = self._translated(error)

    def _transact(self, db: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> None:
        begin(db, self._patience)
        try:
            for job in jobs:
                job.run(db)
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # then the next batch tries again
                roll_back(db)
            raise
        _commit(db)


def _commit(db: sqlite3.Connection) -> None:
    """End the transaction, one way or the other. Unlike a statement this lets go of Python's lock but once."""
    try:
        db.commit()
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # then the next batch tries again
            roll_back(db)
        raise


def _is_trouble_of_all(error: Exception) -> bool:
    return isinstance(error, sqlite3.Error) and primary_code(error) in _TROUBLE_OF_ALL
