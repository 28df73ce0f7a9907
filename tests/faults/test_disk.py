"""Disks that are full or may not be written, under the SQLite store of a real server."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.conftest import MakeReplica
from tests.faults.crowd import PATIENCE, Crowd, Game, unlogged, verdict
from tests.faults.replicas import Replica
from tests.service.scripts import CLASSIC, short_rules

FULL = ("UNAVAILABLE", "STORE_UNAVAILABLE")
# A process of its own mount namespace, in which the folder named first is another disk.
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
    """Where the disk is to be."""
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


def seen_by(replica: Replica, path: Path) -> Path:
    """A path as the replica sees it."""
    return Path(f"/proc/{replica.pid}/root{path}")


def fill(file: Path) -> None:
    """Write until nothing more fits."""
    with file.open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while filler.write(bytes(512)):
            pass


async def told_often(crowd: Crowd, game: Game) -> None:
    """Play until many calls have failed."""
    async with asyncio.timeout(PATIENCE):
        playing = asyncio.create_task(crowd.play(game, 10_000))
        await crowd.fails(50)
        playing.cancel()
        await asyncio.wait([playing])


def copied(replica: Replica, disk: Path, folder: Path) -> str:
    """The URL of a copy of the store, made while nobody writes: SQLite itself finds no way to a disk of another."""
    for name in ("tables.db", "tables.db-wal"):
        shutil.copy(seen_by(replica, disk / name), folder)
    return f"sqlite:///{folder}/tables.db"


async def test_full_disk(disk: Path, tmp_path: Path, replica: MakeReplica) -> None:
    """While the disk is full changes are refused and reads answered, each with a log line; then play goes on."""
    one = replica(f"sqlite:///{disk}/tables.db", prefix=(*SMALL_DISK, str(disk)))
    await one.start()
    filler = seen_by(one, disk / "filler")
    async with Crowd([one.address], random.Random("full")) as crowd:
        game = await crowd.begin(CLASSIC)
        await crowd.play(game, 20)
        await asyncio.to_thread(fill, filler)
        await told_often(crowd, game)
        assert {(failure.code.name, failure.reason) for failure in crowd.failures} == {FULL}
        filler.unlink()
        await crowd.play(game, 60)
        settled = [(game, await crowd.settle(game))]
        assert await verdict(copied(one, disk, tmp_path), settled) == []
    assert await one.stop() == 0
    assert unlogged([one], crowd.heard) == []
    assert all("full" in line["cause"] for line in one.logged("store unavailable"))


async def test_read_only_disk(disk: Path, replica: MakeReplica) -> None:
    """On a disk that may not be written no replica starts; it says why, and what is there stays as it is."""
    store = f"sqlite:///{disk}/tables.db"
    one = replica(store)
    await one.start()
    async with Crowd([one.address], random.Random("read only")) as crowd:
        game = await crowd.begin(short_rules(4))
        await crowd.play(game, 8)
        assert await one.stop() == 0
        refused = replica(store, prefix=(*READ_ONLY_DISK, str(disk)))
        assert (await refused.launch().end())[0] == 1
        assert refused.said() == f"buraco serve: SQLite: {disk}/tables.db: unable to open database file\n"
        await one.start()
        await crowd.play(game, 15)
        assert await verdict(store, [(game, await crowd.settle(game))]) == []
