"""The Redis store when its server fails, is full, freezes, restarts or is replaced."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from buraco_service.stores.base import AlreadyAnswered, Store, StoredAnswer, StoreUnavailable
from buraco_service.stores.redis.nodes import Node, Nodes
from buraco_service.stores.redis.store import RedisStore
from tests.servers.proxy import proxy
from tests.servers.valkey import DURABLE, Valkey, missing, running, wait_until
from tests.stores.conftest import OpenAt
from tests.stores.interruptions import Interruption, Moment
from tests.stores.samples import PATIENCE, advance, create, soon, step, wait_until_available

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Valkey]:
    """A server for one test, which is durable."""
    with running(tmp_path / "valkey", *DURABLE) as server:
        yield server


def lose_patience(store: Store, timeout: float = 0.3) -> None:
    """Shorten the timeout of the store from now on."""
    assert isinstance(store, RedisStore)
    for node in store._nodes._nodes.values():
        node._place = node._place._replace(timeout=timeout)
        if node.ready is not None:
            node.ready._place = node._place


async def test_server_is_killed_and_comes_back(server: Valkey, open_at: OpenAt) -> None:
    """While the server is down calls are refused at once; when it is back the same store works, with every commit."""
    store = await open_at(server.url)
    await create(store, "t", request_id="make")
    await advance(store, "t", 2, 20)
    server.kill()
    for call in (store.load("t"), store.commit(step("t", 20)), store.ping(), create(store, "u", request_id="r")):
        with pytest.raises(StoreUnavailable):
            await soon(call)
    server.start()
    assert await wait_until_available(store, "t") == 20
    assert await store.find_answer("t", "request 20") == StoredAnswer(20, b"answer 20")
    assert await store.find_answer("t", "make") == StoredAnswer(1, b"answer 1")
    await advance(store, "t", 21, 25)


async def test_waiters_are_woken_after_a_restart(server: Valkey, open_at: OpenAt) -> None:
    """After the connection was lost every subscription is woken to read, and later commits wake as before."""
    store = await open_at(server.url)
    await create(store, "t")
    async with store.subscribe("t") as subscription, store.subscribe("never made") as other:
        for waiting in (subscription, other):
            await soon(waiting.wait())  # listening
        server.kill()
        server.start()
        for waiting in (subscription, other):
            while await soon(waiting.wait()) is not None:
                pass
        await wait_until_available(store, "t")
        await store.commit(step("t", 1))
        assert await soon(subscription.wait()) == 2


async def test_commit_during_an_interruption_is_heard_of(server: Valkey, open_at: OpenAt) -> None:
    """A commit that another replica makes while this one's connections are cut still wakes the subscription."""
    async with proxy(server.port) as line:
        here, there = await open_at(f"redis://127.0.0.1:{line.port}"), await open_at(server.url)
        await create(here, "t")
        async with here.subscribe("t") as subscription:
            await soon(subscription.wait())
            for revision in range(2, 12):
                line.cut()
                await advance(there, "t", revision, revision)
                seen = 0
                while seen < revision:
                    told = await soon(subscription.wait())
                    seen = await wait_until_available(here, "t") if told is None else told
        await here.close()


async def test_calls_on_a_broken_connection_fail_whole(server: Valkey, open_at: OpenAt) -> None:
    """When the connection breaks under calls, each is answered, and what was written is whole, with its answer."""
    async with proxy(server.port) as line:
        store = await open_at(f"redis://127.0.0.1:{line.port}")
        tables = [f"t{i}" for i in range(20)]
        await asyncio.gather(*[create(store, name) for name in tables])
        commits = [asyncio.ensure_future(store.commit(step(name, 1, request_id="r"))) for name in tables]
        await asyncio.sleep(0)
        line.cut()
        results = await soon(asyncio.gather(*commits, return_exceptions=True))
        for name, result in zip(tables, results, strict=True):
            assert result == 2 or isinstance(result, StoreUnavailable)
            revision = await wait_until_available(store, name)
            assert len(await store.read_log(name, 0, 10)) == revision
            if revision == 2:
                with pytest.raises(AlreadyAnswered):
                    await store.commit(step(name, 1, request_id="r"))
            else:
                assert await store.commit(step(name, 1, request_id="r")) == 2
        await store.close()


@pytest.mark.parametrize("moment", ["waiting", "answered"])
async def test_connection_that_ends_at_any_step(
    server: Valkey, open_at: OpenAt, monkeypatch: pytest.MonkeyPatch, moment: Moment
) -> None:
    """A call whose connection ends, at whatever step, is answered or StoreUnavailable, and never made twice."""
    store = await open_at(server.url)
    assert isinstance(store, RedisStore)
    (node,) = store._nodes.owners()
    assert node is not None
    route = Nodes._route
    for number in itertools.count(1):
        await create(store, f"t{number}")
        interruption = Interruption[Node](number, moment, Node.drop)

        async def interrupted(
            nodes: Nodes, *arguments: Any, interruption: Interruption[Node] = interruption, **options: Any
        ) -> Any:
            return await interruption.within(route(nodes, *arguments, **options), node)

        node.drop()  # so that making the connection is among the steps
        await asyncio.sleep(0)
        with monkeypatch.context() as patch:
            patch.setattr(Nodes, "_route", interrupted)
            with contextlib.suppress(StoreUnavailable):
                await soon(store.commit(step(f"t{number}", 1, request_id="r")))
        await wait_until_available(store, f"t{number}")
        with contextlib.suppress(AlreadyAnswered):
            await store.commit(step(f"t{number}", 1, request_id="r"))
        assert await store.load_revision(f"t{number}") == len(await store.read_log(f"t{number}", 0, 10)) == 2
        if not interruption.happened:
            break
    assert number > 2


async def test_frozen_server_keeps_nobody_waiting(server: Valkey, open_at: OpenAt) -> None:
    """A server that no longer answers fails calls after the timeout, those under way and later ones."""
    store = await open_at(server.url)
    await create(store, "t")
    server.freeze()
    lose_patience(store)
    calls = [store.load("t"), store.commit(step("t", 1, request_id="r")), store.ping()]
    results = await soon(asyncio.gather(*calls, return_exceptions=True))
    assert [type(result) for result in results] == [StoreUnavailable] * 3
    with pytest.raises(StoreUnavailable):
        await soon(store.load("t"))
    server.thaw()
    lose_patience(store, PATIENCE)
    revision = await wait_until_available(store, "t")
    assert len(await store.read_log("t", 0, 10)) == revision


async def test_frozen_server_does_not_stop_close(server: Valkey, open_at: OpenAt) -> None:
    """Close waits for calls under way no longer than they may take."""
    store = await open_at(server.url)
    await create(store, "t")
    async with store.subscribe("t") as subscription:
        await soon(subscription.wait())
        server.freeze()
        lose_patience(store)
        loading = asyncio.ensure_future(store.load("t"))
        await asyncio.sleep(0)
        await soon(store.close())
        with pytest.raises(StoreUnavailable):
            await loading


async def test_full_server_refuses_writes_whole(server: Valkey, open_at: OpenAt) -> None:
    """A server at its limit of memory refuses commits and creates whole, answers reads, lets old tables expire."""
    store = await open_at(server.url)
    await create(store, "t", now=9000.0)
    await create(store, "old", now=1000.0)
    server.command("CONFIG", "SET", "maxmemory", "1")
    before = await store.load("t")
    for call in (
        store.commit(step("t", 1, status="lost", request_id="r", records=((1, b"lost"),))),
        create(store, "new", request_id="make"),
        store.ping(),
    ):
        with pytest.raises(StoreUnavailable, match="OOM"):
            await call
    assert await (await open_at(server.url)).load("t") == before
    assert len(await store.read_log("t", 0, 10)) == 1
    assert await store.find_answer("t", "r") is None
    assert await store.find_answer("new", "make") is None
    assert await store.read_records("t", 0, 10) == []
    assert [stored.table_id for stored in await store.list_tables(None, 10, None)] == ["old", "t"]
    assert await store.expire(5000.0, 10) == 1
    server.command("CONFIG", "SET", "maxmemory", "0")
    assert await store.commit(step("t", 1, request_id="r")) == 2


async def test_replica_takes_over(server: Valkey, open_at: OpenAt, tmp_path: Path) -> None:
    """Of the servers in the URL the master is used; after a failover to a replica, the store works on."""
    with running(tmp_path / "replica", "--replicaof", f"127.0.0.1 {server.port}") as replica:
        wait_until(lambda: b"master_link_status:up" in replica.command("INFO", "replication"))
        with pytest.raises(StoreUnavailable, match="is a replica"):
            await open_at(replica.url)
        # Acknowledged only when the replica has it: so it survives the loss of the master.
        store = await open_at(f"redis://127.0.0.1:{replica.port},127.0.0.1:{server.port}?replicas=1")
        await create(store, "t", request_id="make")
        await asyncio.gather(*[create(store, f"u{i}") for i in range(10)])
        await advance(store, "t", 2, 10)
        async with store.subscribe("t") as subscription:
            await soon(subscription.wait())
            server.kill()
            replica.command("REPLICAOF", "NO", "ONE")
            assert await wait_until_available(store, "t") == 10
            while await soon(subscription.wait()) is not None:
                pass
        assert await store.find_answer("t", "make") == StoredAnswer(1, b"answer 1")
        follower = await open_at(f"redis://127.0.0.1:{server.port},127.0.0.1:{replica.port}")
        assert await follower.commit(step("t", 10)) == 11


async def test_demoted_master_is_left(server: Valkey, open_at: OpenAt, tmp_path: Path) -> None:
    """A master that becomes a replica refuses the commit, and the next ones go to the new master."""
    with running(tmp_path / "other", "--replicaof", f"127.0.0.1 {server.port}") as other:
        wait_until(lambda: b"master_link_status:up" in other.command("INFO", "replication"))
        store = await open_at(f"redis://127.0.0.1:{server.port},127.0.0.1:{other.port}")
        await create(store, "t")
        other.command("REPLICAOF", "NO", "ONE")
        server.command("REPLICAOF", "127.0.0.1", other.port)
        with pytest.raises(StoreUnavailable):
            await store.commit(step("t", 1))
        assert await wait_until_available(store, "t") == 1
        assert await store.commit(step("t", 1)) == 2
