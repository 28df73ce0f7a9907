"""The size of a store and the processor time of its server, by the store's URL."""

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
    """The state of a store at one time."""

    size: int
    """Bytes of the tables: in a file, in memory, in a database."""
    logged: int
    """Bytes written so far to the log that makes commits durable; 0 if not known."""
    processor: float
    """Processor seconds of the server; 0 if the store has none."""


class Meter(Protocol):
    """Reads one store."""

    async def read(self) -> Reading:
        """Return the state now."""
        ...


class SqliteMeter:
    """The file, after the write-ahead log has been copied into it."""

    def __init__(self, rest: str) -> None:
        self._file = sqlite_file(rest)

    async def read(self) -> Reading:
        """See `Meter.read`. SQLite overwrites its log, so that its size says nothing."""
        with contextlib.closing(sqlite3.connect(self._file, timeout=10)) as db:
            db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            (size,) = db.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()
        return Reading(size, 0, 0.0)


class ValkeyMeter:
    """The memory in use, and the append-only file, which must not be rewritten between readings."""

    def __init__(self, rest: str) -> None:
        port = urlsplit(f"redis://{rest}").port
        assert port is not None
        self._port = port

    async def read(self) -> Reading:
        """See `Meter.read`."""
        text = b"".join([valkey.command(self._port, "INFO", section) for section in ("memory", "persistence", "cpu")])
        info = dict(re.findall(r"^(\w+):([\d.]+)\r?$", text.decode(), re.MULTILINE))
        used = float(info["used_cpu_user"]) + float(info["used_cpu_sys"])
        return Reading(int(info["used_memory"]), int(info.get("aof_current_size", 0)), used)


class PostgresMeter:
    """The database, the write-ahead log, and all processes of the server."""

    def __init__(self, rest: str) -> None:
        self._url = f"postgresql://{rest}"

    async def read(self) -> Reading:
        """See `Meter.read`."""
        connection = await asyncpg.connect(self._url)
        try:
            size = await connection.fetchval("SELECT pg_database_size(current_database())")
            logged = await connection.fetchval("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint")
            backend = await connection.fetchval("SELECT pg_backend_pid()")
            # Processes that have ended are counted with their parent.
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


def make_meter(url: str) -> Meter:
    """Return the meter for the store of a URL."""
    scheme, rest = split_url(url)
    return _METERS[scheme](rest)


_METERS: Final[dict[str, Callable[[str], Meter]]] = {
    "sqlite": SqliteMeter,
    "redis": ValkeyMeter,
    "postgresql": PostgresMeter,
}
