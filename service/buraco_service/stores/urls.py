"""Open the store that a URL names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from buraco_service.stores.base import Store, StoreUrlError
from buraco_service.stores.sqlite.store import SqliteStore


async def open_store(url: str) -> Store:
    """Open the store that the URL names.

    - `sqlite:///tables.db` is a file in the working directory, `sqlite:////var/lib/buraco/tables.db` one anywhere. The
      file is made if it is not there, its directory is not. A path may be percent-encoded.
    - `postgresql://user:password@host:port/database?sslmode=verify-full` is a database on which `buraco migrate` has
      been run, with the parameters of libpq.
    - `redis://user:password@host:6379,other:6379/0?prefix=buraco:` is a Redis or Valkey server or cluster, `rediss://`
      one behind TLS; see `redis.url` for the parameters.

    Raise StoreUrlError for a URL that names no store, StoreIncompatible for a store that this version cannot use,
    StoreUnavailable for one that cannot be reached or written now.
    """
    scheme, rest = split_url(url)
    return await _OPENERS[scheme](rest)


def split_url(url: str) -> tuple[str, str]:
    """Return the scheme in lower case and the rest after `://`. Raise StoreUrlError unless it is a store's scheme."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() not in _OPENERS:
        # Never the URL itself: it may hold a password.
        found = f"scheme {scheme!r}" if separator else "no scheme"
        known = ", ".join(f"{scheme}://" for scheme in _OPENERS)
        raise StoreUrlError(f"the store's URL has {found}; it has to start with one of {known}")
    return scheme.lower(), rest


async def _open_sqlite(rest: str) -> Store:
    return await SqliteStore.open(sqlite_file(rest))


async def _open_redis(rest: str, *, tls: bool) -> Store:
    # Imported here, because no other store needs its driver.
    from buraco_service.stores.redis.store import RedisStore
    from buraco_service.stores.redis.url import parse_url

    return await RedisStore.open(parse_url(rest, tls=tls))


async def _open_postgres(rest: str) -> Store:
    from buraco_service.stores.postgres.store import PostgresStore

    return await PostgresStore.open(rest)


def sqlite_file(rest: str) -> Path:
    """Return the absolute path of the file that `sqlite://` and the rest name. It may be missing, its folder may not.

    Raise StoreUrlError for a rest that names no such file.
    """
    host, slash, name = rest.partition("/")
    path = unquote(name)
    if host or not slash:
        raise StoreUrlError("a sqlite URL names no host: write sqlite:///relative.db or sqlite:////absolute/path.db")
    if "?" in name or "#" in name:
        raise StoreUrlError("a sqlite URL takes no parameters (in a file name, write %3F for ? and %23 for #)")
    if path == ":memory:":
        raise StoreUrlError("tables have to outlive the process: a sqlite URL has to name a file")
    if not path or "\0" in path:
        raise StoreUrlError("a sqlite URL has to name a file")
    file = Path(path).absolute()
    if file.is_dir():
        raise StoreUrlError(f"{file} is a directory, and a sqlite URL has to name a file")
    if not file.parent.is_dir():
        raise StoreUrlError(f"{file.parent} is no directory: make it, and SQLite makes the file")
    return file


_OPENERS: Mapping[str, Callable[[str], Awaitable[Store]]] = {
    "sqlite": _open_sqlite,
    "redis": partial(_open_redis, tls=False),
    "rediss": partial(_open_redis, tls=True),
    "postgresql": _open_postgres,
    "postgres": _open_postgres,
}
"""By scheme, the function that opens a store from the part of the URL after `://`."""
