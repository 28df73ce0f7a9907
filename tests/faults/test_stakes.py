"""Stakes and accounts while players join, leave and end matches at two replicas that are killed again and again."""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets

import pytest

from buraco.v1 import account_service_pb2 as pb
from buraco_client import BuracoClient, BuracoError
from buraco_service.stores.base import Store
from buraco_service.stores.urls import open_store
from buraco_service.tables.stored import parse_table
from tests.faults.conftest import MakeReplica
from tests.faults.crowd import PATIENCE
from tests.faults.replicas import Replica
from tests.faults.test_moving import target_of

STAKE, INITIAL, PAIRS = 300, 1000, 4


class Pair:
    """Two players who play for stakes, one match after another."""

    def __init__(self, client: BuracoClient, rng: random.Random) -> None:
        self._client = client
        self._rng = rng
        self.tokens: list[str] = []
        self.table_ids: list[str] = []

    async def start(self) -> None:
        """Sign both in."""
        self.tokens = [(await self._client.sign_in_as_guest(name, timeout=PATIENCE)).player_token for name in "AB"]

    async def play_match(self) -> None:
        """Take seats, perhaps leave and come back, and end the match somehow; give up where that cannot be done."""
        table = await self._client.create_table("burraco", 2, stake=STAKE, timeout=PATIENCE)
        self.table_ids.append(table.id)
        first = None
        # Who has lost all credits is refused, and leaves.
        with contextlib.suppress(BuracoError):
            first = await self._client.join_table(table.id, player_token=self.tokens[0], timeout=PATIENCE)
            if self._rng.random() < 0.5:
                await first.leave(timeout=PATIENCE)
                first = await self._client.join_table(table.id, player_token=self.tokens[0], timeout=PATIENCE)
            second = await self._client.join_table(table.id, player_token=self.tokens[1], timeout=PATIENCE)
            loser = self._rng.choice([first, second])
            await self._rng.choice([loser.resign, loser.abort])(timeout=PATIENCE)
            return
        if first is not None:
            with contextlib.suppress(BuracoError):
                await first.leave(timeout=PATIENCE)

    async def accounts(self) -> list[pb.Account]:
        """The accounts of both."""
        return [await self._client.get_account(player_token=token, timeout=PATIENCE) for token in self.tokens]


async def kill_again_and_again(replicas: list[Replica], rounds: int, rng: random.Random) -> None:
    """Kill one replica or the other, and start it again."""
    for _ in range(rounds):
        await asyncio.sleep(rng.uniform(0.05, 0.6))
        victim = rng.choice(replicas)
        await victim.kill()
        await victim.start()


async def wait_until_done(store: Store, table_ids: list[str]) -> None:
    """Wait until nothing is left to be done for the stakes of tables."""
    left = set(table_ids)
    async with asyncio.timeout(PATIENCE):
        while left:
            await asyncio.sleep(0.2)
            for table_id in list(left):
                stored = await store.load(table_id)
                stakes = parse_table(stored.state, stored.revision).stakes
                assert stakes is not None
                if not stakes.reserved and not stakes.releasing and (stakes.settled or stored.status != "finished"):
                    left.discard(table_id)


@pytest.mark.parametrize("rounds", [3, pytest.param(30, marks=pytest.mark.slow)])
async def test_no_credit_is_lost_whoever_is_killed(store_url: str, replica: MakeReplica, rounds: int) -> None:
    """Whatever is killed while matches for stakes begin and end, credits only move between those who play."""
    rng = random.Random(seed := secrets.token_hex(4))
    replicas = [replica(store_url, BURACO_CREDITS="true", BURACO_CLOCK_TOLERANCE="0") for _ in range(2)]
    await asyncio.gather(*[one.start() for one in replicas])
    store = await open_store(store_url)
    async with BuracoClient(target_of(replicas), timeout=PATIENCE) as client:
        pairs = [Pair(client, rng) for _ in range(PAIRS)]
        await asyncio.gather(*[pair.start() for pair in pairs])
        killing = asyncio.create_task(kill_again_and_again(replicas, rounds, rng))

        async def play(pair: Pair) -> None:
            while not killing.done():
                await pair.play_match()

        await asyncio.gather(killing, *map(play, pairs))
        await wait_until_done(store, [table_id for pair in pairs for table_id in pair.table_ids])
        for pair in pairs:
            one, other = await pair.accounts()
            assert one.balance + other.balance == 2 * INITIAL, f"seed {seed}"
            seated = [
                seat.player_id
                for table_id in pair.table_ids
                for table in [await client.get_table(table_id)]
                if not table.stakes_settled
                for seat in table.seats
            ]
            for account in (one, other):
                assert account.held == STAKE * seated.count(account.player_id), f"seed {seed}"
    await store.close()
    assert sum([len(pair.table_ids) for pair in pairs]) > 2 * PAIRS
