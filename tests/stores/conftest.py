from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from buraco_service.stores.base import Store
from buraco_service.stores.urls import open_store
from tests.servers import postgres
from tests.servers import valkey as valkey_servers
from tests.servers.valkey import Cluster, Valkey
from tests.stores.samples import StoreFactory

OpenAt = Callable[[str], Awaitable[Store]]

_prefixes = itertools.count()


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    """A Valkey server for all tests that do it no harm."""
    _need(valkey_servers.missing())
    with valkey_servers.running(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture(scope="session")
def valkey_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Valkey cluster of three masters for all tests that do it no harm."""
    _need(valkey_servers.missing())
    with valkey_servers.running_cluster(tmp_path_factory.mktemp("valkey-cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.PostgresServer]:
    """One PostgreSQL server for all tests of a process."""
    _need(postgres.missing())
    with postgres.running_server() as server:
        yield server


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A file that is not there yet."""
    return f"sqlite:///{tmp_path}/tables.db"


@pytest.fixture
def redis_url(valkey: Valkey) -> str:
    """A part of the server for this test alone."""
    return f"{valkey.url}?prefix=test-{next(_prefixes)}:"


@pytest.fixture
def redis_cluster_url(valkey_cluster: Cluster) -> str:
    """A part of the cluster for this test alone."""
    return f"{valkey_cluster.url}?prefix=test-{next(_prefixes)}:"


@pytest.fixture
def postgres_url(postgres_server: postgres.PostgresServer) -> str:
    """A database with the newest schema and nothing in it."""
    return postgres_server.url(postgres_server.emptied_database())


@pytest.fixture
async def open_at() -> AsyncIterator[OpenAt]:
    """Opens stores by their URLs. All are closed after the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def open_one(url: str) -> Store:
            store = await open_store(url)
            stack.push_async_callback(store.close)
            return store

        yield open_one


@pytest.fixture(params=["sqlite_url", "redis_url", "redis_cluster_url", "postgres_url"])
async def store_factory(request: pytest.FixtureRequest) -> AsyncIterator[StoreFactory]:
    """Opens stores on the same tables, like replicas; at first there are no tables. All are closed after the test."""
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


def _need(reason: str | None) -> None:
    if reason:
        pytest.skip(reason)
