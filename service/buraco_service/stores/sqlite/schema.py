"""The database file of the SQLite store: how it is opened, and what is in it."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from buraco_service.stores.base import StoreIncompatible

T = TypeVar("T")

SCHEMA_VERSION = 3
_APPLICATION_ID = 0x42755263

# The WAL is copied into the database after so many pages (16 MB): often enough for a quick start after a crash,
# seldom enough that a page written again and again is copied once.
_CHECKPOINT_PAGES = 4000
_WAL_BYTES_KEPT = 64 * 1024 * 1024
# Pages that each of the two connections keeps: what it misses, the system's own cache of the file has.
_CACHE_KIB = 8 * 1024

# Seconds between two attempts to get the write lock. SQLite's own waiting soon sleeps 100 ms at a time, and then hardly
# ever meets the short gap between two transactions of a busy neighbour.
_SHORTEST_NAP, _LONGEST_NAP = 0.0005, 0.003

# An ordinary commit touches no index: `status` and `hour` are written only when they change. `hour` is updated_at in
# hours, so that expire finds its candidates without an index that changes with every move.
# The log's key is the table's number and the revision in one integer (see `log_key`): a table's entries lie together,
# and an entry up to a page long lies in its row.
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
}


def log_key(number: int, revision: int) -> int:
    """Where the log keeps a table's entry. Revisions have 31 bits, so tables do not meet."""
    return number << 32 | revision


def stored_version(path: Path) -> int:
    """The schema version of the file, 0 when there is none. Nothing is made or changed.

    Raises StoreIncompatible for a file that this version cannot use.
    """
    if not path.exists():
        return 0
    db = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, isolation_level=None)
    try:
        db.execute("BEGIN")
        return _check_version(db, path)
    except sqlite3.DatabaseError as error:
        raise StoreIncompatible(f"{path} cannot be read as a database: {error}") from error
    finally:
        db.close()


def open_writer(path: Path, patience: float) -> sqlite3.Connection:
    """A connection that writes, to a database made ready for this version.

    `patience` is how many seconds to wait for locks that other processes hold. Raises StoreIncompatible for a database
    that is not this store's or newer than it, sqlite3.Error when it cannot be opened or written.
    """
    db = _connect(path, patience)
    try:
        db.execute("BEGIN")
        _check_version(db, path)
        db.execute("ROLLBACK")
        # Two processes that open a new file at once may refuse each other the change to WAL, without waiting.
        mode = patiently(lambda: db.execute("PRAGMA journal_mode = WAL").fetchone()[0], patience)
        if mode != "wal":
            raise StoreIncompatible(f"{path} lies where SQLite cannot keep a write-ahead log")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        db.execute("PRAGMA secure_delete = OFF")
        db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        db.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES_KEPT}")
        db.execute("PRAGMA busy_timeout = 0")  # from here on `patiently` does the waiting
        begin(db, patience)
        version = _check_version(db, path)
        if version == 0:
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        for added in range(max(version, 1) + 1, SCHEMA_VERSION + 1):
            for statement in _ADDED[added]:
                db.execute(statement)
        # Written each time: SQLite lets a transaction begin on a read-only file and finds out at the first write.
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")
    except BaseException as error:
        db.close()
        if isinstance(error, sqlite3.Error) and primary_code(error) == sqlite3.SQLITE_NOTADB:
            raise StoreIncompatible(f"{path} is not a database") from error
        raise
    return db


def open_reader(path: Path, patience: float) -> sqlite3.Connection:
    """A connection that only reads, to a database that `open_writer` made ready. Raises sqlite3.Error."""
    db = _connect(path, patience)
    try:
        db.execute("PRAGMA query_only = ON")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    except BaseException:
        db.close()
        raise
    return db


def begin(db: sqlite3.Connection, patience: float) -> None:
    """Start a transaction that may write. Raises sqlite3.Error when another process keeps the lock for too long."""
    roll_back(db)  # a rollback that failed is owed
    patiently(lambda: db.execute("BEGIN IMMEDIATE"), patience)


def roll_back(db: sqlite3.Connection) -> None:
    """Undo the transaction, if there is one. Raises sqlite3.Error when that cannot be done yet."""
    if db.in_transaction:
        db.execute("ROLLBACK")


def patiently(attempt: Callable[[], T], patience: float) -> T:
    """Call until the answer is not that the database is locked, for `patience` seconds; then let that error out."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
        time.sleep(random.uniform(_SHORTEST_NAP, _LONGEST_NAP))  # noqa: S311 (no secret)


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code, 0 when the error does not come from SQLite itself."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection's lock was in the way."""
    return primary_code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def _connect(path: Path, patience: float) -> sqlite3.Connection:
    # Threads have a connection by turns, never at once.
    # As a URI no file name has a meaning of its own, such as ":memory:".
    uri = f"file:{quote(str(path.absolute()))}?mode=rwc"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=patience, check_same_thread=False)


def _check_version(db: sqlite3.Connection, path: Path) -> int:
    """The schema version of the database, 0 when it is empty. For a transaction: others may be making the schema."""
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
