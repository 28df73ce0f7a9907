"""The interface of a store of tables, for any database.

A store knows no protobuf and no game: states, log entries, answers and records are opaque bytes, and times come from
the caller, in seconds since the epoch. It promises:

- **Atomic**: each `create`, each `commit` and each table that `expire` removes is written whole or not at all.
- **Durable**: a write is durable before its call returns, as far as the database is set up for that.
- **Fresh**: a read sees every write that was acknowledged before the read began, by any process.
- **No locks between calls**: writers race by `Commit.expected_revision`, and the loser gets `RevisionConflict`.

Any method but `subscribe` and `close` may raise StoreUnavailable. Arguments out of the ranges in `limits` raise
ValueError: they are mistakes of the caller. A write whose caller is cancelled may still happen. A store belongs to the
event loop that opened it; a call from another loop raises RuntimeError.

A new store is a class with the methods of `Store`, an entry in `urls.open_store`, and a parameter of the fixture
`store_factory` in `tests/stores/`, whose tests check all that is promised here.
"""

from __future__ import annotations

from types import TracebackType
from typing import ClassVar, NamedTuple, Protocol, Self

from buraco_service.stores.ledger import Ledger
from buraco_service.stores.messages import NewMessage, StoredMessage

KEPT_ANSWERS = 512
"""Revisions of a table, counted from the newest, whose answers are certain to be stored.

The answer of revision 1 is kept as long as the table; older ones than these are dropped every PRUNE_STEP revisions.
"""

PRUNE_STEP = 64
"""Old log entries and answers are dropped in steps: fewer than this many may be kept longer than required."""


class StoredTable(NamedTuple):
    """A table as it is stored."""

    table_id: str
    revision: int
    """1 after create, one more with every commit."""
    state: bytes
    status: str
    """A short word to list tables by, such as "waiting", "playing" or "finished"."""
    created_at: float
    """The time given to create."""
    updated_at: float
    """The time given to the newest write."""


class LogEntry(NamedTuple):
    """What was written beside one revision. Every revision has exactly one entry."""

    revision: int
    payload: bytes


class StoredAnswer(NamedTuple):
    """The answer stored under a request id, and the revision that the request made."""

    revision: int
    answer: bytes


class NewTable(NamedTuple):
    """A table to create."""

    table_id: str
    state: bytes
    status: str
    now: float
    entry: bytes
    """The log entry of revision 1."""
    request_id: str | None
    """The `answer` is stored under it as long as the table; None stores no answer. A repeat needs the same table id."""
    answer: bytes
    owner: str | None = None
    """Whom `Store.count_owned` counts the table for; None for nobody. Never changes."""
    due_at: float | None = None
    """From when on `Store.due` lists the table, in seconds since the epoch; None for never."""


class Commit(NamedTuple):
    """A change of one table."""

    table_id: str
    expected_revision: int
    """The revision that this change builds on; any other than the newest is a conflict."""
    state: bytes
    status: str
    now: float
    entry: bytes
    """The log entry of the new revision."""
    request_id: str | None
    """The `answer` is stored under it, for this table alone; None stores no answer."""
    answer: bytes
    records: tuple[tuple[int, bytes], ...] = ()
    """(deal number, payload) of deals that this change ends. A number written before is replaced."""
    keep_log_after: int | None = None
    """Log entries up to and including this revision may be dropped in the same write, and are once they are PRUNE_STEP
    or more; None keeps all. The new revision's entry always stays."""
    due_at: float | None = None
    """As in NewTable, in place of what the table had."""


class StoreError(Exception):
    """Any error that a store raises by design."""

    outcome: ClassVar[str] = "error"
    """The value of the metrics' label `outcome`."""


class StoreUrlError(StoreError):
    """The store's URL is malformed, has an unknown scheme, or names a place where no store can be."""

    outcome = "bad_url"


class StoreIncompatible(StoreError):
    """This version cannot use what is stored: a newer schema, or data of another program."""

    outcome = "incompatible"


class StoreUnavailable(StoreError):
    """The store cannot be reached, is full, read only, locked for too long, or closed.

    A write that raised this is never stored in part. It is nearly always not stored at all, but it can be stored whole
    if a connection or disk fails at the very end. Repeat it with the same request id to find out.
    """

    outcome = "unavailable"


class TableNotFound(StoreError):
    """No table has this id; raised for an id that no table can have, too."""

    outcome = "not_found"

    def __init__(self, table_id: str) -> None:
        super().__init__(f"no table {table_id!r}")
        self.table_id = table_id


class TableExists(StoreError):
    """Another request has created a table with this id."""

    outcome = "exists"

    def __init__(self, table_id: str) -> None:
        super().__init__(f"table {table_id!r} exists")
        self.table_id = table_id


class RevisionConflict(StoreError):
    """The commit does not build on the table's newest revision, which is `current`."""

    outcome = "conflict"

    def __init__(self, current: int) -> None:
        super().__init__(f"the table is at revision {current}")
        self.current = current


class RevisionsExhausted(StoreError):
    """The table has the highest revision there can be (`limits.MAX_NUMBER`)."""

    def __init__(self) -> None:
        super().__init__("the table has had as many revisions as there can be")


class AlreadyAnswered(StoreError):
    """The request id has an answer, `stored_answer`, from an earlier write; this one wrote nothing."""

    outcome = "remembered"

    def __init__(self, table_id: str, stored_answer: StoredAnswer) -> None:
        super().__init__(f"the request made revision {stored_answer.revision} of table {table_id!r}")
        self.table_id = table_id
        """The table that the first request wrote: another than asked for if an earlier version created it."""
        self.stored_answer = stored_answer


class HistoryGone(StoreError):
    """Log entries that were asked for have been dropped.

    `oldest` is the oldest revision in the log, so that `oldest - 1` is the lowest `after_revision` that can be read.
    """

    outcome = "history_gone"

    def __init__(self, oldest: int) -> None:
        super().__init__(f"the log starts at revision {oldest}")
        self.oldest = oldest


class MessageKnown(StoreError):
    """The request id has a message, `stored`, from an earlier call; this one wrote nothing."""

    outcome = "remembered"

    def __init__(self, stored: StoredMessage) -> None:
        super().__init__(f"the request made message {stored.number}")
        self.stored = stored


class TooManyMessages(StoreError):
    """The sender has as many late messages as it may have. The oldest of these is of `oldest_at`."""

    outcome = "too_many"

    def __init__(self, oldest_at: float) -> None:
        super().__init__("the sender has sent as many messages as it may")
        self.oldest_at = oldest_at


class Subscription(Protocol):
    """Wake-ups for the changes of one table; an async context manager, made by `Store.subscribe` and used by one task.

    Enter it before the first read: changes count from then on, so that none is missed between reading and waiting.
    """

    async def __aenter__(self) -> Self:
        """Raise StoreUnavailable if the store is closed."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def wait(self) -> int | None:
        """Return once the table may have changed since entering, or since the last return.

        Return the newest revision that the store knows of without a read, so that a caller who has it need not read;
        None if it is not known, 0 if only `wake` ended the wait. Every change is followed by a return, but several may
        share one, and a return need not have a change. Creating and expiring the table are changes, too.

        Raise StoreUnavailable once the store is closed.
        """

    def take_newest_message(self) -> int | None:
        """Return the newest message that came since entering, or since the last call, without a read.

        0 if none did, and always without `messages`; None if some may have. A new one ends the wait, as `wake` does.
        """

    def wake(self) -> None:
        """End the wait under way, or else the next one, without a change."""

    def hold(self) -> None:
        """Let changes wake nobody until `release`, because the waiter makes the next one itself; `wake` still does."""

    def release(self, seen: int) -> None:
        """End `hold`, and wake for changes that came meanwhile: those after revision `seen`, or of unknown revision."""


class Store(Protocol):
    """Tables in one database, which any number of processes may share. See the module for what holds of all methods."""

    @property
    def ledger(self) -> Ledger:
        """The accounts in the same database."""

    async def create(self, table: NewTable) -> None:
        """Write a new table with revision 1.

        Raise AlreadyAnswered if this request created the table before, even if it has changed since; TableExists if
        another created it. Earlier versions chose table ids themselves: raise AlreadyAnswered as well if a table of
        theirs, with any id, was created by this request.
        """

    async def count_owned(self, owner: str, status: str) -> int:
        """Return the number of the owner's tables with this status.

        Several creates at once can pass a bound that each of them checked with this.
        """

    async def count(self, status: str) -> int:
        """Return the number of tables with this status. May read as many index entries as it counts: call it seldom."""

    async def load(self, table_id: str) -> StoredTable:
        """Return the newest state. Raise TableNotFound."""

    async def load_revision(self, table_id: str) -> int:
        """Return the newest revision, the cheapest way to check a cached copy. Raise TableNotFound."""

    async def commit(self, commit: Commit) -> int:
        """Write one change and return the new revision.

        Raise, in this order: TableNotFound; AlreadyAnswered if the table has an answer under the request id, so that a
        repeat gets its answer and no conflict; RevisionConflict; RevisionsExhausted.
        """

    async def find_answer(self, table_id: str, *request_ids: str) -> StoredAnswer | None:
        """Return the table's stored answer under one of these request ids, None if there is none. Ids may be invalid.

        If there is no such table, look for the answer of a create by an earlier version, which chose the table id.
        """

    async def read_log(self, table_id: str, after_revision: int, limit: int) -> list[LogEntry]:
        """Return the first `limit` log entries after a revision, in order and without a gap.

        0 or less reads from the start; nothing newer gives an empty list. Raise TableNotFound, and HistoryGone if an
        entry that belongs in the result has been dropped.
        """

    async def read_records(self, table_id: str, after_deal: int, limit: int) -> list[tuple[int, bytes]]:
        """Return the first `limit` (deal number, payload) after a deal number (-1: from the start).

        They are in order; deals without a record are left out. Raise TableNotFound.
        """

    async def list_tables(self, status: str | None, limit: int, after: str | None) -> list[StoredTable]:
        """Return the first `limit` tables of a status (None: of all) after an id (None: from the start).

        They are in the order of their ids, by code points; none left gives an empty list.
        """

    async def due(self, now: float, limit: int) -> list[str]:
        """Return the ids of up to `limit` tables with a `due_at` of `now` or before, the earliest first."""

    async def expire(self, updated_before: float, limit: int) -> int:
        """Remove up to `limit` tables not written since `updated_before`, and return how many.

        Tables for which something is due, now or later, are spared. Fewer than `limit` means that none is left. Those
        untouched longest, to the hour, go first, each with its log, records, answers and messages.
        """

    async def append_message(self, message: NewMessage) -> int:
        """Append a message to those of its table, and return its number. The table's revision stays as it is.

        Raise, in this order: TableNotFound; MessageKnown for a repeat; TooManyMessages.
        """

    async def read_messages(self, table_id: str, after: int, limit: int) -> list[StoredMessage]:
        """Return the first `limit` kept messages of the table after a number, in order. Raise TableNotFound."""

    def subscribe(self, table_id: str, *, messages: bool = False) -> Subscription:
        """Return a subscription to changes of this table by any process. The table need not exist.

        `messages`: whether new messages of the table end a wait, too.
        """

    async def ping(self) -> None:
        """Return if the store answers and could write. Nothing is written."""

    async def close(self) -> None:
        """Finish the calls under way, refuse new ones with StoreUnavailable, and end all subscriptions. Repeatable."""
