"""Replicas that are killed or stopped while they work."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Sequence

import pytest

from tests.faults.conftest import MakeReplica
from tests.faults.crowd import Crowd, find_stored_problems, find_unknown_tables, find_unlogged, play_during
from tests.faults.replicas import Replica

End = Callable[[Replica], Awaitable[object]]

LONGEST_LIFE = 100
"""The most calls between two ends of replicas."""
LONGEST_COMMIT = 0.005
"""Seconds within which a commit is likely to be under way when a replica is ended."""


async def _end_replicas(crowd: Crowd, replicas: Sequence[Replica], end: End, rounds: int, rng: random.Random) -> None:
    """End one replica after the other at random times and start it again, while the others go on."""
    for _ in range(rounds):
        victim = rng.choice(replicas)
        await crowd.wait_for_calls(rng.randint(1, LONGEST_LIFE))
        await asyncio.sleep(rng.uniform(0, LONGEST_COMMIT))
        await end(victim)
        await victim.start()


async def _play_while_ending(store_url: str, replicas: Sequence[Replica], end: End, rounds: int) -> Crowd:
    """Play tables while replicas end, check that nothing was lost, and return the crowd."""
    rng = random.Random(seed := secrets.token_hex(4))
    await asyncio.gather(*[one.start() for one in replicas])
    async with Crowd([one.address for one in replicas], rng) as crowd:
        settled = await play_during(crowd, _end_replicas(crowd, replicas, end, rounds, rng))
    assert crowd.failures, "no call was hit"
    assert await find_stored_problems(store_url, settled) == [], f"seed {seed}"
    assert await find_unknown_tables(store_url, settled) == set(), f"seed {seed}"
    return crowd


async def _kill(replica: Replica) -> None:
    await replica.kill()


async def _stop(replica: Replica) -> None:
    assert await replica.stop() == 0


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=pytest.mark.slow)])
async def test_kills(store_url: str, replica: MakeReplica, rounds: int) -> None:
    """Whenever a replica is killed, what was acknowledged is stored once, and a repeat of any other call settles it."""
    await _play_while_ending(store_url, [replica(store_url) for _ in range(2)], _kill, rounds)


@pytest.mark.parametrize("rounds", [1, pytest.param(50, marks=pytest.mark.slow)])
async def test_orderly_ends(store_url: str, replica: MakeReplica, rounds: int) -> None:
    """A replica that is stopped answers the calls it has, with a complete log; calls that fail never reached it."""
    replicas = [replica(store_url) for _ in range(2)]
    crowd = await _play_while_ending(store_url, replicas, _stop, rounds)
    for one in replicas:
        await _stop(one)
    seen = {(failure.code.name, failure.reason) for failure in crowd.failures}
    assert seen <= {("UNAVAILABLE", ""), ("CANCELLED", "")}
    assert find_unlogged(replicas, crowd.outcomes) == []
