"""Tables and commits for the tests of stores, and ways to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from buraco_service.stores.base import Commit, NewTable, Store, StoreUnavailable, Subscription

T = TypeVar("T")

StoreFactory = Callable[[], Awaitable[Store]]

PATIENCE = 60.0
"""Seconds after which a test gives up waiting."""


async def soon(awaitable: Awaitable[T]) -> T:
    """Return the result. Raise TimeoutError if it does not come."""
    return await asyncio.wait_for(awaitable, PATIENCE)


async def wait_for_revision(subscription: Subscription, revision: int | None) -> None:
    """Wait for a wake-up with this revision (None: not known), and check that none with a newer one comes."""
    newest: int | None = 0
    while newest is not None and newest != revision:
        assert revision is None or newest < revision
        newest = await soon(subscription.wait())


async def wait_until_available(store: Store, table_id: str) -> int:
    """Wait until a store answers again, and return the table's revision."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await store.load_revision(table_id)
            except StoreUnavailable:
                await asyncio.sleep(0.01)


async def create(
    store: Store, table_id: str, *, status: str = "waiting", now: float = 1000.0, request_id: str | None = None
) -> None:
    """Create a table with recognisable bytes."""
    await store.create(NewTable(table_id, b"state 1", status, now, b"entry 1", request_id, b"answer 1"))


def step(
    table_id: str,
    expected_revision: int,
    *,
    state: bytes | None = None,
    status: str = "playing",
    now: float = 2000.0,
    entry: bytes | None = None,
    request_id: str | None = None,
    answer: bytes | None = None,
    records: tuple[tuple[int, bytes], ...] = (),
    keep_log_after: int | None = None,
    due_at: float | None = None,
) -> Commit:
    """Return a commit with bytes that name its revision, unless others are given."""
    revision = expected_revision + 1
    return Commit(
        table_id,
        expected_revision,
        b"state %d" % revision if state is None else state,
        status,
        now,
        b"entry %d" % revision if entry is None else entry,
        request_id,
        b"answer %d" % revision if answer is None else answer,
        records,
        keep_log_after,
        due_at,
    )


async def advance(store: Store, table_id: str, first: int, last: int) -> None:
    """Commit one revision after another, from `first` to `last`, each with the request id "request <revision>"."""
    for revision in range(first, last + 1):
        assert await store.commit(step(table_id, revision - 1, request_id=f"request {revision}")) == revision
