from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.backups import names, play, run
from tests.servers.postgres import PostgresServer, missing, programs, running_server
from tests.service.table_server import get, serving, start

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))
SCRIPT = "postgresql.sh"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server."""
    with running_server() as server:
        yield server


async def test_backup_and_restore(tmp_path: Path, server: PostgresServer) -> None:
    """A backup during play holds one moment of it; the match continues from there with the same tokens."""
    url = server.url(server.emptied_database())
    file, unused = tmp_path / "buraco.dump", tmp_path / "unused"
    async with serving(unused, store=url) as replica:
        players = await start(replica)
        table_id = players[0].table_id
        await play(players, 10)
        before = (await get(replica, table_id)).revision
        playing = asyncio.create_task(play(players, 40))
        assert await run(SCRIPT, "backup", file, url, path=programs()) == (0, "")
        await playing
        await play(players, 5)
        after = (await get(replica, table_id)).revision
        status, said = await run(SCRIPT, "restore", file, url, path=programs())
        assert status == 1
        assert "in use" in said
        assert (await get(replica, table_id)).revision == after
    assert await run(SCRIPT, "restore", file, url, path=programs()) == (0, "")
    async with serving(unused, store=url) as replica:
        restored = (await get(replica, table_id)).revision
        assert before <= restored < after
        await play([player.at(replica) for player in players], 5)
        assert (await get(replica, table_id)).revision == restored + 5
    assert names(tmp_path) == ["buraco.dump"]


async def test_restore_to_a_new_database(tmp_path: Path, server: PostgresServer) -> None:
    """A backup includes its schema."""
    old, new = server.url(server.emptied_database()), server.url(server.new_database())
    file = tmp_path / "buraco.dump"
    async with serving(tmp_path / "unused", store=old) as replica:
        (player, _) = await start(replica)
    assert await run(SCRIPT, "backup", file, old, path=programs()) == (0, "")
    assert await run(SCRIPT, "restore", file, new, path=programs()) == (0, "")
    async with serving(tmp_path / "unused", store=new) as replica:
        assert (await get(replica, player.table_id)).id == player.table_id


async def test_what_is_refused(tmp_path: Path, server: PostgresServer) -> None:
    """A file or database that is missing, another program's, damaged or in the way is named, and nothing is changed."""
    url, other = server.url(server.emptied_database()), server.url(server.new_database())
    file, broken = tmp_path / "buraco.dump", tmp_path / "broken.dump"
    async with serving(tmp_path / "unused", store=url) as replica:
        (player, _) = await start(replica)
    assert await run(SCRIPT, "backup", file, url, path=programs()) == (0, "")
    broken.write_bytes(file.read_bytes()[:-2000])
    for arguments, problem in [
        (("backup", file, url), "already exists"),
        (("backup", tmp_path / "other.dump", other), "no matching schemas"),
        (("restore", tmp_path / "none.dump", url), "is not a backup"),
        (("restore", broken, url), "broken.dump"),
        (("restore", file, other + "&dbname=nowhere"), "nowhere"),
    ]:
        status, said = await run(SCRIPT, *arguments, path=programs())
        assert status != 0
        assert problem in said
    async with serving(tmp_path / "unused", store=url) as replica:
        assert (await get(replica, player.table_id)).id == player.table_id
    assert names(tmp_path) == ["broken.dump", "buraco.dump"]
