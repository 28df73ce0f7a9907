"""The SQLite store's changes: plain functions on a connection inside a transaction that holds the write lock.

Each decides before it writes. One that refuses has left no trace in the transaction it shares with others.
"""

from __future__ import annotations

import sqlite3

from buraco_service.stores.base import (
    KEPT_REQUESTS,
    PRUNE_STEP,
    AlreadyRemembered,
    Commit,
    NewTable,
    Remembered,
    RevisionConflict,
    StoreError,
    TableExists,
    TableNotFound,
)
from buraco_service.stores.limits import MAX_NUMBER
from buraco_service.stores.sqlite.reads import creation
from buraco_service.stores.sqlite.schema import log_key

_SECONDS_AN_HOUR = 3600

_REMOVE = (
    "DELETE FROM requests WHERE number = ?",
    "DELETE FROM records WHERE number = ?",
    "DELETE FROM tables WHERE number = ?",
)


def create(db: sqlite3.Connection, table: NewTable) -> None:
    """See `Store.create`."""
    if table.request_id is not None:
        # By the request alone: a table that an earlier version created for it has another id.
        made = creation(db, [table.request_id])
        if made is not None:
            raise AlreadyRemembered(made[0], Remembered(1, made[1]))
    if db.execute("SELECT 1 FROM tables WHERE table_id = ?", (table.table_id,)).fetchone():
        raise TableExists(table.table_id)
    number = db.execute(
        "INSERT INTO tables (table_id, revision, status, created_at, updated_at, hour, log_start, state, owner)"
        " VALUES (?, 1, ?, ?, ?, ?, 1, ?, ?)",
        (table.table_id, table.status, table.now, table.now, _hour(table.now), table.state, table.owner),
    ).lastrowid
    assert number is not None
    db.execute("INSERT INTO log VALUES (?, ?)", (log_key(number, 1), table.entry))
    if table.request_id is not None:
        db.execute("INSERT INTO requests VALUES (?, ?, 1, ?)", (number, table.request_id, table.answer))


def commit(db: sqlite3.Connection, step: Commit) -> int:
    """See `Store.commit`."""
    row = db.execute(
        "SELECT tables.number, tables.revision, status, hour, log_start, requests.revision, answer"
        " FROM tables LEFT JOIN requests ON requests.number = tables.number AND request_id = ? WHERE table_id = ?",
        (step.request_id, step.table_id),
    ).fetchone()
    if row is None:
        raise TableNotFound(step.table_id)
    number, current, status, hour, log_start, made, answer = row
    if made is not None:
        raise AlreadyRemembered(step.table_id, Remembered(made, answer))
    if current != step.expected_revision:
        raise RevisionConflict(current)
    if current >= MAX_NUMBER:
        raise StoreError("the table has had as many revisions as there can be")
    revision: int = current + 1

    db.execute(
        "UPDATE tables SET revision = ?, updated_at = ?, state = ? WHERE number = ?",
        (revision, step.now, step.state, number),
    )
    db.execute("INSERT INTO log VALUES (?, ?)", (log_key(number, revision), step.entry))
    if step.request_id is not None:
        db.execute("INSERT INTO requests VALUES (?, ?, ?, ?)", (number, step.request_id, revision, step.answer))
    if step.status != status or _hour(step.now) != hour:
        db.execute("UPDATE tables SET status = ?, hour = ? WHERE number = ?", (step.status, _hour(step.now), number))
    for deal, payload in step.records:
        db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (number, deal, payload))
    if step.keep_log_after is not None:
        _prune_log(db, number, log_start, min(step.keep_log_after, current))
    if revision % PRUNE_STEP == 0 and revision > KEPT_REQUESTS:
        db.execute(
            "DELETE FROM requests WHERE number = ? AND revision BETWEEN 2 AND ?", (number, revision - KEPT_REQUESTS)
        )
    return revision


def expire(db: sqlite3.Connection, updated_before: float, limit: int) -> list[str]:
    """The ids of the tables removed; see `Store.expire`."""
    rows = db.execute(
        "SELECT number, table_id FROM tables WHERE hour <= ? AND updated_at < ? ORDER BY hour LIMIT ?",
        (_hour(updated_before), updated_before, limit),
    ).fetchall()
    for number, _ in rows:
        db.execute("DELETE FROM log WHERE key >= ? AND key < ?", (log_key(number, 0), log_key(number + 1, 0)))
        for statement in _REMOVE:
            db.execute(statement, (number,))
    return [table_id for _, table_id in rows]


def _prune_log(db: sqlite3.Connection, number: int, start: int, last: int) -> None:
    """Drop the entries from `start` to `last`, if they are enough to be worth a page or two."""
    if last - start + 1 < PRUNE_STEP:
        return
    db.execute("DELETE FROM log WHERE key >= ? AND key <= ?", (log_key(number, start), log_key(number, last)))
    db.execute("UPDATE tables SET log_start = ? WHERE number = ?", (last + 1, number))


def _hour(seconds: float) -> int:
    return int(seconds // _SECONDS_AN_HOUR)
