"""Leases of seats in the Redis store.

A table's leases are a hash that ends by itself, so that nothing is left of a table that is gone. Those that make a seat
absent are also in an index of the bucket, written after them: what is found there can be read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from buraco_service.stores.base import Lease
from buraco_service.stores.limits import MAX_SEAT
from buraco_service.stores.redis import scripts
from buraco_service.stores.redis.keys import BUCKETS, Keys
from buraco_service.stores.redis.nodes import Nodes

KEPT_SECONDS = 3 * 86_400
"""How long leases are kept that nobody renews: longer than any seat may be without a stream before it is absent."""


class Leases:
    """Reads and writes leases."""

    def __init__(self, nodes: Nodes, keys: Keys) -> None:
        self._nodes = nodes
        self._keys = keys

    async def renew(self, leases: Sequence[Lease]) -> None:
        """See `Store.renew_presence`."""
        calls = []
        for lease in leases:
            keys = self._keys.of_table(lease.table_id)
            until, absent_at = ["" if seconds is None else repr(seconds) for seconds in (lease.until, lease.absent_at)]
            names = keys.table, self._keys.presence(lease.table_id), self._keys.lapses(keys.bucket)
            words = (lease.table_id, lease.seat, until, absent_at, KEPT_SECONDS)
            calls.append(self._nodes.run_script(keys.bucket, scripts.RENEW_PRESENCE, names, *words))
        await asyncio.gather(*calls)

    async def find(self, table_ids: Sequence[str]) -> list[Lease]:
        """See `Store.presence`."""
        answers = await self._nodes.call_many(
            [
                (self._keys.of_table(table_id).bucket, ("HGETALL", self._keys.presence(table_id)))
                for table_id in table_ids
            ]
        )
        found: list[Lease] = []
        for table_id, answer in zip(table_ids, answers, strict=True):
            for seat in range(MAX_SEAT + 1):
                until, absent_at = answer.get(b"%d" % seat), answer.get(b"%d:absent" % seat)
                if until or absent_at:
                    found.append(Lease(table_id, seat, _seconds(until), _seconds(absent_at)))
        return found

    async def lapsed(self, now: float, limit: int) -> list[str]:
        """See `Store.lapsed`."""
        query = ("-inf", repr(now), "BYSCORE", "LIMIT", 0, limit)
        pages = await self._nodes.call_many(
            [(bucket, ("ZRANGE", self._keys.lapses(bucket), *query)) for bucket in range(BUCKETS)]
        )
        found = {name.decode().partition(":")[2] for page in pages for name in page}
        return list(found)[:limit]

    async def end(self, table_id: str, now: float) -> None:
        """See `Store.end_presence`."""
        bucket = self._keys.of_table(table_id).bucket
        names = self._keys.presence(table_id), self._keys.lapses(bucket)
        await self._nodes.run_script(bucket, scripts.END_PRESENCE, names, table_id, repr(now), MAX_SEAT)

    async def drop(self, table_id: str) -> None:
        """Remove the leases of a table that is gone."""
        bucket = self._keys.of_table(table_id).bucket
        await self._nodes.call(bucket, "UNLINK", self._keys.presence(table_id))
        members = [f"{seat}:{table_id}" for seat in range(MAX_SEAT + 1)]
        await self._nodes.call(bucket, "ZREM", self._keys.lapses(bucket), *members)


def _seconds(text: bytes | None) -> float | None:
    return float(text) if text else None
