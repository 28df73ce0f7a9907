"""The SQLite store in several processes on one file, some of which are killed."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from buraco_service.stores.base import LogEntry, StoredAnswer
from buraco_service.stores.sqlite.store import SqliteStore
from tests.stores.samples import create, soon

ROOT = Path(__file__).parents[2]
Launch = Callable[..., Awaitable[Process]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of the database."""
    return tmp_path / "tables.db"


@pytest.fixture
async def launch(file: Path) -> AsyncIterator[Launch]:
    """Starts a program of `children.py` on the file; those still running after the test are killed."""
    children: list[Process] = []

    async def start(program: str, *arguments: str) -> Process:
        command = ("-m", "tests.stores.children", program, f"sqlite:///{file}", *arguments)
        child = await asyncio.create_subprocess_exec(sys.executable, *command, cwd=ROOT, stdin=PIPE, stdout=PIPE)
        children.append(child)
        return child

    yield start
    for child in children:
        if child.returncode is None:
            child.kill()
        await child.communicate()


async def line(child: Process) -> str:
    """Return the next line that the child prints."""
    assert child.stdout is not None
    return (await soon(child.stdout.readline())).decode().rstrip("\n")


async def ended(child: Process) -> list[str]:
    """Return the lines that the child prints until it ends with status 0."""
    output, _ = await soon(child.communicate())
    assert child.returncode == 0
    return output.decode().splitlines()


async def test_acknowledged_commits_survive_kill(launch: Launch, file: Path) -> None:
    """After kill -9 every acknowledged revision is there, with its log entry and its stored answer."""
    child = await launch("commit_until_killed")
    assert child.stdout is not None
    lines = [await line(child) for _ in range(400)]
    child.kill()
    output, _ = await soon(child.communicate())
    lines += output.decode().split("\n")[:-1]

    store = await SqliteStore.open(file)
    acknowledged: dict[str, list[int]] = {}
    for table_id, revision in map(str.split, lines):
        acknowledged.setdefault(table_id, []).append(int(revision))
    assert len(acknowledged) == 8
    for table_id, revisions in acknowledged.items():
        assert revisions == list(range(2, len(revisions) + 2))
        stored = await store.load(table_id)
        # At most the one commit under way may have been written and not acknowledged.
        assert revisions[-1] <= stored.revision <= revisions[-1] + 1
        assert stored.state == b"state %d" % stored.revision
        log = await store.read_log(table_id, 0, 10_000)
        assert log == [LogEntry(made, b"entry %d" % made) for made in range(1, stored.revision + 1)]
        for made in range(max(2, stored.revision - 50), stored.revision + 1):
            assert await store.find_answer(table_id, f"request {made}") == StoredAnswer(made, b"answer %d" % made)
    await store.close()


async def test_processes_win_every_revision_once(launch: Launch, file: Path) -> None:
    """Processes that make one file together and race on one table win every revision exactly once."""
    last = 300
    names = ["one", "two", "three"]
    children = [await launch("race", name, str(last)) for name in names]
    for child in children:
        assert await line(child) == "ready"
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"\n")
    won: dict[int, bytes] = {}
    for name, lines in zip(names, await asyncio.gather(*map(ended, children)), strict=True):
        for revision in map(int, lines):
            assert revision not in won
            won[revision] = name.encode()
    assert sorted(won) == list(range(2, last + 1))
    store = await SqliteStore.open(file)
    assert {entry.revision: entry.payload for entry in await store.read_log("t", 1, last)} == won
    await store.close()


async def test_commits_of_another_process_are_seen(launch: Launch, file: Path) -> None:
    """A subscription sees all revisions that another process makes, in order."""
    store = await SqliteStore.open(file)
    await create(store, "t")
    last = 60
    seen: list[int] = []
    async with store.subscribe("t") as subscription:
        child = await launch("advance", "t", str(last))
        while len(seen) < last:
            entries = await store.read_log("t", len(seen), 1000)
            seen += [entry.revision for entry in entries]
            if not entries:
                await soon(subscription.wait())
    assert seen == list(range(1, last + 1))
    assert await ended(child) == []
    await store.close()


async def test_file_that_may_not_grow_is_reported(launch: Launch, file: Path) -> None:
    """When the system refuses to write, the refused commit is wholly absent, and the same store goes on afterwards."""
    refused, loaded, went_on = await ended(await launch("exceed_file_size"))
    revision = int(refused.removeprefix("refused after "))
    assert 1 < revision < 1000
    assert loaded == f"loaded {revision}"
    assert went_on == f"went on to {revision + 1}"
    store = await SqliteStore.open(file)
    assert await store.load_revision("t") == revision + 1
    assert [entry.revision for entry in await store.read_log("t", 0, 1000)] == list(range(1, revision + 2))
    assert await store.find_answer("t", f"request {revision + 1}") is None
    assert await store.find_answer("t", "after") == StoredAnswer(revision + 1, b"answer %d" % (revision + 1))
    await store.close()


async def test_memory_that_runs_out_is_reported(launch: Launch, file: Path) -> None:
    """A commit that SQLite has no memory for is StoreUnavailable and wholly absent, and the same store goes on."""
    assert await ended(await launch("exceed_memory")) == [f"SQLite: {file}: out of memory"] * 2 + ["went on to 2"]
    store = await SqliteStore.open(file)
    assert [entry.revision for entry in await store.read_log("t", 0, 10)] == [1, 2]
    assert await store.read_records("t", 0, 10) == []
    await store.close()


async def test_process_ends_although_its_store_is_open(launch: Launch, file: Path) -> None:
    """A process that forgets to close its store ends all the same, and what it wrote is there."""
    assert await ended(await launch("forget_to_close")) == ["created"]
    store = await SqliteStore.open(file)
    assert await store.load_revision("t") == 1
    await store.close()
