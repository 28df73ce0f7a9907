"""The threads of the SQLite store: each has one connection and runs jobs in batches.

Jobs that arrive together share a transaction. For writes this is group commit: one fsync makes the whole batch durable.
A batch is delivered in one callback of the event loop, so that a busy store interrupts it seldom.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from buraco_service.stores.base import StoreError, StoreUnavailable
from buraco_service.stores.sqlite.schema import roll_back

T = TypeVar("T")

MAX_BATCH = 128
"""The most jobs in one transaction, which bounds how long the first of them waits for the last."""


class Job(Generic[T]):
    """A function to call with the thread's connection, and the future of its result."""

    __slots__ = ("call", "error", "future", "on_success", "quick", "result", "transaction")

    def __init__(
        self,
        call: Callable[[sqlite3.Connection], T],
        future: asyncio.Future[T],
        on_success: Callable[[T], None] | None,
        transaction: bool,
        quick: bool,
    ) -> None:
        self.call = call
        self.future = future
        self.on_success = on_success
        self.transaction = transaction
        self.quick = quick
        self.result: T | None = None
        self.error: Exception | None = None

    def run(self, db: sqlite3.Connection) -> None:
        """Call, and keep the result or the StoreError. Raise any other error, which may concern the whole batch."""
        try:
            self.result, self.error = self.call(db), None
        except StoreError as error:
            self.error = error

    def deliver(self) -> None:
        """Settle the future unless it is cancelled, then call `on_success`. Runs on the event loop."""
        # The caller goes on before any subscriber: the copy it caches spares the others a read.
        if not self.future.done():
            if self.error is None:
                self.future.set_result(self.result)  # type: ignore[arg-type]
            else:
                self.future.set_exception(self.error)
        if self.error is None and self.on_success is not None:
            self.on_success(self.result)  # type: ignore[arg-type]


class DatabaseThread(ABC):
    """A thread that owns one connection. All public methods are for the event loop that started it."""

    def __init__(self, name: str, path: Path, connect: Callable[[Path], sqlite3.Connection]) -> None:
        self._path = path
        self._connect = connect
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._stopping = False
        self._db: sqlite3.Connection | None = None
        self._pending: list[Job[Any]] = []
        self._queue: queue.SimpleQueue[list[Job[Any]] | None] = queue.SimpleQueue()
        # A daemon: a process that forgets to close its store can still end. Nothing acknowledged is lost by that.
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    async def start(self) -> None:
        """Open the connection. Raise what opening it raised, and StoreUnavailable for trouble with the database."""
        self._thread.start()
        try:
            await self._opened
        except asyncio.CancelledError:
            self._queue.put(None)
            raise

    def submit(
        self,
        call: Callable[[sqlite3.Connection], T],
        on_success: Callable[[T], None] | None = None,
        *,
        transaction: bool = True,
        quick: bool = False,
    ) -> asyncio.Future[T]:
        """Run the call on the connection, by default inside a transaction.

        `quick`: it reads and writes few rows, so that the writer's thread may leave it to the event loop.
        `on_success` is called with the result even if the future is cancelled. The future raises what the call raised,
        and StoreUnavailable for trouble with the database, also that of another job of its batch. A call may run again
        after its transaction was rolled back; it raises StoreError only before it changes anything. Raise
        StoreUnavailable once stopped.
        """
        if self._stopping:
            raise StoreUnavailable("the store is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        self._enqueue(Job(call, future, on_success, transaction, quick))
        return future

    async def stop(self) -> None:
        """Finish what was submitted, close the connection and end the thread. Repeatable; only after a good `start`."""
        if not self._stopping:
            self._stopping = True
            self._finish()
        await asyncio.shield(self._ended)
        self._thread.join()

    @abstractmethod
    def _run_batch(self, db: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> None:
        """Give every job its result or error."""

    def _enqueue(self, job: Job[Any]) -> None:
        if not self._pending:
            # All tasks that are ready now get to submit first; then the thread is woken once.
            self._loop.call_soon(self._dispatch)
        self._pending.append(job)

    def _dispatch(self) -> None:
        if self._pending:
            self._queue.put(self._pending)
            self._pending = []

    def _finish(self) -> None:
        """Make the thread end after what was submitted."""
        self._dispatch()
        self._queue.put(None)

    def _deliver(self, jobs: Sequence[Job[Any]]) -> None:
        for job in jobs:
            job.deliver()

    def _main(self) -> None:
        try:
            db = self._db = self._connect(self._path)
        except Exception as error:  # noqa: BLE001 (`start` raises it)
            self._call_loop(_settle, self._opened, self._as_store_error(error))
            return
        self._call_loop(_settle, self._opened)
        try:
            self._work(db)
        finally:
            with contextlib.suppress(sqlite3.Error):
                db.close()
            self._call_loop(_settle, self._ended)

    def _work(self, db: sqlite3.Connection) -> None:
        more = True
        while more:
            jobs = self._queue.get()
            if jobs is None:
                return
            while len(jobs) < MAX_BATCH and not self._queue.empty():
                next_jobs = self._queue.get()
                if next_jobs is None:
                    more = False
                    break
                jobs += next_jobs
            for first in range(0, len(jobs), MAX_BATCH):
                batch = jobs[first : first + MAX_BATCH]
                try:
                    self._run_batch(db, batch)
                except Exception as error:  # noqa: BLE001 (the thread has to outlive any job)
                    for job in batch:
                        job.error = self._as_store_error(error)
                if not self._call_loop(self._deliver, batch):
                    return

    def _as_store_error(self, error: Exception) -> Exception:
        """Return StoreUnavailable for trouble with the database, and a programming error unchanged."""
        unavailable = (sqlite3.OperationalError, MemoryError)  # MemoryError: SQLite ran out of memory
        if isinstance(error, unavailable) or type(error) in {sqlite3.DatabaseError, sqlite3.InternalError}:
            store_error = StoreUnavailable(f"SQLite: {self._path}: {str(error) or 'out of memory'}")
            store_error.__cause__ = error
            return store_error
        return error

    def _call_loop(self, callback: Callable[..., None], *arguments: Any) -> bool:
        """Have the event loop call back. Return False if it is closed, so that nobody waits any more."""
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            return False
        return True


class ReaderThread(DatabaseThread):
    """Runs jobs that only read. A batch sees one state of the database, not older than its youngest job."""

    def _run_batch(self, db: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> None:
        roll_back(db)  # in case an earlier rollback failed
        db.execute("BEGIN")
        try:
            for job in jobs:
                job.run(db)
        finally:
            roll_back(db)


def _settle(future: asyncio.Future[None], error: Exception | None = None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
