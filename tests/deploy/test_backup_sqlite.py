from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.deploy.backups import names, play, run
from tests.service.table_server import get, records, serving, start

SCRIPT = "sqlite.py"


async def test_backup_and_restore(tmp_path: Path) -> None:
    """A backup during play holds one moment of it; the match continues from there with the same tokens."""
    database, file = tmp_path / "tables.db", tmp_path / "backup.db"
    async with serving(database) as replica:
        players = await start(replica)
        table_id = players[0].table_id
        await play(players, 10)
        before = (await get(replica, table_id)).revision
        playing = asyncio.create_task(play(players, 40))
        status, said = await run(SCRIPT, "backup", database, file)
        assert (status, said) == (0, f"1 tables in {file}\n")
        await playing
        await play(players, 5)
        after = (await get(replica, table_id)).revision
        status, said = await run(SCRIPT, "restore", file, database)
        assert status == 1
        assert "is in use" in said
        status, said = await run(SCRIPT, "restore", database, tmp_path / "new.db")
        assert status == 1
        assert "is not a backup" in said
        assert (await get(replica, table_id)).revision == after
    status, said = await run(SCRIPT, "restore", file, database)
    assert status == 0, said
    assert [name.partition(".2")[0] for name in names(tmp_path)] == ["backup.db", "tables.db", "tables.db"]
    async with serving(database) as replica:
        restored = (await get(replica, table_id)).revision
        assert before <= restored < after
        await play([player.at(replica) for player in players], 5)
        assert (await get(replica, table_id)).revision == restored + 5
        assert len((await records(replica, table_id)).deals) == 0


async def test_restore_to_a_new_place(tmp_path: Path) -> None:
    """A backup can be restored where there is no database yet."""
    async with serving(tmp_path / "old.db") as replica:
        (player, _) = await start(replica)
    assert (await run(SCRIPT, "backup", tmp_path / "old.db", tmp_path / "backup.db"))[0] == 0
    assert (await run(SCRIPT, "restore", tmp_path / "backup.db", tmp_path / "new.db"))[0] == 0
    async with serving(tmp_path / "new.db") as replica:
        assert (await get(replica, player.table_id)).id == player.table_id


async def test_what_is_refused(tmp_path: Path) -> None:
    """A file that is missing, another program's, damaged or in the way is named, and nothing is changed."""
    good, other, broken, none = (tmp_path / name for name in ("good.db", "other.db", "broken.db", "none.db"))
    async with serving(good) as replica:
        await start(replica)
    with contextlib.closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE tables (number INTEGER)")
    shutil.copyfile(good, broken)
    data = bytearray(broken.read_bytes())
    data[4096 : 4096 * 8] = bytes(4096 * 7)
    broken.write_bytes(data)
    contents = good.read_bytes()
    for arguments, problem in [
        (("backup", none, tmp_path / "new.db"), f"there is no {none}"),
        (("backup", good, other), f"{other} already exists"),
        (("backup", other, tmp_path / "new.db"), "is not a database of the service"),
        (("restore", none, good), f"there is no {none}"),
        (("restore", other, good), f"{other} is not a database of the service"),
        (("restore", broken, good), str(broken)),
        (("check", broken), str(broken)),
    ]:
        status, said = await run(SCRIPT, *arguments)
        assert status == 1
        assert problem in said
    assert good.read_bytes() == contents
    assert names(tmp_path) == ["broken.db", "good.db", "other.db"]


@pytest.mark.parametrize("suffix", ["", "-wal"])
async def test_a_damaged_database_is_replaced(tmp_path: Path, suffix: str) -> None:
    """A restore replaces a database that is damaged, or whose log is, and keeps both."""
    database, file = tmp_path / "tables.db", tmp_path / "backup.db"
    async with serving(database) as replica:
        (player, _) = await start(replica)
    assert (await run(SCRIPT, "backup", database, file))[0] == 0
    database.with_name(database.name + suffix).write_bytes(b"nonsense" * 1000)
    status, said = await run(SCRIPT, "restore", file, database)
    assert status == 0, said
    async with serving(database) as replica:
        assert (await get(replica, player.table_id)).id == player.table_id
