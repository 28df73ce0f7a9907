"""The ledger of the SQLite store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from buraco_service.stores import limits
from buraco_service.stores.ledger import LedgerEntry, Posted


class _Write(Protocol):
    def __call__(self, change: Callable[[sqlite3.Connection], Any], *, quick: bool) -> Awaitable[Any]: ...


class SqliteLedger:
    """The accounts in a file (see `ledger.Ledger`), read and written by the threads of the store."""

    def __init__(self, read: Callable[[Callable[[sqlite3.Connection], Any]], Awaitable[Any]], write: _Write) -> None:
        self._read = read
        self._write = write

    async def append(self, account_id: str, number: int, key: str, payload: bytes) -> Posted | None:
        """See `Ledger.append`."""
        limits.validate_append(account_id, key, payload)
        posted: Posted | None = await self._write(lambda db: _append(db, account_id, number, key, payload), quick=True)
        return posted

    async def find(self, account_id: str, keys: Sequence[str]) -> dict[str, LedgerEntry]:
        """See `Ledger.find`."""
        limits.validate_account(account_id, *keys)
        found: dict[str, LedgerEntry] = await self._read(lambda db: _find(db, account_id, keys))
        return found

    async def entries(self, account_id: str, limit: int, before: int | None = None) -> list[LedgerEntry]:
        """See `Ledger.entries`."""
        limits.validate_entries(account_id, limit)
        page: list[LedgerEntry] = await self._read(lambda db: _entries(db, account_id, limit, before))
        return page


def _append(db: sqlite3.Connection, account_id: str, number: int, key: str, payload: bytes) -> Posted | None:
    earlier = _find(db, account_id, [key])
    if earlier:
        return Posted(earlier[key], is_new=False)
    newest = _entries(db, account_id, 1, None)
    if number != (newest[0].number if newest else 0) + 1:
        return None
    db.execute("INSERT INTO ledger VALUES (?, ?, ?, ?)", (account_id, number, key, payload))
    return Posted(LedgerEntry(number, payload), is_new=True)


def _find(db: sqlite3.Connection, account_id: str, keys: Sequence[str]) -> dict[str, LedgerEntry]:
    rows = db.execute(
        "SELECT key, number, payload FROM ledger WHERE account_id = ? AND key IN (SELECT value FROM json_each(?))",
        (account_id, json.dumps(keys)),
    )
    return {key: LedgerEntry(number, payload) for key, number, payload in rows}


def _entries(db: sqlite3.Connection, account_id: str, limit: int, before: int | None) -> list[LedgerEntry]:
    before = limits.MAX_NUMBER + 1 if before is None else limits.clamp(before, 0)
    rows = db.execute(
        "SELECT number, payload FROM ledger WHERE account_id = ? AND number < ? ORDER BY number DESC LIMIT ?",
        (account_id, before, limit),
    )
    return [LedgerEntry(*row) for row in rows]
