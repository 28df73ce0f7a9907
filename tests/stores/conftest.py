from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from buraco_service.stores.base import Store
from buraco_service.stores.urls import open_store
from tests.stores.samples import StoreFactory


@pytest.fixture(params=["sqlite"])
async def store_factory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoreFactory]:
    """Opens stores on the same tables, like replicas; at first there are no tables. All are closed after the test."""
    urls = {"sqlite": f"sqlite:///{tmp_path}/tables.db"}
    opened: list[Store] = []

    async def open_replica() -> Store:
        store = await open_store(urls[request.param])
        opened.append(store)
        return store

    yield open_replica
    for store in opened:
        await store.close()


@pytest.fixture
async def store(store_factory: StoreFactory) -> Store:
    """One store without tables."""
    return await store_factory()
