"""The calls of the PostgreSQL store that are no commits, each one round trip."""

from __future__ import annotations

from collections.abc import Sequence

from asyncpg import Connection

from buraco_service.stores.base import (
    AlreadyAnswered,
    HistoryGone,
    LogEntry,
    NewTable,
    StoredAnswer,
    StoredTable,
    StoreUnavailable,
    TableExists,
    TableNotFound,
)
from buraco_service.stores.limits import clamp, hour_of

_SELECT_TABLES = "SELECT table_id, revision, state, status, created_at, updated_at FROM buraco.tables"


async def load(db: Connection, table_id: str) -> StoredTable:
    """Return the newest state of the table. Raise TableNotFound."""
    row = await db.fetchrow(f"{_SELECT_TABLES} WHERE table_id = $1", table_id)
    if row is None:
        raise TableNotFound(table_id)
    return StoredTable(*row)


async def load_revision(db: Connection, table_id: str) -> int:
    """Return the newest revision of the table. Raise TableNotFound."""
    found: int | None = await db.fetchval("SELECT revision FROM buraco.tables WHERE table_id = $1", table_id)
    if found is None:
        raise TableNotFound(table_id)
    return found


async def count_owned(db: Connection, owner: str, status: str) -> int:
    """Return the number of the owner's tables with this status."""
    found: int = await db.fetchval("SELECT count(*) FROM buraco.tables WHERE owner = $1 AND status = $2", owner, status)
    return found


async def count(db: Connection, status: str) -> int:
    """Return the number of tables with this status. Reads the index alone, as far as the table has been vacuumed."""
    found: int = await db.fetchval("SELECT count(*) FROM buraco.tables WHERE status = $1", status)
    return found


async def find_answer(db: Connection, table_id: str, request_ids: Sequence[str]) -> StoredAnswer | None:
    """Return the stored answer under one of the request ids, None if there is none."""
    row = await db.fetchrow(
        "SELECT requests.revision, answer FROM buraco.tables JOIN buraco.requests USING (number)"
        " WHERE table_id = $1 AND request_id = ANY ($2)"
        " UNION ALL SELECT 1, answer FROM buraco.requests WHERE revision = 1 AND request_id = ANY ($2)"
        " AND NOT EXISTS (SELECT FROM buraco.tables WHERE table_id = $1) LIMIT 1",
        table_id,
        request_ids,
    )
    return None if row is None else StoredAnswer(*row)


async def read_log(db: Connection, table_id: str, after_revision: int, limit: int) -> list[LogEntry]:
    """Return the first `limit` entries after a revision. Raise TableNotFound; HistoryGone for dropped ones."""
    after = clamp(after_revision, 0)
    rows = await db.fetch(
        "SELECT tables.revision, log_start, entry.revision, entry.payload FROM buraco.tables LEFT JOIN LATERAL ("
        " SELECT revision, payload FROM buraco.log WHERE number = tables.number AND revision > $2"
        " ORDER BY revision LIMIT $3"
        ") AS entry ON $2 >= log_start - 1 WHERE table_id = $1 ORDER BY entry.revision",
        table_id,
        after,
        limit,
    )
    if not rows:
        raise TableNotFound(table_id)
    newest, start, *_ = rows[0]
    if after >= newest:
        return []
    if after < start - 1:
        raise HistoryGone(start)
    return [LogEntry(revision, payload) for _, _, revision, payload in rows]


async def read_records(db: Connection, table_id: str, after_deal: int, limit: int) -> list[tuple[int, bytes]]:
    """Return the first `limit` (deal number, payload) after a deal number, in order. Raise TableNotFound."""
    rows = await db.fetch(
        "SELECT record.deal, record.payload FROM buraco.tables LEFT JOIN LATERAL ("
        " SELECT deal, payload FROM buraco.records WHERE number = tables.number AND deal > $2 ORDER BY deal LIMIT $3"
        ") AS record ON true WHERE table_id = $1 ORDER BY record.deal",
        table_id,
        clamp(after_deal, -1),
        limit,
    )
    if not rows:
        raise TableNotFound(table_id)
    return [(deal, payload) for deal, payload in rows if deal is not None]


async def list_tables(db: Connection, status: str | None, limit: int, after: str | None) -> list[StoredTable]:
    """Return the first `limit` tables of a status (None: of all) after an id (None: from the start), by id."""
    # Every id is greater than "".
    page = "table_id > $1 ORDER BY table_id LIMIT $2"
    if status is None:
        rows = await db.fetch(f"{_SELECT_TABLES} WHERE {page}", after or "", limit)
    else:
        rows = await db.fetch(f"{_SELECT_TABLES} WHERE status = $3 AND {page}", after or "", limit, status)
    return [StoredTable(*row) for row in rows]


async def due(db: Connection, now: float, limit: int) -> list[str]:
    """See `Store.due`."""
    rows = await db.fetch("SELECT table_id FROM buraco.tables WHERE due_at <= $1 ORDER BY due_at LIMIT $2", now, limit)
    return [row[0] for row in rows]


async def create(db: Connection, table: NewTable) -> None:
    """Write a new table with revision 1. Raise AlreadyAnswered for a repeated request, TableExists."""
    row = await db.fetchrow(
        "SELECT outcome, first_table, first_answer FROM"
        " buraco.create_labelled_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        *(table.table_id, table.state, table.status, table.now, hour_of(table.now)),
        *(table.entry, table.request_id, table.answer, table.owner, table.due_at, list(table.labels)),
    )
    assert row is not None
    outcome, first_table, first_answer = row
    if outcome == "remembered":
        raise AlreadyAnswered(first_table, StoredAnswer(1, first_answer))
    if outcome == "exists":
        raise TableExists(table.table_id)


async def expire(db: Connection, updated_before: float, limit: int) -> int:
    """Remove up to `limit` tables not written since `updated_before`, and return how many."""
    removed: int = await db.fetchval(
        "SELECT buraco.expire_1($1, $2, $3)", updated_before, hour_of(updated_before), limit
    )
    return removed


async def check_writable(db: Connection) -> None:
    """Raise StoreUnavailable if nothing can be written, as on a standby."""
    if await db.fetchval("SELECT current_setting('transaction_read_only')") == "on":
        raise StoreUnavailable("PostgreSQL is read only")


async def undurable_settings(db: Connection) -> list[str]:
    """Return the settings that are off so that the server may lose acknowledged commits, by name; empty if none is."""
    rows = await db.fetch(
        "SELECT name FROM pg_settings WHERE name IN ('synchronous_commit', 'fsync') AND setting = 'off' ORDER BY name"
    )
    return [row[0] for row in rows]


async def notify(db: Connection, channel: str, payload: str) -> None:
    """Send a notification to all that listen on the channel, this process included."""
    await db.execute("SELECT pg_notify($1, $2)", channel, payload)
