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
from buraco_service.stores.messages import NewMessage, StoredMessage
from buraco_service.stores.notify import Subscriptions, TableSubscription
from buraco_service.stores.sqlite import messages, reads, writes
from buraco_service.stores.sqlite.ledger import SqliteLedger
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
        self.ledger = SqliteLedger(self._read, self._write)
        self._subscriptions = Subscriptions()
        self._foreign_commits = ForeignCommits(
            # On the writing connection, the data version leaves out the commits of this process.
            lambda: writer.submit(reads.data_version, transaction=False, quick=True),
            lambda known: reader.submit(lambda db: reads.changed_revisions(db, known)),
            self._subscriptions.notify,
        )
        self._subscriptions.on_first = self._foreign_commits.watch
        self._subscriptions.on_last = self._foreign_commits.unwatch
        self._foreign_messages = ForeignCommits(
            lambda: writer.submit(reads.data_version, transaction=False, quick=True),
            lambda known: reader.submit(lambda db: messages.newest_messages(db, known)),
            self._subscriptions.notify_message,
        )
        self._subscriptions.on_first_for_messages = self._foreign_messages.watch
        self._subscriptions.on_last_for_messages = self._foreign_messages.unwatch

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
        """Write a new table with revision 1. Raise AlreadyAnswered for a repeated request, TableExists."""
        limits.validate_create(table)
        await self._write(lambda db: writes.create(db, table), lambda _: self._note_commit(table.table_id, 1))

    async def count_owned(self, owner: str, status: str) -> int:
        """Return the number of the owner's tables with this status."""
        limits.validate_owned(owner, status)
        return await self._read(lambda db: reads.count_owned(db, owner, status))

    async def count(self, status: str) -> int:
        """Return the number of tables with this status."""
        limits.validate_status(status)
        return await self._read(lambda db: reads.count(db, status))

    async def load(self, table_id: str) -> StoredTable:
        """Return the newest state of the table. Raise TableNotFound."""
        limits.validate_table_id(table_id)
        return await self._read(lambda db: reads.load(db, table_id))

    async def load_revision(self, table_id: str) -> int:
        """Return the newest revision of the table. Raise TableNotFound."""
        limits.validate_table_id(table_id)
        return await self._read(lambda db: reads.load_revision(db, table_id))

    async def commit(self, commit: Commit) -> int:
        """Write one change and return the new revision.

        Raise, in this order: TableNotFound; AlreadyAnswered for a repeat; RevisionConflict; RevisionsExhausted.
        """
        limits.validate_commit(commit)
        return await self._write(
            lambda db: writes.commit(db, commit),
            lambda revision: self._note_commit(commit.table_id, revision),
            # The end of a deal writes and removes far more than a move.
            quick=not commit.records,
        )

    async def find_answer(self, table_id: str, *request_ids: str) -> StoredAnswer | None:
        """Return the stored answer under one of the request ids, None if there is none."""
        valid = limits.valid_request_ids(table_id, request_ids)
        return await self._read(lambda db: reads.find_answer(db, table_id, valid)) if valid else None

    async def read_log(self, table_id: str, after_revision: int, limit: int) -> list[LogEntry]:
        """Return the first `limit` entries after a revision. Raise TableNotFound; HistoryGone for dropped ones."""
        limits.validate_page(table_id, limit)
        return await self._read(lambda db: reads.read_log(db, table_id, after_revision, limit))

    async def read_records(self, table_id: str, after_deal: int, limit: int) -> list[tuple[int, bytes]]:
        """Return the first `limit` (deal number, payload) after a deal number, in order. Raise TableNotFound."""
        limits.validate_page(table_id, limit)
        return await self._read(lambda db: reads.read_records(db, table_id, after_deal, limit))

    async def list_tables(self, status: str | None, limit: int, after: str | None) -> list[StoredTable]:
        """Return the first `limit` tables of a status (None: of all) after an id (None: from the start), by id."""
        limits.validate_list(status, limit, after)
        return await self._read(lambda db: reads.list_tables(db, status, limit, after))

    async def due(self, now: float, limit: int) -> list[str]:
        """See `Store.due`."""
        limits.validate_due(now, limit)
        return await self._read(lambda db: reads.due(db, now, limit))

    async def expire(self, updated_before: float, limit: int) -> int:
        """Remove up to `limit` tables not written since `updated_before`, and return how many."""
        limits.validate_expire(updated_before, limit)
        removed = await self._write(lambda db: writes.expire(db, updated_before, limit), self._note_removed)
        return len(removed)

    async def append_message(self, message: NewMessage) -> int:
        """Append a message and return its number. Raise TableNotFound, MessageKnown or TooManyMessages."""
        limits.validate_message(message)
        return await self._write(
            lambda db: messages.append_message(db, message),
            lambda number: self._note_message(message.table_id, number),
            quick=True,
        )

    async def read_messages(self, table_id: str, after: int, limit: int) -> list[StoredMessage]:
        """Return the first `limit` messages of the table after a number, in order. Raise TableNotFound."""
        limits.validate_page(table_id, limit)
        return await self._read(lambda db: messages.read_messages(db, table_id, after, limit))

    def subscribe(self, table_id: str, *, messages: bool = False) -> TableSubscription:
        """Return a subscription to changes of this table, which need not exist, and to its messages."""
        return self._subscriptions.subscribe(table_id, messages=messages)

    async def ping(self) -> None:
        """Raise StoreUnavailable unless the write lock can be had. Nothing is written."""
        await self._write(lambda _: None)  # getting the write lock is the whole test

    async def close(self) -> None:
        """Finish the calls under way, refuse new ones, and end all subscriptions. Repeatable."""
        self._subscriptions.close()
        await self._foreign_commits.stop()
        await self._foreign_messages.stop()
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

    def _note_message(self, table_id: str, number: int) -> None:
        self._foreign_messages.note_own_commit(table_id, number)
        self._subscriptions.notify_message(table_id, number)

    def _note_removed(self, table_ids: list[str]) -> None:
        for table_id in table_ids:
            self._note_commit(table_id, None)
