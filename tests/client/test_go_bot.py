"""The bot in Go plays a match against a real server, which is killed meanwhile."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from buraco.v1 import table_pb2
from buraco_client import BuracoClient
from tests.servers.processes import free_port
from tests.service.programs import Program

ROOT = Path(__file__).parents[2]
PATIENCE = 300.0
MOVES = 20

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed"),
]


@pytest.fixture(scope="module")
def bot() -> Path:
    """The program, built from the contract."""
    subprocess.run(["make", "go-client"], cwd=ROOT, check=True, capture_output=True)
    return ROOT / "build" / "buraco-go-bot"


async def start(bot: Path, port: int, table_id: str, name: str) -> asyncio.subprocess.Process:
    """A bot at a table."""
    options = ("-server", f"127.0.0.1:{port}", "-table", table_id, "-name", name)
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(bot, *options, stdout=pipe, stderr=pipe)


async def test_two_bots_play_through_a_killed_server(bot: Path, tmp_path: Path) -> None:
    """Two bots play a match to its end although the server is killed in the middle, and agree on the score."""
    (tmp_path / "keys").write_text(f"first {'k' * 64}\n")
    port = free_port()
    options = ("--port", str(port), "--store", "sqlite:///tables.db", "--signing-keys-file", "keys")
    program = Program(tmp_path, *options, log=tmp_path / "log", BURACO_PORT="")
    try:
        await program.ready()
        async with asyncio.timeout(PATIENCE), BuracoClient(f"127.0.0.1:{port}", timeout=PATIENCE) as client:
            table = await client.create_table("burraco-fibur", 2, target_score=0)
            bots = [await start(bot, port, table.id, name) for name in ("Ada", "Bo")]
            async with client.watch(table.id) as updates:
                async for update in updates:
                    if isinstance(update, table_pb2.Events) and update.revision >= MOVES:
                        break
            program.process.send_signal(signal.SIGKILL)
            await program.end()
            program = Program(tmp_path, *options, log=tmp_path / "log", BURACO_PORT="")
            await program.ready()
            printed = [await playing.communicate() for playing in bots]
            assert [playing.returncode for playing in bots] == [0, 0], printed
            scores = (await client.get_table(table.id)).result.scores
        assert [out.decode().strip() for out, _ in printed] == [f"scores {list(scores)}".replace(",", "")] * 2
        assert "the stream ended" in printed[0][1].decode()
    finally:
        program.process.kill()
        await program.end()


async def test_a_refused_bot_names_the_reason(bot: Path, tmp_path: Path) -> None:
    """A bot that is refused ends with a status that is not 0, and with the reason."""
    program = Program(tmp_path)
    try:
        port = int((await program.ready())["address"].rpartition(":")[2])
        refused = await start(bot, port, "0" * 32, "Ada")
        _, said = await refused.communicate()
        assert refused.returncode == 1
        assert "TABLE_UNKNOWN: there is no such table" in said.decode()
    finally:
        program.process.kill()
        await program.end()
