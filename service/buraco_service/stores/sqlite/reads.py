"""The queries of the SQLite store, each within a transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from buraco_service.stores.base import HistoryGone, LogEntry, StoredAnswer, StoredTable, TableNotFound
from buraco_service.stores.limits import clamp
from buraco_service.stores.sqlite.schema import log_key

_SELECT_TABLES = "SELECT table_id, revision, state, status, created_at, updated_at FROM tables"


def load(db: sqlite3.Connection, table_id: str) -> StoredTable:
    """Return the newest state of the table. Raise TableNotFound."""
    return StoredTable(*_table_row(db, f"{_SELECT_TABLES} WHERE table_id = ?", table_id))


def load_revision(db: sqlite3.Connection, table_id: str) -> int:
    """Return the newest revision of the table. Raise TableNotFound."""
    (revision,) = _table_row(db, "SELECT revision FROM tables WHERE table_id = ?", table_id)
    return int(revision)


def find_create(db: sqlite3.Connection, request_ids: Sequence[str]) -> tuple[str, bytes] | None:
    """Return the id of the table that a create with one of these request ids made, and its answer; None if none did."""
    row: tuple[str, bytes] | None = db.execute(
        "SELECT table_id, answer FROM requests JOIN tables USING (number)"
        " WHERE requests.revision = 1 AND request_id IN (SELECT value FROM json_each(?))",
        (json.dumps(request_ids),),
    ).fetchone()
    return row


def count_owned(db: sqlite3.Connection, owner: str, status: str) -> int:
    """Return the number of the owner's tables with this status."""
    row = db.execute("SELECT count(*) FROM tables WHERE owner = ? AND status = ?", (owner, status)).fetchone()
    return int(row[0])


def find_answer(db: sqlite3.Connection, table_id: str, request_ids: Sequence[str]) -> StoredAnswer | None:
    """Return the stored answer under one of the request ids, None if there is none."""
    row = db.execute("SELECT number FROM tables WHERE table_id = ?", (table_id,)).fetchone()
    if row is None:
        created = find_create(db, request_ids)
        return None if created is None else StoredAnswer(1, created[1])
    found = db.execute(
        "SELECT revision, answer FROM requests WHERE number = ? AND request_id IN (SELECT value FROM json_each(?))",
        (row[0], json.dumps(request_ids)),
    ).fetchone()
    return None if found is None else StoredAnswer(*found)


def count(db: sqlite3.Connection, status: str) -> int:
    """Return the number of tables with this status."""
    # Reads the index alone: about 20 ms for a million tables.
    return int(db.execute("SELECT count(*) FROM tables WHERE status = ?", (status,)).fetchone()[0])


def read_log(db: sqlite3.Connection, table_id: str, after_revision: int, limit: int) -> list[LogEntry]:
    """Return the first `limit` entries after a revision. Raise TableNotFound; HistoryGone for dropped ones."""
    number, newest, start = _table_row(
        db, "SELECT number, revision, log_start FROM tables WHERE table_id = ?", table_id
    )
    after = max(after_revision, 0)
    if after >= newest:
        return []
    if after < start - 1:
        raise HistoryGone(start)
    base = log_key(number, 0)
    rows = db.execute(
        "SELECT key, payload FROM log WHERE key > ? AND key <= ? ORDER BY key LIMIT ?",
        (base + after, base + newest, limit),
    )
    return [LogEntry(key - base, payload) for key, payload in rows]


def read_records(db: sqlite3.Connection, table_id: str, after_deal: int, limit: int) -> list[tuple[int, bytes]]:
    """Return the first `limit` (deal number, payload) after a deal number, in order. Raise TableNotFound."""
    (number,) = _table_row(db, "SELECT number FROM tables WHERE table_id = ?", table_id)
    return db.execute(
        "SELECT deal, payload FROM records WHERE number = ? AND deal > ? ORDER BY deal LIMIT ?",
        (number, clamp(after_deal, -1), limit),
    ).fetchall()


def list_tables(db: sqlite3.Connection, status: str | None, limit: int, after: str | None) -> list[StoredTable]:
    """Return the first `limit` tables of a status (None: of all) after an id (None: from the start), by id."""
    # Every id is greater than "".
    if status is None:
        rows = db.execute(f"{_SELECT_TABLES} WHERE table_id > ? ORDER BY table_id LIMIT ?", (after or "", limit))
    else:
        rows = db.execute(
            f"{_SELECT_TABLES} WHERE status = ? AND table_id > ? ORDER BY table_id LIMIT ?",
            (status, after or "", limit),
        )
    return [StoredTable(*row) for row in rows]


def due(db: sqlite3.Connection, now: float, limit: int) -> list[str]:
    """See `Store.due`."""
    rows = db.execute("SELECT table_id FROM tables WHERE due_at <= ? ORDER BY due_at LIMIT ?", (now, limit))
    return [table_id for (table_id,) in rows]


def data_version(db: sqlite3.Connection) -> int:
    """Return a number that changes when a connection other than this one has committed."""
    return int(db.execute("PRAGMA data_version").fetchone()[0])


def changed_revisions(db: sqlite3.Connection, known: Mapping[str, int | None]) -> list[tuple[str, int | None]]:
    """Return those of the `known` tables with another revision than the known one, and theirs; None: no table."""
    return db.execute(
        "SELECT asked.key, tables.revision FROM json_each(?) AS asked LEFT JOIN tables ON table_id = asked.key"
        " WHERE tables.revision IS NOT asked.value",
        (json.dumps(known),),
    ).fetchall()


def _table_row(db: sqlite3.Connection, query: str, table_id: str) -> tuple[Any, ...]:
    """Return the table's row by a query with the id as its parameter. Raise TableNotFound."""
    row: tuple[Any, ...] | None = db.execute(query, (table_id,)).fetchone()
    if row is None:
        raise TableNotFound(table_id)
    return row
