from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc.aio
import pytest

from buraco.v1 import table_service_pb2 as pb
from tests.faults.conftest import MakeReplica
from tests.faults.crowd import Crowd, find_stored_problems, find_unlogged
from tests.service.refusals import gathered, read_refusal
from tests.service.scripts import CLASSIC, short_rules
from tests.service.table_server import RULE_SET, Replica, get, join_raw, new_id, serving


@pytest.mark.parametrize("length", [1, pytest.param(6, id="long", marks=pytest.mark.slow)])
async def test_many_clients(store_url: str, replica: MakeReplica, length: int) -> None:
    """Whatever clients at two replicas call at once, a table behaves as one that runs one call at a time.

    Revisions rise by one, every acknowledged change is stored once, no read misses what was acknowledged, and every
    refusal was right when it was made.
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
    assert find_unlogged(replicas, crowd.outcomes) == []
    assert await find_stored_problems(store_url, [(game, ()) for game in games]) == []


@pytest.fixture
async def two(store_url: str) -> AsyncIterator[tuple[Replica, ...]]:
    """Two replicas of a store."""
    async with serving(store_url) as here, serving(store_url) as there:
        yield here, there


def _one_won(outcomes: Sequence[Any]) -> Any:
    """Return the answer of the first request, and check that its repeats got it and other requests were refused."""
    refusals = [outcome for outcome in outcomes if isinstance(outcome, grpc.aio.AioRpcError)]
    assert {read_refusal(refusal).short for refusal in refusals} == {("ALREADY_EXISTS", "REQUEST_ID_REUSED")}
    first, *others = [outcome for outcome in outcomes if outcome not in refusals]
    assert others == [first] * (len(outcomes) // 2 - 1)
    return first


async def test_creates_under_one_id(two: tuple[Replica, ...]) -> None:
    """Of two different creates under one id, each sent many times at once, one makes a table and gets its answers."""
    for _ in range(10):
        request_id = new_id()
        requests = [
            pb.CreateTableRequest(rule_set_id=RULE_SET, seats=2, stake=stake, request_id=request_id) for stake in (1, 2)
        ]
        outcomes = await gathered(*[at.tables.CreateTable(request) for request in requests for at in two * 3])
        table = _one_won(outcomes).table
        assert [await get(at, table.id) for at in two] == [table] * 2
    assert len(await two[0].store.list_tables(None, 100, None)) == 10


async def test_joins_under_one_id(two: tuple[Replica, ...]) -> None:
    """Of two players who join under one id, each many times at once, one has the seat and gets its answers."""
    for _ in range(10):
        creating = pb.CreateTableRequest(rule_set_id=RULE_SET, seats=2, request_id=new_id())
        table = (await two[0].tables.CreateTable(creating)).table
        request_id = new_id()
        outcomes = await gathered(
            *[
                join_raw(at, table.id, player_name=name, request_id=request_id)
                for name in ("Ada", "Bo")
                for at in two * 3
            ]
        )
        joined = _one_won(outcomes)
        assert [await get(at, table.id) for at in two] == [joined.table] * 2
        assert [seat.player_name != "" for seat in joined.table.seats] == [True, False]
