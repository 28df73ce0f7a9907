"""Programs that the tests run in processes of their own: `python -m tests.stores.children NAME URL …`.

Each prints a line to standard output, at once, for all that has been acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sqlite3
import sys

from buraco_service.observing import logs
from buraco_service.stores.base import RevisionConflict, Store, StoreUnavailable, TableExists
from buraco_service.stores.urls import open_store
from tests.stores.samples import create, step


def print_line(*words: object) -> None:
    """Print a line and flush."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def commit_until_killed(url: str) -> None:
    """Commit to eight tables at once until killed; print "table revision" for every acknowledged commit."""
    store = await open_store(url)

    async def play(table_id: str) -> None:
        await create(store, table_id)
        revision = 1
        while True:
            revision = await store.commit(step(table_id, revision, request_id=f"request {revision + 1}"))
            print_line(table_id, revision)

    await asyncio.gather(*[play(f"t{i}") for i in range(8)])


async def race(url: str, name: str, last: str) -> None:
    """Open the store, wait for a line, race for every revision up to `last`, and print those that were won."""
    store = await open_store(url)
    with contextlib.suppress(TableExists):
        await create(store, "t")
    print_line("ready")
    await asyncio.to_thread(sys.stdin.readline)
    revision = await store.load_revision("t")
    while revision < int(last):
        try:
            revision = await store.commit(step("t", revision, entry=name.encode()))
        except RevisionConflict as conflict:
            revision = conflict.current
        else:
            print_line(revision)
    await store.close()


async def advance(url: str, table_id: str, last: str) -> None:
    """Commit to a table until it has the revision `last`."""
    store = await open_store(url)
    for revision in range(await store.load_revision(table_id), int(last)):
        await store.commit(step(table_id, revision))
    await store.close()


async def exceed_file_size(url: str) -> None:
    """Commit until no file may grow any more, then when it may again; print the results."""
    store = await open_store(url)
    await create(store, "t")
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, most))
    revision = await _commit_until_refused(store)
    print_line("refused after", revision)
    print_line("loaded", await store.load_revision("t"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    print_line("went on to", await store.commit(step("t", revision, request_id="after")))
    await store.close()


async def exceed_memory(url: str) -> None:
    """Commit more than SQLite has memory for, then less; print the results."""
    store = await open_store(url)
    await create(store, "t")
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"PRAGMA hard_heap_limit = {4 << 20}")  # of the whole process
    large = bytes(8 << 20)
    for refused in (step("t", 1, state=large), step("t", 1, records=((1, large),))):
        try:
            await store.commit(refused)
        except StoreUnavailable as unavailable:
            print_line(unavailable)
    print_line("went on to", await store.commit(step("t", 1)))
    await store.close()


async def _commit_until_refused(store: Store) -> int:
    revision = 1
    with contextlib.suppress(StoreUnavailable):
        while revision < 1000:
            revision = await store.commit(
                step("t", revision, state=bytes(10_000), request_id=f"request {revision + 1}")
            )
    return revision


async def forget_to_close(url: str) -> None:
    """End the process without closing the store."""
    store = await open_store(url)
    await create(store, "t")
    print_line("created")


if __name__ == "__main__":
    _, program, store_url, *rest = sys.argv
    logs.configure()  # to standard error
    asyncio.run(globals()[program](store_url, *rest))
