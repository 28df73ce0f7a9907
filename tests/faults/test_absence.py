"""Players without streams, while replicas are killed and clocks jump."""

from __future__ import annotations

import asyncio
import random
import secrets
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client import BuracoClient
from buraco_service.stores.urls import open_store
from tests.faults.clock import LEASE_SECONDS, RENEW_SECONDS
from tests.faults.conftest import MakeReplica
from tests.faults.crowd import PATIENCE, Crowd, find_stored_problems, play_during
from tests.faults.test_due import LOOK, Replicas
from tests.faults.test_moving import target_of

AFTER = 10
SETTLED = RENEW_SECONDS + LEASE_SECONDS
"""Seconds after a jump of the clock in which nobody is made absent."""
OPTIONS = table_pb2.TableOptions(absent_after=Duration(seconds=AFTER))


async def _absences(store_url: str, table_id: str) -> list[str]:
    """Return the seats that became absent or returned, in order, as the log has them."""
    store = await open_store(store_url)
    found = []
    for entry in await store.read_log(table_id, 0, 10_000):
        for event in table_pb2.StoredEntry.FromString(entry.payload).events:
            kind = event.WhichOneof("event")
            if kind in ("seat_absent", "seat_returned"):
                found.append(f"{kind} {getattr(event, kind).seat}")
    await store.close()
    return found


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.slow)])
async def test_players_without_streams_play_on(
    sampled_store_url: str, replica: MakeReplica, tmp_path: Path, rounds: int
) -> None:
    """Whatever is killed while players become absent and return by their moves, no acknowledged move is lost."""
    replicas = Replicas(sampled_store_url, replica, tmp_path)
    rng = random.Random(seed := secrets.token_hex(4))
    await replicas.start()

    async def jump_and_kill() -> None:
        for _ in range(rounds):
            replicas.jump(AFTER + 1.0)
            await asyncio.sleep(SETTLED + rng.uniform(0, LOOK))
            victim = rng.choice(replicas.all)
            await victim.kill()
            await victim.start()
        await asyncio.sleep(SETTLED)

    async with Crowd([one.address for one in replicas.all], rng) as crowd:
        settled = await play_during(crowd, jump_and_kill(), OPTIONS)
    assert await find_stored_problems(sampled_store_url, settled) == [], f"seed {seed}"


async def test_each_absence_comes_once(sampled_store_url: str, replica: MakeReplica, tmp_path: Path) -> None:
    """A player who is not seen becomes absent once, though replicas die; one who moves to another replica does not."""
    replicas = Replicas(sampled_store_url, replica, tmp_path)
    await replicas.start()
    async with BuracoClient(target_of(replicas.all)) as client:
        tables = [await client.create_table("buraco-plus-classic", 2, options=OPTIONS) for _ in range(20)]
        seats = [[await client.join_table(table.id, name) for name in ("Ada", "Bo")] for table in tables]
        watches = [both[1].watch(presence=True) for both in seats]

        async def follow(number: int) -> None:
            async for update in watches[number]:
                if isinstance(update, table_pb2.Events) and any(
                    event.HasField("seat_absent") for event in update.events
                ):
                    return

        async with asyncio.timeout(PATIENCE):
            following = [asyncio.create_task(follow(number)) for number in range(len(tables))]
            await asyncio.sleep(1.0)
            replicas.jump(3.0)
            await replicas.all[0].kill()
            await replicas.all[0].start()
            await asyncio.gather(*following)
            await replicas.all[1].kill()
            await asyncio.sleep(2 * LOOK)
        for watch in watches:
            await watch.aclose()
    for table in tables:
        assert await _absences(sampled_store_url, table.id) == ["seat_absent 0"]


async def test_killed_replica_leases_lapse(store_url: str, replica: MakeReplica, tmp_path: Path) -> None:
    """Players whose replica was killed are seen no more at another one, some seconds later."""
    replicas = Replicas(store_url, replica, tmp_path)
    await replicas.start()
    first, second = (BuracoClient(one.address) for one in replicas.all)
    async with first, second, asyncio.timeout(PATIENCE):
        table = await first.create_table("buraco-plus-classic", 2)
        ada = await first.join_table(table.id, "Ada")
        watch = second.watch(table.id, presence=True)
        assert isinstance(await anext(watch), table_service_pb2.TableUpdate)
        assert await anext(watch) == table_service_pb2.Presence()
        async with ada.play() as session:
            await anext(session)
            assert await anext(watch) == table_service_pb2.Presence(seats=[0])
            await replicas.all[0].kill()
            assert await anext(watch) == table_service_pb2.Presence()
        await watch.aclose()
