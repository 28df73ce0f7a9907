"""The schema of a store from outside: which version is there, and bringing it up to date."""

from __future__ import annotations

from typing import NamedTuple

from buraco_service.stores.sqlite.schema import SCHEMA_VERSION, stored_version
from buraco_service.stores.urls import open_store, split, sqlite_file


class SchemaReport(NamedTuple):
    """What became of a look at a store's schema."""

    text: str
    """For an operator: what is there and what was done."""
    due: tuple[str, ...] = ()
    """Migrations that are still to be applied."""


async def migrate_store(url: str, *, apply: bool) -> SchemaReport:
    """Bring the schema of the store up to date, or only look at it.

    Raises StoreUrlError, StoreUnavailable, and StoreIncompatible for a store that this version cannot use.
    """
    scheme, rest = split(url)
    if scheme in {"postgresql", "postgres"}:
        from buraco_service.stores.postgres import migrate

        return SchemaReport(*await migrate.migrate(rest, apply=apply))
    if scheme == "sqlite":
        version = stored_version(sqlite_file(rest))
        found = f"schema version {version}" if version else "no tables yet"
        if version != SCHEMA_VERSION:
            found += f"; to be served they get schema version {SCHEMA_VERSION}"
        return SchemaReport(f"SQLite makes its schema by itself: {found}")
    store = await open_store(url)
    await store.close()
    return SchemaReport(f"a {scheme} store has no schema to migrate, and this one can be used")
