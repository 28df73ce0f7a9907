"""What the tests of the stores write, and how they wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from buraco_service.stores.base import Commit, NewTable, Store, StoreUnavailable, Subscription

T = TypeVar("T")

StoreFactory = Callable[[], Awaitable[Store]]

PATIENCE = 60.0
"""Seconds after which something that has to happen is taken to be lost."""


async def soon(awaitable: Awaitable[T]) -> T:
    """The result, or TimeoutError when it does not come."""
    return await asyncio.wait_for(awaitable, PATIENCE)


async def wait_for_revision(subscription: Subscription, revision: int | None) -> None:
    """Wait until told of this revision (None: one that is not known); a newer one must not be told."""
    told: int | None = 0
    while told is not None and told != revision:
        assert revision is None or told < revision
        told = await soon(subscription.wait())


async def wait_until_available(store: Store, table_id: str) -> int:
    """The table's revision, as soon as a store in trouble answers again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await store.load_revision(table_id)
            except StoreUnavailable:
                await asyncio.sleep(0.01)


async def create(
    store: Store, table_id: str, *, status: str = "waiting", now: float = 1000.0, request_id: str | None = None
) -> None:
    """A table whose bytes all say where they belong."""
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
) -> Commit:
    """A commit whose bytes all say which revision they belong to."""
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
    )


async def advance(store: Store, table_id: str, first: int, last: int) -> None:
    """Commit one revision after another, from `first` to `last`, each with the request id "request <revision>"."""
    for revision in range(first, last + 1):
        assert await store.commit(step(table_id, revision - 1, request_id=f"request {revision}")) == revision
