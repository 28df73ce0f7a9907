"""Reads of many tables, merged from the indexes of all buckets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from buraco_service.stores.base import StoredTable
from buraco_service.stores.redis.keys import BUCKETS, Keys
from buraco_service.stores.redis.nodes import Nodes

_LOAD_SIZE = 100
"""The most tables that are loaded at a time."""

_FIELDS = ("revision", "state", "status", "created", "updated")


class _Position(NamedTuple):
    """How far a bucket's index has been read."""

    after: bytes
    ended: bool


class Listing:
    """Reads the indexes and the tables they name."""

    def __init__(self, nodes: Nodes, keys: Keys) -> None:
        self._nodes = nodes
        self._keys = keys

    async def load(self, table_id: str) -> StoredTable | None:
        """Return the table; None if there is none."""
        keys = self._keys.of_table(table_id)
        return _stored(table_id, await self._nodes.call(keys.bucket, "HMGET", keys.table, *_FIELDS))

    async def page(self, status: str, limit: int, after: str) -> list[StoredTable]:
        """Return the first `limit` tables of a status (empty: of all) after an id (empty: from the start), by id."""

        def is_wanted(stored: StoredTable, labels: bytes | None) -> bool:
            return status in {"", stored.status}

        return await self._page(self._keys.names, status, limit, after, is_wanted)

    async def labelled(self, label: str, limit: int, after: str) -> list[StoredTable]:
        """Return the first `limit` tables with a label after an id (empty: from the start), by id."""
        wanted = label.encode()

        def is_wanted(stored: StoredTable, labels: bytes | None) -> bool:
            return wanted in (labels or b"").split(b"\n")

        return await self._page(self._keys.labelled, label, limit, after, is_wanted)

    async def _page(
        self,
        index: Callable[[int], bytes],
        prefix: str,
        limit: int,
        after: str,
        is_wanted: Callable[[StoredTable, bytes | None], bool],
    ) -> list[StoredTable]:
        """Return the first `limit` wanted tables that an index has under a prefix, after an id, by id.

        Since its name was read, a table may have been removed or have changed: `is_wanted` is asked about each, with
        its labels.
        """
        found: list[StoredTable] = []
        while len(found) < limit:
            names = await self._first_names(index, prefix, min(limit - len(found), _LOAD_SIZE), after)
            if not names:
                break
            tables = [self._keys.of_table(name) for name in names]
            calls = [(keys.bucket, ("HMGET", keys.table, *_FIELDS, "labels")) for keys in tables]
            for name, (*fields, labels) in zip(names, await self._nodes.call_many(calls), strict=True):
                stored = _stored(name, fields)
                if stored is not None and is_wanted(stored, labels):
                    found.append(stored)
            after = names[-1]
        return found

    async def count_owned(self, owner: str, status: str) -> int:
        """Return the number of the owner's tables with this status."""
        return await self._count(self._keys.owned, f"{owner}\0{status}")

    async def count(self, status: str) -> int:
        """Return the number of tables with this status.

        Takes two searches of each bucket's index, however many tables there are.
        """
        return await self._count(self._keys.names, status)

    async def oldest(self, before: float, limit: int) -> list[str]:
        """Return up to `limit` ids of tables maybe not written since a time, the oldest (to the hour) first."""
        return await self._lowest(self._keys.ages, f"({before!r}", limit)

    async def due(self, now: float, limit: int) -> list[str]:
        """Return ids of tables for which something is due, the earliest first; perhaps of tables that are gone."""
        return await self._lowest(self._keys.due, repr(now), limit)

    async def _lowest(self, index: Callable[[int], bytes], highest: str, limit: int) -> list[str]:
        """Return the ids with the lowest scores in an index of all buckets, up to the score `highest`."""
        query = ("-inf", highest, "BYSCORE", "LIMIT", 0, limit, "WITHSCORES")
        pages = await self._nodes.call_many([(bucket, ("ZRANGE", index(bucket), *query)) for bucket in range(BUCKETS)])
        found = sorted((score, name) for page in pages for name, score in page)
        return [name.decode() for _, name in found[:limit]]

    async def _count(self, index: Callable[[int], bytes], prefix: str) -> int:
        first, end = f"[{prefix}\0".encode(), f"({prefix}\1".encode()
        counts = await self._nodes.call_many(
            [(bucket, ("ZLEXCOUNT", index(bucket), first, end)) for bucket in range(BUCKETS)]
        )
        return sum(counts)

    async def _first_names(self, index: Callable[[int], bytes], prefix: str, limit: int, after: str) -> list[str]:
        """Return the first `limit` ids after `after` that an index of all buckets has under a prefix."""
        found: list[bytes] = []
        positions = {bucket: _Position(after.encode(), ended=False) for bucket in range(BUCKETS)}
        chunk = limit // BUCKETS * 2 + 4
        while True:
            found.sort()
            # Only a bucket that has not been read to the end of the page can add to it.
            unread = [
                bucket
                for bucket, position in positions.items()
                if not position.ended and (len(found) < limit or position.after < found[limit - 1])
            ]
            if not unread:
                return [name.decode() for name in found[:limit]]
            answers = await self._nodes.call_many(
                [(bucket, _names_query(index(bucket), prefix, positions[bucket].after, chunk)) for bucket in unread]
            )
            for bucket, members in zip(unread, answers, strict=True):
                names = [member.partition(b"\0")[2] for member in members]
                found += names
                positions[bucket] = _Position(names[-1] if names else b"", ended=len(names) < chunk)


def _names_query(index: bytes, prefix: str, after: bytes, count: int) -> tuple[str | bytes | int, ...]:
    """Return the command for the next names that a bucket's index has under a prefix."""
    first, end = f"({prefix}\0".encode() + after, f"({prefix}\1".encode()
    return ("ZRANGE", index, first, end, "BYLEX", "LIMIT", 0, count)


def _stored(table_id: str, answer: Sequence[Any]) -> StoredTable | None:
    revision, state, status, created, updated = answer
    if revision is None:
        return None
    return StoredTable(table_id, int(revision), state, status.decode(), float(created), float(updated))
