"""Due times of tables: carried out by whichever replica is there, while clocks jump and replicas are killed."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Sequence
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client import BuracoClient
from buraco_codec.moves import move_to_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_service.stores.urls import open_store
from tests.faults.conftest import MakeReplica
from tests.faults.crowd import PATIENCE, Crowd, find_stored_problems, play_during, read_entries
from tests.faults.replicas import Replica
from tests.faults.test_clocks import Clock
from tests.faults.test_moving import target_of
from tests.service.scripts import dealt, plain_turns, short_rules
from tests.service.table_server import SEED

TURN, CONFIRMATION = 5, 60
LOOK = 1.3
"""Seconds within which a replica looks for what is due."""


class Replicas:
    """Two replicas with clocks that jump together."""

    def __init__(self, store_url: str, replica: MakeReplica, folder: Path, **settings: str) -> None:
        """`settings` are environment variables."""
        self._clocks = [Clock(folder / f"clock-{number}") for number in range(2)]
        self.all: list[Replica] = [
            replica(store_url, module="tests.faults.clock", BURACO_CLOCK_TOLERANCE="0", **clock.environment, **settings)
            for clock in self._clocks
        ]
        self._ahead = 0.0

    async def start(self) -> None:
        """Start both."""
        await asyncio.gather(*[one.start() for one in self.all])

    def jump(self, seconds: float) -> None:
        """Let so much time pass for both at once."""
        self._ahead += seconds
        for clock in self._clocks:
            clock.jump(self._ahead)

    async def jump_and_kill(self, crowd: Crowd, rounds: int, rng: random.Random) -> None:
        """Let turns time out, and kill one replica after the other while both look for them."""
        for _ in range(rounds):
            await crowd.wait_for_calls(rng.randint(1, 40))
            self.jump(TURN + rng.random())
            victim = rng.choice(self.all)
            await asyncio.sleep(rng.uniform(0, LOOK))
            await victim.kill()
            await victim.start()


@pytest.mark.parametrize("rounds", [3, pytest.param(40, marks=pytest.mark.slow)])
async def test_turns_time_out_while_players_play(
    sampled_store_url: str, replica: MakeReplica, tmp_path: Path, rounds: int
) -> None:
    """Whatever is killed while turns are played and time out, each ends once: by its player or by the clock.

    No acknowledged move is lost, every refusal was right, and the clock plays nothing but what finishes a turn.
    """
    replicas = Replicas(sampled_store_url, replica, tmp_path)
    rng = random.Random(seed := secrets.token_hex(4))
    await replicas.start()
    options = table_pb2.TableOptions(turn_time=Duration(seconds=TURN), absent_after_turns=100)
    async with Crowd([one.address for one in replicas.all], rng) as crowd:
        settled = await play_during(crowd, replicas.jump_and_kill(crowd, rounds, rng), options)
    assert await find_stored_problems(sampled_store_url, settled) == [], f"seed {seed}"
    store = await open_store(sampled_store_url)
    entries = [entry for game, _ in settled for entry in await read_entries(store, game)]
    await store.close()
    assert {entry.timed_out for entry in entries if entry.moves} == {False, True}, "or only one of them did anything"


async def _show_scores(client: BuracoClient, number: int) -> list[str]:
    """Return tables whose first deal has ended, and whose scores nobody confirms."""
    rules = short_rules(2)
    options = table_pb2.TableOptions(confirmation_time=Duration(seconds=CONFIRMATION))
    script = list(plain_turns(dealt(rules, target=10_000), 2))

    async def show_one() -> str:
        table = await client.create_table(rule_set_to_pb(rules), 2, target_score=10_000, seed=SEED, options=options)
        seats = [await client.join_table(table.id, name) for name in ("Ada", "Bo")]
        for turn in script:
            await seats[turn.seat].submit([move_to_pb(move) for move in turn.moves])
        return table.id

    return await asyncio.gather(*[show_one() for _ in range(number)])


async def _wait_for_second_deals(client: BuracoClient, table_ids: Sequence[str]) -> None:
    """Wait until every table has its second deal."""

    async def wait_for_one(table_id: str) -> None:
        async for update in client.watch(table_id):
            if isinstance(update, table_service_pb2.TableUpdate) and update.table.match.deal_number == 2:
                return
            if isinstance(update, table_pb2.Events) and any(event.HasField("dealt") for event in update.events):
                return

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*[wait_for_one(table_id) for table_id in table_ids])


async def _deals(client: BuracoClient, table_ids: Sequence[str]) -> set[tuple[int, int]]:
    """Return the numbers of the tables' deals, with the tables' revisions."""
    tables = [await client.get_table(table_id) for table_id in table_ids]
    return {(table.match.deal_number, table.revision) for table in tables}


async def test_deals_are_dealt_once_whoever_dies(sampled_store_url: str, replica: MakeReplica, tmp_path: Path) -> None:
    """When the scores of many tables are due at once, and a replica dies in the middle, each gets one next deal."""
    replicas = Replicas(sampled_store_url, replica, tmp_path)
    rng = random.Random()
    await replicas.start()
    async with BuracoClient(target_of(replicas.all)) as client:
        table_ids = await _show_scores(client, 150)
        assert await _deals(client, table_ids) == {(1, 5)}
        replicas.jump(CONFIRMATION)
        await asyncio.sleep(rng.uniform(0.5, LOOK))
        await replicas.all[0].kill()
        await _wait_for_second_deals(client, table_ids)
        await replicas.all[0].start()
        await asyncio.sleep(2 * LOOK)
        assert await _deals(client, table_ids) == {(2, 6)}


async def test_what_was_due_while_all_were_down(store_url: str, replica: MakeReplica, tmp_path: Path) -> None:
    """What becomes due while no replica runs is carried out once by the first that starts."""
    replicas = Replicas(store_url, replica, tmp_path)
    await replicas.start()
    async with BuracoClient(target_of(replicas.all)) as client:
        table_ids = await _show_scores(client, 3)
        for one in replicas.all:
            assert await one.stop() == 0
        replicas.jump(100 * CONFIRMATION)
        await replicas.all[1].start()
        await _wait_for_second_deals(client, table_ids)
    assert replicas.all[1].log_lines("due times were not carried out") == []
