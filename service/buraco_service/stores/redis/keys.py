"""The names of the Redis store's keys, and the buckets that spread tables over a cluster.

Every table belongs to one of 64 buckets, and every key of a bucket has the bucket's hash tag, so that all that a commit
writes is in one slot of a cluster. That includes the indexes by which tables are listed and expired: they change
atomically with the tables. With a hash tag for each table they would be in other slots, could differ from the tables,
and would need repairs. Tags are chosen so that the buckets divide the 16384 slots evenly.
"""

from __future__ import annotations

import binascii
import zlib
from functools import lru_cache
from typing import NamedTuple

BUCKETS = 64
"""What is stored depends on this number."""
SLOTS = 16384
"""The slots of any cluster."""


class TableKeys(NamedTuple):
    """The keys of a table, of its bucket's indexes, and the channel of its changes."""

    bucket: int
    table: bytes
    """Hash: revision, state, status, created, updated, start (first revision in the log), owner, due and messages, the
    number of the newest (if it has them). If an earlier version created the table also its `request`, the `answer`, and
    the mark of that request's `claim`."""
    log: bytes
    """List of log entries, from revision `start` on."""
    requests: bytes
    """Hash: request id -> `revision:answer`."""
    order: bytes
    """List of the request ids of the newest revisions; "" for none, and for that of create, which is kept."""
    names: bytes
    """Sorted set, by bytes: `status NUL id` and `NUL id` of each table of the bucket, to list some or all."""
    ages: bytes
    """Sorted set of the bucket's table ids by the time of their last write, to the hour."""
    owned: bytes
    """Sorted set, by bytes: `owner NUL status NUL id` of each table of the bucket that has an owner."""
    records: bytes
    """Hash: deal number -> record."""
    due: bytes
    """Sorted set of those of the bucket's table ids for which something is due, by that time."""
    channel: bytes
    """Shard channel of the table's new revisions; the message is empty when the table has been removed. A negative
    revision is the number of a new message in `messages`, its sign changed."""
    messages: bytes
    """List of the newest messages: `request id NUL sender NUL time NUL payload`."""

    @property
    def all(self) -> tuple[bytes, ...]:
        """Every key but that of messages, in the order in which the scripts take them."""
        return self[1:10]


class AccountKeys(NamedTuple):
    """The keys of an account, which has the bucket of its id."""

    bucket: int
    entries: bytes
    """List of the entries, from number 1 on."""
    posted: bytes
    """Hash: the key of an entry -> its number."""


class Keys:
    """The names of keys with one prefix in one database."""

    def __init__(self, prefix: str, database: int = 0) -> None:
        self._prefix = prefix
        # Unlike keys, channels are the same in all databases of a server.
        self._changed = f"changed-{database}" if database else "changed"
        self.of_table = lru_cache(maxsize=4096)(self._of_table)
        """A table's keys, by its id."""

    @property
    def schema(self) -> bytes:
        """The key of the schema version, in bucket 0; also a channel without subscribers."""
        return f"{self._bucket(0)}schema".encode()

    def names(self, bucket: int) -> bytes:
        """Return the key of the bucket's sorted set of table ids by status (`TableKeys.names`)."""
        return f"{self._bucket(bucket)}names".encode()

    def ages(self, bucket: int) -> bytes:
        """Return the key of the bucket's sorted set of table ids by last write (`TableKeys.ages`)."""
        return f"{self._bucket(bucket)}ages".encode()

    def owned(self, bucket: int) -> bytes:
        """Return the key of the bucket's sorted set of table ids by owner and status (`TableKeys.owned`)."""
        return f"{self._bucket(bucket)}owned".encode()

    def due(self, bucket: int) -> bytes:
        """Return the key of a bucket; see `TableKeys.due`."""
        return f"{self._bucket(bucket)}due".encode()

    def of_account(self, account_id: str) -> AccountKeys:
        """Return the keys of an account."""
        bucket = bucket_of(account_id)
        base = self._bucket(bucket)
        return AccountKeys(bucket, f"{base}entries:{account_id}".encode(), f"{base}posted:{account_id}".encode())

    def claim(self, request_id: str) -> bytes:
        """Return the key of a hash that names the table that an earlier version created for a request.

        It is valid while that table has the same `claim`.
        """
        return f"{self._bucket(bucket_of(request_id))}claim:{request_id}".encode()

    def _bucket(self, bucket: int) -> str:
        return f"{self._prefix}{{{TAGS[bucket]}}}:"

    def _of_table(self, table_id: str) -> TableKeys:
        bucket = bucket_of(table_id)
        base = self._bucket(bucket)
        kinds = ("table", "log", "requests", "order", "records", self._changed)
        table, log, requests, order, records, channel = (f"{base}{kind}:{table_id}".encode() for kind in kinds)
        indexes = self.names(bucket), self.ages(bucket), self.owned(bucket)
        messages = f"{base}messages:{table_id}".encode()
        return TableKeys(bucket, table, log, requests, order, *indexes, records, self.due(bucket), channel, messages)


def bucket_of(name: str) -> int:
    """Return the bucket of the id of a table, a request or an account."""
    return zlib.crc32(name.encode()) % BUCKETS


def slot_of(bucket: int) -> int:
    """Return the cluster's slot of the bucket."""
    return _slot(TAGS[bucket])


def _slot(tag: str) -> int:
    return binascii.crc_hqx(tag.encode(), 0) % SLOTS


def _even_tags() -> list[str]:
    """Return for each equal share of the slots the lowest number, as text, that hashes into it."""
    found: dict[int, str] = {}
    number = 0
    while len(found) < BUCKETS:
        found.setdefault(_slot(str(number)) * BUCKETS // SLOTS, str(number))
        number += 1
    return [found[share] for share in range(BUCKETS)]


TAGS = _even_tags()
"""The hash tag of each bucket."""
