"""Stores with tables of an earlier version, and answers of its creates in particular."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from buraco_service.stores.base import (
    KEPT_ANSWERS,
    PRUNE_STEP,
    AlreadyAnswered,
    NewTable,
    Store,
    StoredAnswer,
    TableNotFound,
)
from buraco_service.stores.postgres.schema import apply_migrations, load_migrations
from buraco_service.stores.redis.store import RedisStore
from buraco_service.stores.redis.url import parse_url
from tests.faults.earlier import places
from tests.servers.postgres import PostgresServer
from tests.servers.valkey import Valkey
from tests.stores.conftest import OpenAt
from tests.stores.samples import create, step

TABLES = places.load_tables()
FAR = 9e9
BOUND = b"\0" + b"fingerprint....." + b"answer"
"""An answer of this version."""


@pytest.fixture(params=["sqlite", "redis", "redis_cluster", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, open_at: OpenAt) -> Store:
    """A store of this version on the tables of an earlier one."""
    if request.param == "sqlite":
        return await open_at(places.copy_to_sqlite(tmp_path))
    if request.param == "postgres":
        return await open_at(await places.write_to_postgres(request.getfixturevalue("postgres_server")))
    return await open_at(await places.write_to_redis(request.getfixturevalue(f"{request.param}_url")))


async def test_all_is_there(store: Store) -> None:
    """Tables, logs, requests and records are as they were written."""
    assert TABLES
    for table in TABLES:
        stored = await store.load(table.id)
        assert stored[1:] == (table.revision, table.state, table.status, table.created_at, table.updated_at)
        assert tuple([entry.payload for entry in await store.read_log(table.id, 0, 1000)]) == table.log
        assert sorted(await store.read_records(table.id, 0, 1000)) == sorted(table.records)
        for key, revision, answer in (table.creation, *table.requests):
            assert await store.find_answer(table.id, key) == StoredAnswer(revision, answer)


async def test_repeated_create(store: Store) -> None:
    """A create that an earlier version has answered is found by its request alone, and makes no table."""
    for table in TABLES:
        first = StoredAnswer(1, table.creation.answer)
        assert await store.find_answer("derived", "never", table.creation.key) == first
        with pytest.raises(AlreadyAnswered) as caught:
            await create(store, "derived", request_id=table.creation.key)
        assert (caught.value.table_id, caught.value.stored_answer) == (table.id, first)
    with pytest.raises(TableNotFound):
        await store.load("derived")
    await create(store, "derived", request_id="another")
    assert await store.find_answer("derived", TABLES[0].creation.key) is None


async def test_answer_of_create_is_kept(store: Store) -> None:
    """The answer of a create is kept however long the table is played, and dropped when the table expires."""
    table = TABLES[0]
    newest = table.revision + KEPT_ANSWERS + 2 * PRUNE_STEP
    for revision in range(table.revision, newest):
        await store.commit(step(table.id, revision, now=FAR, request_id=f"request {revision + 1}"))
    assert await store.find_answer(table.id, table.requests[0].key) is None
    with pytest.raises(AlreadyAnswered):
        await create(store, "derived", request_id=table.creation.key)
    await store.expire(2 * FAR, 100)
    assert await store.find_answer("derived", table.creation.key) is None
    await create(store, "derived", request_id=table.creation.key)
    assert await store.find_answer("derived", table.creation.key) == StoredAnswer(1, b"answer 1")


# ---- Redis ----


async def _redis(url: str) -> RedisStore:
    return await RedisStore.open(parse_url(url.removeprefix("redis://"), tls=False))


async def test_nothing_is_left_of_expired_tables(valkey: Valkey, redis_url: str) -> None:
    """Claims are removed with their tables."""
    store = await _redis(await places.write_to_redis(redis_url))
    assert await store.expire(FAR, 100) == len(TABLES)
    assert len(valkey.command("KEYS", f"{redis_url.partition('prefix=')[2]}*")) == 1
    await store.close()


@pytest.mark.parametrize("fixture", ["redis_url", "redis_cluster_url"])
async def test_claim_without_its_table(request: pytest.FixtureRequest, fixture: str) -> None:
    """A claim whose table was never made, or has another claim, has no effect: the request creates its table."""
    store = await _redis(request.getfixturevalue(fixture))
    await places.write_claim(store, "make", "mark", "never made")
    await places.write_redis(store, TABLES[0], "another mark")
    await places.write_claim(store, "remake", "mark", TABLES[0].id)
    for table_id, request_id in (("t", "make"), ("u", "remake")):
        assert await store.find_answer(table_id, request_id) is None
        await create(store, table_id, request_id=request_id)
        assert await store.find_answer(table_id, request_id) == StoredAnswer(1, b"answer 1")
    await store.close()


async def test_create_of_both_versions(redis_url: str) -> None:
    """If an earlier version made another table for a request that this one had answered, the first answer stays."""
    store = await _redis(redis_url)
    request_id = TABLES[0].creation.key
    await create(store, "t", request_id=request_id)
    await places.write_redis(store, TABLES[0], "mark")
    with pytest.raises(AlreadyAnswered) as caught:
        await create(store, "t", request_id=request_id)
    assert caught.value.table_id == "t"
    await store.close()


# ---- programs of the earlier version that still run ----


async def test_earlier_program_on_sqlite(tmp_path: Path, open_at: OpenAt) -> None:
    """Its statements for creates still work in a file that this version has opened, and each knows the other's."""
    store = await open_at(places.copy_to_sqlite(tmp_path))
    await store.create(NewTable("mine", b"state", "waiting", 1.0, b"entry", "make", BOUND))
    created = "SELECT table_id, answer FROM creations JOIN tables USING (number) WHERE request_id = ?"
    with contextlib.closing(sqlite3.connect(tmp_path / "tables.db", isolation_level=None)) as db:
        assert db.execute(created, ["make"]).fetchone() == ("mine", b"answer")
        table = TABLES[0]
        assert db.execute(created, [table.creation.key]).fetchone() == (table.id, table.creation.answer)
        number = db.execute(
            "INSERT INTO tables (table_id, revision, status, created_at, updated_at, hour, log_start, state, owner)"
            " VALUES ('theirs', 1, 'waiting', 1.0, 1.0, 0, 1, x'00', NULL)"
        ).lastrowid
        db.execute("INSERT INTO creations VALUES (?, ?, ?)", [number, "theirs", b"their answer"])
        with pytest.raises(sqlite3.IntegrityError):
            db.execute("INSERT INTO creations VALUES (?, ?, ?)", [number, "make", b"their answer"])
        with pytest.raises(AlreadyAnswered) as caught:
            await create(store, "derived", request_id="theirs")
        assert (caught.value.table_id, caught.value.stored_answer) == ("theirs", StoredAnswer(1, b"their answer"))
        for name in ("requests", "records", "creations", "tables"):
            db.execute(f"DELETE FROM {name} WHERE number = ?", [number])  # noqa: S608 - our names
    await create(store, "derived", request_id="theirs")


def _row(found: asyncpg.Record | None) -> tuple[Any, ...]:
    assert found is not None
    return tuple(found)


async def test_earlier_program_on_postgres(postgres_server: PostgresServer, open_at: OpenAt) -> None:
    """Its statements for creates still work with the rights it had, and each version knows the other's creates."""
    url = await places.write_to_postgres(postgres_server, migrated=False)
    postgres_server.sql("DROP ROLE IF EXISTS earlier; CREATE ROLE earlier LOGIN")
    name = url.rpartition("/")[2].partition("?")[0]
    postgres_server.sql(
        "GRANT USAGE ON SCHEMA buraco TO earlier;"
        " GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA buraco TO earlier",
        name,
    )
    created = "SELECT table_id, answer FROM buraco.creations JOIN buraco.tables USING (number) WHERE request_id = $1"
    make = (
        "SELECT outcome, first_table, first_answer FROM buraco.create_table_1($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        *("theirs", b"state", "waiting", 1.0, 0, b"entry", "theirs", b"their answer", None),
    )
    role = await asyncpg.connect(postgres_server.url(name, "earlier"))
    table = TABLES[0]
    before = await role.prepare(created)
    assert _row(await before.fetchrow(table.creation.key)) == (table.id, table.creation.answer)
    owner = await asyncpg.connect(url)
    await apply_migrations(owner, load_migrations())
    await owner.close()

    # A role that could write tables can post entries after the migration.
    serving = await open_at(postgres_server.url(name, "earlier"))
    assert await serving.ledger.append("ann", 1, "key", b"entry")
    assert len(await serving.ledger.entries("ann", 9)) == 1
    store = await open_at(url)
    await store.create(NewTable("mine", b"state", "waiting", 1.0, b"entry", "make", BOUND))
    assert _row(await role.fetchrow(created, "make")) == ("mine", b"answer")
    assert _row(await before.fetchrow(table.creation.key)) == (table.id, table.creation.answer)
    assert _row(await role.fetchrow(*make)) == ("created", None, None)
    assert _row(await role.fetchrow(*make)) == ("remembered", "theirs", b"their answer")
    with pytest.raises(AlreadyAnswered) as caught:
        await create(store, "derived", request_id="theirs")
    assert (caught.value.table_id, caught.value.stored_answer) == ("theirs", StoredAnswer(1, b"their answer"))
    assert await role.fetchval("SELECT buraco.expire_1($1, $2, $3)", 2.0, 0, 10) == 2
    await role.close()
    await create(store, "derived", request_id="theirs")
    with pytest.raises(TableNotFound):
        await store.load("mine")


async def test_creates_while_postgres_is_migrated(postgres_server: PostgresServer) -> None:
    """Of creates that go on while the migration is applied none is lost."""
    url = await places.write_to_postgres(postgres_server, migrated=False)
    owner, *clients = [await asyncpg.connect(url) for _ in range(4)]
    made: list[str] = []
    going, done = asyncio.Event(), asyncio.Event()

    async def go_on(client: asyncpg.Connection, name: str) -> None:
        number = 0
        while not done.is_set() or number < 10:
            number += 1
            request = f"{name} {number}"
            # One that waits for the migration with the function of before is refused; its repeat is not.
            for _ in range(2):
                with contextlib.suppress(asyncpg.PostgresError):
                    await client.fetchrow(
                        "SELECT outcome FROM buraco.create_table_1($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                        *(request, b"state", "waiting", 1.0, 0, b"entry", request, b"answer", None),
                    )
                    made.append(request)
                    if len(made) == 20:
                        going.set()
                    break
            else:
                raise AssertionError(request)

    async def apply() -> None:
        await going.wait()
        known = load_migrations()
        assert await apply_migrations(owner, known) == [migration.name for migration in known[1:]]
        done.set()

    async with asyncio.TaskGroup() as group:
        for number, client in enumerate(clients):
            group.create_task(go_on(client, f"client {number}"))
        group.create_task(apply())
    rows = await owner.fetch("SELECT request_id FROM buraco.requests WHERE revision = 1")
    assert {row[0] for row in rows} == {*made, *[table.creation.key for table in TABLES]}
    for connection in (owner, *clients):
        await connection.close()
