"""The messages beside the tables of the SQLite store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping

from buraco_service.stores.base import MessageKnown, TableNotFound, TooManyMessages
from buraco_service.stores.limits import clamp
from buraco_service.stores.messages import KEPT_MESSAGES, NewMessage, StoredMessage

SCHEMA = (
    """CREATE TABLE messages (
        number INTEGER NOT NULL,
        message INTEGER NOT NULL,
        request_id TEXT NOT NULL,
        sender INTEGER NOT NULL,
        sent_at REAL NOT NULL,
        payload BLOB NOT NULL,
        PRIMARY KEY (number, message)
    ) WITHOUT ROWID""",
    # Processes of the version before, which may still run, remove tables, too.
    """CREATE TRIGGER messages_of_a_removed_table AFTER DELETE ON tables
        BEGIN DELETE FROM messages WHERE number = old.number; END""",
)
"""What the schema has for messages. Of a table's messages all but the newest KEPT_MESSAGES are dropped."""


def append_message(db: sqlite3.Connection, message: NewMessage) -> int:
    """Append a message and return its number. Raise TableNotFound, MessageKnown or TooManyMessages."""
    number = _table_number(db, message.table_id)
    known = db.execute(
        "SELECT message, payload FROM messages WHERE number = ? AND request_id = ?", (number, message.request_id)
    ).fetchone()
    if known is not None:
        raise MessageKnown(StoredMessage(*known))
    sent = db.execute(
        "SELECT sent_at FROM messages WHERE number = ? AND sender = ? ORDER BY message DESC LIMIT 1 OFFSET ?",
        (number, message.sender, message.most - 1),
    ).fetchone()
    if sent is not None and sent[0] > message.since:
        raise TooManyMessages(sent[0])
    (newest,) = db.execute("SELECT ifnull(max(message), 0) FROM messages WHERE number = ?", (number,)).fetchone()
    appended: int = newest + 1
    db.execute(
        "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)",
        (number, appended, message.request_id, message.sender, message.now, message.payload),
    )
    db.execute("DELETE FROM messages WHERE number = ? AND message <= ?", (number, appended - KEPT_MESSAGES))
    return appended


def read_messages(db: sqlite3.Connection, table_id: str, after: int, limit: int) -> list[StoredMessage]:
    """Return the first `limit` messages after a number, in order. Raise TableNotFound."""
    rows = db.execute(
        "SELECT message, payload FROM messages WHERE number = ? AND message > ? ORDER BY message LIMIT ?",
        (_table_number(db, table_id), clamp(after, 0), limit),
    )
    return [StoredMessage(*row) for row in rows]


def newest_messages(db: sqlite3.Connection, known: Mapping[str, int | None]) -> list[tuple[str, int | None]]:
    """Return those of the `known` tables with another newest message than the known one, and theirs; None: none."""
    return db.execute(
        "SELECT key, newest FROM ("
        " SELECT asked.key, asked.value AS known, (SELECT max(message) FROM messages WHERE number = tables.number)"
        " AS newest FROM json_each(?) AS asked LEFT JOIN tables ON table_id = asked.key"
        ") WHERE newest IS NOT known",
        (json.dumps(known),),
    ).fetchall()


def _table_number(db: sqlite3.Connection, table_id: str) -> int:
    row = db.execute("SELECT number FROM tables WHERE table_id = ?", (table_id,)).fetchone()
    if row is None:
        raise TableNotFound(table_id)
    return int(row[0])
