"""Tables in a PostgreSQL database, which any number of processes may share.

A write is acknowledged when its transaction is committed. Whether that survives the end of the server depends on the
server's settings (such as `synchronous_commit`); one that does not is logged as a warning. A process holds a few
connections: one that commits (see `commits`), some for all other calls, one that listens (see `listen`).

The role needs to read and write the tables in the schema `buraco`; that of `buraco migrate` needs to create the schema.
"""

from __future__ import annotations

import asyncio
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
    StoredAnswer,
    StoredTable,
)
from buraco_service.stores.notify import Subscriptions, TableSubscription
from buraco_service.stores.postgres import calls
from buraco_service.stores.postgres.commits import CommitBatch, merge_commits
from buraco_service.stores.postgres.connect import connect, parse_url
from buraco_service.stores.postgres.listen import CHANNEL, Listener
from buraco_service.stores.postgres.pool import Call, Connect, ConnectionPool
from buraco_service.stores.postgres.schema import check_schema

T = TypeVar("T")

CONNECTIONS = 4
"""Connections of a process for all calls but commits, which have one of their own, as the listener has."""


class PostgresStore:
    """A store in a database (see `base.Store`). Made by `open`."""

    def __init__(self, connect: Connect) -> None:
        self._commits = ConnectionPool(1, connect, merge_commits)
        self._calls = ConnectionPool(CONNECTIONS, connect)
        # All processes are notified of all tables, so that a first or last subscription changes nothing.
        self._subscriptions = Subscriptions()
        # Commits notify the subscriptions here directly; notifications of other writes come by the listener.
        self._listener = Listener(
            connect, self._commits.pids, self._subscriptions.notify, self._subscriptions.notify_all
        )

    @classmethod
    async def open(cls, rest: str) -> PostgresStore:
        """Open the database that `postgresql://` and the rest name.

        Raise StoreUrlError for a malformed URL, StoreIncompatible for a database whose schema is missing, old or too
        new, or from which notifications do not come, StoreUnavailable for one that cannot be reached or written.
        """
        store = cls(partial(connect, parse_url(rest)))
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
        await self._listener.verify(lambda payload: self._call(lambda db: calls.notify(db, CHANNEL, payload)))
        for name in await self._call(calls.undurable_settings):
            logs.get_logger().warning("store not durable", setting=name, value="off")

    async def create(self, table: NewTable) -> None:
        """See `Store.create`."""
        limits.validate_create(table)
        await self._call(lambda db: calls.create(db, table), repeatable=False)

    async def count_owned(self, owner: str, status: str) -> int:
        """See `Store.count_owned`."""
        limits.validate_owned(owner, status)
        return await self._call(lambda db: calls.count_owned(db, owner, status))

    async def count(self, status: str) -> int:
        """See `Store.count`."""
        limits.validate_status(status)
        return await self._call(lambda db: calls.count(db, status))

    async def load(self, table_id: str) -> StoredTable:
        """See `Store.load`."""
        limits.validate_table_id(table_id)
        return await self._call(lambda db: calls.load(db, table_id))

    async def load_revision(self, table_id: str) -> int:
        """See `Store.load_revision`."""
        limits.validate_table_id(table_id)
        return await self._call(lambda db: calls.load_revision(db, table_id))

    async def commit(self, commit: Commit) -> int:
        """See `Store.commit`."""
        limits.validate_commit(commit)
        self._subscriptions.check_open()
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._commits.submit(CommitBatch([(commit, future)], self._subscriptions.notify))
        return await future

    async def find_answer(self, table_id: str, *request_ids: str) -> StoredAnswer | None:
        """See `Store.find_answer`."""
        valid = limits.valid_request_ids(table_id, request_ids)
        return await self._call(lambda db: calls.find_answer(db, table_id, valid)) if valid else None

    async def read_log(self, table_id: str, after_revision: int, limit: int) -> list[LogEntry]:
        """See `Store.read_log`."""
        limits.validate_page(table_id, limit)
        return await self._call(lambda db: calls.read_log(db, table_id, after_revision, limit))

    async def read_records(self, table_id: str, after_deal: int, limit: int) -> list[tuple[int, bytes]]:
        """See `Store.read_records`."""
        limits.validate_page(table_id, limit)
        return await self._call(lambda db: calls.read_records(db, table_id, after_deal, limit))

    async def list_tables(self, status: str | None, limit: int, after: str | None) -> list[StoredTable]:
        """See `Store.list_tables`."""
        limits.validate_list(status, limit, after)
        return await self._call(lambda db: calls.list_tables(db, status, limit, after))

    async def expire(self, updated_before: float, limit: int) -> int:
        """See `Store.expire`."""
        limits.validate_expire(updated_before, limit)
        return await self._call(lambda db: calls.expire(db, updated_before, limit), repeatable=False)

    def subscribe(self, table_id: str) -> TableSubscription:
        """See `Store.subscribe`."""
        return self._subscriptions.subscribe(table_id)

    async def ping(self) -> None:
        """See `Store.ping`."""
        await self._call(calls.check_writable)

    async def close(self) -> None:
        """See `Store.close`."""
        self._subscriptions.close()
        await asyncio.gather(self._commits.close(), self._calls.close())
        await self._listener.close()

    async def _call(self, call: Callable[[Connection], Awaitable[T]], *, repeatable: bool = True) -> T:
        self._subscriptions.check_open()
        work = Call(call, repeatable=repeatable)
        self._calls.submit(work)
        return await work.future
