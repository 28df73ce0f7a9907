"""What users of the Python client notice when replicas come and go: nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from buraco.v1 import table_pb2, table_service_pb2
from buraco_bots.arena import play_match as play_in_process
from buraco_bots.match import Audience, Contest, play_match
from buraco_bots.random_bot import RandomBot
from buraco_client import BuracoClient
from buraco_rules.presets import PRESETS_BY_ID
from tests.faults.conftest import MakeReplica
from tests.faults.crowd import PATIENCE
from tests.faults.replicas import Replica

RULES = PRESETS_BY_ID["burraco"]
BOTS = (RandomBot, RandomBot)
MATCHES = 3
DRAINED = 20.0
"""Seconds that an orderly stop under load may take: the clients leave at once when they are asked to."""


def everywhere(replicas: Sequence[Replica]) -> str:
    """A target that names every replica."""
    return "ipv4:" + ",".join(one.address for one in replicas)


async def watched(client: BuracoClient, table_id: str) -> None:
    """Watch a table to its end: every revision comes once, in order."""
    seen: int | None = None
    async for update in client.watch(table_id):
        if isinstance(update, table_service_pb2.TableUpdate):
            assert seen is None
            seen = update.table.revision
        else:
            assert isinstance(update, table_pb2.Events)
            assert seen is not None
            assert update.revision == seen + 1
            seen = update.revision


async def play_on_and_on(client: BuracoClient, name: str, stop: asyncio.Event) -> int:
    """One match after the other, each watched, each with the end that it has without a network; how many they were."""
    played = 0
    while not stop.is_set():
        played += 1
        async with asyncio.TaskGroup() as watchers:

            def began(table: table_pb2.Table, watchers: asyncio.TaskGroup = watchers) -> None:
                watchers.create_task(watched(client, table.id))

            contest = Contest(("random", "random"), BOTS, RULES.id, 0, f"{name} {played}")
            report = await play_match(client, contest, Audience(began, lambda update: None))
        alone = play_in_process(RULES, BOTS, contest.seed, 0)
        assert [deal.moves for deal in report.deals] == [deal.moves for deal in alone.deals]
        assert (report.winner, report.totals) == (alone.winner, alone.scores)
    return played


async def test_replicas_are_replaced(store_url: str, replica: MakeReplica) -> None:
    """Bots play and others watch while replicas end: no error, no gap, and the same matches as without a network.

    SIGTERM, as when a replica is replaced, ends one well and soon although streams are open; another is killed.
    """
    leaving, dying = replicas = [replica(store_url, BURACO_DRAIN_GRACE="60") for _ in range(2)]
    await asyncio.gather(*[one.start() for one in replicas])
    stop = asyncio.Event()
    async with asyncio.timeout(PATIENCE), BuracoClient(everywhere(replicas)) as client, asyncio.TaskGroup() as matches:
        for number in range(MATCHES):
            matches.create_task(play_on_and_on(client, str(number), stop))
        await asyncio.sleep(0.3)  # for everybody to be at work on both
        async with asyncio.timeout(DRAINED):
            assert await leaving.stop() == 0
        ended = {line["method"].rpartition("/")[2] for line in leaving.logged("call")}
        assert ended & {"PlayTable", "WatchTable"}, "or nobody was there"
        await leaving.start()
        await dying.kill()
        stop.set()
