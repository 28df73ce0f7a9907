"""What the server of a store has used, and what it keeps, by the store's URL."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlsplit

import asyncpg

from buraco_service.stores.urls import split_url, sqlite_file
from tests.bench.processes import processor_seconds
from tests.servers import valkey


class Reading(NamedTuple):
    """A look at a store."""

    size: int
    """Bytes of the tables where they are kept: in a file, in memory, in a database."""
    logged: int
    """Bytes of the log that has made commits durable so far; 0 where that is not to be known."""
    processor: float
    """Seconds that the server has used; 0 where the store has none."""


class Meter(Protocol):
    """Reads one store."""

    async def read(self) -> Reading:
        """How it stands now."""
        ...


class SqliteMeter:
    """The file, once what the log holds has been copied into it."""

    def __init__(self, rest: str) -> None:
        self._file = sqlite_file(rest)

    async def read(self) -> Reading:
        """The log is used again and again, so that it does not tell what was written."""
        with contextlib.closing(sqlite3.connect(self._file, timeout=10)) as db:
            db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            (size,) = db.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()
        return Reading(size, 0, 0.0)


class ValkeyMeter:
    """The memory in use, and the append-only file, which must not have been rewritten meanwhile."""

    def __init__(self, rest: str) -> None:
        port = urlsplit(f"redis://{rest}").port
        assert port is not None
        self._port = port

    async def read(self) -> Reading:
        """Several sections of INFO."""
        info = b"".join([valkey.command(self._port, "INFO", section) for section in ("memory", "persistence", "cpu")])
        said = dict(re.findall(r"^(\w+):([\d.]+)\r?$", info.decode(), re.MULTILINE))
        used = float(said["used_cpu_user"]) + float(said["used_cpu_sys"])
        return Reading(int(said["used_memory"]), int(said.get("aof_current_size", 0)), used)


class PostgresMeter:
    """The database, the write-ahead log, and all processes of the server."""

    def __init__(self, rest: str) -> None:
        self._url = f"postgresql://{rest}"

    async def read(self) -> Reading:
        """Asked of the server, but for its processor time."""
        connection = await asyncpg.connect(self._url)
        try:
            size = await connection.fetchval("SELECT pg_database_size(current_database())")
            logged = await connection.fetchval("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint")
            backend = await connection.fetchval("SELECT pg_backend_pid()")
            # Those that have ended are counted with the parent.
            parent = _parent(backend)
            used = processor_seconds(parent, with_children=True)
            used += sum([processor_seconds(child) for child in _children(parent)])
        finally:
            await connection.close()
        return Reading(size, logged, used)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _children(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if _parent(int(folder.name)) == parent:
                found.append(int(folder.name))
    return found


def meter_of(url: str) -> Meter:
    """What reads the store of that URL."""
    scheme, rest = split_url(url)
    return _METERS[scheme](rest)


_METERS: Final[dict[str, Callable[[str], Meter]]] = {
    "sqlite": SqliteMeter,
    "redis": ValkeyMeter,
    "postgresql": PostgresMeter,
}
