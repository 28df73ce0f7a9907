"""When what a store has acknowledged is on the disk, as its server says: a figure without that means little."""

from buraco_service.stores.postgres import connect as postgres_connect
from buraco_service.stores.redis.link import Refused, connect
from buraco_service.stores.redis.url import parse_url
from buraco_service.stores.urls import split_url


async def kept(url: str) -> str:
    """A name for the store at a URL: its kind, and when an acknowledged commit is on the disk."""
    scheme, rest = split_url(url)
    if scheme == "sqlite":
        return "SQLite, fsync always"
    if scheme in {"redis", "rediss"}:
        return await _kept_by_redis(rest, tls=scheme == "rediss")
    return await _kept_by_postgres(rest)


async def _kept_by_redis(rest: str, *, tls: bool) -> str:
    place = parse_url(rest, tls=tls)
    link = await connect(place.addresses[0], place)
    try:
        told = await link.call("HELLO")
        name = told[b"server"].decode().capitalize() + (" cluster" if link.greeting.cluster else "")
        try:
            settings = await link.call("CONFIG", "GET", "append*")
        except Refused:
            return f"{name}, durability unknown"
    finally:
        link.close()
    if settings[b"appendonly"] != b"yes":
        return f"{name}, NOT durable"
    return f"{name}, fsync {settings[b'appendfsync'].decode()}"


async def _kept_by_postgres(rest: str) -> str:
    connection = await postgres_connect.connect(postgres_connect.parse_url(rest))
    try:
        for setting in ("fsync", "synchronous_commit"):
            if await connection.fetchval("SELECT current_setting($1)", setting) == "off":
                return f"PostgreSQL, NOT durable ({setting} off)"
    finally:
        await connection.close()
    return "PostgreSQL, fsync always"
