"""The labels of tables in the SQLite store. They go with their table, by a trigger."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from buraco_service.stores.base import StoredTable


def replace_labels(db: sqlite3.Connection, number: int, table_id: str, labels: Iterable[str]) -> None:
    """Give the table of this number these labels alone."""
    db.execute("DELETE FROM labels WHERE number = ?", (number,))
    db.executemany("INSERT INTO labels VALUES (?, ?, ?)", [(label, table_id, number) for label in labels])


def list_labelled(db: sqlite3.Connection, label: str, limit: int, after: str | None) -> list[StoredTable]:
    """Return the first `limit` tables with a label after an id (None: from the start), by id."""
    rows = db.execute(
        "SELECT labels.table_id, revision, state, status, created_at, updated_at FROM labels JOIN tables USING (number)"
        " WHERE label = ? AND labels.table_id > ? ORDER BY labels.table_id LIMIT ?",
        (label, after or "", limit),
    )
    return [StoredTable(*row) for row in rows]
