"""The SQLite store's questions: plain functions on a connection inside a transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from buraco_service.stores.base import HistoryGone, LogEntry, Remembered, Stored, TableNotFound
from buraco_service.stores.limits import MAX_NUMBER
from buraco_service.stores.sqlite.schema import log_key

_LOAD = "SELECT table_id, revision, state, status, created_at, updated_at FROM tables WHERE table_id = ?"
_LIST = (
    "SELECT table_id, revision, state, status, created_at, updated_at FROM tables"
    " WHERE table_id > ? ORDER BY table_id LIMIT ?"
)
_LIST_STATUS = (
    "SELECT table_id, revision, state, status, created_at, updated_at FROM tables"
    " WHERE status = ? AND table_id > ? ORDER BY table_id LIMIT ?"
)


def load(db: sqlite3.Connection, table_id: str) -> Stored:
    """See `Store.load`."""
    row = db.execute(_LOAD, (table_id,)).fetchone()
    if row is None:
        raise TableNotFound(table_id)
    return Stored(*row)


def revision(db: sqlite3.Connection, table_id: str) -> int:
    """See `Store.revision`."""
    row = db.execute("SELECT revision FROM tables WHERE table_id = ?", (table_id,)).fetchone()
    if row is None:
        raise TableNotFound(table_id)
    return int(row[0])


def creation(db: sqlite3.Connection, request_ids: Sequence[str]) -> tuple[str, bytes] | None:
    """Return the table that a create with one of these request ids made, and the answer kept with it."""
    row: tuple[str, bytes] | None = db.execute(
        "SELECT table_id, answer FROM requests JOIN tables USING (number)"
        " WHERE requests.revision = 1 AND request_id IN (SELECT value FROM json_each(?))",
        (json.dumps(request_ids),),
    ).fetchone()
    return row


def owned(db: sqlite3.Connection, owner: str, status: str) -> int:
    """See `Store.owned`."""
    row = db.execute("SELECT count(*) FROM tables WHERE owner = ? AND status = ?", (owner, status)).fetchone()
    return int(row[0])


def remembered(db: sqlite3.Connection, table_id: str, request_ids: Sequence[str]) -> Remembered | None:
    """See `Store.remembered`."""
    row = db.execute("SELECT number FROM tables WHERE table_id = ?", (table_id,)).fetchone()
    if row is None:
        made = creation(db, request_ids)
        return None if made is None else Remembered(1, made[1])
    found = db.execute(
        "SELECT revision, answer FROM requests WHERE number = ? AND request_id IN (SELECT value FROM json_each(?))",
        (row[0], json.dumps(request_ids)),
    ).fetchone()
    return None if found is None else Remembered(*found)


def count(db: sqlite3.Connection, status: str) -> int:
    """See `Store.count`."""
    # Of the index alone: about 20 ms for a million tables.
    return int(db.execute("SELECT count(*) FROM tables WHERE status = ?", (status,)).fetchone()[0])


def log(db: sqlite3.Connection, table_id: str, after_revision: int, limit: int) -> list[LogEntry]:
    """See `Store.log`."""
    row = db.execute("SELECT number, revision, log_start FROM tables WHERE table_id = ?", (table_id,)).fetchone()
    if row is None:
        raise TableNotFound(table_id)
    number, newest, start = row
    after = max(after_revision, 0)
    if after >= newest:
        return []
    if after < start - 1:
        raise HistoryGone(start)
    base = log_key(number, 0)
    return [
        LogEntry(key - base, payload)
        for key, payload in db.execute(
            "SELECT key, payload FROM log WHERE key > ? AND key <= ? ORDER BY key LIMIT ?",
            (base + after, base + newest, limit),
        )
    ]


def records(db: sqlite3.Connection, table_id: str, after_deal: int, limit: int) -> list[tuple[int, bytes]]:
    """See `Store.records`."""
    row = db.execute("SELECT number FROM tables WHERE table_id = ?", (table_id,)).fetchone()
    if row is None:
        raise TableNotFound(table_id)
    after = min(max(after_deal, -1), MAX_NUMBER)
    return db.execute(
        "SELECT deal, payload FROM records WHERE number = ? AND deal > ? ORDER BY deal LIMIT ?", (row[0], after, limit)
    ).fetchall()


def list_tables(db: sqlite3.Connection, status: str | None, limit: int, after: str | None) -> list[Stored]:
    """See `Store.list`."""
    # No id is empty, so that every id sorts behind "".
    if status is None:
        rows = db.execute(_LIST, (after or "", limit))
    else:
        rows = db.execute(_LIST_STATUS, (status, after or "", limit))
    return [Stored(*row) for row in rows]


def data_version(db: sqlite3.Connection) -> int:
    """A number that changes when another connection than this one has committed."""
    return int(db.execute("PRAGMA data_version").fetchone()[0])


def moved_on(db: sqlite3.Connection, known: Mapping[str, int | None]) -> list[tuple[str, int | None]]:
    """The tables among these whose revision is another than known, with the one they have. None: there is no table."""
    return db.execute(
        "SELECT asked.key, tables.revision FROM json_each(?) AS asked LEFT JOIN tables ON table_id = asked.key"
        " WHERE tables.revision IS NOT asked.value",
        (json.dumps(known),),
    ).fetchall()
