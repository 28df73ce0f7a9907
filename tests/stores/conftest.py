from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from buraco_service.stores.base import Store
from buraco_service.stores.urls import open_store
from tests.stores.samples import StoreFactory

OpenAt = Callable[[str], Awaitable[Store]]


@pytest.fixture
async def open_at() -> AsyncIterator[OpenAt]:
    """A function that opens stores by their URLs. All are closed after the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def open_one(url: str) -> Store:
            store = await open_store(url)
            stack.push_async_callback(store.close)
            return store

        yield open_one


@pytest.fixture(params=["sqlite_url", "redis_url", "redis_cluster_url", "postgres_url"])
async def store_factory(request: pytest.FixtureRequest) -> AsyncIterator[StoreFactory]:
    """A function that opens stores on the same tables, as replicas do, at first none. All are closed after the test."""
    url: str = request.getfixturevalue(request.param)
    opened: list[Store] = []

    async def open_replica() -> Store:
        store = await open_store(url)
        opened.append(store)
        return store

    yield open_replica
    for store in opened:
        await store.close()


@pytest.fixture
async def store(store_factory: StoreFactory) -> Store:
    """One store without tables."""
    return await store_factory()
