"""Tables in Redis or Valkey: one master with or without replicas, or a cluster.

A create or a commit is one script on keys of one hash tag, so that it is atomic in a cluster, too. What is acknowledged
is in the server; that it outlives the server is the server's configuration (see `checks`), and `?replicas=` of the URL.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
from collections.abc import Iterator

from buraco_service.stores import limits
from buraco_service.stores.base import (
    KEPT_REQUESTS,
    PRUNE_STEP,
    AlreadyRemembered,
    Commit,
    HistoryGone,
    LogEntry,
    NewTable,
    Remembered,
    RevisionConflict,
    Stored,
    StoreError,
    StoreUnavailable,
    TableExists,
    TableNotFound,
)
from buraco_service.stores.notify import TableSubscription, Watchers
from buraco_service.stores.redis import scripts
from buraco_service.stores.redis.checks import check_safety, check_schema
from buraco_service.stores.redis.keys import Keys, TableKeys, bucket_of
from buraco_service.stores.redis.listing import Listing
from buraco_service.stores.redis.nodes import Nodes
from buraco_service.stores.redis.url import Place
from buraco_service.stores.redis.watch import TableChanges

_AGE_STEP = 3600
"""Seconds: a table's place in the order of ages moves when it was written in another hour than before."""


class RedisStore:
    """A store in a server or a cluster (see `base.Store`). Made by `open`."""

    def __init__(self, nodes: Nodes, keys: Keys) -> None:
        self._loop = asyncio.get_running_loop()
        self._nodes = nodes
        self._keys = keys
        self._listing = Listing(nodes, keys)
        self._changes = TableChanges(nodes, keys, self._wake)
        self._watchers = Watchers(self._changes.watch, self._changes.unwatch)
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = False

    @classmethod
    async def open(cls, place: Place) -> RedisStore:
        """Connect. Raises StoreUnavailable when no master answers, StoreIncompatible for servers of no use."""
        nodes = await Nodes.open(place)
        keys = Keys(place.prefix, place.database)
        try:
            await check_schema(nodes, keys)
            await check_safety(nodes)
        except BaseException:
            await nodes.close()
            raise
        return cls(nodes, keys)

    async def create(self, table: NewTable) -> None:
        """See `Store.create`."""
        limits.check_create(table)
        keys = self._keys.of_table(table.table_id)
        with self._call():
            if table.request_id is not None:
                earlier = await self._created_earlier(keys, table.request_id)
                if earlier is not None:
                    raise AlreadyRemembered(earlier[0], Remembered(1, earlier[1]))
            outcome, *first = await self._nodes.run(
                keys.bucket,
                scripts.CREATE,
                keys.all[:7],
                *(table.table_id, table.request_id or "", table.state, table.status, repr(table.now)),
                *(table.entry, table.answer, keys.channel, table.owner or ""),
            )
        if outcome == b"remembered":
            raise AlreadyRemembered(table.table_id, _remembered(first[0]))
        if outcome == b"exists":
            raise TableExists(table.table_id)

    async def owned(self, owner: str, status: str) -> int:
        """See `Store.owned`."""
        limits.check_owned(owner, status)
        with self._call():
            return await self._listing.owned(owner, status)

    async def count(self, status: str) -> int:
        """See `Store.count`."""
        limits.check_status(status)
        with self._call():
            return await self._listing.count(status)

    async def load(self, table_id: str) -> Stored:
        """See `Store.load`."""
        limits.check_possible(table_id)
        with self._call():
            stored = await self._listing.load(table_id)
        if stored is None:
            raise TableNotFound(table_id)
        return stored

    async def revision(self, table_id: str) -> int:
        """See `Store.revision`."""
        limits.check_possible(table_id)
        keys = self._keys.of_table(table_id)
        with self._call():
            found = await self._nodes.call(keys.bucket, "HGET", keys.table, "revision")
        if found is None:
            raise TableNotFound(table_id)
        return int(found)

    async def commit(self, commit: Commit) -> int:
        """See `Store.commit`."""
        limits.check_commit(commit)
        limits.check_possible(commit.table_id)
        keys = self._keys.of_table(commit.table_id)
        droppable = -1 if commit.keep_log_after is None else min(max(commit.keep_log_after, -1), limits.MAX_NUMBER)
        with self._call():
            answer = await self._nodes.run(
                keys.bucket,
                scripts.COMMIT,
                keys.all,
                commit.table_id,
                commit.expected_revision if abs(commit.expected_revision) <= limits.MAX_NUMBER else -1,
                commit.request_id or "",
                commit.state,
                commit.status,
                repr(commit.now),
                commit.entry,
                commit.answer,
                droppable,
                keys.channel,
                *(KEPT_REQUESTS, PRUNE_STEP, _AGE_STEP, limits.MAX_NUMBER),
                *[word for record in commit.records for word in record],
            )
        if isinstance(answer, int):
            return answer
        raise _refusal(commit.table_id, answer)

    async def remembered(self, table_id: str, *request_ids: str) -> Remembered | None:
        """See `Store.remembered`."""
        possible = limits.possible_requests(table_id, request_ids)
        with self._call():
            if not possible:
                return None
            keys = self._keys.of_table(table_id)
            kept, (revision, request_id, answer) = await self._nodes.ask(
                [
                    (keys.bucket, ("HMGET", keys.requests, *possible)),
                    (keys.bucket, ("HMGET", keys.table, "revision", "request", "answer")),
                ]
            )
            for found in kept:
                if found is not None:
                    return _remembered(found)
            if revision is not None:
                return Remembered(1, answer) if request_id and request_id.decode() in possible else None
            for request_id in possible:
                earlier = await self._created_earlier(keys, request_id)
                if earlier is not None:
                    return Remembered(1, earlier[1])
            return None

    async def log(self, table_id: str, after_revision: int, limit: int) -> builtins.list[LogEntry]:
        """See `Store.log`."""
        limits.check_page(limit)
        limits.check_possible(table_id)
        after = min(max(after_revision, 0), limits.MAX_NUMBER)
        keys = self._keys.of_table(table_id)
        with self._call():
            what, *rest = await self._nodes.run(keys.bucket, scripts.LOG, (keys.table, keys.log), after, limit)
        if what == b"missing":
            raise TableNotFound(table_id)
        if what == b"gone":
            raise HistoryGone(rest[0])
        return [LogEntry(revision, payload) for revision, payload in enumerate(rest[0], after + 1)]

    async def records(self, table_id: str, after_deal: int, limit: int) -> builtins.list[tuple[int, bytes]]:
        """See `Store.records`."""
        limits.check_page(limit)
        limits.check_possible(table_id)
        after = min(max(after_deal, -1), limits.MAX_NUMBER)
        keys = self._keys.of_table(table_id)
        with self._call():
            what, *rest = await self._nodes.run(keys.bucket, scripts.RECORDS, (keys.table, keys.records), after, limit)
        if what == b"missing":
            raise TableNotFound(table_id)
        return list(zip(rest[0][::2], rest[0][1::2], strict=True))

    async def list(self, status: str | None, limit: int, after: str | None) -> builtins.list[Stored]:
        """See `Store.list`."""
        limits.check_list(status, limit, after)
        with self._call():
            return await self._listing.page(status or "", limit, after or "")

    async def expire(self, updated_before: float, limit: int) -> int:
        """See `Store.expire`."""
        limits.check_time(updated_before)
        limits.check_page(limit)
        removed = 0
        with self._call():
            while removed < limit:
                oldest = await self._listing.oldest(updated_before, limit - removed)
                if not oldest:
                    break
                removed += sum(await asyncio.gather(*[self._remove(name, updated_before) for name in oldest]))
        return removed

    def subscribe(self, table_id: str) -> TableSubscription:
        """See `Store.subscribe`."""
        return self._watchers.subscribe(table_id)

    async def ping(self) -> None:
        """See `Store.ping`."""
        with self._call():
            await asyncio.gather(
                *[
                    self._nodes.run(bucket, scripts.PING, (self._keys.names(bucket),))
                    for bucket in self._nodes.owners().values()
                ]
            )

    async def close(self) -> None:
        """See `Store.close`."""
        self._closing = True
        self._watchers.close()
        await self._idle.wait()
        await self._changes.stop()
        await self._nodes.close()

    async def _remove(self, table_id: str, updated_before: float) -> bool:
        keys = self._keys.of_table(table_id)
        request_id = await self._nodes.run(
            keys.bucket,
            scripts.REMOVE,
            keys.all,
            table_id,
            repr(updated_before),
            keys.channel,
        )
        if request_id:
            # Left over, the claim would count for nothing all the same.
            await self._nodes.call(bucket_of(request_id.decode()), "UNLINK", self._keys.claim(request_id.decode()))
        return request_id is not None

    async def _created_earlier(self, keys: TableKeys, request_id: str) -> tuple[str, bytes] | None:
        """Return the table that an earlier version created for a request, and the answer.

        None if there is none, or if the table of the keys remembers the request itself.
        """
        first, (mark, table_id) = await self._nodes.ask(
            [
                (keys.bucket, ("HGET", keys.requests, request_id)),
                (bucket_of(request_id), ("HMGET", self._keys.claim(request_id), "claim", "table")),
            ]
        )
        if first is not None or mark is None:
            return None
        table = self._keys.of_table(table_id.decode())
        found, answer = await self._nodes.call(table.bucket, "HMGET", table.table, "claim", "answer")
        return (table_id.decode(), answer) if found == mark else None

    @contextlib.contextmanager
    def _call(self) -> Iterator[None]:
        """What close waits for."""
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("a store belongs to the event loop that opened it")
        if self._closing:
            raise StoreUnavailable("the store is closed")
        self._under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    def _wake(self, table_id: str, revision: int | None) -> None:
        self._watchers.wake(table_id, revision)


def _refusal(table_id: str, answer: builtins.list[bytes]) -> StoreError:
    """The error that the commit's script has found."""
    match answer:
        case [b"missing"]:
            return TableNotFound(table_id)
        case [b"remembered", found]:
            return AlreadyRemembered(table_id, _remembered(found))
        case [b"conflict", current]:
            return RevisionConflict(int(current))
        case _:
            return StoreError("the table has had as many revisions as there can be")


def _remembered(found: bytes) -> Remembered:
    revision, _, answer = found.partition(b":")
    return Remembered(int(revision), answer)
