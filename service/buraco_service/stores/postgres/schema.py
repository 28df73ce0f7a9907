"""What is in the database: the migrations that come with the package, and whether this program can use what is there.

A migration is a file `migrations/NNNN_name.sql` and brings the database from version NNNN - 1 to NNNN, in one
transaction. Its first line says which is the oldest program that can still serve afterwards: `-- oldest program: N`,
where a program is as old as the newest migration that it knows. Replicas of two versions run side by side while a new
one is rolled out, and an old one may be needed again, so a change goes in two steps:

- expand: a migration adds columns with defaults, tables, or functions under new names (`commit_steps_2` beside
  `commit_steps_1`, which goes on to work). Its oldest program stays what it was. `buraco migrate` runs first, then the
  new replicas come; old ones go on, and can be started again.
- contract: a later release, when no old replica is left, removes what nobody calls. Its oldest program is the one that
  stopped calling it: older ones refuse to start from then on.

A program refuses a database that has not all the migrations it knows, so that new code never runs on an old schema.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from asyncpg import Connection

from buraco_service.stores.base import StoreIncompatible

_FILE_NAME = re.compile(r"(\d{4})_\w+\.sql")
_FIRST_LINE = re.compile(r"-- oldest program: (\d+)\n")
# Any number will do, as long as it is always this one.
_LOCK = 0x42755263
_LOCK_SECONDS = 10

_VERSIONS = """
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
    name: str
    oldest_program: int
    sql: str


class SchemaVersion(NamedTuple):
    """What a database says of itself."""

    version: int
    """0: nothing is there."""
    oldest_program: int


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations of this program, in order."""
    found = []
    for file in files("buraco_service.stores.postgres").joinpath("migrations").iterdir():
        if name := _FILE_NAME.fullmatch(file.name):
            sql = file.read_text("utf-8")
            first = _FIRST_LINE.match(sql)
            assert first is not None, f"{file.name} does not say its oldest program"
            found.append(Migration(int(name[1]), file.name.removesuffix(".sql"), int(first[1]), sql))
    found.sort()
    assert [migration.version for migration in found] == list(range(1, len(found) + 1))
    return tuple(found)


async def schema_version(db: Connection) -> SchemaVersion:
    """The version of the database."""
    if await db.fetchval("SELECT to_regclass('buraco.migrations')") is None:
        return SchemaVersion(0, 0)
    row = await db.fetchrow("SELECT coalesce(max(version), 0), coalesce(max(oldest_program), 0) FROM buraco.migrations")
    assert row is not None
    return SchemaVersion(row[0], row[1])


def due(found: SchemaVersion, known: tuple[Migration, ...]) -> tuple[Migration, ...]:
    """The migrations that a database lacks. Raises StoreIncompatible if it is too new for one who knows these."""
    if found.oldest_program > len(known):
        raise StoreIncompatible(
            f"the database has schema version {found.version}, made for programs that know version"
            f" {found.oldest_program} or a newer one; this program knows up to {len(known)}"
        )
    return known[found.version :]


async def check_schema(db: Connection) -> None:
    """Raise StoreIncompatible unless this program can serve from the database."""
    found = await schema_version(db)
    if due(found, migrations()):
        state = f"has schema version {found.version}" if found.version else "has no tables for Buraco yet"
        raise StoreIncompatible(
            f"the database {state}, and this program needs version {len(migrations())}: run `buraco migrate`"
        )


async def migrate(db: Connection, known: tuple[Migration, ...]) -> list[str]:
    """Apply the migrations that the database lacks; returns their names.

    Others may do the same at once: each migration is applied by one of them. Raises StoreIncompatible for a database
    that is too new, and what the driver raises; a migration that fails leaves nothing of itself.
    """
    applied: list[str] = []
    while True:
        async with db.transaction():
            await db.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            # A lock on a table would make all others wait behind it: better to give up and be run again.
            await db.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
            found = await schema_version(db)
            if not (lacking := due(found, known)):
                return applied
            if found.version == 0 and await db.fetchval("SELECT to_regclass('buraco.migrations')") is None:
                await db.execute(_VERSIONS)
            first = lacking[0]
            await db.execute(first.sql)
            await db.execute(
                "INSERT INTO buraco.migrations (version, name, oldest_program) VALUES ($1, $2, $3)",
                *(first.version, first.name, first.oldest_program),
            )
        applied.append(first.name)
