"""Replicas that die, or are told to go, while they work."""

from __future__ import annotations

import asyncio
import random
import secrets

import pytest

from tests.faults.conftest import MakeReplica
from tests.faults.crowd import Crowd, Game, verdict
from tests.faults.replicas import Replica
from tests.service.scripts import short_rules

LONGEST_LIFE = 0.4
"""Seconds that a replica serves at most before it is killed."""


async def _killed(replicas: list[Replica], rounds: int, rng: random.Random) -> None:
    """A replica after the other dies at a random time and is started again, while the others go on."""
    for _ in range(rounds):
        victim = rng.choice(replicas)
        await asyncio.sleep(rng.uniform(0, LONGEST_LIFE))
        await victim.kill()
        await victim.start()


async def _played_on_and_on(crowd: Crowd, games: list[Game], stop: asyncio.Event) -> None:
    """A table after the other, each of a few deals."""
    while not stop.is_set():
        games.append(game := await crowd.begin(short_rules(4), target=10_000))
        await crowd.play(game, 60)


async def _survived(store_url: str, replica: MakeReplica, rounds: int, seed: str) -> None:
    rng = random.Random(seed)
    replicas = [replica(store_url) for _ in range(2)]
    await asyncio.gather(*[one.start() for one in replicas])
    stop = asyncio.Event()
    games: list[Game] = []
    async with Crowd([one.address for one in replicas], rng) as crowd:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(3):
                tasks.create_task(_played_on_and_on(crowd, games, stop))
            await _killed(replicas, rounds, rng)
            stop.set()
        settled = [(game, await crowd.settle(game)) for game in games]
    assert crowd.failures, "or nobody was hit"
    assert await verdict(store_url, settled) == [], f"seed {seed}"


async def test_kills(store_url: str, replica: MakeReplica) -> None:
    """Whenever a replica is killed, what was acknowledged is there once, and a repeat tells what became of the rest."""
    await _survived(store_url, replica, 3, "kills")


@pytest.mark.slow
async def test_many_kills(store_url: str, replica: MakeReplica) -> None:
    """As above, over many deaths at other times in each run."""
    await _survived(store_url, replica, 100, secrets.token_hex(4))
