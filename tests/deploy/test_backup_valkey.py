"""Backups of Valkey need a program that is not in a wheel: `make monitoring-test` provides it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.backups import names, play, run
from tests.servers.valkey import DURABLE, Valkey
from tests.service.table_server import get, serving, start

pytestmark = pytest.mark.monitoring
SCRIPT = "valkey.sh"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Valkey]:
    """A durable server."""
    assert shutil.which("valkey-cli") or shutil.which("redis-cli"), "`make monitoring-test` sees to it"
    server = Valkey(tmp_path / "data", *DURABLE)
    server.start()
    yield server
    server.stop()


@pytest.mark.parametrize("append_only", [True, False])
async def test_backup_and_restore(tmp_path: Path, server: Valkey, append_only: bool) -> None:
    """A backup during play holds one moment of it; the match continues from there with the same tokens."""
    file, unused = tmp_path / "buraco.rdb", tmp_path / "unused"
    where = ("-h", "127.0.0.1", "-p", str(server.port))
    async with serving(unused, store=server.url) as replica:
        players = await start(replica)
        table_id = players[0].table_id
        await play(players, 10)
        before = (await get(replica, table_id)).revision
        playing = asyncio.create_task(play(players, 40))
        status, said = await run(SCRIPT, "backup", file, *where)
        assert status == 0, said
        await playing
        await play(players, 5)
        after = (await get(replica, table_id)).revision
    status, said = await run(SCRIPT, "backup", file, *where)
    assert status == 1
    assert "already exists" in said
    server.stop()
    assert await run(SCRIPT, "restore", file, server.folder) == (0, "")
    (aside,) = [name for name in names(server.folder) if name.startswith("before-")]
    assert "appendonlydir" in names(server.folder / aside)
    again = Valkey(server.folder, *(DURABLE if append_only else ()))
    again.start()
    try:
        async with serving(unused, store=again.url) as replica:
            restored = (await get(replica, table_id)).revision
            assert before <= restored < after
            await play([player.at(replica) for player in players], 5)
        if append_only:
            # Moves after a restore are durable, too.
            again.kill()
            again.start()
            async with serving(unused, store=again.url) as replica:
                assert (await get(replica, table_id)).revision == restored + 5
    finally:
        again.stop()


async def test_what_is_refused(tmp_path: Path, server: Valkey) -> None:
    """What is not a backup, or not whole, is not restored."""
    file, broken = tmp_path / "buraco.rdb", tmp_path / "broken.rdb"
    server.command("SET", "key", "value")
    status, said = await run(SCRIPT, "backup", file, "-h", "127.0.0.1", "-p", str(server.port))
    assert status == 0, said
    broken.write_bytes(file.read_bytes()[:-3])
    before = names(server.folder)
    for arguments, problem in [
        (("restore", broken, server.folder), "is not whole"),
        (("restore", tmp_path / "none.rdb", server.folder), "there is no"),
        (("restore", Path(__file__), server.folder), "is not a backup"),
        (("restore", file, tmp_path / "nowhere"), "there is no folder"),
        (("backup", tmp_path / "new.rdb", "-p", "1"), "onnect"),
    ]:
        status, said = await run(SCRIPT, *arguments)
        assert status != 0
        assert problem in said
    assert names(server.folder) == before
    assert names(tmp_path) == ["broken.rdb", "buraco.rdb", "data"]
