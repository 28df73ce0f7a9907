"""Full and read-only disks under the SQLite store of a real server."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.conftest import MakeReplica
from tests.faults.crowd import PATIENCE, Crowd, Game, find_stored_problems, find_unlogged
from tests.faults.replicas import Replica
from tests.service.scripts import CLASSIC, short_rules

FULL = ("UNAVAILABLE", "STORE_UNAVAILABLE")
# Run a command in its own mount namespace, in which the folder named first is another disk.
APART = ("unshare", "--mount", "--map-root-user", "sh", "-euc")
SMALL_DISK = (*APART, 'mount -t tmpfs -o size=4m tmpfs "$0"; exec "$@"')
READ_ONLY_DISK = (*APART, 'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"; exec "$@"')


def _can_mount() -> bool:
    if shutil.which(APART[0]) is None:
        return False
    command = [*APART, 'mount -t tmpfs tmpfs "$0"', "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not _can_mount(), reason="a disk for a test needs mount namespaces")


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """The folder of the disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


def path_of(replica: Replica, path: Path) -> Path:
    """Return the path by which this process reaches a path of the replica."""
    return Path(f"/proc/{replica.pid}/root{path}")


def fill(file: Path) -> None:
    """Write until the disk is full."""
    with file.open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while filler.write(bytes(512)):
            pass


async def play_until_refused(crowd: Crowd, game: Game) -> None:
    """Play until many calls have failed."""
    async with asyncio.timeout(PATIENCE):
        playing = asyncio.create_task(crowd.play(game, 10_000))
        await crowd.wait_for_failures(50)
        playing.cancel()
        await asyncio.wait([playing])


def copy_store(replica: Replica, disk: Path, folder: Path) -> str:
    """Copy the store while nobody writes, and return the URL: SQLite cannot open a file by the path of `path_of`."""
    for name in ("tables.db", "tables.db-wal"):
        shutil.copy(path_of(replica, disk / name), folder)
    return f"sqlite:///{folder}/tables.db"


async def test_full_disk(disk: Path, tmp_path: Path, replica: MakeReplica) -> None:
    """While the disk is full changes are refused and reads answered, each with a log line; then play goes on."""
    one = replica(f"sqlite:///{disk}/tables.db", prefix=(*SMALL_DISK, str(disk)))
    await one.start()
    filler = path_of(one, disk / "filler")
    async with Crowd([one.address], random.Random("full")) as crowd:
        game = await crowd.begin(CLASSIC)
        await crowd.play(game, 20)
        await asyncio.to_thread(fill, filler)
        await play_until_refused(crowd, game)
        assert {(failure.code.name, failure.reason) for failure in crowd.failures} == {FULL}
        filler.unlink()
        await crowd.play(game, 60)
        settled = [(game, await crowd.settle(game))]
        assert await find_stored_problems(copy_store(one, disk, tmp_path), settled) == []
    assert await one.stop() == 0
    assert find_unlogged([one], crowd.outcomes) == []
    assert all("full" in line["cause"] for line in one.log_lines("store unavailable"))


async def test_read_only_disk(disk: Path, replica: MakeReplica) -> None:
    """On a read-only disk no replica starts; it says why, and what is stored stays as it is."""
    store = f"sqlite:///{disk}/tables.db"
    one = replica(store)
    await one.start()
    async with Crowd([one.address], random.Random("read only")) as crowd:
        game = await crowd.begin(short_rules(4))
        await crowd.play(game, 8)
        assert await one.stop() == 0
        refused = replica(store, prefix=(*READ_ONLY_DISK, str(disk)))
        assert (await refused.launch().end())[0] == 1
        assert refused.log_text() == f"buraco serve: SQLite: {disk}/tables.db: unable to open database file\n"
        await one.start()
        await crowd.play(game, 15)
        assert await find_stored_problems(store, [(game, await crowd.settle(game))]) == []
