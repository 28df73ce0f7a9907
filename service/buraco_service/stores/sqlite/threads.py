"""The threads of the SQLite store: one connection each, and jobs in batches.

Jobs that arrive together share a transaction. For writes this is group commit: one fsync makes the whole batch durable.
The event loop hears of a batch in one call, so that a busy store costs it few interruptions.
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

MOST_JOBS = 128
"""Jobs in one transaction. It bounds how long the first of them waits for the last."""


class Job(Generic[T]):
    """One call on the thread's connection, and the future that waits for it."""

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
        """Call, and note what came of it. Errors that are not the job's own answer go through."""
        try:
            self.result, self.error = self.call(db), None
        except StoreError as error:
            self.error = error

    def deliver(self) -> None:
        """Tell those who wait. Runs on the event loop; nobody may wait any more."""
        # Who asked goes on before anybody else hears of it: what it remembers of its change spares the others a read.
        if not self.future.done():
            if self.error is None:
                self.future.set_result(self.result)  # type: ignore[arg-type]
            else:
                self.future.set_exception(self.error)
        if self.error is None and self.on_success is not None:
            self.on_success(self.result)  # type: ignore[arg-type]


class DatabaseThread(ABC):
    """A thread that owns one connection. All methods are for the event loop that started it."""

    def __init__(self, name: str, path: Path, connect: Callable[[Path], sqlite3.Connection]) -> None:
        self._path = path
        self._connect = connect
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._stopping = False
        self._db: sqlite3.Connection | None = None
        self._gathered: list[Job[Any]] = []
        self._queue: queue.SimpleQueue[list[Job[Any]] | None] = queue.SimpleQueue()
        # A daemon: a process that forgets to close its store can still end. Nothing acknowledged is lost by that.
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    async def start(self) -> None:
        """Open the connection. Raises what opening it raised, trouble with the database as StoreUnavailable."""
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
        """Run the call on the connection, inside a transaction unless told otherwise.

        `quick`: it reads and writes few rows, so that the event loop may run it where the thread's kind does so.
        `on_success` is called with the result even if nobody waits for the future any more.
        The future raises what the call raised. A call raises StoreError only before it changes anything.
        """
        if self._stopping:
            raise StoreUnavailable("the store is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        self._gather(Job(call, future, on_success, transaction, quick))
        return future

    async def stop(self) -> None:
        """Finish what was submitted, close the connection and end the thread. Repeatable."""
        if not self._stopping:
            self._stopping = True
            self._finish()
        await asyncio.shield(self._ended)
        self._thread.join()

    @abstractmethod
    def _run_batch(self, db: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> None:
        """Give every job its result or error."""

    def _gather(self, job: Job[Any]) -> None:
        if not self._gathered:
            # All tasks that are ready now get to submit first; then the thread is woken once.
            self._loop.call_soon(self._hand_over)
        self._gathered.append(job)

    def _hand_over(self) -> None:
        if self._gathered:
            self._queue.put(self._gathered)
            self._gathered = []

    def _finish(self) -> None:
        """Have the thread end after what was submitted."""
        self._hand_over()
        self._queue.put(None)

    def _deliver(self, jobs: Sequence[Job[Any]]) -> None:
        """Tell those who wait. Runs on the event loop."""
        for job in jobs:
            job.deliver()

    def _main(self) -> None:
        try:
            db = self._db = self._connect(self._path)
        except Exception as error:  # noqa: BLE001 (it is raised where the thread is started)
            self._tell(_fail, self._opened, self._translated(error))
            return
        self._tell(_succeed, self._opened)
        try:
            self._work(db)
        finally:
            with contextlib.suppress(sqlite3.Error):
                db.close()
            self._tell(_succeed, self._ended)

    def _work(self, db: sqlite3.Connection) -> None:
        more = True
        while more:
            jobs = self._queue.get()
            if jobs is None:
                return
            while len(jobs) < MOST_JOBS and not self._queue.empty():
                next_jobs = self._queue.get()
                if next_jobs is None:
                    more = False
                    break
                jobs += next_jobs
            for first in range(0, len(jobs), MOST_JOBS):
                batch = jobs[first : first + MOST_JOBS]
                try:
                    self._run_batch(db, batch)
                except Exception as error:  # noqa: BLE001 (the thread has to outlive any job)
                    for job in batch:
                        job.error = self._translated(error)
                if not self._tell(self._deliver, batch):
                    return

    def _translated(self, error: Exception) -> Exception:
        """Return the error as callers see it: trouble with the database is StoreUnavailable, a mistake stays itself."""
        away = (sqlite3.OperationalError, MemoryError)  # the latter is how Python passes on that SQLite has none left
        if isinstance(error, away) or type(error) in {sqlite3.DatabaseError, sqlite3.InternalError}:
            unavailable = StoreUnavailable(f"SQLite: {self._path}: {str(error) or 'out of memory'}")
            unavailable.__cause__ = error
            return unavailable
        return error

    def _tell(self, callback: Callable[..., None], *arguments: Any) -> bool:
        """Have the event loop call back; False when it is closed, so that nobody is there any more."""
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            return False
        return True


class ReaderThread(DatabaseThread):
    """Runs jobs that only read. A batch sees one state of the database, not older than its youngest job."""

    def _run_batch(self, db: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> None:
        roll_back(db)  # a rollback that failed is owed
        db.execute("BEGIN")
        try:
            for job in jobs:
                job.run(db)
        finally:
            roll_back(db)


def _succeed(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _fail(future: asyncio.Future[None], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
