"""`buraco migrate`, and programs with databases of different versions."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner, Result

from buraco_service.commands.migrate import migrate as migrate_command
from buraco_service.stores.base import StoreIncompatible
from buraco_service.stores.postgres import schema
from buraco_service.stores.postgres.schema import (
    Migration,
    SchemaVersion,
    apply_migrations,
    load_migrations,
    read_schema_version,
)
from buraco_service.stores.sqlite.schema import SCHEMA_VERSION
from buraco_service.stores.urls import open_store
from tests.servers.postgres import PostgresServer
from tests.stores.samples import create

NEWEST = load_migrations()[-1].version
# What a later version of the program might bring: something that old programs do not mind, then something they do.
EXPAND = Migration(NEWEST + 1, "expand", 1, "ALTER TABLE buraco.tables ADD note text NOT NULL DEFAULT ''")
CONTRACT = Migration(
    NEWEST + 2, "contract", NEWEST + 1, "ALTER FUNCTION buraco.create_table_2 RENAME TO create_table_gone"
)


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    """A new, empty database."""
    return postgres_server.url(postgres_server.new_database())


@pytest.fixture
async def db(url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to the new database."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


def run(*arguments: str) -> Result:
    """Run `buraco migrate` with these arguments."""
    return CliRunner().invoke(migrate_command, arguments, catch_exceptions=False)


# ---- the command ----


def test_new_database_is_made_ready(url: str) -> None:
    """`buraco migrate` applies what is due; the status of `--check` shows whether anything is."""
    checked = run("--store", url, "--check")
    assert (checked.exit_code, "due: 0001_tables" in checked.output) == (3, True)
    assert run("--store", url, "--check").exit_code == 3
    applied = run("--store", url)
    assert (applied.exit_code, "applied 0001_tables" in applied.output) == (0, True)
    for arguments in ((), ("--check",)):
        again = run("--store", url, *arguments)
        assert (again.exit_code, "nothing to do" in again.output) == (0, True)


def test_store_may_come_from_the_environment(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """BURACO_STORE names the store as for serve, and no other setting matters."""
    monkeypatch.setenv("BURACO_STORE", url)
    monkeypatch.setenv("BURACO_MODE", "production")
    monkeypatch.setenv("BURACO_PORT", "no port")
    assert run().exit_code == 0
    monkeypatch.setenv("BURACO_STORE", "nonsense")
    refused = run()
    assert refused.exit_code == 1
    assert "BURACO_STORE" in refused.output


def test_sqlite_needs_no_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For SQLite the command makes nothing, and prints the version of an existing file."""
    url = f"sqlite:///{tmp_path}/tables.db"
    first = run("--store", url)
    assert (first.exit_code, "no tables yet" in first.output) == (0, True)
    assert list(tmp_path.iterdir()) == []

    async def make() -> None:
        await (await open_store(url)).close()

    asyncio.run(make())
    second = run("--store", url, "--check")
    assert (second.exit_code, f"schema version {SCHEMA_VERSION}\n" in second.output) == (0, True)
    (tmp_path / "tables.db").write_text("this is no database, however long one looks at it" * 100)
    assert run("--store", url).exit_code == 1


def test_command_tells_what_is_wrong(url: str) -> None:
    """A database that cannot be reached is an error that names the cause and no password."""
    broken = run("--store", url.replace("postgres@", "nobody:hunter2@"))
    assert broken.exit_code == 1
    assert "does not exist" in broken.output
    assert "hunter2" not in broken.output


def test_commands_run_at_once_apply_everything_once(url: str, postgres_server: PostgresServer) -> None:
    """Several `buraco migrate` at the same time all succeed, and each migration is applied by one of them."""
    command = [sys.executable, "-m", "buraco_service", "migrate", "--store", url]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate(timeout=60)[0] for process in runs]
    assert [process.returncode for process in runs] == [0, 0, 0]
    assert [sum(migration.name in output for output in outputs) for migration in load_migrations()] == [1] * NEWEST
    name = url.rpartition("/")[2].partition("?")[0]
    assert postgres_server.sql("SELECT count(*) FROM buraco.migrations", name) == str(len(load_migrations()))


def test_server_refuses_a_database_without_tables(url: str) -> None:
    """`buraco serve` on a database that is not ready ends at once and names the command to run."""
    command = [sys.executable, "-m", "buraco_service", "serve", "--port", "0", "--metrics-port", "-1", "--store"]
    ended = subprocess.run(
        [*command, url.replace("postgres@", "postgres:hunter2@")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert "`buraco migrate`" in ended.stderr
    assert "hunter2" not in ended.stderr + ended.stdout


# ---- versions ----


def test_migrations_are_numbered_from_one() -> None:
    """The package's migrations have the numbers 1 and up, and none requires a newer program than itself."""
    assert [migration.version for migration in load_migrations()] == list(range(1, NEWEST + 1))
    assert all(1 <= migration.oldest_program <= migration.version for migration in load_migrations())


async def test_migrations_at_once_in_one_process(url: str, db: asyncpg.Connection) -> None:
    """Racing migrations of several steps are applied once each, in order."""
    known = (*load_migrations(), EXPAND, CONTRACT)
    connections = [await asyncpg.connect(url) for _ in range(4)]
    applied = await asyncio.gather(*[apply_migrations(connection, known) for connection in connections])
    assert sorted(name for names in applied for name in names) == sorted(migration.name for migration in known)
    rows = await db.fetch("SELECT version, name FROM buraco.migrations ORDER BY applied_at")
    assert [tuple(row) for row in rows] == [(migration.version, migration.name) for migration in known]
    for connection in connections:
        await connection.close()


async def test_replica_goes_on_while_the_schema_expands(url: str, db: asyncpg.Connection) -> None:
    """An expanding migration lets a running replica work on and an old program start; its tables are kept."""
    await apply_migrations(db, load_migrations())
    running = await open_store(url)
    await create(running, "t")
    assert await apply_migrations(db, (*load_migrations(), EXPAND)) == ["expand"]
    await create(running, "u")
    started = await open_store(url)
    assert [stored.table_id for stored in await started.list_tables(None, 10, None)] == ["t", "u"]
    await started.close()
    await running.close()


async def test_schema_that_is_too_new_is_refused(url: str, db: asyncpg.Connection) -> None:
    """After a contracting migration old programs neither start nor migrate, and say which version is needed."""
    await apply_migrations(db, (*load_migrations(), EXPAND, CONTRACT))
    with pytest.raises(StoreIncompatible, match=f"this program knows up to {NEWEST}"):
        await open_store(url)
    with pytest.raises(StoreIncompatible, match="made for programs"):
        await apply_migrations(db, load_migrations())
    for arguments in ((), ("--check",)):
        refused = await asyncio.to_thread(run, "--store", url, *arguments)
        assert refused.exit_code == 1
        assert "made for programs" in refused.output


async def test_replica_that_outlives_its_schema_is_told(url: str, db: asyncpg.Connection) -> None:
    """A replica still running after a contracting migration gets StoreIncompatible for what was removed."""
    await apply_migrations(db, load_migrations())
    running = await open_store(url)
    await apply_migrations(db, (*load_migrations(), EXPAND, CONTRACT))
    with pytest.raises(StoreIncompatible, match="does not exist"):
        await create(running, "t")
    await running.close()


async def test_program_waits_for_the_migrations_that_it_knows(
    url: str, db: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new program refuses an old schema until it is migrated; then it finds the old tables."""
    await apply_migrations(db, load_migrations())
    old = await open_store(url)
    await create(old, "t")
    await old.close()
    known = (*load_migrations(), EXPAND)
    monkeypatch.setattr(schema, "load_migrations", lambda: known)
    with pytest.raises(StoreIncompatible, match=f"has schema version {NEWEST}.*needs version {NEWEST + 1}.*migrate"):
        await open_store(url)
    await apply_migrations(db, known)
    new = await open_store(url)
    assert await new.load_revision("t") == 1
    await new.close()


async def test_migration_that_fails_leaves_nothing(db: asyncpg.Connection) -> None:
    """A migration is applied whole or not at all; those before it stay."""
    broken = Migration(NEWEST + 1, "broken", 1, "CREATE TABLE buraco.half (a int); SELECT 1 / 0")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await apply_migrations(db, (*load_migrations(), broken))
    assert await read_schema_version(db) == SchemaVersion(NEWEST, load_migrations()[-1].oldest_program)
    assert await db.fetchval("SELECT to_regclass('buraco.half')") is None
