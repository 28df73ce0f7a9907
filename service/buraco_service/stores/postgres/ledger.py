"""The ledger of the PostgreSQL store, each call one round trip."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from asyncpg import Connection

from buraco_service.stores import limits
from buraco_service.stores.ledger import LedgerEntry, Posted

# Where another call is writing this number or this key, the insert waits for it, writes nothing, and finds neither:
# the second select of a statement sees what the first saw. So the caller asks again.
_APPEND = """
WITH added AS (
    INSERT INTO buraco.ledger SELECT $1::text, $2::integer, $3::text, $4::bytea
    WHERE $2 = 1 + (SELECT coalesce(max(number), 0) FROM buraco.ledger WHERE account_id = $1)
    AND NOT EXISTS (SELECT FROM buraco.ledger WHERE account_id = $1 AND key = $3)
    ON CONFLICT DO NOTHING RETURNING number
)
SELECT number, $4::bytea, true FROM added
UNION ALL SELECT number, payload, false FROM buraco.ledger WHERE account_id = $1 AND key = $3
"""


class PostgresLedger:
    """The accounts in a database (see `ledger.Ledger`). `call` runs a function with a connection."""

    def __init__(self, call: Callable[[Callable[[Connection], Awaitable[Any]]], Awaitable[Any]]) -> None:
        self._call = call

    async def append(self, account_id: str, number: int, key: str, payload: bytes) -> Posted | None:
        """See `Ledger.append`."""
        limits.validate_append(account_id, key, payload)
        if not 0 < number <= limits.MAX_NUMBER:
            number = 0  # never the next
        # May run twice: the second time it finds its own entry.
        row = await self._call(lambda db: db.fetchrow(_APPEND, account_id, number, key, payload))
        return None if row is None else Posted(LedgerEntry(row[0], row[1]), is_new=row[2])

    async def find(self, account_id: str, keys: Sequence[str]) -> dict[str, LedgerEntry]:
        """See `Ledger.find`."""
        limits.validate_account(account_id, *keys)
        query = "SELECT key, number, payload FROM buraco.ledger WHERE account_id = $1 AND key = ANY ($2)"
        rows = await self._call(lambda db: db.fetch(query, account_id, keys))
        return {key: LedgerEntry(number, payload) for key, number, payload in rows}

    async def entries(self, account_id: str, limit: int, before: int | None = None) -> list[LedgerEntry]:
        """See `Ledger.entries`."""
        limits.validate_entries(account_id, limit)
        last = limits.MAX_NUMBER if before is None else limits.clamp(before, 0) - 1
        query = (
            "SELECT number, payload FROM buraco.ledger WHERE account_id = $1 AND number <= $2"
            " ORDER BY number DESC LIMIT $3"
        )
        rows = await self._call(lambda db: db.fetch(query, account_id, last, limit))
        return [LedgerEntry(*row) for row in rows]
