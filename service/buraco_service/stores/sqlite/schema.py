"""The database file of the SQLite store: its schema, and how it is opened."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from buraco_service.stores.base import StoreIncompatible
from buraco_service.stores.sqlite import messages

T = TypeVar("T")

SCHEMA_VERSION = 8
"""The schema that this version reads and writes."""
_APPLICATION_ID = 0x42755263

# The write-ahead log is copied into the database after so many pages (16 MB): often enough for a quick start after a
# crash, seldom enough that a page written again and again is copied once.
_CHECKPOINT_PAGES = 4000
_WAL_BYTES_KEPT = 64 * 1024 * 1024
# The cache of each of the two connections. The system caches the rest of the file.
_CACHE_KIB = 8 * 1024

# Seconds between two attempts to get the write lock. SQLite itself soon sleeps 100 ms at a time, and then hardly ever
# meets the short gap between two transactions of another busy process.
_SHORTEST_SLEEP, _LONGEST_SLEEP = 0.0005, 0.003

# An ordinary commit touches no index: `status`, `hour` and `due_at` are written only when they change. `hour` is
# updated_at in hours, so that expire needs no index that changes with every move.
# The log's key is the table's number and the revision in one integer (see `log_key`), so that a table's entries are
# stored together, and an entry of up to a page is stored in its row.
_SCHEMA = """
CREATE TABLE tables (
    number INTEGER PRIMARY KEY,
    table_id TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    status TEXT NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    hour INTEGER NOT NULL,
    log_start INTEGER NOT NULL,
    state BLOB NOT NULL
);
CREATE INDEX tables_by_status ON tables (status, table_id);
CREATE INDEX tables_by_hour ON tables (hour);
CREATE TABLE creations (
    number INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL UNIQUE,
    answer BLOB NOT NULL
);
CREATE TABLE log (
    key INTEGER PRIMARY KEY,
    payload BLOB NOT NULL
);
CREATE TABLE requests (
    number INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    answer BLOB NOT NULL,
    PRIMARY KEY (number, request_id)
) WITHOUT ROWID;
CREATE TABLE records (
    number INTEGER NOT NULL,
    deal INTEGER NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (number, deal)
) WITHOUT ROWID
"""
# What each version added to the one before it; a new database goes through all of them.
_ADDED = {
    2: (
        "ALTER TABLE tables ADD COLUMN owner TEXT",
        "CREATE INDEX tables_by_owner ON tables (owner, status) WHERE owner IS NOT NULL",
    ),
    3: (
        # The request of a table's first revision, which had a table of its own.
        "CREATE UNIQUE INDEX requests_of_creates ON requests (request_id) WHERE revision = 1",
        "INSERT INTO requests SELECT number, request_id, 1, answer FROM creations",
        "DROP TABLE creations",
        # For processes of the version before, which may still run: they know answers only without a fingerprint.
        """CREATE VIEW creations AS SELECT number, request_id,
            CASE WHEN substr(answer, 1, 1) = x'00' THEN substr(answer, 18) ELSE answer END AS answer
            FROM requests WHERE revision = 1""",
        """CREATE TRIGGER create_of_an_earlier_version INSTEAD OF INSERT ON creations
            BEGIN INSERT INTO requests VALUES (new.number, new.request_id, 1, new.answer); END""",
        """CREATE TRIGGER removal_by_an_earlier_version INSTEAD OF DELETE ON creations
            BEGIN DELETE FROM requests WHERE number = old.number; END""",
    ),
    4: (
        "ALTER TABLE tables ADD COLUMN due_at REAL",
        "CREATE INDEX tables_by_due ON tables (due_at) WHERE due_at IS NOT NULL",
    ),
    5: messages.SCHEMA,
    6: (),
    7: (),
    8: (
        """CREATE TABLE ledger (
            account_id TEXT NOT NULL,
            number INTEGER NOT NULL,
            key TEXT NOT NULL,
            payload BLOB NOT NULL,
            PRIMARY KEY (account_id, number)
        ) WITHOUT ROWID""",
        "CREATE UNIQUE INDEX ledger_by_key ON ledger (account_id, key)",
    ),
}


def log_key(number: int, revision: int) -> int:
    """Return the key of a table's log entry: the table's number, and the revision in the low 32 bits.

    So a table's keys run from `log_key(number, 0)` to before `log_key(number + 1, 0)`.
    """
    return number << 32 | revision


def read_schema_version(path: Path) -> int:
    """Return the schema version of the file, 0 if it is missing or empty. Nothing is made or changed.

    Raise StoreIncompatible for a file that this version cannot open, read or use.
    """
    if not path.exists():
        return 0
    source = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(source, uri=True, isolation_level=None)) as db:
            db.execute("BEGIN")
            return _read_version(db, path)
    except sqlite3.DatabaseError as error:
        raise StoreIncompatible(f"{path} cannot be read as a database: {error}") from error


def open_writer(path: Path, busy_timeout: float) -> sqlite3.Connection:
    """Return a connection that writes, and bring the schema of the database up to date; make the file if missing.

    This waits up to `busy_timeout` seconds for locks of other processes, but later statements do not wait: start
    transactions with `begin`; outside of one, each statement is committed by itself. Raise StoreIncompatible for a file
    that is no database, a database of another program or with a newer schema, and where the journal mode WAL cannot be
    had; sqlite3.Error if it cannot be opened or written.
    """
    db = _connect(path, busy_timeout)
    try:
        db.execute("BEGIN")
        _read_version(db, path)
        db.execute("ROLLBACK")
        # Two processes that open a new file at once may get an error here without waiting.
        mode = retry_while_busy(lambda: db.execute("PRAGMA journal_mode = WAL").fetchone()[0], busy_timeout)
        if mode != "wal":
            raise StoreIncompatible(f"SQLite cannot keep a write-ahead log beside {path}")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        db.execute("PRAGMA secure_delete = OFF")
        db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        db.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES_KEPT}")
        db.execute("PRAGMA busy_timeout = 0")  # from here on `retry_while_busy` does the waiting
        begin(db, busy_timeout)
        _update_schema(db, _read_version(db, path))
        db.execute("COMMIT")
    except BaseException as error:
        db.close()
        if isinstance(error, sqlite3.Error) and primary_code(error) == sqlite3.SQLITE_NOTADB:
            raise StoreIncompatible(f"{path} is not a database") from error
        raise
    return db


def open_reader(path: Path, busy_timeout: float) -> sqlite3.Connection:
    """Return a connection that only reads, and waits up to `busy_timeout` seconds for each lock.

    Call `open_writer` first: this makes an empty file if it is missing. Raise sqlite3.Error if it cannot be opened.
    """
    db = _connect(path, busy_timeout)
    try:
        db.execute("PRAGMA query_only = ON")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    except BaseException:
        db.close()
        raise
    return db


def begin(db: sqlite3.Connection, busy_timeout: float) -> None:
    """Roll back a transaction that is still open, then start one that holds the write lock.

    Block up to `busy_timeout` seconds for the lock; raise sqlite3.Error if another process keeps it for longer.
    """
    roll_back(db)  # in case an earlier rollback failed
    retry_while_busy(lambda: db.execute("BEGIN IMMEDIATE"), busy_timeout)


def roll_back(db: sqlite3.Connection) -> None:
    """Undo the transaction, if there is one. Raise sqlite3.Error if that cannot be done yet."""
    if db.in_transaction:
        db.execute("ROLLBACK")


def retry_while_busy(attempt: Callable[[], T], timeout: float) -> T:
    """Call until the database is not locked, and return the result; block between calls.

    Raise the error of the lock after `timeout` seconds, and any other error at once.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            is_busy = primary_code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
            if not is_busy or time.monotonic() >= deadline:
                raise
        time.sleep(random.uniform(_SHORTEST_SLEEP, _LONGEST_SLEEP))  # noqa: S311 (no secret)


def primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code, 0 if the error does not come from SQLite itself."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def _connect(path: Path, busy_timeout: float) -> sqlite3.Connection:
    # Threads take turns with a connection. In a URI no file name is special, such as ":memory:".
    uri = f"file:{quote(str(path.absolute()))}?mode=rwc"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=busy_timeout, check_same_thread=False)


def _update_schema(db: sqlite3.Connection, version: int) -> None:
    """Bring the schema from this version to the newest, within a transaction."""
    if version == 0:
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    for added in range(max(version, 1) + 1, SCHEMA_VERSION + 1):
        for statement in _ADDED[added]:
            db.execute(statement)
    # Written each time: SQLite starts a transaction on a read-only file, and fails at the first write only.
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _read_version(db: sqlite3.Connection, path: Path) -> int:
    """Return the schema version of the database, 0 if it is empty, within a transaction: others may be creating it.

    Raise StoreIncompatible for a database that this version cannot use.
    """
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (objects,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version == application == objects == 0:
        return 0
    if application != _APPLICATION_ID or version < 1:
        raise StoreIncompatible(f"{path} belongs to another program")
    if version > SCHEMA_VERSION:
        raise StoreIncompatible(f"{path} has schema version {version}, and this program knows up to {SCHEMA_VERSION}")
    return int(version)
