"""Checks and updates of the schema of any store, for `buraco migrate`."""

from __future__ import annotations

from typing import NamedTuple

from buraco_service.stores.sqlite.schema import SCHEMA_VERSION, read_schema_version
from buraco_service.stores.urls import open_store, split_url, sqlite_file


class SchemaReport(NamedTuple):
    """What was found and done, for an operator."""

    text: str
    due: tuple[str, ...] = ()
    """The names of the migrations that are still to be applied; empty once applied, and for stores without any."""


async def migrate_store(url: str, *, apply: bool) -> SchemaReport:
    """Apply the migrations that are due to a PostgreSQL store, or with `apply` False only report them.

    A SQLite file is only read, and may be missing. A Redis store is opened to see that this version can use it, which
    writes the schema version to a new one. Raise StoreUrlError, StoreUnavailable, and
    StoreIncompatible for a store that this version cannot use.
    """
    scheme, rest = split_url(url)
    if scheme in {"postgresql", "postgres"}:
        from buraco_service.stores.postgres.schema import migrate_database

        return SchemaReport(*await migrate_database(rest, apply=apply))
    if scheme == "sqlite":
        version = read_schema_version(sqlite_file(rest))
        found = f"schema version {version}" if version else "no tables yet"
        if version != SCHEMA_VERSION:
            found += f"; to be served they get schema version {SCHEMA_VERSION}"
        return SchemaReport(f"SQLite makes its schema by itself: {found}")
    store = await open_store(url)
    await store.close()
    return SchemaReport(f"a {scheme} store has no schema to migrate, and this one can be used")
