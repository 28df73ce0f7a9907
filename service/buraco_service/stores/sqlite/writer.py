"""The thread that writes to the SQLite store's file, with group commit.

The statements of quick jobs run on the event loop, and the thread waits for the disk. Python releases its lock four
times a statement, and a thread beside a busy loop waits each time to get it back, which took a sixth of the processor
time of a move. Locks of other processes, large jobs and everything that fails are left to the thread.

The price: the loop waits for a page that is not in the system's cache. A move needs three or four pages.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from buraco_service.stores.sqlite.schema import begin, open_writer, primary_code, roll_back
from buraco_service.stores.sqlite.threads import MAX_BATCH, DatabaseThread, Job

BATCH_WAIT_SECONDS = 0.001
"""The longest that a batch waits for more jobs while it is smaller than the one before."""

# Errors that no single job can cause: running the jobs one by one would only multiply the waiting.
_BATCH_ERRORS = {
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
    """Runs jobs that write, and delivers each when its transaction is durable.

    Thread and event loop take turns with the connection: it is the thread's from the dispatch of a batch until its
    delivery, and what is submitted meanwhile is the next batch.
    """

    def __init__(self, name: str, path: Path, busy_timeout: float) -> None:
        super().__init__(name, path, partial(open_writer, busy_timeout=busy_timeout))
        self._busy_timeout = busy_timeout
        self._thread_busy = False
        self._batch_begun = False
        """Whether the dispatched batch has run on the event loop, so that the thread only commits it."""
        self._usual_size = 1
        """The size of the last batch, and of what was submitted while it was written."""
        self._timer: asyncio.TimerHandle | None = None

    def _enqueue(self, job: Job[Any]) -> None:
        self._pending.append(job)
        if not self._thread_busy and len(self._pending) in (1, self._usual_size):
            self._loop.call_soon(self._dispatch)

    def _dispatch(self) -> None:
        if self._thread_busy or not self._pending:
            return
        if len(self._pending) >= self._usual_size or self._stopping:
            self._dispatch_now()
        elif self._timer is None:
            self._timer = self._loop.call_later(BATCH_WAIT_SECONDS, self._dispatch_now)

    def _dispatch_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._pending = self._pending[:MAX_BATCH], self._pending[MAX_BATCH:]
        self._batch_begun = self._begin_on_loop(batch)
        self._thread_busy = True
        self._queue.put(batch)

    def _begin_on_loop(self, batch: Sequence[Job[Any]]) -> bool:
        """Run the batch up to its commit. Return False, with nothing done, unless all jobs are quick and succeed."""
        db = self._db
        if db is None or db.in_transaction or not all([job.quick for job in batch]):
            return False
        try:
            for job in batch:
                if job.transaction and not db.in_transaction:
                    db.execute("BEGIN IMMEDIATE")
                job.run(db)
        except Exception:  # noqa: BLE001 (the thread tries again and reports the error)
            with contextlib.suppress(sqlite3.Error):  # the thread tries this again, too
                roll_back(db)
            return False
        return True

    def _deliver(self, jobs: Sequence[Job[Any]]) -> None:
        self._thread_busy = False
        self._usual_size = min(len(jobs) + len(self._pending), MAX_BATCH)
        super()._deliver(jobs)
        if self._stopping:
            self._finish()
        else:
            self._dispatch()

    def _finish(self) -> None:
        if self._pending or self._thread_busy:
            self._dispatch()
        else:
            self._queue.put(None)

    def _run_batch(self, db: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> None:
        together = [job for job in jobs if job.transaction]
        if not self._batch_begun:
            for job in jobs:
                if not job.transaction:
                    self._run_alone(db, job)
        if not together:
            return
        try:
            self._transact(db, together, begun=self._batch_begun)
        except Exception as error:  # noqa: BLE001 (each of the jobs gets it)
            if len(together) > 1 and not _concerns_batch(error):
                for job in together:
                    self._run_alone(db, job)
            else:
                for job in together:
                    job.error = self._as_store_error(error)

    def _run_alone(self, db: sqlite3.Connection, job: Job[Any]) -> None:
        try:
            if job.transaction:
                self._transact(db, [job])
            else:
                job.run(db)
        except Exception as error:  # noqa: BLE001 (the job gets it)
            job.error = self._as_store_error(error)

    def _transact(self, db: sqlite3.Connection, jobs: Sequence[Job[Any]], *, begun: bool = False) -> None:
        """Run the jobs in one transaction, unless that has been done, and commit or roll back."""
        try:
            if not begun:
                begin(db, self._busy_timeout)
                for job in jobs:
                    job.run(db)
            db.commit()  # unlike a statement, this releases Python's lock only once
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # the next batch tries this again
                roll_back(db)
            raise


def _concerns_batch(error: Exception) -> bool:
    return isinstance(error, sqlite3.Error) and primary_code(error) in _BATCH_ERRORS
