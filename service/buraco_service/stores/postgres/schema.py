"""The schema of the database: the migrations in this package, and whether this program can use what is stored.

A migration is a file `migrations/NNNN_name.sql` that brings the database from version NNNN - 1 to NNNN, in one
transaction. Its first line names the oldest program that can still serve afterwards, `-- oldest program: N`, where the
number of a program is that of the newest migration it knows. Replicas of two versions run side by side while a new one
is rolled out, and an old one may be needed again, so that a change takes two steps:

- expand: a migration adds columns with defaults, tables, or functions with new names (`commit_steps_2` beside
  `commit_steps_1`, which still works). Its oldest program is that of the migration before. `buraco migrate` runs first,
  then the new replicas start; old ones still serve, and can be started again.
- contract: a later release, when no old replica is left, removes what nobody calls. Its oldest program is the one that
  stopped calling it: older ones refuse to start from then on.

A program refuses a database that lacks a migration it knows, so that new code never runs on an old schema.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from asyncpg import Connection

from buraco_service.stores.base import StoreIncompatible
from buraco_service.stores.postgres.connect import as_store_error, connect, parse_url

_FILE_NAME = re.compile(r"(\d{4})_\w+\.sql")
_FIRST_LINE = re.compile(r"-- oldest program: (\d+)\n")
# Of `pg_advisory_xact_lock`: any number, but always the same.
_LOCK = 0x42755263
_LOCK_SECONDS = 10

_CREATE_SCHEMA = """
CREATE SCHEMA buraco;
CREATE TABLE buraco.migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    oldest_program integer NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""


class Migration(NamedTuple):
    """One step of the schema."""

    version: int
    """The version that it leads to, from 1."""
    name: str
    """The name of its file, without the suffix."""
    oldest_program: int
    """The oldest program that can serve afterwards."""
    sql: str


class SchemaVersion(NamedTuple):
    """The version stored in a database."""

    version: int
    """0: there is no schema."""
    oldest_program: int
    """The oldest program that can serve from it; 0 without a schema."""


@cache
def load_migrations() -> tuple[Migration, ...]:
    """Return all migrations of this program, in order. They are read once and shared."""
    found = []
    for file in files("buraco_service.stores.postgres").joinpath("migrations").iterdir():
        if name := _FILE_NAME.fullmatch(file.name):
            sql = file.read_text("utf-8")
            first = _FIRST_LINE.match(sql)
            assert first is not None, f"{file.name} does not name its oldest program"
            found.append(Migration(int(name[1]), file.name.removesuffix(".sql"), int(first[1]), sql))
    found.sort()
    assert [migration.version for migration in found] == list(range(1, len(found) + 1))
    return tuple(found)


async def read_schema_version(db: Connection) -> SchemaVersion:
    """Return the version of the database, zeros if it has no schema. Raise what the driver raises."""
    if await db.fetchval("SELECT to_regclass('buraco.migrations')") is None:
        return SchemaVersion(0, 0)
    row = await db.fetchrow("SELECT coalesce(max(version), 0), coalesce(max(oldest_program), 0) FROM buraco.migrations")
    assert row is not None
    return SchemaVersion(row[0], row[1])


def due_migrations(found: SchemaVersion, known: tuple[Migration, ...]) -> tuple[Migration, ...]:
    """Return those of the known migrations that a database lacks, in order.

    Raise StoreIncompatible if it needs a newer program. A newer schema that older programs can use lacks none.
    """
    if found.oldest_program > len(known):
        raise StoreIncompatible(
            f"the database has schema version {found.version}, made for programs that know version"
            f" {found.oldest_program} or a newer one; this program knows up to {len(known)}"
        )
    return known[found.version :]


async def check_schema(db: Connection) -> None:
    """Raise StoreIncompatible if the database lacks a migration or is too new, and what the driver raises."""
    found = await read_schema_version(db)
    known = load_migrations()
    if due_migrations(found, known):
        state = f"has schema version {found.version}" if found.version else "has no tables for Buraco yet"
        raise StoreIncompatible(
            f"the database {state}, and this program needs version {len(known)}: run `buraco migrate`"
        )


async def apply_migrations(db: Connection, known: tuple[Migration, ...]) -> list[str]:
    """Apply the migrations that the database lacks, and return the names of those applied here, in order.

    Several processes may call this at once: each migration is applied by one of them. A migration that fails, or waits
    10 seconds for a lock, is rolled back alone: run this again. Raise StoreIncompatible for a database that is too new,
    and what the driver raises.
    """
    applied: list[str] = []
    while True:
        async with db.transaction():
            await db.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            # All calls would wait behind a migration that waits for a lock: better to fail, to be run again.
            await db.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
            found = await read_schema_version(db)
            if not (due := due_migrations(found, known)):
                return applied
            if found.version == 0 and await db.fetchval("SELECT to_regclass('buraco.migrations')") is None:
                await db.execute(_CREATE_SCHEMA)
            first = due[0]
            await db.execute(first.sql)
            await db.execute(
                "INSERT INTO buraco.migrations (version, name, oldest_program) VALUES ($1, $2, $3)",
                *(first.version, first.name, first.oldest_program),
            )
        applied.append(first.name)


async def migrate_database(rest: str, *, apply: bool) -> tuple[str, tuple[str, ...]]:
    """Connect by `postgresql://` and the rest, and apply the migrations that are due, or only report them.

    Return a text for an operator and the names of the migrations still due. Raise StoreUrlError, StoreUnavailable, and
    StoreIncompatible for a database that this version cannot use.
    """
    known = load_migrations()
    db = await connect(parse_url(rest))
    try:
        await db.execute("SET statement_timeout = 0")  # a migration takes the time it needs
        applied = await apply_migrations(db, known) if apply else []
        found = await read_schema_version(db)
        due = tuple(migration.name for migration in due_migrations(found, known))
    except Exception as error:
        raise as_store_error(error) from error
    finally:
        await db.close(timeout=1.0)
    if applied:
        what = f"applied {', '.join(applied)}"
    elif due:
        what = f"due: {', '.join(due)}"
    else:
        what = "nothing to do"
    return f"PostgreSQL: schema version {found.version}, this program knows {len(known)}; {what}", due
