from __future__ import annotations

import asyncio
import random

import pytest

from buraco_rules.rule_sets import RuleSet
from tests.faults.conftest import MakeReplica
from tests.faults.crowd import Crowd, unlogged, verdict
from tests.service.scripts import CLASSIC, short_rules


@pytest.mark.parametrize(
    ("rules", "seats", "target", "until"),
    [
        pytest.param(CLASSIC, 4, 0, 50, id="four seats"),
        pytest.param(short_rules(4), 2, 10_000, 40, id="deal after deal"),
        pytest.param(CLASSIC, 2, 0, 400, id="long", marks=pytest.mark.slow),
    ],
)
async def test_many_clients(
    store_url: str, replica: MakeReplica, rules: RuleSet, seats: int, target: int, until: int
) -> None:
    """Whatever clients at two replicas ask at once, a table does what one table does that is asked one thing at a time.

    Revisions rise by one, every acknowledged change is there once, no read is behind what was acknowledged, and every
    refusal was true when it was made.
    """
    replicas = [replica(store_url) for _ in range(2)]
    await asyncio.gather(*[one.start() for one in replicas])
    async with Crowd([one.address for one in replicas], random.Random(f"{seats} {until}")) as crowd:
        game = await crowd.begin(rules, seats, target=target)
        await crowd.play(game, until)
        assert crowd.failures == []
    assert [await one.stop() for one in replicas] == [0, 0]
    assert unlogged(replicas, crowd.heard) == []
    assert await verdict(store_url, [(game, ())]) == []
