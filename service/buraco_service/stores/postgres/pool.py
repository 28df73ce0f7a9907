"""A pool of connections that run queued work, each one piece at a time.

Work waits in the queue while all connections are busy, but never for a connection to be opened while another is free.
A lost connection is opened again when there is work for it; while that fails, work fails at once and attempts are rare.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeAlias, TypeVar

from asyncpg import Connection

from buraco_service.stores.base import StoreError, StoreUnavailable
from buraco_service.stores.postgres.connect import (
    CALL_SECONDS,
    Session,
    as_store_error,
    error_of_call,
    is_callers_error,
    is_retryable,
    loses_connection,
)

T = TypeVar("T")
Connect: TypeAlias = Callable[[], Awaitable[Session]]

FIRST_BACKOFF, LONGEST_BACKOFF = 0.05, 2.0
"""Seconds between attempts to connect: doubled with each, up to the second."""

_QUEUE_SECONDS = 10.0
_MAX_ATTEMPTS = 6


class Work(ABC):
    """Something to do with a connection, and those who wait for it."""

    repeatable = False
    """Whether it may be run again although it may have been done."""

    def __init__(self) -> None:
        self.submitted_at = asyncio.get_running_loop().time()

    @abstractmethod
    async def run(self, connection: Connection) -> None:
        """Do it, and settle the futures of those who wait. If this raises, none is settled, and it may run again."""

    @abstractmethod
    def fail(self, error: Exception) -> None:
        """Raise the error for those who wait: the work was not done, or nobody knows."""

    def split(self) -> list[Work]:
        """Return smaller pieces of the work, so that an error concerns only one of them; empty if there are none."""
        return []


class Call(Work, Generic[T]):
    """A call of one function with a connection. A StoreError that it raises is its answer."""

    def __init__(self, call: Callable[[Connection], Awaitable[T]], *, repeatable: bool) -> None:
        super().__init__()
        self.repeatable = repeatable
        self.future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._call = call

    async def run(self, connection: Connection) -> None:
        """Call, and settle the future; do nothing if it is cancelled. Raise any error but a StoreError."""
        if self.future.done():  # cancelled
            return
        try:
            result = await self._call(connection)
        except StoreError as error:
            self.fail(error)
        else:
            if not self.future.done():
                self.future.set_result(result)

    def fail(self, error: Exception) -> None:
        """Raise the error for the caller, unless it has a result or was cancelled."""
        if not self.future.done():
            self.future.set_exception(error)


class ConnectionPool:
    """Connections and their queue of work. `take` removes the next piece of work, which may merge several."""

    def __init__(self, size: int, connect: Connect, take: Callable[[deque[Work]], Work] = deque[Work].popleft) -> None:
        self.connect = connect
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._queue: deque[Work] = deque()
        # The last to become idle is the first to get work, so that little work uses few connections.
        self._idle: list[asyncio.Future[None]] = []
        self._closing = False
        self._members = [_Member(self) for _ in range(size)]
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Open the first connection and begin to run work. Raise what connecting raises."""
        await self._members[0].connection()
        self._tasks = [asyncio.create_task(member.run_queue()) for member in reversed(self._members)]
        await asyncio.sleep(0)  # all are idle now, and the connected one is the last to have become so

    def submit(self, work: Work) -> None:
        """Queue the work; after 10 seconds there it fails with StoreUnavailable. Raise that once closing."""
        if self._closing:
            raise StoreUnavailable("the store is closed")
        self._queue.append(work)
        self._wake_one()

    async def close(self) -> None:
        """Finish what is queued, then close the connections. Repeatable."""
        self._closing = True
        while self._idle:
            self._wake_one()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for member in self._members:
            await member.disconnect()

    def pids(self) -> set[int]:
        """Return the server's processes that serve these connections now."""
        return {member.pid for member in self._members if member.pid is not None}

    async def next_work(self) -> Work | None:
        """Wait for the next piece of work and return it; None when the pool closes and nothing is queued."""
        while not self._queue:
            if self._closing:
                return None
            idle: asyncio.Future[None] = self._loop.create_future()
            self._idle.append(idle)
            await idle
        return self._take(self._queue)

    def pass_to_other(self, member: _Member, work: Work) -> bool:
        """Queue the work again for another member. Return False if no other has a connection either."""
        if self._closing or not any(other is not member and other.pid is not None for other in self._members):
            return False
        self._queue.append(work)
        self._wake_one()
        return True

    def _wake_one(self) -> None:
        if self._idle:
            idle = self._idle.pop()
            if not idle.done():
                idle.set_result(None)


class _Member:
    """One connection of a pool, opened when it is needed."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self._loop = asyncio.get_running_loop()
        self._connection: Session | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._last_error = StoreUnavailable("never connected")

    @property
    def pid(self) -> int | None:
        """The server's process for the connection, None without one."""
        return None if self._connection is None or self._connection.is_closed() else self._connection.backend_pid

    async def run_queue(self) -> None:
        """Run work from the queue until the pool closes."""
        while (work := await self._pool.next_work()) is not None:
            if self._loop.time() - work.submitted_at > _QUEUE_SECONDS:
                work.fail(StoreUnavailable("PostgreSQL is too busy"))
                continue
            try:
                await self._run(work)
            except Exception as error:  # noqa: BLE001 (the task has to outlive any work)
                work.fail(error)
            # Callers just answered go first: their next work may be merged with what is queued.
            await asyncio.sleep(0)

    async def connection(self) -> Connection:
        """Return the connection, opened if need be. Raise StoreError, at once until it is time for the next attempt."""
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        if self._loop.time() < self._retry_at:
            raise StoreUnavailable(str(self._last_error)) from self._last_error
        try:
            self._connection = await self._pool.connect()
        except StoreError as error:
            self._last_error = StoreUnavailable(str(error))
            backoff = min(FIRST_BACKOFF * 2**self._failures, LONGEST_BACKOFF)
            self._retry_at = self._loop.time() + backoff * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)
            self._failures = min(self._failures + 1, 30)
            raise
        self._failures = 0
        return self._connection

    async def disconnect(self) -> None:
        """Close the connection in order."""
        if self._connection is not None:
            with contextlib.suppress(Exception):
                await self._connection.close(timeout=1.0)
            self._connection = None

    async def _run(self, work: Work) -> None:
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            connection = await self._connection_for(work)
            if connection is None:
                return
            # Not a timeout of the driver, which would open another connection to cancel the call, and wait for that.
            timer = self._loop.call_later(CALL_SECONDS, connection.terminate)
            try:
                await work.run(connection)
                return
            except Exception as raised:  # noqa: BLE001 (those who wait get it)
                error = error_of_call(raised, connection)
                if loses_connection(error):
                    connection.terminate()
                again = is_retryable(error) or (work.repeatable and connection.is_closed())
                if again and attempt < _MAX_ATTEMPTS and self._loop.time() - work.submitted_at < _QUEUE_SECONDS:
                    continue
                parts = work.split() if is_callers_error(error) else []
                if not parts:
                    work.fail(as_store_error(error))
            finally:
                timer.cancel()
            for part in parts:
                await self._run(part)
            return

    async def _connection_for(self, work: Work) -> Connection | None:
        """Return the connection; None if the work was passed to another member, or has failed for want of one."""
        while True:
            try:
                return await self.connection()
            except StoreError as error:
                # Try twice: a session may be ended while it begins, and a server may be about to accept connections.
                try_again = self._failures == 1
                passed = self._pool.pass_to_other(self, work)
                if not (passed or try_again):
                    work.fail(error)
                    return None
                await asyncio.sleep(self._retry_at - self._loop.time())
                self._retry_at = 0.0
                if passed:
                    return None
