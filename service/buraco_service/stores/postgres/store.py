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
from buraco_service.stores.messages import NewMessage, StoredMessage
from buraco_service.stores.notify import Subscriptions, TableSubscription
from buraco_service.stores.postgres import calls, messages
from buraco_service.stores.postgres.commits import CommitBatch, merge_commits
from buraco_service.stores.postgres.connect import connect, parse_url
from buraco_service.stores.postgres.ledger import PostgresLedger
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
        self.ledger = PostgresLedger(self._call)
        # All processes are notified of all tables, so that a first or last subscription changes nothing.
        self._subscriptions = Subscriptions()
        # Commits notify the subscriptions here directly; notifications of other writes come by the listener.
        self._listener = Listener(connect, self._commits.pids, self._notify, self._subscriptions.notify_all)

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
        """Write a new table with revision 1. Raise AlreadyAnswered for a repeated request, TableExists."""
        limits.validate_create(table)
        await self._call(lambda db: calls.create(db, table), repeatable=False)

    async def count_owned(self, owner: str, status: str) -> int:
        """Return the number of the owner's tables with this status."""
        limits.validate_owned(owner, status)
        return await self._call(lambda db: calls.count_owned(db, owner, status))

    async def count(self, status: str) -> int:
        """Return the number of tables with this status."""
        limits.validate_status(status)
        return await self._call(lambda db: calls.count(db, status))

    async def load(self, table_id: str) -> StoredTable:
        """Return the newest state of the table. Raise TableNotFound."""
        limits.validate_table_id(table_id)
        return await self._call(lambda db: calls.load(db, table_id))

    async def load_revision(self, table_id: str) -> int:
        """Return the newest revision of the table. Raise TableNotFound."""
        limits.validate_table_id(table_id)
        return await self._call(lambda db: calls.load_revision(db, table_id))

    async def commit(self, commit: Commit) -> int:
        """Write one change and return the new revision.

        Raise, in this order: TableNotFound; AlreadyAnswered for a repeat; RevisionConflict; RevisionsExhausted.
        """
        limits.validate_commit(commit)
        self._subscriptions.check_open()
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._commits.submit(CommitBatch([(commit, future)], self._subscriptions.notify))
        return await future

    async def find_answer(self, table_id: str, *request_ids: str) -> StoredAnswer | None:
        """Return the stored answer under one of the request ids, None if there is none."""
        valid = limits.valid_request_ids(table_id, request_ids)
        return await self._call(lambda db: calls.find_answer(db, table_id, valid)) if valid else None

    async def read_log(self, table_id: str, after_revision: int, limit: int) -> list[LogEntry]:
        """Return the first `limit` entries after a revision. Raise TableNotFound; HistoryGone for dropped ones."""
        limits.validate_page(table_id, limit)
        return await self._call(lambda db: calls.read_log(db, table_id, after_revision, limit))

    async def read_records(self, table_id: str, after_deal: int, limit: int) -> list[tuple[int, bytes]]:
        """Return the first `limit` (deal number, payload) after a deal number, in order. Raise TableNotFound."""
        limits.validate_page(table_id, limit)
        return await self._call(lambda db: calls.read_records(db, table_id, after_deal, limit))

    async def list_tables(self, status: str | None, limit: int, after: str | None) -> list[StoredTable]:
        """Return the first `limit` tables of a status (None: of all) after an id (None: from the start), by id."""
        limits.validate_list(status, limit, after)
        return await self._call(lambda db: calls.list_tables(db, status, limit, after))

    async def due(self, now: float, limit: int) -> list[str]:
        """See `Store.due`."""
        limits.validate_due(now, limit)
        return await self._call(lambda db: calls.due(db, now, limit))

    async def expire(self, updated_before: float, limit: int) -> int:
        """Remove up to `limit` tables not written since `updated_before`, and return how many."""
        limits.validate_expire(updated_before, limit)
        return await self._call(lambda db: calls.expire(db, updated_before, limit), repeatable=False)

    async def append_message(self, message: NewMessage) -> int:
        """Append a message and return its number. Raise TableNotFound, MessageKnown or TooManyMessages."""
        limits.validate_message(message)
        return await self._call(lambda db: messages.append_message(db, message), repeatable=False)

    async def read_messages(self, table_id: str, after: int, limit: int) -> list[StoredMessage]:
        """Return the first `limit` messages of the table after a number, in order. Raise TableNotFound."""
        limits.validate_page(table_id, limit)
        return await self._call(lambda db: messages.read_messages(db, table_id, after, limit))

    def subscribe(self, table_id: str, *, messages: bool = False) -> TableSubscription:
        """Return a subscription to changes of this table, which need not exist, and to its messages."""
        return self._subscriptions.subscribe(table_id, messages=messages)

    async def ping(self) -> None:
        """Raise StoreUnavailable if the server does not answer or is read only. Nothing is written."""
        await self._call(calls.check_writable)

    async def close(self) -> None:
        """Finish the calls under way, refuse new ones, and end all subscriptions. Repeatable."""
        self._subscriptions.close()
        await asyncio.gather(self._commits.close(), self._calls.close())
        await self._listener.close()

    def _notify(self, table_id: str, revision: int | None) -> None:
        if revision is not None and revision < 0:
            self._subscriptions.notify_message(table_id, -revision)
        else:
            self._subscriptions.notify(table_id, revision)

    async def _call(self, call: Callable[[Connection], Awaitable[T]], *, repeatable: bool = True) -> T:
        self._subscriptions.check_open()
        work = Call(call, repeatable=repeatable)
        self._calls.submit(work)
        return await work.future
