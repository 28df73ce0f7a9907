"""Replicas that die, or are told to go, while they work."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Sequence

import pytest

from tests.faults.conftest import MakeReplica
from tests.faults.crowd import Crowd, played_meanwhile, unlogged, untold, verdict
from tests.faults.replicas import Replica

End = Callable[[Replica], Awaitable[object]]

LONGEST_LIFE = 100
"""Calls that end at most before a replica is ended."""
LONGEST_COMMIT = 0.005
"""Seconds that a commit may take, in the midst of which a replica may be ended."""


async def _ended(crowd: Crowd, replicas: Sequence[Replica], end: End, rounds: int, rng: random.Random) -> None:
    """A replica after the other is ended at a random time and started again, while the others go on."""
    for _ in range(rounds):
        victim = rng.choice(replicas)
        await crowd.calls(rng.randint(1, LONGEST_LIFE))
        await asyncio.sleep(rng.uniform(0, LONGEST_COMMIT))
        await end(victim)
        await victim.start()


async def _survived(store_url: str, replicas: Sequence[Replica], end: End, rounds: int) -> Crowd:
    """Tables are played on and on while replicas end; returns who played, after all was found to be well."""
    rng = random.Random(seed := secrets.token_hex(4))
    await asyncio.gather(*[one.start() for one in replicas])
    async with Crowd([one.address for one in replicas], rng) as crowd:
        settled = await played_meanwhile(crowd, _ended(crowd, replicas, end, rounds, rng))
    assert crowd.failures, "or nobody was hit"
    assert await verdict(store_url, settled) == [], f"seed {seed}"
    assert await untold(store_url, settled) == set(), f"seed {seed}"
    return crowd


async def _kill(replica: Replica) -> None:
    await replica.kill()


async def _stop(replica: Replica) -> None:
    assert await replica.stop() == 0


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=pytest.mark.slow)])
async def test_kills(store_url: str, replica: MakeReplica, rounds: int) -> None:
    """Whenever a replica is killed, what was acknowledged is there once, and a repeat tells what became of the rest."""
    await _survived(store_url, [replica(store_url) for _ in range(2)], _kill, rounds)


@pytest.mark.parametrize("rounds", [1, pytest.param(50, marks=pytest.mark.slow)])
async def test_orderly_ends(store_url: str, replica: MakeReplica, rounds: int) -> None:
    """A replica that is told to stop answers the calls it has, and its log is complete; the others never reached it."""
    replicas = [replica(store_url) for _ in range(2)]
    crowd = await _survived(store_url, replicas, _stop, rounds)
    for one in replicas:
        await _stop(one)
    told = {(failure.code.name, failure.reason) for failure in crowd.failures}
    assert told <= {("UNAVAILABLE", ""), ("CANCELLED", "")}
    assert unlogged(replicas, crowd.heard) == []
