"""The Redis store in a cluster: its keys in slots, slots that move, masters that fail."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from buraco_service.stores.base import StoredAnswer, StoreIncompatible, StoreUnavailable
from buraco_service.stores.redis.keys import BUCKETS, SLOTS, Keys, bucket_of, slot_of
from buraco_service.stores.redis.store import RedisStore
from tests.servers.valkey import Cluster, missing, replicate, running_cluster, running_node
from tests.stores.conftest import OpenAt
from tests.stores.samples import PATIENCE, advance, create, soon, step, wait_until_available

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


def test_buckets_divide_the_slots_evenly() -> None:
    """Each bucket is in another equal share of the slots, so that masters with equal shares have as many buckets."""
    assert [slot_of(bucket) * BUCKETS // SLOTS for bucket in range(BUCKETS)] == list(range(BUCKETS))


def test_tables_spread_over_the_buckets() -> None:
    """Of many tables no bucket has far more or less than its share."""
    counts = Counter(bucket_of(f"table {i}") for i in range(64_000))
    assert len(counts) == BUCKETS
    assert min(counts.values()) > 800
    assert max(counts.values()) < 1200


@pytest.mark.parametrize("table_id", ["t", "{", "}{", "{other}", "a{b}c"])
def test_a_table_has_one_hash_tag(valkey_cluster: Cluster, table_id: str) -> None:
    """All keys of a table and its indexes are in one slot, as the servers see it, whatever braces its id has."""
    keys = Keys("buraco:").of_table(table_id)
    slots = {valkey_cluster.nodes[0].command("CLUSTER", "KEYSLOT", key) for key in keys[1:]}
    assert slots == {slot_of(keys.bucket)}


async def test_tables_lie_on_every_master(valkey_cluster: Cluster, redis_cluster_url: str, open_at: OpenAt) -> None:
    """The masters share the tables, and one list shows them all."""
    store = await open_at(redis_cluster_url)
    await asyncio.gather(*[create(store, f"t{i:02}") for i in range(60)])
    prefix = redis_cluster_url.partition("prefix=")[2]
    shares = [len(node.command("KEYS", f"{prefix}*:table:*")) for node in valkey_cluster.nodes]
    assert sum(shares) == 60
    assert min(shares) > 5
    assert [stored.table_id for stored in await store.list_tables(None, 100, None)] == [f"t{i:02}" for i in range(60)]


async def test_any_node_leads_to_the_cluster(valkey_cluster: Cluster, open_at: OpenAt) -> None:
    """A store opened by one node sees what one opened by another has written; unreachable ones do no harm."""
    first, *others = [f"{node.url}?prefix=any:" for node in valkey_cluster.nodes]
    store = await open_at(first)
    await create(store, "t")
    for url in (*others, f"redis://127.0.0.1:1,127.0.0.1:{valkey_cluster.nodes[0].port}?prefix=any:"):
        assert await (await open_at(url)).load_revision("t") == 1


async def test_cluster_has_no_databases(valkey_cluster: Cluster, open_at: OpenAt) -> None:
    """A URL that names a database of a cluster is refused."""
    with pytest.raises((StoreIncompatible, StoreUnavailable)):
        await open_at(f"{valkey_cluster.url}/1")


async def test_slots_move_while_tables_are_played(
    valkey_cluster: Cluster, redis_cluster_url: str, open_at: OpenAt
) -> None:
    """When a slot moves to another master, there and back, no call fails, and every commit wakes subscriptions."""
    store, other = await open_at(redis_cluster_url), await open_at(redis_cluster_url)
    await create(store, "t", request_id="make")
    slot = slot_of(bucket_of("t"))
    home = valkey_cluster.owner(slot)
    away = next(node for node in valkey_cluster.nodes if node is not home)
    committed, last = 1, -1
    moved = asyncio.Event()

    async def play() -> None:
        nonlocal committed
        while not moved.is_set():
            await other.commit(step("t", committed, request_id=f"request {committed + 1}"))
            committed += 1
            await asyncio.sleep(0.002)

    async def follow() -> list[int]:
        seen: list[int] = []
        async with store.subscribe("t") as subscription:
            while len(seen) != last:
                entries = await store.read_log("t", len(seen), 100)
                seen += [entry.revision for entry in entries]
                if not entries:
                    await soon(subscription.wait())
        return seen

    playing, following = asyncio.ensure_future(play()), asyncio.ensure_future(follow())
    for target in (away, home):
        reached = committed
        await asyncio.to_thread(valkey_cluster.move, slot, target)
        while committed < reached + 20:
            await asyncio.sleep(0)
            assert not playing.done()
    moved.set()
    await soon(playing)
    last = committed + 1
    await advance(other, "t", last, last)
    assert await soon(following) == list(range(1, last + 1))
    assert await store.find_answer("t", "make") == StoredAnswer(1, b"answer 1")


async def test_calls_wait_for_a_slot_that_is_moving(
    valkey_cluster: Cluster, redis_cluster_url: str, open_at: OpenAt
) -> None:
    """While a table's keys are in part here and in part there, a commit waits, for the timeout at most, and goes on."""
    store, hasty = await open_at(redis_cluster_url), await open_at(redis_cluster_url)
    await create(store, "t")
    # For a call as a whole, not for an answer.
    for patience, one in ((PATIENCE, store), (0.3, hasty)):
        assert isinstance(one, RedisStore)
        one._nodes._place = one._nodes._place._replace(timeout=patience)
    slot = slot_of(bucket_of("t"))
    home = valkey_cluster.owner(slot)
    away = next(node for node in valkey_cluster.nodes if node is not home)
    for target, revision in ((away, 2), (home, 3)):
        with valkey_cluster.moving(slot, target):
            with pytest.raises(StoreUnavailable, match="TRYAGAIN"):
                await hasty.commit(step("t", revision - 1))
            waiting = asyncio.ensure_future(store.commit(step("t", revision - 1)))
            await asyncio.wait([waiting], timeout=0.6)
            assert not waiting.done()
        assert await soon(waiting) == revision
    assert len(await hasty.read_log("t", 0, 10)) == 3


async def test_replica_takes_over_from_a_dead_master(tmp_path: Path, open_at: OpenAt) -> None:
    """When a master dies, its tables are refused until its replica has them, and then go on; others always do."""
    with running_cluster(tmp_path) as cluster, running_node(tmp_path / "replica") as replica:
        dying = cluster.nodes[0]
        replicate(cluster, dying, replica)
        store = await open_at(cluster.url)
        names = [f"t{i}" for i in range(30)]
        await asyncio.gather(*[create(store, name) for name in names])
        lost = [name for name in names if cluster.owner(slot_of(bucket_of(name))) is dying]
        kept = next(name for name in names if name not in lost)
        dying.command("WAIT", 1, 0)
        async with store.subscribe(lost[0]) as subscription, store.subscribe(kept) as other:
            for waiting in (subscription, other):
                await soon(waiting.wait())
            dying.kill()
            with pytest.raises(StoreUnavailable):
                await store.commit(step(lost[0], 1))
            assert await store.commit(step(kept, 1)) == 2
            assert await soon(other.wait()) == 2
            await soon(subscription.wait())  # listening to the replica
            for name in lost:
                assert await wait_until_available(store, name) == 1
                assert await store.commit(step(name, 1)) == 2
            assert await soon(subscription.wait()) == 2
            assert await store.commit(step(kept, 2)) == 3
            assert await soon(other.wait()) == 3
        assert [stored.table_id for stored in await store.list_tables(None, 100, None)] == sorted(names)
