"""What a store of tables promises, whatever keeps the bytes.

A store knows no protobuf and no game: state, log entries, answers and records are opaque bytes, and the clock is the
caller's. Every write is one atomic step and is durable before its call returns. Nothing stays locked between calls:
writers race through `Commit.expected_revision`, and the loser gets `RevisionConflict`.

A store belongs to the event loop that opened it; a call from another loop raises RuntimeError.
"""

from __future__ import annotations

import builtins
from types import TracebackType
from typing import ClassVar, NamedTuple, Protocol, Self

KEPT_REQUESTS = 512
"""Of how many of a table's newest revisions the requests are remembered for certain. Older ones are forgotten soon, but
that of the first revision stays as long as the table.
"""

PRUNE_STEP = 64
"""Old log entries and remembered requests go in steps: fewer than this many may outstay what was asked for."""


class Stored(NamedTuple):
    """A table as the store holds it."""

    table_id: str
    revision: int
    """1 after create, one more with every commit."""
    state: bytes
    status: str
    """A short word to list by, such as "waiting", "playing" or "finished"."""
    created_at: float
    """Seconds since the epoch, as given to create."""
    updated_at: float
    """Seconds since the epoch, as given to the newest commit."""


class LogEntry(NamedTuple):
    """What was written beside one revision. Every revision has exactly one entry."""

    revision: int
    payload: bytes


class Remembered(NamedTuple):
    """The answer given to a request that was committed, and the revision it made."""

    revision: int
    answer: bytes


class NewTable(NamedTuple):
    """A table that is to be: all of it is written, or nothing."""

    table_id: str
    state: bytes
    status: str
    now: float
    entry: bytes
    request_id: str | None
    """Remembered with `answer` for as long as the table is there; None remembers nothing. A repeat has to come with the
    same table id: that is what it is found by.
    """
    answer: bytes
    owner: str | None = None
    """For whom `Store.owned` counts it, for as long as it is there; None for nobody."""


class Commit(NamedTuple):
    """One step of one table: all of it is written, or nothing."""

    table_id: str
    expected_revision: int
    """The revision this step builds on. It has to be the table's newest, or the commit loses with RevisionConflict."""
    state: bytes
    status: str
    now: float
    entry: bytes
    request_id: str | None
    """Remembered with `answer` for this table; None remembers nothing."""
    answer: bytes
    records: tuple[tuple[int, bytes], ...] = ()
    """(deal number, payload) of deals that ended with this step. A number written before is replaced."""
    keep_log_after: int | None = None
    """Log entries up to and with this revision may be dropped in the same write; they are as soon as PRUNE_STEP of
    them can go. The entry of the newest revision always stays."""


class StoreError(Exception):
    """Anything a store raises on purpose."""

    outcome: ClassVar[str] = "error"
    """A stable short name of the error, fit for a metric's label."""


class StoreUrlError(StoreError):
    """The store's URL is malformed, of an unknown scheme, or names a place where no store can be."""

    outcome = "bad_url"


class StoreIncompatible(StoreError):
    """What is stored there cannot be used by this version: a newer schema, or no store of tables at all."""

    outcome = "incompatible"


class StoreUnavailable(StoreError):
    """The store is away, full, read only, locked for too long, or closed.

    A write that got this answer is never there in part. It is nearly always not there at all, but a connection or disk
    that fails at the very end can leave it whole: repeat it with the same request id, which finds out.
    """

    outcome = "unavailable"


class TableNotFound(StoreError):
    """No table has this id. An id that no table could have is answered the same way."""

    outcome = "not_found"

    def __init__(self, table_id: str) -> None:
        super().__init__(f"no table {table_id!r}")
        self.table_id = table_id


class TableExists(StoreError):
    """The id given to create is taken."""

    outcome = "exists"

    def __init__(self, table_id: str) -> None:
        super().__init__(f"table {table_id!r} exists")
        self.table_id = table_id


class RevisionConflict(StoreError):
    """The table has moved on (or was never there yet): `current` is its revision now."""

    outcome = "conflict"

    def __init__(self, current: int) -> None:
        super().__init__(f"the table is at revision {current}")
        self.current = current


class AlreadyRemembered(StoreError):
    """The request id was committed before; nothing was written now. `remembered` is what the first one got."""

    outcome = "remembered"

    def __init__(self, table_id: str, remembered: Remembered) -> None:
        super().__init__(f"the request made revision {remembered.revision} of table {table_id!r}")
        self.table_id = table_id
        """The table the first request wrote. It has another id than asked for if an earlier version created it."""
        self.remembered = remembered


class HistoryGone(StoreError):
    """Log entries that were asked for have been dropped.

    `oldest` is the oldest revision still in the log, so `oldest - 1` is the lowest `after_revision` that works.
    """

    outcome = "history_gone"

    def __init__(self, oldest: int) -> None:
        super().__init__(f"the log starts at revision {oldest}")
        self.oldest = oldest


class Subscription(Protocol):
    """Wake-ups for one table; made by `Store.subscribe`, used as an async context manager by one task.

    Enter it before the first read: then no revision can slip in between reading and waiting.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def changed(self) -> int | None:
        """Return when the table may have changed since entering or since the last return.

        The answer is how far the table has come, as far as the store knows without looking: whoever has seen this
        revision need not look now. None is for not known (look), 0 for woken by `wake` alone.

        Several changes may fold into one return, and a return may be for nothing; no change goes without one. Being
        removed by `expire` is a change too. A table that does not exist can be waited for.
        Raises StoreUnavailable once the store is closed.
        """

    def wake(self) -> None:
        """Let `changed` return although nothing may have happened: the waiter has something else to look at."""

    def hold(self) -> None:
        """Let no change wake the waiter until `release`: it makes one itself and learns of it in another way."""

    def release(self, seen: int) -> None:
        """Go on after `hold`. The waiter has seen this revision; what has come after it wakes now."""


class Store(Protocol):
    """Tables in one place. Every method may raise StoreUnavailable besides the errors it names.

    ValueError means a broken argument (see the module `limits`): a programming error of the caller.
    A write whose caller is cancelled may still happen.
    """

    async def create(self, table: NewTable) -> None:
        """Write a new table with revision 1.

        Raises AlreadyRemembered when the table is there and was created by this request, TableExists when it is there
        and was not. Earlier versions created tables under ids of their own choice: AlreadyRemembered, too, when one of
        theirs was created by this request.
        """

    async def owned(self, owner: str, status: str) -> int:
        """How many tables of this status were created for the owner, by whichever process.

        Sees every write acknowledged before the call. It holds nothing back: creates at the same time can pass a bound.
        """

    async def count(self, status: str) -> int:
        """How many tables of this status there are, made by whichever process.

        For who looks now and then: it may read as many index entries as it counts.
        """

    async def load(self, table_id: str) -> Stored:
        """The newest state. Sees every commit acknowledged before the call. Raises TableNotFound."""

    async def revision(self, table_id: str) -> int:
        """The newest revision alone: the cheapest look at whether a copy is fresh. Raises TableNotFound."""

    async def commit(self, commit: Commit) -> int:
        """Take one step and return the new revision.

        Raises TableNotFound, AlreadyRemembered when the request id is remembered for this table (looked at before the
        revision, so that a repeat is told its answer and not a conflict), then RevisionConflict.
        """

    async def remembered(self, table_id: str, *request_ids: str) -> Remembered | None:
        """Return what the create or a commit of the table with one of these request ids got, if it is among those kept.

        If there is no such table: what a create by an earlier version got, which chose the table's id itself.
        """

    async def log(self, table_id: str, after_revision: int, limit: int) -> builtins.list[LogEntry]:
        """The oldest `limit` entries with a revision above `after_revision`, in order and without a gap.

        0 or less means from the start; empty when there is nothing newer. Raises TableNotFound, and HistoryGone when
        an entry that belongs in the answer has been dropped.
        """

    async def records(self, table_id: str, after_deal: int, limit: int) -> builtins.list[tuple[int, bytes]]:
        """The first `limit` (deal number, payload) with a number above `after_deal`, in order. Raises TableNotFound."""

    async def list(self, status: str | None, limit: int, after: str | None) -> builtins.list[Stored]:
        """The first `limit` tables, of one status or of all, whose id sorts behind `after` (by code point)."""

    async def expire(self, updated_before: float, limit: int) -> int:
        """Remove tables not written since `updated_before`, at most `limit`, the longest untouched (to the hour) first.

        A table goes whole, with its log, records and remembered requests. Returns how many went; fewer than `limit`
        means that none is left.
        """

    def subscribe(self, table_id: str) -> Subscription:
        """Wake-ups for changes of this table, whichever process makes them."""

    async def ping(self) -> None:
        """Return when the store answers and a write could begin. Nothing is written."""

    async def close(self) -> None:
        """Finish the calls under way, refuse new ones with StoreUnavailable, end every subscription. Repeatable."""
