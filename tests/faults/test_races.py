from __future__ import annotations

import asyncio
import random

import pytest

from tests.faults.conftest import MakeReplica
from tests.faults.crowd import Crowd, unlogged, verdict
from tests.service.scripts import CLASSIC, short_rules


@pytest.mark.parametrize("length", [1, pytest.param(6, id="long", marks=pytest.mark.slow)])
async def test_many_clients(store_url: str, replica: MakeReplica, length: int) -> None:
    """Whatever clients at two replicas ask at once, a table does what one table does that is asked one thing at a time.

    Revisions rise by one, every acknowledged change is there once, no read is behind what was acknowledged, and every
    refusal was true when it was made.
    """
    replicas = [replica(store_url) for _ in range(2)]
    await asyncio.gather(*[one.start() for one in replicas])
    async with Crowd([one.address for one in replicas], random.Random(length)) as crowd:
        games = []
        for _ in range(length):
            # One long deal of four; and deal after deal.
            games += [await crowd.begin(CLASSIC, 4), await crowd.begin(short_rules(4), target=10_000)]
            await crowd.play(games[-2], 50 * length)
            await crowd.play(games[-1], 40)
        assert crowd.failures == []
    assert [await one.stop() for one in replicas] == [0, 0]
    assert unlogged(replicas, crowd.heard) == []
    assert await verdict(store_url, [(game, ()) for game in games]) == []
