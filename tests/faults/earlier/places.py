"""The tables of `schema-2.db`, stored in other stores as the version of that database stored tables there."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import NamedTuple

import asyncpg

from buraco_service.stores.postgres.schema import apply_migrations, load_migrations
from buraco_service.stores.redis.keys import Keys, bucket_of
from buraco_service.stores.redis.store import RedisStore
from buraco_service.stores.redis.url import parse_url
from tests.servers.postgres import PostgresServer

DATABASE = Path(__file__).parent / "schema-2.db"


class Request(NamedTuple):
    """A request and its answer as that version stored them."""

    key: str
    revision: int
    answer: bytes


class Table(NamedTuple):
    """A table as that version stored it. Its log is whole."""

    id: str
    revision: int
    status: str
    created_at: float
    updated_at: float
    owner: str | None
    state: bytes
    creation: Request
    log: tuple[bytes, ...]
    requests: tuple[Request, ...]
    records: tuple[tuple[int, bytes], ...]


def load_tables() -> list[Table]:
    """Return all tables of the database."""
    with contextlib.closing(sqlite3.connect(f"file:{DATABASE}?mode=ro", uri=True)) as db:
        rows = db.execute(
            "SELECT number, table_id, revision, status, created_at, updated_at, owner, state FROM tables"
        ).fetchall()
        found = []
        for number, table_id, revision, status, created_at, updated_at, owner, state in rows:
            ((request_id, answer),) = db.execute("SELECT request_id, answer FROM creations WHERE number = ?", [number])
            log = db.execute("SELECT payload FROM log WHERE key >> 32 = ? ORDER BY key", [number])
            requests = db.execute(
                "SELECT request_id, revision, answer FROM requests WHERE number = ? ORDER BY revision", [number]
            )
            records = db.execute("SELECT deal, payload FROM records WHERE number = ?", [number])
            table = Table(
                *(table_id, revision, status, created_at, updated_at, owner, state),
                Request(request_id, 1, answer),
                tuple(payload for (payload,) in log),
                tuple(Request(*request) for request in requests),
                tuple(records),
            )
            assert len(table.log) == table.revision
            assert [request.revision for request in table.requests] == list(range(2, table.revision + 1))
            found.append(table)
    return found


def copy_to_sqlite(folder: Path) -> str:
    """Copy the database, and return the URL of the copy."""
    shutil.copy(DATABASE, folder / "tables.db")
    return f"sqlite:///{folder}/tables.db"


async def write_to_redis(url: str) -> str:
    """Write the tables, each with the claim of its create, and return the same URL."""
    store = await RedisStore.open(parse_url(url.removeprefix("redis://"), tls=False))
    for number, table in enumerate(load_tables()):
        await write_redis(store, table, f"mark {number}")
    await store.close()
    return url


async def write_redis(store: RedisStore, table: Table, mark: str) -> None:
    """Write a table as the scripts did."""
    keys = store._keys.of_table(table.id)
    hour = 3600 * int(table.updated_at // 3600)
    owned = ["owner", table.owner] if table.owner else []
    first = table.creation
    commands: tuple[tuple[str | bytes | int, ...], ...] = (
        ("HSET", keys.table, "revision", table.revision, "state", table.state, "status", table.status, *owned),
        ("HSET", keys.table, "created", repr(table.created_at), "updated", repr(table.updated_at), "start", 1),
        ("HSET", keys.table, "claim", mark, "request", first.key, "answer", first.answer),
        ("RPUSH", keys.log, *table.log),
        ("RPUSH", keys.order, "", *[request.key for request in table.requests]),
        *[("HSET", keys.requests, made.key, b"%d:" % made.revision + made.answer) for made in table.requests],
        *[("HSET", keys.records, deal, payload) for deal, payload in table.records],
        ("ZADD", keys.names, 0, f"\0{table.id}", 0, f"{table.status}\0{table.id}"),
        ("ZADD", keys.ages, hour, table.id),
    )
    for command in commands:
        await store._nodes.call(keys.bucket, *command)
    await write_claim(store, first.key, mark, table.id)


async def write_claim(store: RedisStore, request_id: str, mark: str, table_id: str) -> None:
    """Write the claim by which the request has created the table."""
    key = Keys(store._keys._prefix).claim(request_id)
    await store._nodes.call(bucket_of(request_id), "HSET", key, "claim", mark, "table", table_id)


async def write_to_postgres(server: PostgresServer, *, migrated: bool = True) -> str:
    """Write the tables to a new database by the functions of that version, migrate it, and return its URL."""
    url = server.url(server.new_database())
    db = await asyncpg.connect(url)
    await apply_migrations(db, load_migrations()[:1])
    for table in load_tables():
        await write_postgres(db, table)
    if migrated:
        await apply_migrations(db, load_migrations())
    await db.close()
    return url


async def write_postgres(db: asyncpg.Connection, table: Table) -> None:
    """Write a table as that version did, all its revisions with the newest state."""
    hour = int(table.updated_at // 3600)
    outcome = await db.fetchval(
        "SELECT outcome FROM buraco.create_table_1($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        *(table.id, table.state, table.status, table.created_at, hour),
        *(table.log[0], table.creation.key, table.creation.answer, table.owner),
    )
    assert outcome == "created"
    for request, entry in zip(table.requests, table.log[1:], strict=True):
        records = table.records if request.revision == table.revision else ()
        outcome = await db.fetchval(
            "SELECT outcome FROM"
            " buraco.commit_steps_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 64, 2147483647)",
            *([table.id], [request.revision - 1], [table.state], [table.status], [table.updated_at], [hour]),
            *([entry], [request.key], [request.answer], [None], [None]),
            *([1] * len(records), [deal for deal, _ in records], [payload for _, payload in records]),
        )
        assert outcome == "committed"
