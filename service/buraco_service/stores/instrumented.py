"""A store that reports its operations to an observer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from buraco_service.observing.current_call import current_call
from buraco_service.stores.base import (
    Commit,
    LogEntry,
    NewTable,
    Store,
    StoredAnswer,
    StoredTable,
    StoreError,
    Subscription,
)
from buraco_service.stores.ledger import Ledger, LedgerEntry, Posted
from buraco_service.stores.messages import NewMessage, StoredMessage

T = TypeVar("T")


class StoreObserver(Protocol):
    """Receives the reports, on the event loop: its methods must be quick and must not raise."""

    def observe_store_operation(self, operation: str, outcome: str, seconds: float) -> None:
        """Take in that an operation has ended after so many seconds.

        `operation` is a value of the metrics' label of this name, one for each method of Store. `outcome` is "ok", the
        `outcome` of a StoreError, "cancelled", or "error" for anything unforeseen.
        """

    def set_store_watchers(self, count: int) -> None:
        """Take in how many subscriptions are entered now."""


class TracingObserver:
    """Reports to another observer, and operations also to the trace of the call that waits for them."""

    def __init__(self, observer: StoreObserver) -> None:
        self._observer = observer

    def observe_store_operation(self, operation: str, outcome: str, seconds: float) -> None:
        """Report an operation that has ended; to the trace only within a call that is traced."""
        self._observer.observe_store_operation(operation, outcome, seconds)
        call = current_call.get()
        if call is not None and call.trace is not None:
            call.trace.record_operation(operation, outcome, seconds)

    def set_store_watchers(self, count: int) -> None:
        """Report the count to the other observer alone."""
        self._observer.set_store_watchers(count)


class InstrumentedStore:
    """Passes every call to another store (see `base.Store`) and reports to the observer."""

    def __init__(self, store: Store, observer: StoreObserver) -> None:
        self._store = store
        self._observer = observer
        self._watchers = 0
        self._ledger = _InstrumentedLedger(store.ledger, self._observed)

    @property
    def ledger(self) -> Ledger:
        """The ledger of the other store, whose operations are reported, too."""
        return self._ledger

    async def create(self, table: NewTable) -> None:
        """Write a new table with revision 1. Raise AlreadyAnswered for a repeated request, TableExists."""
        await self._observed("create", self._store.create(table))

    async def count_owned(self, owner: str, status: str) -> int:
        """Return the number of the owner's tables with this status."""
        return await self._observed("owned", self._store.count_owned(owner, status))

    async def count(self, status: str) -> int:
        """Return the number of tables with this status."""
        return await self._observed("count", self._store.count(status))

    async def load(self, table_id: str) -> StoredTable:
        """Return the newest state of the table. Raise TableNotFound."""
        return await self._observed("load", self._store.load(table_id))

    async def load_revision(self, table_id: str) -> int:
        """Return the newest revision of the table. Raise TableNotFound."""
        return await self._observed("revision", self._store.load_revision(table_id))

    async def commit(self, commit: Commit) -> int:
        """Write one change and return the new revision.

        Raise, in this order: TableNotFound; AlreadyAnswered for a repeat; RevisionConflict; RevisionsExhausted.
        """
        return await self._observed("commit", self._store.commit(commit))

    async def find_answer(self, table_id: str, *request_ids: str) -> StoredAnswer | None:
        """Return the stored answer under one of the request ids, None if there is none."""
        return await self._observed("remembered", self._store.find_answer(table_id, *request_ids))

    async def read_log(self, table_id: str, after_revision: int, limit: int) -> list[LogEntry]:
        """Return the first `limit` entries after a revision. Raise TableNotFound; HistoryGone for dropped ones."""
        return await self._observed("log", self._store.read_log(table_id, after_revision, limit))

    async def read_records(self, table_id: str, after_deal: int, limit: int) -> list[tuple[int, bytes]]:
        """Return the first `limit` (deal number, payload) after a deal number, in order. Raise TableNotFound."""
        return await self._observed("records", self._store.read_records(table_id, after_deal, limit))

    async def list_tables(self, status: str | None, limit: int, after: str | None) -> list[StoredTable]:
        """Return the first `limit` tables of a status (None: of all) after an id (None: from the start), by id."""
        return await self._observed("list", self._store.list_tables(status, limit, after))

    async def due(self, now: float, limit: int) -> list[str]:
        """See `Store.due`."""
        return await self._observed("due", self._store.due(now, limit))

    async def expire(self, updated_before: float, limit: int) -> int:
        """Remove up to `limit` tables not written since `updated_before`, and return how many."""
        return await self._observed("expire", self._store.expire(updated_before, limit))

    async def append_message(self, message: NewMessage) -> int:
        """See `Store.append_message`."""
        return await self._observed("append_message", self._store.append_message(message))

    async def read_messages(self, table_id: str, after: int, limit: int) -> list[StoredMessage]:
        """See `Store.read_messages`."""
        return await self._observed("messages", self._store.read_messages(table_id, after, limit))

    def subscribe(self, table_id: str, *, messages: bool = False) -> Subscription:
        """Return a subscription, which counts as a watcher while it is entered. Its waits are not reported."""
        return _CountedSubscription(self._store.subscribe(table_id, messages=messages), self._add_watchers)

    async def ping(self) -> None:
        """Return if the store answers and could write. Nothing is written."""
        await self._observed("ping", self._store.ping())

    async def close(self) -> None:
        """Close the other store. This is not reported."""
        await self._store.close()

    async def _observed(self, operation: str, call: Awaitable[T]) -> T:
        outcome = "error"
        begun = time.perf_counter()
        try:
            result = await call
            outcome = "ok"
        except StoreError as error:
            outcome = error.outcome
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            self._observer.observe_store_operation(operation, outcome, time.perf_counter() - begun)
        return result

    def _add_watchers(self, change: int) -> None:
        self._watchers += change
        self._observer.set_store_watchers(self._watchers)


class _InstrumentedLedger:
    """Passes every call to another ledger, and reports it by `observe`."""

    def __init__(self, ledger: Ledger, observe: Callable[[str, Awaitable[Any]], Awaitable[Any]]) -> None:
        self._ledger = ledger
        self._observe = observe

    async def append(self, account_id: str, number: int, key: str, payload: bytes) -> Posted | None:
        """See `Ledger.append`."""
        call = self._ledger.append(account_id, number, key, payload)
        posted: Posted | None = await self._observe("ledger_append", call)
        return posted

    async def find(self, account_id: str, keys: Sequence[str]) -> dict[str, LedgerEntry]:
        """See `Ledger.find`."""
        found: dict[str, LedgerEntry] = await self._observe("ledger_find", self._ledger.find(account_id, keys))
        return found

    async def entries(self, account_id: str, limit: int, before: int | None = None) -> list[LedgerEntry]:
        """See `Ledger.entries`."""
        page: list[LedgerEntry] = await self._observe("ledger_entries", self._ledger.entries(account_id, limit, before))
        return page


class _CountedSubscription:
    def __init__(self, subscription: Subscription, add_watchers: Callable[[int], None]) -> None:
        self._subscription = subscription
        self._add_watchers = add_watchers
        self.wait = subscription.wait
        self.take_newest_message = subscription.take_newest_message
        self.wake = subscription.wake
        self.hold = subscription.hold
        self.release = subscription.release

    async def __aenter__(self) -> Self:
        await self._subscription.__aenter__()
        self._add_watchers(1)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._add_watchers(-1)
        await self._subscription.__aexit__(kind, error, trace)
