"""Connections that break or are slow, on either side of the service, and stores that end and start again."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from buraco_client import BuracoClient
from tests.faults.conftest import MakeReplica
from tests.faults.crowd import Crowd, find_stored_problems, find_unlogged, play_during
from tests.faults.test_moving import Matches
from tests.servers import postgres, valkey
from tests.servers.proxy import Proxy, proxy

AWAY = ("UNAVAILABLE", "STORE_UNAVAILABLE")


async def disturb(crowd: Crowd, lines: Sequence[Proxy], rounds: int, rng: random.Random) -> None:
    """Cut and delay connections at random, for some rounds and until a call has failed."""
    for number in itertools.count():
        if number >= rounds and crowd.failures:
            break
        line = rng.choice(lines)
        line.delay = rng.choice((0.0, 0.0, 0.03))
        await crowd.wait_for_calls(rng.randint(1, 30))
        await asyncio.sleep(rng.uniform(0.0, 0.005))  # anywhere in what a call does
        if rng.random() < 0.7:
            line.cut()
    for line in lines:
        line.delay = 0.0


@pytest.fixture(params=[pytest.param(12, id="some"), pytest.param(400, id="many", marks=pytest.mark.slow)])
def rounds(request: pytest.FixtureRequest) -> int:
    """How often connections are cut or delayed."""
    number: int = request.param
    return number


async def test_between_client_and_service(sampled_store_url: str, replica: MakeReplica, rounds: int) -> None:
    """Calls whose connections break are carried out once or never, and users of the Python client notice nothing."""
    replicas = [replica(sampled_store_url) for _ in range(2)]
    await asyncio.gather(*[one.start() for one in replicas])
    rng = random.Random(seed := secrets.token_hex(4))
    async with contextlib.AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(proxy(int(one.address.rpartition(":")[2]))) for one in replicas]
        addresses = [f"127.0.0.1:{line.port}" for line in lines]
        client = await stack.enter_async_context(BuracoClient("ipv4:" + ",".join(addresses)))
        crowd = await stack.enter_async_context(Crowd(addresses, rng))
        stop = asyncio.Event()
        bots = asyncio.create_task(Matches(client, "bots").play(stop))
        settled = await play_during(crowd, disturb(crowd, lines, rounds, rng))
        stop.set()
        await bots
    assert [await one.stop() for one in replicas] == [0, 0]
    assert crowd.failures, "no call was hit"
    assert find_unlogged(replicas, crowd.outcomes) == []
    assert await find_stored_problems(sampled_store_url, settled) == [], f"seed {seed}"


async def test_between_service_and_store(served_store_url: str, replica: MakeReplica, rounds: int) -> None:
    """When connections to the store break, callers learn that it is unavailable, and what was written is whole."""
    rng = random.Random(seed := secrets.token_hex(4))
    async with contextlib.AsyncExitStack() as stack:
        port = urlsplit(served_store_url).port
        assert port is not None
        lines = [await stack.enter_async_context(proxy(port)) for _ in range(2)]
        replicas = [replica(served_store_url.replace(f":{port}", f":{line.port}")) for line in lines]
        await asyncio.gather(*[one.start() for one in replicas])
        crowd = await stack.enter_async_context(Crowd([one.address for one in replicas], rng))
        settled = await play_during(crowd, disturb(crowd, lines, rounds, rng))
        assert [await one.stop() for one in replicas] == [0, 0]
    assert {(failure.code.name, failure.reason) for failure in crowd.failures} == {AWAY}
    assert find_unlogged(replicas, crowd.outcomes) == []
    assert await find_stored_problems(served_store_url, settled) == [], f"seed {seed}"


class StoreServer:
    """A server for one test, which may end and start it."""

    def __init__(self, url: str, stop: Callable[[], None], kill: Callable[[], None], start: Callable[[], None]) -> None:
        self.url = url
        self._ends = (stop, kill)
        self._start = start

    async def end_and_start(self, crowd: Crowd, rounds: int, rng: random.Random) -> None:
        """Stop the server in order and kill it in turn, and start it again after some calls have failed."""
        for number in range(rounds):
            await crowd.wait_for_calls(rng.randint(1, 100))
            await asyncio.to_thread(self._ends[number % 2])
            await crowd.wait_for_failures(rng.randint(1, 50))
            await asyncio.to_thread(self._start)


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[StoreServer]:
    """A Valkey server whose acknowledged writes are on the disk."""
    if reason := valkey.missing():
        pytest.skip(reason)
    with valkey.running(tmp_path / "valkey", *valkey.DURABLE) as server:
        yield StoreServer(server.url, server.stop, server.kill, server.start)


@pytest.fixture
def own_postgres() -> Iterator[StoreServer]:
    """A PostgreSQL server whose acknowledged writes are on the disk."""
    if reason := postgres.missing():
        pytest.skip(reason)
    with postgres.running_server(postgres.DURABLE) as server:
        url = server.url(server.emptied_database())
        yield StoreServer(url, server.stop, lambda: server.stop("immediate"), server.start)


@pytest.fixture(params=["own_valkey", "own_postgres"])
def store(request: pytest.FixtureRequest) -> StoreServer:
    """A server for the test alone, of each kind of store that has one."""
    server: StoreServer = request.getfixturevalue(request.param)
    return server


@pytest.mark.parametrize("ends", [2, pytest.param(20, marks=pytest.mark.slow)])
async def test_store_server_restarts(store: StoreServer, replica: MakeReplica, ends: int) -> None:
    """While the store is down callers learn that; when it is back replicas go on with all that was acknowledged."""
    rng = random.Random(seed := secrets.token_hex(4))
    replicas = [replica(store.url) for _ in range(2)]
    await asyncio.gather(*[one.start() for one in replicas])
    async with Crowd([one.address for one in replicas], rng) as crowd:
        settled = await play_during(crowd, store.end_and_start(crowd, ends, rng))
    assert [await one.stop() for one in replicas] == [0, 0]
    assert {(failure.code.name, failure.reason) for failure in crowd.failures} == {AWAY}
    assert find_unlogged(replicas, crowd.outcomes) == []
    assert await find_stored_problems(store.url, settled) == [], f"seed {seed}"
