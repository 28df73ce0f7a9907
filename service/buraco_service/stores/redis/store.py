"""Tables in Redis or Valkey: one master with or without replicas, or a cluster.

A create or a commit is one script on keys with one hash tag, so that it is atomic in a cluster, too. Whether what is
acknowledged survives the end of the server depends on its configuration (see `checks`) and `?replicas=` in the URL.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from buraco_service.stores import limits
from buraco_service.stores.base import (
    KEPT_ANSWERS,
    PRUNE_STEP,
    AlreadyAnswered,
    Commit,
    HistoryGone,
    LogEntry,
    NewTable,
    RevisionConflict,
    RevisionsExhausted,
    StoredAnswer,
    StoredTable,
    StoreError,
    TableExists,
    TableNotFound,
)
from buraco_service.stores.messages import NewMessage, StoredMessage
from buraco_service.stores.notify import Subscriptions, TableSubscription
from buraco_service.stores.redis import messages, scripts
from buraco_service.stores.redis.checks import check_safety, check_schema
from buraco_service.stores.redis.keys import Keys, TableKeys, bucket_of
from buraco_service.stores.redis.ledger import RedisLedger
from buraco_service.stores.redis.listing import Listing
from buraco_service.stores.redis.nodes import Nodes
from buraco_service.stores.redis.url import Place
from buraco_service.stores.redis.watch import TableChanges


class RedisStore:
    """A store in a server or a cluster (see `base.Store`). Made by `open`."""

    def __init__(self, nodes: Nodes, keys: Keys) -> None:
        self._nodes = nodes
        self._keys = keys
        self._listing = Listing(nodes, keys)
        self.ledger = RedisLedger(nodes, keys, self._call)
        self._subscriptions = Subscriptions()
        self._changes = TableChanges(nodes, keys, self._subscriptions.notify, self._subscriptions.notify_message)
        self._subscriptions.on_first = self._changes.watch
        self._subscriptions.on_last = self._changes.unwatch
        self._calls_under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @classmethod
    async def open(cls, place: Place) -> RedisStore:
        """Connect, write the schema version to a new store, and log warnings for settings that are not safe.

        Raise StoreUnavailable if no master answers, StoreIncompatible for servers that cannot be used, StoreError for
        an answer that is not understood.
        """
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
        """Write a new table with revision 1. Raise AlreadyAnswered for a repeated request, TableExists."""
        limits.validate_create(table)
        keys = self._keys.of_table(table.table_id)
        with self._call():
            if table.request_id is not None:
                earlier = await self._find_earlier_create(keys, table.request_id)
                if earlier is not None:
                    raise AlreadyAnswered(earlier[0], StoredAnswer(1, earlier[1]))
            outcome, *first = await self._nodes.run_script(
                keys.bucket,
                scripts.CREATE,
                keys.all,
                *(table.table_id, table.request_id or "", table.state, table.status, repr(table.now)),
                *(table.entry, table.answer, keys.channel, table.owner or "", _due(table)),
            )
        if outcome == b"remembered":
            raise AlreadyAnswered(table.table_id, _parse_answer(first[0]))
        if outcome == b"exists":
            raise TableExists(table.table_id)

    async def count_owned(self, owner: str, status: str) -> int:
        """Return the number of the owner's tables with this status."""
        limits.validate_owned(owner, status)
        with self._call():
            return await self._listing.count_owned(owner, status)

    async def count(self, status: str) -> int:
        """Return the number of tables with this status."""
        limits.validate_status(status)
        with self._call():
            return await self._listing.count(status)

    async def load(self, table_id: str) -> StoredTable:
        """Return the newest state of the table. Raise TableNotFound."""
        limits.validate_table_id(table_id)
        with self._call():
            stored = await self._listing.load(table_id)
        if stored is None:
            raise TableNotFound(table_id)
        return stored

    async def load_revision(self, table_id: str) -> int:
        """Return the newest revision of the table. Raise TableNotFound."""
        limits.validate_table_id(table_id)
        keys = self._keys.of_table(table_id)
        with self._call():
            found = await self._nodes.call(keys.bucket, "HGET", keys.table, "revision")
        if found is None:
            raise TableNotFound(table_id)
        return int(found)

    async def commit(self, commit: Commit) -> int:
        """Write one change and return the new revision.

        Raise, in this order: TableNotFound; AlreadyAnswered for a repeat; RevisionConflict; RevisionsExhausted.
        """
        limits.validate_commit(commit)
        keys = self._keys.of_table(commit.table_id)
        drop_log_until = -1 if commit.keep_log_after is None else limits.clamp(commit.keep_log_after, -1)
        with self._call():
            answer = await self._nodes.run_script(
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
                drop_log_until,
                keys.channel,
                *(KEPT_ANSWERS, PRUNE_STEP, limits.SECONDS_PER_HOUR, limits.MAX_NUMBER, _due(commit)),
                *[word for record in commit.records for word in record],
            )
        if isinstance(answer, int):
            return answer
        raise _commit_error(commit.table_id, answer)

    async def find_answer(self, table_id: str, *request_ids: str) -> StoredAnswer | None:
        """Return the stored answer under one of the request ids, None if there is none."""
        valid_ids = limits.valid_request_ids(table_id, request_ids)
        with self._call():
            if not valid_ids:
                return None
            keys = self._keys.of_table(table_id)
            kept, (revision, request_id, answer) = await self._nodes.call_many(
                [
                    (keys.bucket, ("HMGET", keys.requests, *valid_ids)),
                    (keys.bucket, ("HMGET", keys.table, "revision", "request", "answer")),
                ]
            )
            for found in kept:
                if found is not None:
                    return _parse_answer(found)
            if revision is not None:
                return StoredAnswer(1, answer) if request_id and request_id.decode() in valid_ids else None
            for request_id in valid_ids:
                earlier = await self._find_earlier_create(keys, request_id)
                if earlier is not None:
                    return StoredAnswer(1, earlier[1])
            return None

    async def read_log(self, table_id: str, after_revision: int, limit: int) -> list[LogEntry]:
        """Return the first `limit` entries after a revision. Raise TableNotFound; HistoryGone for dropped ones."""
        limits.validate_page(table_id, limit)
        after = limits.clamp(after_revision, 0)
        keys = self._keys.of_table(table_id)
        with self._call():
            outcome, *rest = await self._nodes.run_script(
                keys.bucket, scripts.LOG, (keys.table, keys.log), after, limit
            )
        if outcome == b"missing":
            raise TableNotFound(table_id)
        if outcome == b"gone":
            raise HistoryGone(rest[0])
        return [LogEntry(revision, payload) for revision, payload in enumerate(rest[0], after + 1)]

    async def read_records(self, table_id: str, after_deal: int, limit: int) -> list[tuple[int, bytes]]:
        """Return the first `limit` (deal number, payload) after a deal number, in order. Raise TableNotFound."""
        limits.validate_page(table_id, limit)
        after = limits.clamp(after_deal, -1)
        keys = self._keys.of_table(table_id)
        with self._call():
            outcome, *rest = await self._nodes.run_script(
                keys.bucket, scripts.RECORDS, (keys.table, keys.records), after, limit
            )
        if outcome == b"missing":
            raise TableNotFound(table_id)
        return list(zip(rest[0][::2], rest[0][1::2], strict=True))

    async def list_tables(self, status: str | None, limit: int, after: str | None) -> list[StoredTable]:
        """Return the first `limit` tables of a status (None: of all) after an id (None: from the start), by id."""
        limits.validate_list(status, limit, after)
        with self._call():
            return await self._listing.page(status or "", limit, after or "")

    async def due(self, now: float, limit: int) -> list[str]:
        """See `Store.due`."""
        limits.validate_due(now, limit)
        with self._call():
            found = await self._listing.due(now, limit)
            tables = [self._keys.of_table(name) for name in found]
            there = await self._nodes.call_many([(keys.bucket, ("EXISTS", keys.table)) for keys in tables])
            gone = [name for name, is_there in zip(found, there, strict=True) if not is_there]
            for name in gone:  # replicas that know of no due times remove tables, too
                await self._remove(name, 0.0)
            return [name for name in found if name not in gone]

    async def expire(self, updated_before: float, limit: int) -> int:
        """Remove up to `limit` tables not written since `updated_before`, and return how many."""
        limits.validate_expire(updated_before, limit)
        removed = 0
        with self._call():
            while removed < limit:
                oldest = await self._listing.oldest(updated_before, limit - removed)
                if not oldest:
                    break
                removed += sum(await asyncio.gather(*[self._remove(name, updated_before) for name in oldest]))
        return removed

    async def append_message(self, message: NewMessage) -> int:
        """Append a message and return its number. Raise TableNotFound, MessageKnown or TooManyMessages."""
        limits.validate_message(message)
        with self._call():
            return await messages.append_message(self._nodes, self._keys.of_table(message.table_id), message)

    async def read_messages(self, table_id: str, after: int, limit: int) -> list[StoredMessage]:
        """Return the first `limit` messages of the table after a number, in order. Raise TableNotFound."""
        limits.validate_page(table_id, limit)
        with self._call():
            return await messages.read_messages(self._nodes, self._keys.of_table(table_id), table_id, after, limit)

    def subscribe(self, table_id: str, *, messages: bool = False) -> TableSubscription:
        """Return a subscription to changes of this table, which need not exist, and to its messages."""
        return self._subscriptions.subscribe(table_id, messages=messages)

    async def ping(self) -> None:
        """Raise StoreError unless every node that owns tables would take a write. Nothing is written."""
        with self._call():
            await asyncio.gather(
                *[
                    self._nodes.run_script(bucket, scripts.PING, (self._keys.names(bucket),))
                    for bucket in self._nodes.owners().values()
                ]
            )

    async def close(self) -> None:
        """Finish the calls under way, refuse new ones, and end all subscriptions. Repeatable."""
        self._subscriptions.close()
        await self._idle.wait()
        await self._changes.stop()
        await self._nodes.close()

    async def _remove(self, table_id: str, updated_before: float) -> bool:
        keys = self._keys.of_table(table_id)
        request_id = await self._nodes.run_script(
            *(keys.bucket, scripts.REMOVE, (*keys.all, keys.messages)),
            *(table_id, repr(updated_before), keys.channel),
        )
        if request_id:
            # Should this fail, the claim is of no effect without its table.
            await self._nodes.call(bucket_of(request_id.decode()), "UNLINK", self._keys.claim(request_id.decode()))
        return request_id is not None

    async def _find_earlier_create(self, keys: TableKeys, request_id: str) -> tuple[str, bytes] | None:
        """Return the table that an earlier version created for a request, and the answer.

        Return None if there is none, or if the table of these keys has an answer under the request id.
        """
        first, (mark, table_id) = await self._nodes.call_many(
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
        """Raise as `Subscriptions.check_open`, and let `close` wait for the end of the block."""
        self._subscriptions.check_open()
        self._calls_under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._calls_under_way -= 1
            if not self._calls_under_way:
                self._idle.set()


def _due(write: NewTable | Commit) -> str:
    """Return the time at which something is due as the scripts take it."""
    return "" if write.due_at is None else repr(write.due_at)


def _commit_error(table_id: str, answer: list[bytes]) -> StoreError:
    """Return the error for what the commit's script has found."""
    match answer:
        case [b"missing"]:
            return TableNotFound(table_id)
        case [b"remembered", found]:
            return AlreadyAnswered(table_id, _parse_answer(found))
        case [b"conflict", current]:
            return RevisionConflict(int(current))
        case _:
            return RevisionsExhausted()


def _parse_answer(found: bytes) -> StoredAnswer:
    revision, _, answer = found.partition(b":")
    return StoredAnswer(int(revision), answer)
