"""The changes of the SQLite store, each within a transaction that holds the write lock.

Each decides before it writes: one that raises has changed nothing in the transaction, which it shares with others.
"""

from __future__ import annotations

import sqlite3

from buraco_service.stores.base import (
    KEPT_ANSWERS,
    PRUNE_STEP,
    AlreadyAnswered,
    Commit,
    NewTable,
    RevisionConflict,
    RevisionsExhausted,
    StoredAnswer,
    TableExists,
    TableNotFound,
)
from buraco_service.stores.limits import MAX_NUMBER, hour_of
from buraco_service.stores.sqlite.reads import find_create
from buraco_service.stores.sqlite.schema import log_key

_DELETE_TABLE = (
    "DELETE FROM requests WHERE number = ?",
    "DELETE FROM records WHERE number = ?",
    "DELETE FROM tables WHERE number = ?",
)


def create(db: sqlite3.Connection, table: NewTable) -> None:
    """Write a new table with revision 1. Raise AlreadyAnswered for a repeated request, TableExists."""
    if table.request_id is not None:
        # By the request alone: a table that an earlier version created for it has another id.
        created = find_create(db, [table.request_id])
        if created is not None:
            raise AlreadyAnswered(created[0], StoredAnswer(1, created[1]))
    if db.execute("SELECT 1 FROM tables WHERE table_id = ?", (table.table_id,)).fetchone():
        raise TableExists(table.table_id)
    number = db.execute(
        "INSERT INTO tables (table_id, revision, status, created_at, updated_at, hour, log_start, state, owner,"
        " due_at) VALUES (?, 1, ?, ?, ?, ?, 1, ?, ?, ?)",
        (
            *(table.table_id, table.status, table.now, table.now, hour_of(table.now), table.state, table.owner),
            table.due_at,
        ),
    ).lastrowid
    assert number is not None
    db.execute("INSERT INTO log VALUES (?, ?)", (log_key(number, 1), table.entry))
    if table.request_id is not None:
        db.execute("INSERT INTO requests VALUES (?, ?, 1, ?)", (number, table.request_id, table.answer))


def commit(db: sqlite3.Connection, change: Commit) -> int:
    """Write one change and return the new revision.

    Raise, in this order: TableNotFound; AlreadyAnswered for a repeat; RevisionConflict; RevisionsExhausted.
    """
    row = db.execute(
        "SELECT tables.number, tables.revision, status, hour, log_start, due_at, requests.revision, answer"
        " FROM tables LEFT JOIN requests ON requests.number = tables.number AND request_id = ? WHERE table_id = ?",
        (change.request_id, change.table_id),
    ).fetchone()
    if row is None:
        raise TableNotFound(change.table_id)
    number, current, status, hour, log_start, due_at, answered, answer = row
    if answered is not None:
        raise AlreadyAnswered(change.table_id, StoredAnswer(answered, answer))
    if current != change.expected_revision:
        raise RevisionConflict(current)
    if current >= MAX_NUMBER:
        raise RevisionsExhausted
    revision: int = current + 1

    db.execute(
        "UPDATE tables SET revision = ?, updated_at = ?, state = ? WHERE number = ?",
        (revision, change.now, change.state, number),
    )
    db.execute("INSERT INTO log VALUES (?, ?)", (log_key(number, revision), change.entry))
    if change.request_id is not None:
        db.execute("INSERT INTO requests VALUES (?, ?, ?, ?)", (number, change.request_id, revision, change.answer))
    if change.status != status or hour_of(change.now) != hour:
        db.execute(
            "UPDATE tables SET status = ?, hour = ? WHERE number = ?", (change.status, hour_of(change.now), number)
        )
    if change.due_at != due_at:
        db.execute("UPDATE tables SET due_at = ? WHERE number = ?", (change.due_at, number))
    for deal, payload in change.records:
        db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (number, deal, payload))
    if change.keep_log_after is not None:
        _prune_log(db, number, log_start, min(change.keep_log_after, current))
    if revision % PRUNE_STEP == 0 and revision > KEPT_ANSWERS:
        db.execute(
            "DELETE FROM requests WHERE number = ? AND revision BETWEEN 2 AND ?", (number, revision - KEPT_ANSWERS)
        )
    return revision


def expire(db: sqlite3.Connection, updated_before: float, limit: int) -> list[str]:
    """Remove up to `limit` tables not written since `updated_before`, and return their ids.

    Tables for which something is due are spared. Those untouched longest, to the hour, go first, each with its log,
    records and answers.
    """
    rows = db.execute(
        "SELECT number, table_id FROM tables WHERE hour <= ? AND updated_at < ? AND due_at IS NULL"
        " ORDER BY hour LIMIT ?",
        (hour_of(updated_before), updated_before, limit),
    ).fetchall()
    for number, _ in rows:
        db.execute("DELETE FROM log WHERE key >= ? AND key < ?", (log_key(number, 0), log_key(number + 1, 0)))
        for statement in _DELETE_TABLE:
            db.execute(statement, (number,))
    return [table_id for _, table_id in rows]


def _prune_log(db: sqlite3.Connection, number: int, start: int, last: int) -> None:
    """Drop the entries from `start` to `last` once they are PRUNE_STEP or more."""
    if last - start + 1 < PRUNE_STEP:
        return
    db.execute("DELETE FROM log WHERE key >= ? AND key <= ?", (log_key(number, start), log_key(number, last)))
    db.execute("UPDATE tables SET log_start = ? WHERE number = ?", (last + 1, number))
