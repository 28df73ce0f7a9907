"""The Redis store of a process that is killed."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from buraco_service.stores.base import KEPT_ANSWERS, LogEntry, StoredAnswer
from tests.stores.conftest import OpenAt
from tests.stores.samples import soon

ROOT = Path(__file__).parents[2]


async def test_acknowledged_commits_survive_kill(redis_url: str, open_at: OpenAt) -> None:
    """After kill -9 every acknowledged revision is there, with its log entry and its stored answer."""
    command = (sys.executable, "-m", "tests.stores.children", "commit_until_killed", redis_url)
    child = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=PIPE)
    assert child.stdout is not None
    lines = [(await soon(child.stdout.readline())).decode() for _ in range(400)]
    child.kill()
    output, _ = await soon(child.communicate())
    lines += output.decode().split("\n")[:-1]

    acknowledged: dict[str, int] = {}
    for table_id, revision in (line.split() for line in lines):
        assert int(revision) == acknowledged.get(table_id, 1) + 1
        acknowledged[table_id] = int(revision)
    store = await open_at(redis_url)
    assert [stored.table_id for stored in await store.list_tables(None, 100, None)] == sorted(acknowledged)
    for table_id, last in acknowledged.items():
        stored = await store.load(table_id)
        # At most the one commit under way may have been written and not acknowledged.
        assert last <= stored.revision <= last + 1
        assert stored.state == b"state %d" % stored.revision
        log = await store.read_log(table_id, 0, 10_000)
        assert log == [LogEntry(made, b"entry %d" % made) for made in range(1, stored.revision + 1)]
        # A child that got far has made more requests than are kept.
        for made in range(max(2, stored.revision - KEPT_ANSWERS + 1), stored.revision + 1):
            assert await store.find_answer(table_id, f"request {made}") == StoredAnswer(made, b"answer %d" % made)
