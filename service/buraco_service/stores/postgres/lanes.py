"""Held connections that work off a queue, each one piece of work at a time.

Work that arrives while all are busy waits, and so does nobody's statement for a connection to be made. A connection
that was lost is made anew when there is work for it; while that fails, work is refused at once and attempts are rare.
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
    is_end,
    is_own,
    is_passing,
    of_call,
    translated,
)

T = TypeVar("T")
Connect: TypeAlias = Callable[[], Awaitable[Session]]

FIRST_BACKOFF, LONGEST_BACKOFF = 0.05, 2.0
"""Seconds between attempts to connect: doubled with each, up to the second."""

_QUEUE_SECONDS = 10.0
_ATTEMPTS = 6


class Work(ABC):
    """What a connection is wanted for, and those who wait for it."""

    repeatable = False
    """Whether it may be done again although it may have been done before."""

    def __init__(self) -> None:
        self.since = asyncio.get_running_loop().time()

    @abstractmethod
    async def run(self, connection: Connection) -> None:
        """Do it and tell those who wait. Whatever this raises, nobody has been told of anything."""

    @abstractmethod
    def fail(self, error: Exception) -> None:
        """Tell those who wait that it was not done, or that nobody knows."""

    def parts(self) -> list[Work]:
        """The same in smaller pieces, so that what is wrong with one does not concern the others; else empty."""
        return []


class Call(Work, Generic[T]):
    """One function of a connection. A StoreError that it raises is its answer."""

    def __init__(self, call: Callable[[Connection], Awaitable[T]], *, repeatable: bool) -> None:
        super().__init__()
        self.repeatable = repeatable
        self.future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._call = call

    async def run(self, connection: Connection) -> None:
        """See `Work.run`."""
        if self.future.done():  # nobody waits for it any more
            return
        try:
            result = await self._call(connection)
        except StoreError as error:
            self.fail(error)
        else:
            if not self.future.done():
                self.future.set_result(result)

    def fail(self, error: Exception) -> None:
        """See `Work.fail`."""
        if not self.future.done():
            self.future.set_exception(error)


class Lanes:
    """So many connections and their queue. `take` makes one piece of work of the first in it and those behind."""

    def __init__(self, count: int, connect: Connect, take: Callable[[deque[Work]], Work] = deque[Work].popleft) -> None:
        self.connect = connect
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._queue: deque[Work] = deque()
        # The last to become idle is the first to get work, so that little work takes few connections.
        self._idle: list[asyncio.Future[None]] = []
        self._closing = False
        self._lanes = [_Lane(self) for _ in range(count)]
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Make the first connection and take up work. Raises what connecting raises."""
        await self._lanes[0].connected()
        self._tasks = [asyncio.create_task(lane.work_off()) for lane in reversed(self._lanes)]
        await asyncio.sleep(0)  # all are idle now, and the connected one is the last to have become so

    def submit(self, work: Work) -> None:
        """Queue it. Raises StoreUnavailable once closing."""
        if self._closing:
            raise StoreUnavailable("the store is closed")
        self._queue.append(work)
        self._rouse()

    async def close(self) -> None:
        """Finish what is queued, then close the connections. Repeatable."""
        self._closing = True
        while self._idle:
            self._rouse()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for lane in self._lanes:
            await lane.disconnect()

    def pids(self) -> set[int]:
        """The server's processes that serve these connections now."""
        return {lane.pid for lane in self._lanes if lane.pid is not None}

    async def next_work(self) -> Work | None:
        """The next piece of work; None at the end."""
        while not self._queue:
            if self._closing:
                return None
            idle: asyncio.Future[None] = self._loop.create_future()
            self._idle.append(idle)
            await idle
        return self._take(self._queue)

    def leave_to_others(self, lane: _Lane, work: Work) -> bool:
        """Let another lane do the work; False when no other has a connection either."""
        if self._closing or not any(other is not lane and other.pid is not None for other in self._lanes):
            return False
        self._queue.append(work)
        self._rouse()
        return True

    def _rouse(self) -> None:
        if self._idle:
            idle = self._idle.pop()
            if not idle.done():
                idle.set_result(None)


class _Lane:
    """One connection, and its work one after the other."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._loop = asyncio.get_running_loop()
        self._connection: Session | None = None
        self._failures = 0
        self._not_before = 0.0
        self._trouble = StoreUnavailable("never connected")

    @property
    def pid(self) -> int | None:
        """The server's process for the connection, None without one."""
        return None if self._connection is None or self._connection.is_closed() else self._connection.backend_pid

    async def work_off(self) -> None:
        """Take work from the queue until it ends."""
        while (work := await self._lanes.next_work()) is not None:
            if self._loop.time() - work.since > _QUEUE_SECONDS:
                work.fail(StoreUnavailable("PostgreSQL is too busy"))
                continue
            try:
                await self._do(work)
            except Exception as error:  # noqa: BLE001 (the lane has to outlive any work)
                work.fail(error)
            # Those who have just been answered go first: what they want next may go with what waits.
            await asyncio.sleep(0)

    async def connected(self) -> Connection:
        """The connection, made if need be. Raises StoreError, at once while it is too early to try again."""
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        if self._loop.time() < self._not_before:
            raise StoreUnavailable(str(self._trouble)) from self._trouble
        try:
            self._connection = await self._lanes.connect()
        except StoreError as error:
            self._trouble = StoreUnavailable(str(error))
            backoff = min(FIRST_BACKOFF * 2**self._failures, LONGEST_BACKOFF)
            self._not_before = self._loop.time() + backoff * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)
            self._failures = min(self._failures + 1, 30)
            raise
        self._failures = 0
        return self._connection

    async def disconnect(self) -> None:
        """Say goodbye to the server."""
        if self._connection is not None:
            with contextlib.suppress(Exception):
                await self._connection.close(timeout=1.0)
            self._connection = None

    async def _do(self, work: Work) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            connection = await self._connection_for(work)
            if connection is None:
                return
            # Not a timeout of the driver, which would connect once more to ask for the end, and wait for that.
            timer = self._loop.call_later(CALL_SECONDS, connection.terminate)
            try:
                await work.run(connection)
                return
            except Exception as raised:  # noqa: BLE001 (those who wait are told)
                error = of_call(raised, connection)
                if is_end(error):
                    connection.terminate()
                again = is_passing(error) or (work.repeatable and connection.is_closed())
                if again and attempt < _ATTEMPTS and self._loop.time() - work.since < _QUEUE_SECONDS:
                    continue
                parts = work.parts() if is_own(error) else []
                if not parts:
                    work.fail(translated(error))
            finally:
                timer.cancel()
            for part in parts:
                await self._do(part)
            return

    async def _connection_for(self, work: Work) -> Connection | None:
        """The connection; None when the work is somebody else's now, or has failed for want of one."""
        while True:
            try:
                return await self.connected()
            except StoreError as error:
                # A session may be ended while it begins, and a server be about to take connections: once more, then.
                once_more = self._failures == 1
                left = self._lanes.leave_to_others(self, work)
                if not (left or once_more):
                    work.fail(error)
                    return None
                await asyncio.sleep(self._not_before - self._loop.time())
                self._not_before = 0.0
                if left:
                    return None
