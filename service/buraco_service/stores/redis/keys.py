"""Where the Redis store keeps what: names of keys, and the buckets that a cluster spreads.

Every table lies in one of 64 buckets, and every key of a bucket carries the bucket's hash tag. So a table has one hash
tag, all that a commit writes lies in one slot of a cluster, and that includes what the tables are listed and expired
by: those indexes are as atomic as the rest. With a tag of its own for each table they would lie in other slots, be
behind or ahead of the tables, and need repairs. Tags are chosen so that the buckets divide the 16384 slots evenly.
"""

from __future__ import annotations

import binascii
import zlib
from functools import lru_cache
from typing import NamedTuple

BUCKETS = 64
SLOTS = 16384


class TableKeys(NamedTuple):
    """The keys of a table, of its bucket's indexes, and the channel of its changes."""

    bucket: int
    table: bytes
    """Hash: revision, state, status, created, updated, start (first revision in the log), owner (if it has one). Where
    an earlier version created the table: its `request`, the `answer`, and the mark of that request's `claim`, too."""
    log: bytes
    """List of entries, from `start` on."""
    requests: bytes
    """Hash: request id -> `revision:answer`."""
    order: bytes
    """List of the request ids of the newest revisions; empty for none, and for that of create, which is kept."""
    names: bytes
    """Sorted set, by bytes: `status NUL id` of each table of the bucket, and `NUL id` to list all by."""
    ages: bytes
    """Sorted set of the bucket's table ids by when they were written last, to the hour."""
    owned: bytes
    """Sorted set, by bytes: `owner NUL status NUL id` of each table of the bucket that has an owner."""
    records: bytes
    """Hash: deal number -> record."""
    channel: bytes
    """Shard channel; says the new revision, or nothing when the table has been removed."""

    @property
    def all(self) -> tuple[bytes, ...]:
        """Every key, in the order in which the scripts take them."""
        return self[1:9]


class Keys:
    """The names under one prefix of a database."""

    def __init__(self, prefix: str, database: int = 0) -> None:
        self._prefix = prefix
        # Unlike keys, channels are the same in all databases of a server.
        self._changed = f"changed-{database}" if database else "changed"
        self.of_table = lru_cache(maxsize=4096)(self._of_table)
        """A table's keys, by its id."""

    @property
    def schema(self) -> bytes:
        """Holds the schema version; in bucket 0. Also a channel that nobody listens to."""
        return f"{self._bucket(0)}schema".encode()

    def names(self, bucket: int) -> bytes:
        """See `TableKeys.names`."""
        return f"{self._bucket(bucket)}names".encode()

    def ages(self, bucket: int) -> bytes:
        """See `TableKeys.ages`."""
        return f"{self._bucket(bucket)}ages".encode()

    def owned(self, bucket: int) -> bytes:
        """See `TableKeys.owned`."""
        return f"{self._bucket(bucket)}owned".encode()

    def claim(self, request_id: str) -> bytes:
        """Hash: the table that an earlier version created for a request. It counts while that has the same `claim`."""
        return f"{self._bucket(bucket_of(request_id))}claim:{request_id}".encode()

    def _bucket(self, bucket: int) -> str:
        return f"{self._prefix}{{{TAGS[bucket]}}}:"

    def _of_table(self, table_id: str) -> TableKeys:
        bucket = bucket_of(table_id)
        base = self._bucket(bucket)
        kinds = ("table", "log", "requests", "order", "records", self._changed)
        table, log, requests, order, records, channel = (f"{base}{kind}:{table_id}".encode() for kind in kinds)
        indexes = self.names(bucket), self.ages(bucket), self.owned(bucket)
        return TableKeys(bucket, table, log, requests, order, *indexes, records, channel)


def bucket_of(name: str) -> int:
    """The bucket of a table id or a request id."""
    return zlib.crc32(name.encode()) % BUCKETS


def slot_of(bucket: int) -> int:
    """The cluster's slot that holds the bucket."""
    return _slot(TAGS[bucket])


def _slot(tag: str) -> int:
    return binascii.crc_hqx(tag.encode(), 0) % SLOTS


def _even_tags() -> list[str]:
    """For each equal share of the slots the first number, in figures, that hashes into it."""
    found: dict[int, str] = {}
    number = 0
    while len(found) < BUCKETS:
        found.setdefault(_slot(str(number)) * BUCKETS // SLOTS, str(number))
        number += 1
    return [found[share] for share in range(BUCKETS)]


TAGS = _even_tags()
"""The hash tag of each bucket."""
