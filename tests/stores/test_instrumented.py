from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from buraco_service.stores.base import (
    PRUNE_STEP,
    LogEntry,
    NewTable,
    Store,
    StoredAnswer,
    StoreError,
    StoreUnavailable,
)
from buraco_service.stores.instrumented import InstrumentedStore
from buraco_service.stores.ledger import LedgerEntry, Posted
from buraco_service.stores.sqlite.store import SqliteStore
from tests.stores.samples import PATIENCE, advance, create, soon, step


class Observed:
    """Notes what was reported."""

    def __init__(self) -> None:
        self.operations: list[tuple[str, str]] = []
        self.seconds: list[float] = []
        self.watching: list[int] = []

    def observe_store_operation(self, operation: str, outcome: str, seconds: float) -> None:
        self.operations.append((operation, outcome))
        self.seconds.append(seconds)

    def set_store_watchers(self, count: int) -> None:
        self.watching.append(count)


@pytest.fixture
async def inner(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """The inner store."""
    inner = await SqliteStore.open(tmp_path / "tables.db")
    yield inner
    await inner.close()


@pytest.fixture
def observed() -> Observed:
    """The reports of the store under test."""
    return Observed()


@pytest.fixture
def store(inner: SqliteStore, observed: Observed) -> Store:
    """The store under test."""
    return InstrumentedStore(inner, observed)


async def test_calls_are_passed_on(store: Store, inner: SqliteStore, observed: Observed) -> None:
    """Every call reaches the inner store with its arguments, returns its result, and is reported as "ok" in time."""
    await store.create(NewTable("t", b"state", "waiting", 1.0, b"entry", "make", b"answer", "ann"))
    assert await inner.count_owned("ann", "waiting") == await store.count_owned("ann", "waiting") == 1
    assert await inner.count("waiting") == await store.count("waiting") == 1
    assert await store.commit(step("t", 1, request_id="r", records=((1, b"one"), (2, b"two")))) == 2
    assert await store.load("t") == await inner.load("t")
    assert await store.load_revision("t") == 2
    assert await store.find_answer("t", "r") == StoredAnswer(2, b"answer 2")
    assert await store.read_log("t", 0, 1) == [LogEntry(1, b"entry")]
    assert await store.read_records("t", 1, 1) == [(2, b"two")]
    await create(inner, "u", now=5000.0)
    assert await store.list_tables("waiting", 1, "t") == await inner.list_tables("waiting", 1, "t") != []
    assert await store.expire(3000.0, 1) == 1
    await inner.commit(step("u", 1, due_at=7000.0))
    assert await store.due(7000.0, 1) == await inner.due(7000.0, 1) == ["u"]
    await store.ping()
    assert observed.operations == [
        (name, "ok")
        for name in (
            *("create", "owned", "count", "commit", "load", "revision", "remembered"),
            *("log", "records", "list", "expire", "due", "ping"),
        )
    ]
    assert all(0 < seconds < PATIENCE for seconds in observed.seconds)


_FAILURES: dict[tuple[str, str], Callable[[Store], Awaitable[object]]] = {
    ("create", "exists"): lambda store: create(store, "t"),
    ("create", "remembered"): lambda store: create(store, "t", request_id="make"),
    ("commit", "conflict"): lambda store: store.commit(step("t", 1)),
    ("commit", "remembered"): lambda store: store.commit(step("t", 1, request_id="request 2")),
    ("commit", "not_found"): lambda store: store.commit(step("u", 1)),
    ("load", "not_found"): lambda store: store.load("u"),
    ("log", "history_gone"): lambda store: store.read_log("t", 0, 1),
    ("log", "error"): lambda store: store.read_log("t", 0, 0),
}


async def test_ledger_is_passed_on(store: Store, inner: SqliteStore, observed: Observed) -> None:
    """Every call of the ledger reaches the inner one with its arguments, returns its result, and is reported."""
    posted = await store.ledger.append("ann", 1, "key", b"entry")
    assert posted == Posted(LedgerEntry(1, b"entry"), is_new=True)
    assert await store.ledger.find("ann", ["key"]) == await inner.ledger.find("ann", ["key"]) == {"key": posted.entry}
    assert await store.ledger.entries("ann", 1, 2) == await inner.ledger.entries("ann", 1, 2) == [posted.entry]
    assert observed.operations == [("ledger_append", "ok"), ("ledger_find", "ok"), ("ledger_entries", "ok")]


async def test_failures_are_reported_by_name(store: Store, inner: SqliteStore, observed: Observed) -> None:
    """An error goes through and is reported under its stable name, anything unforeseen as "error"."""
    await create(inner, "t", request_id="make")
    await advance(inner, "t", 2, PRUNE_STEP + 1)
    await inner.commit(step("t", PRUNE_STEP + 1, keep_log_after=PRUNE_STEP + 1))
    for call in _FAILURES.values():
        with pytest.raises((StoreError, ValueError)):
            await call(store)
    assert observed.operations == list(_FAILURES)


async def test_closing_is_passed_on(store: Store, observed: Observed) -> None:
    """Closing closes the inner store, and what comes later is reported as "unavailable"."""
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.ping()
    assert observed.operations == [("ping", "unavailable")]


async def test_cancelled_calls_are_reported(store: Store, inner: SqliteStore, observed: Observed) -> None:
    """A call whose caller is cancelled is reported as "cancelled"."""
    await create(inner, "t")
    call = asyncio.ensure_future(store.load("t"))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait([call])
    assert observed.operations == [("load", "cancelled")]


async def test_watchers_are_counted(store: Store, inner: SqliteStore, observed: Observed) -> None:
    """Subscriptions work as the inner store's, and how many are entered is reported with every change."""
    await create(inner, "t")
    async with store.subscribe("t") as first, store.subscribe("t") as second:
        await inner.commit(step("t", 1))
        await soon(first.wait())
        await soon(second.wait())
        second.wake()
        await soon(second.wait())
    assert observed.watching == [1, 2, 1, 0]


async def test_refused_subscription_is_not_counted(store: Store, observed: Observed) -> None:
    """A subscription that could not be entered is no watcher."""
    await store.close()
    with pytest.raises(StoreUnavailable):
        async with store.subscribe("t"):
            pass
    assert observed.watching == []
