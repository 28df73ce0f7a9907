"""The interface of a ledger of accounts, which every store has.

An account is a list of entries that only grows; an entry is opaque bytes under a key of its own. All that holds of the
methods of `base.Store` holds of these. An account and a table are never written together: a sharded store keeps them in
different places.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class LedgerEntry(NamedTuple):
    """An entry of an account."""

    number: int
    """1 for the first, one more with every entry."""
    payload: bytes


class Posted(NamedTuple):
    """The entry of an account under a key."""

    entry: LedgerEntry
    is_new: bool
    """False if an earlier call wrote it."""


class Ledger(Protocol):
    """The accounts in one database."""

    async def append(self, account_id: str, number: int, key: str, payload: bytes) -> Posted | None:
        """Write an entry, and return it; the earlier one if the account has an entry under the key.

        Return None, and write nothing, unless `number` is one more than that of the account's newest entry.
        """

    async def find(self, account_id: str, keys: Sequence[str]) -> dict[str, LedgerEntry]:
        """Return the account's entries under these keys; those without an entry are left out."""

    async def entries(self, account_id: str, limit: int, before: int | None = None) -> list[LedgerEntry]:
        """Return the newest `limit` entries, those before a number if it is given, the newest first."""
