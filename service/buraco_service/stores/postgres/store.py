"""Tables in a PostgreSQL database, which any number of processes may share.

A write is acknowledged when its transaction is committed; whether that survives the end of the server is the server's
setting (`synchronous_commit`), and one that does not gets a warning in the log. A process holds a few connections: one
that commits (see `commits`), some for all other calls, one that listens (see `listen`).

A role that may read and write the tables in the schema `buraco` is enough; `buraco migrate` needs one that may make it.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from asyncpg import Connection

from buraco_service.observing import logs
from buraco_service.stores import limits
from buraco_service.stores.base import (
    Commit,
    LogEntry,
    NewTable,
    Remembered,
    Stored,
    StoreUnavailable,
)
from buraco_service.stores.notify import TableSubscription, Watchers
from buraco_service.stores.postgres import calls
from buraco_service.stores.postgres.commits import CommitBatch, gather
from buraco_service.stores.postgres.connect import connect, parse
from buraco_service.stores.postgres.lanes import Call, Connect, Lanes
from buraco_service.stores.postgres.listen import CHANNEL, Listener
from buraco_service.stores.postgres.schema import check_schema

T = TypeVar("T")

CONNECTIONS = 4
"""Of a process, for all calls but commits; there are one more for these and one that listens."""


class PostgresStore:
    """A store in a database (see `base.Store`). Made by `open`."""

    def __init__(self, connect: Connect) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = False
        self._commits = Lanes(1, connect, gather)
        self._calls = Lanes(CONNECTIONS, connect)
        self._watchers = Watchers(_nothing, _nothing)
        # Commits wake those who wait here without a detour; other writes are heard of as if another had made them.
        self._listener = Listener(connect, self._commits.pids, self._watchers.wake, self._watchers.wake_all)

    @classmethod
    async def open(cls, rest: str) -> PostgresStore:
        """Open the database that `postgresql://` and the rest name.

        Raises StoreUrlError for what cannot be a URL, StoreIncompatible for a database whose schema is missing, old or
        too new, or from which notifications do not come, StoreUnavailable for one that cannot be reached or written.
        """
        store = cls(partial(connect, parse(rest)))
        try:
            await store._start()
        except BaseException:
            await store.close()
            raise
        return store

    async def _start(self) -> None:
        await self._calls.start()
        await self._call(check_schema)
        await self.ping()
        await self._commits.start()
        await self._listener.start()
        await self._listener.prove(lambda payload: self._call(lambda db: calls.notify(db, CHANNEL, payload)))
        for name in await self._call(calls.settings_that_lose_commits):
            logs.get_logger().warning("store not durable", setting=name, value="off")

    async def create(self, table: NewTable) -> None:
        """See `Store.create`."""
        limits.check_create(table)
        await self._call(lambda db: calls.create(db, table), repeatable=False)

    async def owned(self, owner: str, status: str) -> int:
        """See `Store.owned`."""
        limits.check_owned(owner, status)
        return await self._call(lambda db: calls.owned(db, owner, status))

    async def count(self, status: str) -> int:
        """See `Store.count`."""
        limits.check_status(status)
        return await self._call(lambda db: calls.count(db, status))

    async def load(self, table_id: str) -> Stored:
        """See `Store.load`."""
        limits.check_possible(table_id)
        return await self._call(lambda db: calls.load(db, table_id))

    async def revision(self, table_id: str) -> int:
        """See `Store.revision`."""
        limits.check_possible(table_id)
        return await self._call(lambda db: calls.revision(db, table_id))

    async def commit(self, commit: Commit) -> int:
        """See `Store.commit`."""
        limits.check_commit(commit)
        limits.check_possible(commit.table_id)
        self._check_usable()
        future: asyncio.Future[int] = self._loop.create_future()
        self._commits.submit(CommitBatch([(commit, future)], self._watchers.wake))
        return await future

    async def remembered(self, table_id: str, *request_ids: str) -> Remembered | None:
        """See `Store.remembered`."""
        possible = limits.possible_requests(table_id, request_ids)
        return await self._call(lambda db: calls.remembered(db, table_id, possible)) if possible else None

    async def log(self, table_id: str, after_revision: int, limit: int) -> builtins.list[LogEntry]:
        """See `Store.log`."""
        limits.check_page(limit)
        limits.check_possible(table_id)
        return await self._call(lambda db: calls.log(db, table_id, after_revision, limit))

    async def records(self, table_id: str, after_deal: int, limit: int) -> builtins.list[tuple[int, bytes]]:
        """See `Store.records`."""
        limits.check_page(limit)
        limits.check_possible(table_id)
        return await self._call(lambda db: calls.records(db, table_id, after_deal, limit))

    async def list(self, status: str | None, limit: int, after: str | None) -> builtins.list[Stored]:
        """See `Store.list`."""
        limits.check_list(status, limit, after)
        return await self._call(lambda db: calls.list_tables(db, status, limit, after))

    async def expire(self, updated_before: float, limit: int) -> int:
        """See `Store.expire`."""
        limits.check_time(updated_before)
        limits.check_page(limit)
        return await self._call(lambda db: calls.expire(db, updated_before, limit), repeatable=False)

    def subscribe(self, table_id: str) -> TableSubscription:
        """See `Store.subscribe`."""
        return self._watchers.subscribe(table_id)

    async def ping(self) -> None:
        """See `Store.ping`."""
        await self._call(calls.check_writable)

    async def close(self) -> None:
        """See `Store.close`."""
        self._closing = True
        await asyncio.gather(self._commits.close(), self._calls.close())
        await self._listener.close()
        self._watchers.close()

    async def _call(self, call: Callable[[Connection], Awaitable[T]], *, repeatable: bool = True) -> T:
        self._check_usable()
        work = Call(call, repeatable=repeatable)
        self._calls.submit(work)
        return await work.future

    def _check_usable(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("a store belongs to the event loop that opened it")
        if self._closing:
            raise StoreUnavailable("the store is closed")


def _nothing(table_id: str) -> None:
    """All processes hear of all tables, so that a first or last subscription changes nothing."""
