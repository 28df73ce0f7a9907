"""Bots in Go, TypeScript and Python at one table, while one of its two replicas is killed."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client import BuracoClient
from tests.faults.replicas import Replica
from tests.servers.proxy import Proxy, proxy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "clients/python/examples"
PATIENCE = 240.0
MOVES = 24
"""The revision at which a replica is killed: four players cannot end a match in as few."""

pytestmark = pytest.mark.languages


@pytest.fixture(scope="module")
def commands() -> dict[str, list[str | Path]]:
    """By language, the program that takes a seat, for languages whose tools are installed."""
    found: dict[str, list[str | Path]] = {"Python": [sys.executable, EXAMPLES / "play_seat.py"]}
    if shutil.which("go") is not None:
        subprocess.run(["make", "go-client"], cwd=ROOT, check=True, capture_output=True)
        found["Go"] = [ROOT / "build/buraco-go-bot"]
    if (ROOT / "clients/typescript/dist/.built").exists():
        found["TypeScript"] = [ROOT / ".venv/bin/node", ROOT / "clients/typescript/examples/play-seat.ts"]
    return found


def options(language: str, address: str, table_id: str) -> list[str]:
    """Return the options of a language's program."""
    return {
        "Go": ["-server", address, "-table", table_id, "-name", "Go"],
        "Python": [address, "Python", table_id],
        "TypeScript": [f"http://{address}", table_id, "TypeScript"],
    }[language]


@contextlib.asynccontextmanager
async def running(*command: str | Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A program, which is ended with the block at the latest."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def printed(process: asyncio.subprocess.Process) -> str:
    """Return what a program has printed once it ends well."""
    out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return out.decode()


def scores_in(text: str) -> list[int]:
    """Return the scores at the end of what a program has printed."""
    return [int(score) for score in re.findall(r"-?\d+", text.rpartition("scores")[2])]


async def reach(client: BuracoClient, table_id: str, revision: int) -> None:
    """Return once a table has this revision."""
    async with client.watch(table_id) as updates:
        async for update in updates:
            if isinstance(update, table_service_pb2.TableUpdate) and update.table.revision >= revision:
                return
            if isinstance(update, table_pb2.Events) and update.revision >= revision:
                return
    raise AssertionError("the match was over before")


async def test_bots_of_all_languages_play_on_when_a_replica_is_killed(
    commands: dict[str, list[str | Path]], tmp_path: Path
) -> None:
    """Bots in Go, TypeScript and Python whose replica is killed end their match at another, with the same scores."""
    replicas = [Replica(tmp_path / name, f"sqlite:///{tmp_path}/tables.db") for name in ("killed", "left")]
    async with contextlib.AsyncExitStack() as stack, asyncio.timeout(PATIENCE):
        for replica in replicas:
            stack.callback(replica.close)
            await replica.start()
        ports = [int(replica.address.rpartition(":")[2]) for replica in replicas]
        client = await stack.enter_async_context(BuracoClient(replicas[1].address, timeout=PATIENCE))
        table = await client.create_table("burraco", 4, target_score=0)
        bots: dict[str, asyncio.subprocess.Process] = {}
        routes: dict[str, Proxy] = {}
        for language, command in commands.items():
            # An address that leads to a replica that accepts, as a load balancer has it.
            routes[language] = await stack.enter_async_context(proxy(*ports))
            address = f"127.0.0.1:{routes[language].port}"
            bots[language] = await stack.enter_async_context(running(*command, *options(language, address, table.id)))
        # Bots of the fleet have what seats are left, and play at the replica that is not killed.
        await reach(client, table.id, table.revision + len(bots))
        fleet = await stack.enter_async_context(
            running(ROOT / ".venv/bin/buraco", "fleet", "--server", replicas[1].address, "--courtesy", "0")
        )
        await reach(client, table.id, MOVES)
        await replicas[0].kill()
        async with asyncio.TaskGroup() as group:
            ends = {language: group.create_task(printed(bot)) for language, bot in bots.items()}
        fleet.send_signal(signal.SIGTERM)
        await printed(fleet)
        table = await client.get_table(table.id)
    assert table.state == table_pb2.TABLE_STATE_FINISHED
    for language, end in ends.items():
        assert scores_in(end.result()) == list(table.result.scores), language
    for route in routes.values():
        assert (route.taken[0], route.taken[-1]) == tuple(ports)
