"""Tables in an order, put together from the indexes of all buckets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from buraco_service.stores.base import Stored
from buraco_service.stores.redis.keys import BUCKETS, Keys
from buraco_service.stores.redis.nodes import Nodes

_LOADED_AT_ONCE = 100
"""Tables whose states are on their way at a time."""

_FIELDS = ("revision", "state", "status", "created", "updated")


class _Read(NamedTuple):
    """How far a bucket's index has been read."""

    after: bytes
    ended: bool


class Listing:
    """Reads the indexes and the tables they name."""

    def __init__(self, nodes: Nodes, keys: Keys) -> None:
        self._nodes = nodes
        self._keys = keys

    async def load(self, table_id: str) -> Stored | None:
        """The table, if it is there."""
        keys = self._keys.of_table(table_id)
        return _stored(table_id, await self._nodes.call(keys.bucket, "HMGET", keys.table, *_FIELDS))

    async def page(self, status: str, limit: int, after: str) -> list[Stored]:
        """The first tables behind `after`; with an empty status of all."""
        found: list[Stored] = []
        while len(found) < limit:
            names = await self._first_names(status, min(limit - len(found), _LOADED_AT_ONCE), after)
            if not names:
                break
            places = [self._keys.of_table(name) for name in names]
            answers = await self._nodes.ask([(keys.bucket, ("HMGET", keys.table, *_FIELDS)) for keys in places])
            loaded = map(_stored, names, answers)
            # A table may have gone, or on to another status, since its name was read.
            found += [stored for stored in loaded if stored is not None and status in {"", stored.status}]
            after = names[-1]
        return found

    async def owned(self, owner: str, status: str) -> int:
        """How many tables of the status are the owner's."""
        mark = f"{owner}\0{status}".encode()
        counts = await self._nodes.ask(
            [
                (bucket, ("ZLEXCOUNT", self._keys.owned(bucket), b"[" + mark + b"\0", b"(" + mark + b"\1"))
                for bucket in range(BUCKETS)
            ]
        )
        return sum(counts)

    async def count(self, status: str) -> int:
        """How many tables of the status there are: two steps down each bucket's index, whatever their number."""
        mark = status.encode()
        counts = await self._nodes.ask(
            [
                (bucket, ("ZLEXCOUNT", self._keys.names(bucket), b"[" + mark + b"\0", b"(" + mark + b"\1"))
                for bucket in range(BUCKETS)
            ]
        )
        return sum(counts)

    async def oldest(self, before: float, limit: int) -> list[str]:
        """Ids of tables that seem not to have been written since a time, the longest untouched (to the hour) first."""
        reach = ("-inf", f"({before!r}", "BYSCORE", "LIMIT", 0, limit, "WITHSCORES")
        pages = await self._nodes.ask(
            [(bucket, ("ZRANGE", self._keys.ages(bucket), *reach)) for bucket in range(BUCKETS)]
        )
        ages = sorted((age, name) for page in pages for name, age in page)
        return [name.decode() for _, name in ages[:limit]]

    async def _first_names(self, status: str, limit: int, after: str) -> list[str]:
        """The first ids behind `after` in all buckets' indexes."""
        found: list[bytes] = []
        reads = {bucket: _Read(after.encode(), ended=False) for bucket in range(BUCKETS)}
        chunk = limit // BUCKETS * 2 + 4
        while True:
            found.sort()
            # Only a bucket that has been read no further than the page goes can add to the page.
            wanted = [
                bucket
                for bucket, read in reads.items()
                if not read.ended and (len(found) < limit or read.after < found[limit - 1])
            ]
            if not wanted:
                return [name.decode() for name in found[:limit]]
            answers = await self._nodes.ask(
                [(bucket, self._names_in(bucket, status.encode(), reads[bucket].after, chunk)) for bucket in wanted]
            )
            for bucket, members in zip(wanted, answers, strict=True):
                names = [member.partition(b"\0")[2] for member in members]
                found += names
                reads[bucket] = _Read(names[-1] if names else b"", ended=len(names) < chunk)

    def _names_in(self, bucket: int, status: bytes, after: bytes, count: int) -> tuple[str | bytes | int, ...]:
        """The question for the bucket's next names of a status."""
        first, end = b"(" + status + b"\0" + after, b"(" + status + b"\1"
        return ("ZRANGE", self._keys.names(bucket), first, end, "BYLEX", "LIMIT", 0, count)


def _stored(table_id: str, answer: Sequence[Any]) -> Stored | None:
    revision, state, status, created, updated = answer
    if revision is None:
        return None
    return Stored(table_id, int(revision), state, status.decode(), float(created), float(updated))
