"""Real servers for stores, and an empty place in each for one test; and how Hypothesis tries values."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import postgres
from tests.servers import valkey as valkey_servers
from tests.servers.valkey import Cluster, Valkey

# Read when gRPC starts. Its handlers of forks are for children that go on with gRPC; those of tests are other programs,
# and one that is started as another user is forked and can die of them.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

# Bounded, repeatable, without a clock.
settings.register_profile(
    "repeatable",
    deadline=None,
    database=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")

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


def _need(reason: str | None) -> None:
    if reason:
        pytest.skip(reason)
