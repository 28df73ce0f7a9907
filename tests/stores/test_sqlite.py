"""What is special about the SQLite store, inside one process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sqlite3
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from buraco_service.stores.base import (
    NewTable,
    RevisionConflict,
    StoredAnswer,
    StoreError,
    StoreIncompatible,
    StoreUnavailable,
)
from buraco_service.stores.limits import MAX_NUMBER
from buraco_service.stores.sqlite import poll, writer
from buraco_service.stores.sqlite.schema import SCHEMA_VERSION, read_schema_version
from buraco_service.stores.sqlite.store import SqliteStore
from tests.stores.samples import PATIENCE, advance, create, soon, step

NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of the database."""
    return tmp_path / "tables.db"


@pytest.fixture
async def store(file: Path) -> AsyncIterator[SqliteStore]:
    """A store with a short timeout for other processes' locks."""
    store = await SqliteStore.open(file, busy_timeout=0.2)
    yield store
    await store.close()


async def on_writer(store: SqliteStore, statement: str) -> int:
    """Return the number that a statement on the writing connection gives."""

    def run(db: sqlite3.Connection) -> int:
        return int(db.execute(statement).fetchone()[0])

    return await store._writer.submit(run, transaction=False)


async def assert_untouched(store: SqliteStore, table_id: str, revision: int) -> None:
    """Check that all parts of the table are at this revision."""
    assert await store.load_revision(table_id) == revision
    assert (await store.load(table_id)).state == b"state %d" % revision
    assert [entry.revision for entry in await store.read_log(table_id, 0, 1000)] == list(range(1, revision + 1))
    assert await store.read_records(table_id, 0, 10) == []
    assert await store.find_answer(table_id, f"request {revision + 1}") is None


def content(file: Path) -> bytes:
    """Return all bytes of the file."""
    return file.read_bytes()


def set_modes(*modes: tuple[Path, int]) -> None:
    """Set permissions, in this order."""
    for path, mode in modes:
        path.chmod(mode)


# ---- durability ----


async def test_commits_wait_for_the_disk(store: SqliteStore) -> None:
    """Commits go through a write-ahead log that is synchronised with the disk at every commit."""
    full = 2
    assert await on_writer(store, "PRAGMA synchronous") == full
    assert await store._writer.submit(lambda db: db.execute("PRAGMA journal_mode").fetchone()[0]) == "wal"


async def test_commits_made_together_share_a_transaction(store: SqliteStore) -> None:
    """Hundreds of simultaneous commits cost a handful of transactions."""
    tables = [f"t{i}" for i in range(300)]
    await asyncio.gather(*[create(store, table_id) for table_id in tables])
    statements: list[str] = []
    await store._writer.submit(lambda db: db.set_trace_callback(statements.append), transaction=False)
    await asyncio.gather(*[store.commit(step(table_id, 1)) for table_id in tables])
    await store._writer.submit(lambda db: db.set_trace_callback(None), transaction=False)
    assert 1 <= statements.count("COMMIT") <= 5
    assert {stored.revision for stored in await store.list_tables(None, 1000, None)} == {2}


async def test_batch_waits_for_the_usual_size(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single writer never waits for others; after a larger batch, the first job waits a moment for more."""
    monkeypatch.setattr(writer, "BATCH_WAIT_SECONDS", 3600.0)
    await create(store, "t")
    await create(store, "u")
    await soon(advance(store, "t", 2, 5))
    statements: list[str] = []
    await store._writer.submit(lambda db: db.set_trace_callback(statements.append), transaction=False)
    await soon(asyncio.gather(store.commit(step("t", 5)), store.commit(step("u", 1))))
    early = asyncio.ensure_future(store.commit(step("t", 6)))
    await soon(store.load("t"))
    assert not early.done()
    assert await soon(store.commit(step("u", 2))) == 3
    assert await soon(early) == 7
    assert statements.count("COMMIT") == 2
    monkeypatch.setattr(writer, "BATCH_WAIT_SECONDS", 0.001)
    assert await soon(store.commit(step("t", 7))) == 8


async def test_closing_waits_for_no_more_jobs(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that waits for others when the store is closed is made at once."""
    monkeypatch.setattr(writer, "BATCH_WAIT_SECONDS", 3600.0)
    store = await SqliteStore.open(file)
    await asyncio.gather(create(store, "t"), create(store, "u"))
    commit = asyncio.ensure_future(store.commit(step("t", 1)))
    await soon(store.load("t"))
    await soon(store.close())
    assert await soon(commit) == 2


async def test_event_loop_only_runs_what_is_quick(store: SqliteStore) -> None:
    """Statements of commits run on the event loop, those of other changes and every wait for the disk in the thread."""
    await create(store, "t")
    seen: list[tuple[str, bool]] = []
    here = threading.get_ident()
    await store._writer.submit(
        lambda db: db.set_trace_callback(lambda text: seen.append((text.split()[0], threading.get_ident() == here))),
        transaction=False,
    )
    await store.commit(step("t", 1))
    assert (
        {("UPDATE", True), ("COMMIT", False)}
        <= set(seen)
        <= {
            *[(word, True) for word in ("BEGIN", "SELECT", "UPDATE", "INSERT")],
            ("COMMIT", False),
        }
    )
    seen.clear()
    await store.commit(step("t", 2, records=((1, b"record"),)))
    assert ("INSERT", False) in seen
    assert True not in {on_loop for _, on_loop in seen}
    seen.clear()
    assert await store.expire(1e9, 1) == 1
    assert ("DELETE", False) in seen
    assert True not in {on_loop for _, on_loop in seen}


async def test_ordinary_commit_writes_no_index(store: SqliteStore) -> None:
    """The columns of the indexes are written only when they change, and then they are."""
    await create(store, "t", status="playing", now=7200.0)
    statements: list[str] = []
    await store._writer.submit(lambda db: db.set_trace_callback(statements.append), transaction=False)
    await store.commit(step("t", 1, status="playing", now=7300.0))
    assert not [text for text in statements if "SET status" in text]
    await store.commit(step("t", 2, status="playing", now=10800.0))
    await store.commit(step("t", 3, status="finished", now=10800.0))
    assert len([text for text in statements if "SET status" in text]) == 2
    assert [stored.table_id for stored in await store.list_tables("finished", 10, None)] == ["t"]
    assert await store.expire(10800.0, 10) == 0
    assert await store.expire(10800.5, 10) == 1


# ---- trouble ----


async def test_lock_of_another_process_is_waited_for_and_then_reported(store: SqliteStore, file: Path) -> None:
    """While another holds the write lock, writes and pings raise StoreUnavailable in time, and reads work."""
    await create(store, "t")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    commits = [store.commit(step("t", 1, request_id="request 2", records=((1, b""),))) for _ in range(5)]
    for result in await soon(asyncio.gather(*commits, return_exceptions=True)):
        assert isinstance(result, StoreUnavailable)
        assert "locked" in str(result)
    with pytest.raises(StoreUnavailable):
        await soon(store.ping())
    await assert_untouched(store, "t", 1)
    other.execute("ROLLBACK")
    other.close()
    assert await store.commit(step("t", 1, request_id="request 2")) == 2
    await store.ping()


async def test_lock_freed_in_time_is_not_noticed(file: Path) -> None:
    """A write that finds the database locked goes on when the lock is gone."""
    store = await SqliteStore.open(file, busy_timeout=60.0)
    await create(store, "t")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    tried = threading.Event()
    await store._writer.submit(
        lambda db: db.set_trace_callback(lambda text: tried.set() if text == "BEGIN IMMEDIATE" else None),
        transaction=False,
    )
    commit = asyncio.ensure_future(store.commit(step("t", 1)))
    assert await asyncio.to_thread(tried.wait, 20.0)
    other.execute("ROLLBACK")
    other.close()
    assert await soon(commit) == 2
    await store.close()


async def test_full_disk_leaves_nothing_half_written(store: SqliteStore) -> None:
    """Without room a commit raises StoreUnavailable and is wholly absent; with room it goes through."""
    await create(store, "t")
    await advance(store, "t", 2, 3)
    pages = await on_writer(store, "PRAGMA page_count")
    await on_writer(store, f"PRAGMA max_page_count = {pages + 2}")
    large = step("t", 3, state=bytes(100_000), request_id="request 4", records=((1, bytes(5000)),))
    for _ in range(3):
        with pytest.raises(StoreUnavailable, match="full"):
            await store.commit(large)
        await assert_untouched(store, "t", 3)
    with pytest.raises(StoreUnavailable, match="full"):
        await store.create(NewTable("new", bytes(100_000), "waiting", 1.0, b"", "make", b""))
    assert await store.find_answer("new", "make") is None
    await on_writer(store, "PRAGMA max_page_count = 1000000")
    assert await store.commit(large) == 4
    assert len((await store.load("t")).state) == 100_000


async def test_what_does_not_fit_does_not_keep_others_out(store: SqliteStore) -> None:
    """When one of many simultaneous commits is too large for the disk, the others are written and it alone is not."""
    for i in range(6):
        await create(store, f"t{i}")
    pages = await on_writer(store, "PRAGMA page_count")
    await on_writer(store, f"PRAGMA max_page_count = {pages + 2}")
    commits = [step(f"t{i}", 1, state=bytes(100_000 if i == 2 else 10), request_id="r") for i in range(6)]
    results = await asyncio.gather(*map(store.commit, commits), return_exceptions=True)
    assert [result if isinstance(result, int) else type(result) for result in results] == [
        *(2, 2),
        StoreUnavailable,
        *(2, 2, 2),
    ]
    await assert_untouched(store, "t2", 1)


async def test_unforeseen_failure_in_a_batch_is_undone_alone(store: SqliteStore) -> None:
    """A change that fails in the middle is rolled back, and those that share its transaction are not."""
    await create(store, "t")
    await create(store, "u")

    def break_down(db: sqlite3.Connection) -> None:
        db.execute("UPDATE tables SET state = x'00'")
        raise ZeroDivisionError

    results = await asyncio.gather(
        store.commit(step("t", 1)),
        store._writer.submit(break_down),
        store.commit(step("t", 1)),
        store.commit(step("u", 1)),
        return_exceptions=True,
    )
    assert results[0] == results[3] == 2
    assert [type(result) for result in results[1:3]] == [ZeroDivisionError, RevisionConflict]
    await assert_untouched(store, "t", 2)
    await assert_untouched(store, "u", 2)


async def test_disk_gone_read_only_is_reported(store: SqliteStore) -> None:
    """When the database turns read only, writes raise StoreUnavailable, reads work, and later writes work again."""
    await create(store, "t")
    await store._writer.submit(lambda db: db.execute("PRAGMA query_only = ON").fetchone(), transaction=False)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="readonly"):
            await store.commit(step("t", 1, request_id="request 2"))
        await assert_untouched(store, "t", 1)
    await store._writer.submit(lambda db: db.execute("PRAGMA query_only = OFF").fetchone(), transaction=False)
    assert await store.commit(step("t", 1)) == 2


async def test_transaction_left_open_is_cleaned_up(store: SqliteStore) -> None:
    """A rollback that could not be made at once is made before the next batch."""
    await create(store, "t")

    def leave_open(db: sqlite3.Connection) -> None:
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE tables SET state = x'00'")

    await store._writer.submit(leave_open, transaction=False)
    await assert_untouched(store, "t", 1)
    assert await store.commit(step("t", 1)) == 2
    await assert_untouched(store, "t", 2)


async def test_last_possible_revision_is_the_end(store: SqliteStore) -> None:
    """A table at the highest revision takes no further commit, whose log key would be another table's."""
    await create(store, "t")
    await store._writer.submit(lambda db: db.execute("UPDATE tables SET revision = ?", (MAX_NUMBER,)))
    with pytest.raises(StoreError, match="as many revisions"):
        await store.commit(step("t", MAX_NUMBER))
    assert await store.load_revision("t") == MAX_NUMBER


# ---- files ----


async def test_tables_are_there_after_reopening(file: Path) -> None:
    """All that was written is in the file, which alone is left when the store is closed."""
    store = await SqliteStore.open(file)
    await create(store, "t", request_id="make")
    await advance(store, "t", 2, 10)
    await store.close()
    assert os.listdir(file.parent) == [file.name]  # noqa: PTH208 (pathlib is not for coroutines)
    store = await SqliteStore.open(file)
    await assert_untouched(store, "t", 10)
    assert await store.find_answer("t", "make") == StoredAnswer(1, b"answer 1")
    await store.close()


async def test_new_file_may_be_opened_by_many_at_once(tmp_path: Path) -> None:
    """Of many that find no file one makes the schema, and all get a store."""
    for attempt in range(4):
        file = tmp_path / f"{attempt}.db"
        stores = await soon(asyncio.gather(*[SqliteStore.open(file) for _ in range(8)]))
        await create(stores[0], "t")
        assert [await store.load_revision("t") for store in stores] == [1] * 8
        for store in stores:
            await store.close()


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (f"PRAGMA user_version = {SCHEMA_VERSION + 1}", "schema version"),
        ("PRAGMA application_id = 1", "another program"),
        ("PRAGMA user_version = 0", "another program"),
    ],
)
async def test_unknown_schema_is_refused(file: Path, statements: str, message: str) -> None:
    """A newer or foreign database is not opened, and not changed."""
    await (await SqliteStore.open(file)).close()
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute(statements)
    before = content(file)
    with pytest.raises(StoreIncompatible, match=f"^{re.escape(str(file))} .*{message}"):
        await SqliteStore.open(file)
    with pytest.raises(StoreIncompatible, match=f"^{re.escape(str(file))} .*{message}"):
        read_schema_version(file)
    assert content(file) == before


def test_schema_of_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A place that SQLite cannot open is incompatible, with the cause; no error of the driver gets out."""
    with pytest.raises(StoreIncompatible, match="cannot be read as a database: "):
        read_schema_version(tmp_path)


async def test_database_of_another_program_is_refused(file: Path) -> None:
    """A database with any other tables in it is refused: not even its journal mode changes."""
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE tables (theirs)")
        db.commit()
    before = content(file)
    with pytest.raises(StoreIncompatible, match="another program"):
        await SqliteStore.open(file)
    assert content(file) == before


async def test_file_that_is_no_database_is_refused(file: Path) -> None:
    """A file that is no database is not opened, and not changed."""
    diary = b"Dear diary, " * 1000
    await asyncio.to_thread(file.write_bytes, diary)
    with pytest.raises(StoreIncompatible, match="not a database"):
        await SqliteStore.open(file)
    assert content(file) == diary


async def test_missing_directory_is_reported(tmp_path: Path) -> None:
    """A file in a directory that does not exist is unavailable."""
    file = tmp_path / "nowhere" / "tables.db"
    with pytest.raises(StoreUnavailable, match=f"^SQLite: {re.escape(str(file))}: unable to open"):
        await SqliteStore.open(file)


async def test_locked_file_is_reported_at_opening(store: SqliteStore, file: Path) -> None:
    """Opening waits for another process's lock no longer than its timeout."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked"):
            await soon(SqliteStore.open(file, busy_timeout=0.1))
        other.execute("ROLLBACK")
    await store.ping()


@contextlib.contextmanager
def as_plain_user() -> Iterator[None]:
    """Without the superuser's right to write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("directory_mode", [0o555, 0o777])
async def test_read_only_file_is_reported(directory_mode: int) -> None:
    """A file that cannot be written is unavailable from the start, and works as before once it can be."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own directories can be entered by their owner alone
        directory, file = Path(name), Path(name, "tables.db")
        store = await SqliteStore.open(file)
        await create(store, "t")
        await store.close()
        set_modes((file, 0o444), (directory, directory_mode))
        with as_plain_user(), pytest.raises(StoreUnavailable):
            await SqliteStore.open(file)
        set_modes((directory, 0o755), (file, 0o644))
        store = await SqliteStore.open(file)
        await assert_untouched(store, "t", 1)
        assert await store.commit(step("t", 1)) == 2
        await store.close()


# ---- tasks and threads ----


async def test_commits_nobody_waits_for_are_made_and_announced(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits whose tasks are all cancelled while queued are written, wake subscriptions, and harm no thread."""
    monkeypatch.setattr(poll, "POLL_INTERVAL", 3600.0)
    await create(store, "t")
    async with store.subscribe("t") as subscription:
        await soon(subscription.wait())  # the first look wakes everybody
        commits = [asyncio.ensure_future(store.commit(step("t", revision))) for revision in range(1, 50)]
        await asyncio.sleep(0)
        for commit in commits:
            commit.cancel()
        results = await asyncio.gather(*commits, return_exceptions=True)
        assert {type(result) for result in results} == {asyncio.CancelledError}
        while await store.load_revision("t") < 50:
            await soon(subscription.wait())
    await assert_untouched(store, "t", 50)


async def test_cancelled_opening_leaves_no_thread(file: Path) -> None:
    """An opening that is cancelled at any point leaves no thread behind."""
    before = set(threading.enumerate())
    for turns in range(12):
        opening = asyncio.ensure_future(SqliteStore.open(file))
        for _ in range(turns):
            await asyncio.sleep(0)
        opening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await opening).close()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_event_loop_that_ends_early_harms_nothing(file: Path) -> None:
    """An event loop that ends before its store is closed leaves the file whole for the next."""

    async def leave_at_once() -> None:
        store = await SqliteStore.open(file)
        await create(store, "t")
        commits = [asyncio.ensure_future(store.commit(step("t", revision))) for revision in range(1, 200)]
        await asyncio.sleep(0)
        assert not any(commit.done() for commit in commits)

    async def look() -> None:
        store = await SqliteStore.open(file)
        revision = await store.load_revision("t")  # the thread left behind may still be writing
        log = await store.read_log("t", 0, 1000)
        assert [entry.revision for entry in log] == list(range(1, len(log) + 1))
        assert len(log) >= revision
        await store.close()

    asyncio.run(leave_at_once())
    asyncio.run(look())


# ---- watching ----


async def test_own_commits_are_announced_without_polling(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Subscribers in the process that commits are woken at once."""
    monkeypatch.setattr(poll, "POLL_INTERVAL", 3600.0)
    await create(store, "t")
    async with store.subscribe("t") as subscription:
        await soon(subscription.wait())  # the first look wakes everybody
        for revision in range(1, 5):
            await store.commit(step("t", revision))
            await soon(subscription.wait())
        await store.expire(1e9, 1)
        await soon(subscription.wait())


async def test_own_commits_do_not_count_as_foreign(store: SqliteStore) -> None:
    """The data version that is polled changes with other connections' commits and not with the store's own."""
    await create(store, "t")
    before = await on_writer(store, "PRAGMA data_version")
    await advance(store, "t", 2, 5)
    assert await on_writer(store, "PRAGMA data_version") == before


async def test_polling_needs_subscriptions(store: SqliteStore) -> None:
    """Polling for others' commits begins with the first subscription and ends with the last."""
    looks = 0
    look = poll.ForeignCommits._look

    async def counted(poll: poll.ForeignCommits, seen: int | None) -> int:
        nonlocal looks
        looks += 1
        return await look(poll, seen)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(poll, "POLL_INTERVAL", 0.0)
        patch.setattr(poll.ForeignCommits, "_look", counted)
        await create(store, "t")
        assert looks == 0
        async with store.subscribe("t"):
            for _ in range(3):
                await store.load_revision("t")
                await store.ping()
            assert looks > 0
        task = store._foreign_commits._task
        assert task is not None
        await soon(asyncio.wait([task]))
