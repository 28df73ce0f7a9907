"""Tables in one SQLite file, which several processes of one machine may share.

A write is acknowledged when its transaction is in the write-ahead log on the disk (synchronous FULL), so that it
survives the end of the process and of the machine. One thread reads (see `threads`), one writes (see `writer`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from buraco_service.stores import limits
from buraco_service.stores.base import Commit, LogEntry, NewTable, StoredAnswer, StoredTable
from buraco_service.stores.notify import Subscriptions, TableSubscription
from buraco_service.stores.sqlite import reads, writes
from buraco_service.stores.sqlite.poll import ForeignCommits
from buraco_service.stores.sqlite.schema import open_reader
from buraco_service.stores.sqlite.threads import ReaderThread
from buraco_service.stores.sqlite.writer import WriterThread

T = TypeVar("T")


class SqliteStore:
    """A store in a file (see `base.Store`). Made by `open`."""

    def __init__(self, writer: WriterThread, reader: ReaderThread) -> None:
        self._writer = writer
        self._reader = reader
        self._subscriptions = Subscriptions()
        self._foreign_commits = ForeignCommits(
            # On the writing connection, the data version leaves out the commits of this process.
            lambda: writer.submit(reads.data_version, transaction=False, quick=True),
            lambda known: reader.submit(lambda db: reads.changed_revisions(db, known)),
            self._subscriptions.notify,
        )
        self._subscriptions.on_first = self._foreign_commits.watch
        self._subscriptions.on_last = self._foreign_commits.unwatch

    @classmethod
    async def open(cls, path: Path, *, busy_timeout: float = 5.0) -> SqliteStore:
        """Open the file, and make it if it is not there. Its directory has to exist.

        A write waits up to `busy_timeout` seconds for other processes before it raises StoreUnavailable.
        Raise StoreIncompatible for a file that this version cannot use, StoreUnavailable if it cannot be opened,
        written, or locked in time.
        """
        writer = WriterThread("buraco-store-writer", path, busy_timeout)
        await writer.start()
        try:
            reader = ReaderThread("buraco-store-reader", path, partial(open_reader, busy_timeout=busy_timeout))
            await reader.start()
        except BaseException:
            await writer.stop()
            raise
        return cls(writer, reader)

    async def create(self, table: NewTable) -> None:
        """See `Store.create`."""
        limits.validate_create(table)
        await self._write(lambda db: writes.create(db, table), lambda _: self._note_commit(table.table_id, 1))

    async def count_owned(self, owner: str, status: str) -> int:
        """See `Store.count_owned`."""
        limits.validate_owned(owner, status)
        return await self._read(lambda db: reads.count_owned(db, owner, status))

    async def count(self, status: str) -> int:
        """See `Store.count`."""
        limits.validate_status(status)
        return await self._read(lambda db: reads.count(db, status))

    async def load(self, table_id: str) -> StoredTable:
        """See `Store.load`."""
        limits.validate_table_id(table_id)
        return await self._read(lambda db: reads.load(db, table_id))

    async def load_revision(self, table_id: str) -> int:
        """See `Store.load_revision`."""
        limits.validate_table_id(table_id)
        return await self._read(lambda db: reads.load_revision(db, table_id))

    async def commit(self, commit: Commit) -> int:
        """See `Store.commit`."""
        limits.validate_commit(commit)
        return await self._write(
            lambda db: writes.commit(db, commit),
            lambda revision: self._note_commit(commit.table_id, revision),
            # The end of a deal writes and removes far more than a move.
            quick=not commit.records,
        )

    async def find_answer(self, table_id: str, *request_ids: str) -> StoredAnswer | None:
        """See `Store.find_answer`."""
        valid = limits.valid_request_ids(table_id, request_ids)
        return await self._read(lambda db: reads.find_answer(db, table_id, valid)) if valid else None

    async def read_log(self, table_id: str, after_revision: int, limit: int) -> list[LogEntry]:
        """See `Store.read_log`."""
        limits.validate_page(table_id, limit)
        return await self._read(lambda db: reads.read_log(db, table_id, after_revision, limit))

    async def read_records(self, table_id: str, after_deal: int, limit: int) -> list[tuple[int, bytes]]:
        """See `Store.read_records`."""
        limits.validate_page(table_id, limit)
        return await self._read(lambda db: reads.read_records(db, table_id, after_deal, limit))

    async def list_tables(self, status: str | None, limit: int, after: str | None) -> list[StoredTable]:
        """See `Store.list_tables`."""
        limits.validate_list(status, limit, after)
        return await self._read(lambda db: reads.list_tables(db, status, limit, after))

    async def expire(self, updated_before: float, limit: int) -> int:
        """See `Store.expire`."""
        limits.validate_expire(updated_before, limit)
        removed = await self._write(lambda db: writes.expire(db, updated_before, limit), self._note_removed)
        return len(removed)

    def subscribe(self, table_id: str) -> TableSubscription:
        """See `Store.subscribe`."""
        return self._subscriptions.subscribe(table_id)

    async def ping(self) -> None:
        """See `Store.ping`."""
        await self._write(lambda _: None)  # getting the write lock is the whole test

    async def close(self) -> None:
        """See `Store.close`."""
        self._subscriptions.close()
        await self._foreign_commits.stop()
        # The writer goes last: the last connection to close a database tidies its write-ahead log.
        await self._reader.stop()
        await self._writer.stop()

    async def _read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        self._subscriptions.check_open()
        return await self._reader.submit(query)

    async def _write(
        self,
        change: Callable[[sqlite3.Connection], T],
        on_success: Callable[[T], None] | None = None,
        *,
        quick: bool = False,
    ) -> T:
        self._subscriptions.check_open()
        return await self._writer.submit(change, on_success, quick=quick)

    def _note_commit(self, table_id: str, revision: int | None) -> None:
        self._foreign_commits.note_own_commit(table_id, revision)
        self._subscriptions.notify(table_id, revision)

    def _note_removed(self, table_ids: list[str]) -> None:
        for table_id in table_ids:
            self._note_commit(table_id, None)
