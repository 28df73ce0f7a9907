"""Tables in one SQLite file, which several processes of one machine may share.

A write is acknowledged when its transaction is in the write-ahead log on the disk (synchronous FULL), so that it
survives the end of the process and of the machine. One thread reads, see `threads`, one writes, see
`writer`.
"""

from __future__ import annotations

import asyncio
import builtins
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from buraco_service.stores import limits
from buraco_service.stores.base import Commit, LogEntry, NewTable, Remembered, Stored, StoreUnavailable
from buraco_service.stores.notify import TableSubscription, Watchers
from buraco_service.stores.sqlite import reads, writes
from buraco_service.stores.sqlite.poll import ForeignCommits
from buraco_service.stores.sqlite.schema import open_reader, open_writer
from buraco_service.stores.sqlite.threads import ReaderThread
from buraco_service.stores.sqlite.writer import WriterThread

T = TypeVar("T")


class SqliteStore:
    """A store in a file (see `base.Store`). Made by `open`."""

    def __init__(self, writer: WriterThread, reader: ReaderThread) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = False
        self._writer = writer
        self._reader = reader
        self._foreign = ForeignCommits(
            # Asked on the writing connection, the data version leaves out what this process commits itself.
            lambda: writer.submit(reads.data_version, transaction=False, quick=True),
            lambda known: reader.submit(lambda db: reads.moved_on(db, known)),
            self._wake,
        )
        self._watchers = Watchers(self._foreign.watch, self._foreign.unwatch)

    @classmethod
    async def open(cls, path: Path, *, busy_timeout: float = 5.0) -> SqliteStore:
        """Open the file, and make it if it is not there. Its directory has to exist.

        `busy_timeout` is how many seconds a write waits for another process before it raises StoreUnavailable.
        Raises StoreIncompatible for a file that this version cannot use, StoreUnavailable when it cannot be opened,
        written, or locked in time.
        """
        writer = WriterThread("buraco-store-writer", path, partial(open_writer, patience=busy_timeout), busy_timeout)
        await writer.start()
        try:
            reader = ReaderThread("buraco-store-reader", path, partial(open_reader, patience=busy_timeout))
            await reader.start()
        except BaseException:
            await writer.stop()
            raise
        return cls(writer, reader)

    async def create(self, table: NewTable) -> None:
        """See `Store.create`."""
        limits.check_create(table)
        await self._write(lambda db: writes.create(db, table), lambda _: self._changed_here(table.table_id, 1))

    async def owned(self, owner: str, status: str) -> int:
        """See `Store.owned`."""
        limits.check_owned(owner, status)
        return await self._read(lambda db: reads.owned(db, owner, status))

    async def count(self, status: str) -> int:
        """See `Store.count`."""
        limits.check_status(status)
        return await self._read(lambda db: reads.count(db, status))

    async def load(self, table_id: str) -> Stored:
        """See `Store.load`."""
        limits.check_possible(table_id)
        return await self._read(lambda db: reads.load(db, table_id))

    async def revision(self, table_id: str) -> int:
        """See `Store.revision`."""
        limits.check_possible(table_id)
        return await self._read(lambda db: reads.revision(db, table_id))

    async def commit(self, commit: Commit) -> int:
        """See `Store.commit`."""
        limits.check_commit(commit)
        limits.check_possible(commit.table_id)
        return await self._write(
            lambda db: writes.commit(db, commit),
            lambda revision: self._changed_here(commit.table_id, revision),
            # The end of a deal writes, and removes, far more than a move.
            quick=not commit.records,
        )

    async def remembered(self, table_id: str, *request_ids: str) -> Remembered | None:
        """See `Store.remembered`."""
        possible = limits.possible_requests(table_id, request_ids)
        return await self._read(lambda db: reads.remembered(db, table_id, possible)) if possible else None

    async def log(self, table_id: str, after_revision: int, limit: int) -> builtins.list[LogEntry]:
        """See `Store.log`."""
        limits.check_page(limit)
        limits.check_possible(table_id)
        return await self._read(lambda db: reads.log(db, table_id, after_revision, limit))

    async def records(self, table_id: str, after_deal: int, limit: int) -> builtins.list[tuple[int, bytes]]:
        """See `Store.records`."""
        limits.check_page(limit)
        limits.check_possible(table_id)
        return await self._read(lambda db: reads.records(db, table_id, after_deal, limit))

    async def list(self, status: str | None, limit: int, after: str | None) -> builtins.list[Stored]:
        """See `Store.list`."""
        limits.check_list(status, limit, after)
        return await self._read(lambda db: reads.list_tables(db, status, limit, after))

    async def expire(self, updated_before: float, limit: int) -> int:
        """See `Store.expire`."""
        limits.check_time(updated_before)
        limits.check_page(limit)
        removed = await self._write(
            lambda db: writes.expire(db, updated_before, limit),
            self._removed_here,
        )
        return len(removed)

    def subscribe(self, table_id: str) -> TableSubscription:
        """See `Store.subscribe`."""
        return self._watchers.subscribe(table_id)

    async def ping(self) -> None:
        """See `Store.ping`."""
        await self._write(lambda _: None)  # getting the write lock is the whole test

    async def close(self) -> None:
        """See `Store.close`."""
        self._closing = True
        self._watchers.close()
        await self._foreign.stop()
        # The writer goes last: whoever closes a database last tidies its write-ahead log.
        await self._reader.stop()
        await self._writer.stop()

    async def _read(self, question: Callable[[sqlite3.Connection], T]) -> T:
        self._check_usable()
        return await self._reader.submit(question)

    async def _write(
        self,
        change: Callable[[sqlite3.Connection], T],
        on_success: Callable[[T], None] | None = None,
        *,
        quick: bool = False,
    ) -> T:
        self._check_usable()
        return await self._writer.submit(change, on_success, quick=quick)

    def _check_usable(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("a store belongs to the event loop that opened it")
        if self._closing:
            raise StoreUnavailable("the store is closed")

    def _changed_here(self, table_id: str, revision: int | None) -> None:
        self._foreign.committed_here(table_id, revision)
        self._wake(table_id, revision)

    def _wake(self, table_id: str, revision: int | None) -> None:
        self._watchers.wake(table_id, revision)

    def _removed_here(self, table_ids: builtins.list[str]) -> None:
        for table_id in table_ids:
            self._changed_here(table_id, None)
