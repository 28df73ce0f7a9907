"""Users of the Python client notice nothing when replicas start and end."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from buraco.v1 import table_pb2, table_service_pb2
from buraco_bots.match import MatchSetup, play_match
from buraco_bots.matches import play_match as play_in_process
from buraco_bots.random_bot import RandomBot
from buraco_client import BuracoClient, PlayUpdate
from buraco_rules import PRESETS_BY_ID
from tests.faults.conftest import MakeReplica
from tests.faults.crowd import PATIENCE
from tests.faults.replicas import Replica
from tests.servers.names import names, other_loopback_addresses
from tests.servers.processes import free_port

ROOT = Path(__file__).parents[2]
RULES = PRESETS_BY_ID["burraco"]
BOTS = (RandomBot, RandomBot)
MATCHES = 2
DRAINED = 50.0
"""Seconds that an orderly stop under load may take: clients reconnect elsewhere at once."""


def target_of(replicas: Sequence[Replica]) -> str:
    """Return a gRPC target that names every replica."""
    return "ipv4:" + ",".join(one.address for one in replicas)


async def watch_to_end(client: BuracoClient, table_id: str) -> None:
    """Watch a table to its end, and check that every revision comes once, in order."""
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


class Matches:
    """Matches of bots, one after the other, each with a watcher."""

    def __init__(self, client: BuracoClient, name: str) -> None:
        self._client = client
        self._name = name
        self._move_everywhere = 0
        self._changed = asyncio.Event()

    async def wait_for_updates(self, updates: int) -> None:
        """Wait for that number of further updates."""
        enough = self._move_everywhere + updates
        while self._move_everywhere < enough:
            self._changed.clear()
            await self._changed.wait()

    def _note_update(self, update: PlayUpdate) -> None:
        self._move_everywhere += 1
        self._changed.set()

    async def play(self, stop: asyncio.Event) -> None:
        """Play until `stop`, and check that each match ends as it does without a network."""
        for number in itertools.count():
            if stop.is_set():
                return
            setup = MatchSetup(("random", "random"), BOTS, RULES.id, 0, f"{self._name} {number}")
            async with asyncio.TaskGroup() as watchers:

                def began(table: table_pb2.Table, watchers: asyncio.TaskGroup = watchers) -> None:
                    watchers.create_task(watch_to_end(self._client, table.id))

                report = await play_match(self._client, setup, began, self._note_update)
            alone = play_in_process(RULES, BOTS, setup.seed, 0)
            assert [deal.moves for deal in report.deals] == [deal.moves for deal in alone.deals]
            assert (report.winner, report.totals) == (alone.winner, alone.scores)


async def test_replicas_are_replaced(store_url: str, replica: MakeReplica) -> None:
    """Bots play and others watch while replicas end: no error, no gap, and the same matches as without a network.

    SIGTERM, as when a replica is replaced, ends one well and soon although streams are open; another is killed.
    """
    leaving, dying = replicas = [replica(store_url, BURACO_DRAIN_GRACE="60") for _ in range(2)]
    await asyncio.gather(*[one.start() for one in replicas])
    stop = asyncio.Event()
    async with asyncio.timeout(PATIENCE), BuracoClient(target_of(replicas)) as client, asyncio.TaskGroup() as matches:
        boards = [Matches(client, str(number)) for number in range(MATCHES)]
        for board in boards:
            matches.create_task(board.play(stop))
        await asyncio.gather(*[board.wait_for_updates(20) for board in boards])
        async with asyncio.timeout(DRAINED):
            assert await leaving.stop() == 0
        ended = {line["method"].rpartition("/")[2] for line in leaving.log_lines("call")}
        assert ended & {"PlayTable", "WatchTable"}, "no stream was open"
        await leaving.start()
        await asyncio.gather(*[board.wait_for_updates(20) for board in boards])
        await dying.kill()
        await asyncio.gather(*[board.wait_for_updates(20) for board in boards])
        stop.set()


@pytest.mark.skipif(not other_loopback_addresses(), reason="only Linux serves at 127.0.0.2 unasked")
async def test_every_replica_is_replaced_behind_a_name(redis_url: str, replica: MakeReplica) -> None:
    """A client that was given a name finds new replicas in time, also when all that it knew go within seconds."""
    port = str(free_port())
    hosts = [f"127.0.0.{number}" for number in range(1, 5)]
    replicas = [replica(redis_url, BURACO_HOST=host, BURACO_PORT=port) for host in hosts]
    await asyncio.gather(*[one.start() for one in replicas])
    stop = asyncio.Event()
    async with asyncio.timeout(PATIENCE), names() as server:
        server.addresses = hosts[:2]
        async with BuracoClient(server.target(port)) as client, asyncio.TaskGroup() as matches:
            board = Matches(client, "behind a name")
            matches.create_task(board.play(stop))
            await board.wait_for_updates(20)
            table = await client.create_table(RULES.id, 2)
            for leaving in (0, 1):
                server.addresses = hosts[leaving + 1 : leaving + 3]
                assert await replicas[leaving].stop() == 0
                # Within the time that a call has by default, which is shorter than gRPC's own wait.
                assert (await client.get_table(table.id)).id == table.id
                await board.wait_for_updates(20)
            stop.set()
    assert all(one.log_lines("call") for one in replicas[:2]), "or they were not there"


@pytest.mark.parametrize("where", ["tables", "entries"])
async def test_versions_side_by_side(redis_url: str, replica: MakeReplica, where: str) -> None:
    """While another replica stores what this version does not know, the clients of this one's replica move on to it."""
    earlier = replica(redis_url)
    later = replica(redis_url, module="tests.faults.later", PYTHONPATH=str(ROOT), TESTED_LATER=where)
    await asyncio.gather(earlier.start(), later.start())
    stop = asyncio.Event()
    replicas = (earlier, later)
    async with asyncio.timeout(PATIENCE), BuracoClient(target_of(replicas)) as client, asyncio.TaskGroup() as matches:
        boards = [Matches(client, f"{where} {number}") for number in range(MATCHES)]
        for board in boards:
            matches.create_task(board.play(stop))
        while not {"PlayTable", "WatchTable"} <= too_new_for(earlier):
            await asyncio.gather(*[board.wait_for_updates(20) for board in boards])
        stop.set()


def too_new_for(replica: Replica) -> set[str]:
    """Return the methods that the replica refused because a later version had changed the table."""
    refused = [line["method"] for line in replica.log_lines("call") if line.get("reason") == "TABLE_TOO_NEW"]
    return {method.rpartition("/")[2] for method in refused}
