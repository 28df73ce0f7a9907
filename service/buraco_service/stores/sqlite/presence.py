"""Leases of seats in the SQLite store: the schema, and the queries and changes, each within a transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from buraco_service.stores.base import Lease

SCHEMA = (
    """CREATE TABLE presence (
        number INTEGER NOT NULL,
        seat INTEGER NOT NULL,
        until REAL,
        absent_at REAL,
        PRIMARY KEY (number, seat)
    ) WITHOUT ROWID""",
    "CREATE INDEX presence_by_absence ON presence (absent_at) WHERE absent_at IS NOT NULL",
    # Processes of earlier versions remove tables, too.
    """CREATE TRIGGER presence_of_removed AFTER DELETE ON tables
        BEGIN DELETE FROM presence WHERE number = old.number; END""",
)

_RENEW = (
    "INSERT INTO presence SELECT number, ?, ?, ? FROM tables WHERE table_id = ?"
    " ON CONFLICT (number, seat) DO UPDATE"
    " SET until = ifnull(excluded.until, until), absent_at = ifnull(excluded.absent_at, absent_at)"
)


def renew(db: sqlite3.Connection, leases: Sequence[Lease]) -> None:
    """See `Store.renew_presence`."""
    db.executemany(_RENEW, [(lease.seat, lease.until, lease.absent_at, lease.table_id) for lease in leases])


def find(db: sqlite3.Connection, table_ids: Sequence[str]) -> list[Lease]:
    """See `Store.presence`."""
    rows = db.execute(
        "SELECT table_id, seat, until, absent_at FROM tables JOIN presence USING (number)"
        " WHERE table_id IN (SELECT value FROM json_each(?))",
        (json.dumps(table_ids),),
    )
    return [Lease(*row) for row in rows]


def lapsed(db: sqlite3.Connection, now: float, limit: int) -> list[str]:
    """See `Store.lapsed`."""
    rows = db.execute(
        "SELECT DISTINCT table_id FROM presence JOIN tables USING (number) WHERE absent_at <= ? LIMIT ?", (now, limit)
    )
    return [table_id for (table_id,) in rows]


def end(db: sqlite3.Connection, table_id: str, now: float) -> None:
    """See `Store.end_presence`."""
    db.execute(
        "UPDATE presence SET absent_at = NULL"
        " WHERE number = (SELECT number FROM tables WHERE table_id = ?) AND absent_at <= ?",
        (table_id, now),
    )
