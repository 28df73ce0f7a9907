from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.replicas import Replica

MakeReplica = Callable[..., Replica]


@pytest.fixture(params=["sqlite_url", "redis_url", "postgres_url"])
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store, of each kind."""
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.fixture(
    params=["postgres_url", *[pytest.param(url, marks=pytest.mark.slow) for url in ("sqlite_url", "redis_url")]]
)
def sampled_store_url(request: pytest.FixtureRequest) -> str:
    """As `store_url`, of one kind; `make test-slow` takes the others. `test_story` tries all kinds."""
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.fixture(params=["redis_url", "postgres_url"])
def served_store_url(request: pytest.FixtureRequest) -> str:
    """As `store_url`, of the kinds that have a server."""
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[MakeReplica]:
    """A function that makes replicas on a store, for the test to start; all are ended after it."""
    with contextlib.ExitStack() as stack:
        made: list[Replica] = []

        def make(store: str, **options: Any) -> Replica:
            made.append(one := Replica(tmp_path / f"replica-{len(made)}", store, **options))
            stack.callback(one.close)
            return one

        yield make
