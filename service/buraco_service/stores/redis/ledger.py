"""The ledger of the Redis store: all keys of an account have one hash tag, as those of a table have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from buraco_service.stores import limits
from buraco_service.stores.ledger import LedgerEntry, Posted
from buraco_service.stores.redis import scripts
from buraco_service.stores.redis.keys import Keys
from buraco_service.stores.redis.nodes import Nodes


class RedisLedger:
    """The accounts in a server or a cluster (see `ledger.Ledger`). `call` is entered for the time of a call."""

    def __init__(self, nodes: Nodes, keys: Keys, call: Callable[[], AbstractContextManager[None]]) -> None:
        self._nodes = nodes
        self._keys = keys
        self._call = call

    async def append(self, account_id: str, number: int, key: str, payload: bytes) -> Posted | None:
        """See `Ledger.append`."""
        limits.validate_append(account_id, key, payload)
        account = self._keys.of_account(account_id)
        if not 0 < number <= limits.MAX_NUMBER:
            number = 0  # never the next
        with self._call():
            found, *earlier = await self._nodes.run_script(
                account.bucket, scripts.APPEND, (account.entries, account.posted), number, key, payload
            )
        if earlier:
            return Posted(LedgerEntry(found, earlier[0]), is_new=False)
        return Posted(LedgerEntry(number, payload), is_new=True) if found else None

    async def find(self, account_id: str, keys: Sequence[str]) -> dict[str, LedgerEntry]:
        """See `Ledger.find`."""
        limits.validate_account(account_id, *keys)
        account = self._keys.of_account(account_id)
        if not keys:
            return {}
        with self._call():
            numbers = await self._nodes.call(account.bucket, "HMGET", account.posted, *keys)
            found = {key: int(number) for key, number in zip(keys, numbers, strict=True) if number is not None}
            payloads = await self._nodes.call_many(
                [(account.bucket, ("LINDEX", account.entries, number - 1)) for number in found.values()]
            )
        entries = map(LedgerEntry, found.values(), payloads)
        return dict(zip(found, entries, strict=True))

    async def entries(self, account_id: str, limit: int, before: int | None = None) -> list[LedgerEntry]:
        """See `Ledger.entries`."""
        limits.validate_entries(account_id, limit)
        account = self._keys.of_account(account_id)
        last = limits.MAX_NUMBER if before is None else limits.clamp(before, 0) - 1
        with self._call():
            newest, payloads = await self._nodes.run_script(
                account.bucket, scripts.ENTRIES, (account.entries,), last, limit
            )
        return [LedgerEntry(newest - place, payload) for place, payload in enumerate(reversed(payloads))]
