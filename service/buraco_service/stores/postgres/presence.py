"""Leases of seats in the PostgreSQL store, each call one round trip."""

from __future__ import annotations

from collections.abc import Sequence

from asyncpg import Connection

from buraco_service.stores.base import Lease

# In the same order everywhere, so that two replicas cannot wait for each other. The lock keeps `expire_1` from removing
# a table meanwhile, and no move waits for it.
_RENEW = (
    "INSERT INTO buraco.presence (number, seat, until, absent_at)"
    " SELECT t.number, given.seat, given.until, given.absent_at"
    " FROM unnest($1::text[], $2::integer[], $3::double precision[], $4::double precision[])"
    " AS given(table_id, seat, until, absent_at) JOIN buraco.tables AS t USING (table_id)"
    " ORDER BY t.number, given.seat FOR KEY SHARE OF t"
    " ON CONFLICT (number, seat) DO UPDATE SET until = coalesce(excluded.until, presence.until),"
    " absent_at = coalesce(excluded.absent_at, presence.absent_at)"
)


async def renew(db: Connection, leases: Sequence[Lease]) -> None:
    """See `Store.renew_presence`."""
    await db.execute(_RENEW, *map(list, zip(*leases, strict=True)))


async def find(db: Connection, table_ids: Sequence[str]) -> list[Lease]:
    """See `Store.presence`."""
    rows = await db.fetch(
        "SELECT table_id, seat, until, absent_at FROM buraco.tables JOIN buraco.presence USING (number)"
        " WHERE table_id = ANY ($1)",
        table_ids,
    )
    return [Lease(*row) for row in rows]


async def lapsed(db: Connection, now: float, limit: int) -> list[str]:
    """See `Store.lapsed`."""
    rows = await db.fetch(
        "SELECT DISTINCT table_id FROM buraco.presence JOIN buraco.tables USING (number)"
        " WHERE absent_at <= $1 LIMIT $2",
        now,
        limit,
    )
    return [row[0] for row in rows]


async def end(db: Connection, table_id: str, now: float) -> None:
    """See `Store.end_presence`."""
    await db.execute(
        "UPDATE buraco.presence SET absent_at = NULL"
        " WHERE number = (SELECT number FROM buraco.tables WHERE table_id = $1) AND absent_at <= $2",
        table_id,
        now,
    )
