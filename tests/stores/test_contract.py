"""What every store promises. A new store is tested by a parameter of `store_factory`."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from buraco_service.stores.base import (
    KEPT_ANSWERS,
    PRUNE_STEP,
    AlreadyAnswered,
    HistoryGone,
    LogEntry,
    NewTable,
    RevisionConflict,
    Store,
    StoredAnswer,
    StoredTable,
    StoreUnavailable,
    TableExists,
    TableNotFound,
)
from buraco_service.stores.limits import MAX_ID_LENGTH, MAX_NUMBER, MAX_PAGE, MAX_PAYLOAD, MAX_STATUS_LENGTH
from tests.stores.samples import PATIENCE, StoreFactory, advance, create, soon, step, wait_for_revision

# Sorted by code point, which is not how they sort by UTF-16 code unit or by any language's rules.
ODD_IDS = sorted(["A", "Z", "a", "b", "é", "ż", '"quoted" \\ and \n', "\uffee", "\U0001f0cf", "x" * MAX_ID_LENGTH])
EVERY_BYTE = bytes(range(256))


# ---- create, load, revision ----


async def test_created_table_is_loaded_as_given(store: Store) -> None:
    """A created table has revision 1 and everything it was created with."""
    await store.create(NewTable("t", b"state", "waiting", 1234.5, b"entry", None, b"answer"))
    assert await store.load("t") == StoredTable("t", 1, b"state", "waiting", 1234.5, 1234.5)
    assert await store.load_revision("t") == 1
    assert await store.read_log("t", 0, 10) == [LogEntry(1, b"entry")]


@pytest.mark.parametrize("payload", [b"", EVERY_BYTE, b"x" * 1_000_000], ids=["empty", "every byte", "a megabyte"])
async def test_payloads_come_back_byte_by_byte(store: Store, payload: bytes) -> None:
    """State, entry, answer and record are opaque bytes of any value."""
    await store.create(NewTable("t", payload, "waiting", 1.0, payload, "make", payload))
    await store.commit(
        step("t", 1, state=payload, entry=payload, answer=payload, request_id="r", records=((1, payload),))
    )
    assert (await store.load("t")).state == payload
    assert await store.read_log("t", 0, 10) == [LogEntry(1, payload), LogEntry(2, payload)]
    assert await store.find_answer("t", "make") == StoredAnswer(1, payload)
    assert await store.find_answer("t", "r") == StoredAnswer(2, payload)
    assert await store.read_records("t", 0, 10) == [(1, payload)]


@pytest.mark.parametrize("table_id", ODD_IDS)
async def test_any_text_within_limits_is_an_id(store: Store, table_id: str) -> None:
    """Ids of tables and requests differ by every character."""
    await create(store, table_id)
    await store.commit(step(table_id, 1, request_id=table_id))
    assert (await store.load(table_id)).table_id == table_id
    assert await store.find_answer(table_id, table_id) == StoredAnswer(2, b"answer 2")


async def test_taken_id_is_refused(store: Store) -> None:
    """A second create with a table's id raises TableExists and changes nothing."""
    await create(store, "t", request_id="first")
    with pytest.raises(TableExists) as caught:
        await store.create(NewTable("t", b"other", "other", 9.0, b"other", "second", b"other"))
    assert caught.value.table_id == "t"
    assert await store.load("t") == StoredTable("t", 1, b"state 1", "waiting", 1000.0, 1000.0)
    assert await store.read_log("t", 0, 10) == [LogEntry(1, b"entry 1")]
    assert await store.find_answer("t", "second") is None


async def test_repeated_create(store: Store) -> None:
    """A repeat of create gets the first answer, also after further commits, and changes nothing."""
    await create(store, "t", request_id="make")
    for revision in (1, 2):
        with pytest.raises(AlreadyAnswered) as caught:
            await store.create(NewTable("t", b"other", "other", 9.0, b"other", "make", b"other", "ann"))
        assert (caught.value.table_id, caught.value.stored_answer) == ("t", StoredAnswer(1, b"answer 1"))
        assert await store.find_answer("t", "make") == StoredAnswer(1, b"answer 1")
        assert await store.load("t") == StoredTable(
            *("t", revision, b"state %d" % revision, ("waiting", "playing")[revision - 1]),
            *(1000.0, 1000.0 * revision),
        )
        assert await store.count_owned("ann", "other") == 0
        if revision == 1:
            await store.commit(step("t", 1, request_id="a commit"))


async def test_create_under_the_id_of_a_commit(store: Store) -> None:
    """The request of a commit did not create the table."""
    await create(store, "t")
    await store.commit(step("t", 1, request_id="a commit"))
    with pytest.raises(TableExists):
        await create(store, "t", request_id="a commit")


async def test_commit_under_the_id_of_the_create(store: Store) -> None:
    """The request id of a create cannot be used again at its table, but at another one."""
    await create(store, "t", request_id="make")
    await create(store, "other")
    with pytest.raises(AlreadyAnswered) as caught:
        await store.commit(step("t", 1, request_id="make"))
    assert caught.value.stored_answer == StoredAnswer(1, b"answer 1")
    assert await store.commit(step("other", 1, request_id="make")) == 2
    assert await store.find_answer("other", "make") == StoredAnswer(2, b"answer 2")
    with pytest.raises(AlreadyAnswered):
        await create(store, "t", request_id="make")


async def test_one_of_racing_creates_wins(store_factory: StoreFactory) -> None:
    """Of many creates with one request id, on two replicas, one makes the table and the others get its answer."""
    replicas = [await store_factory(), await store_factory()]
    tables = [NewTable("t", b"%d" % i, "waiting", 1000.0, b"%d" % i, "make", b"%d" % i, "ann") for i in range(20)]
    results = await asyncio.gather(
        *[replicas[i % 2].create(table) for i, table in enumerate(tables)], return_exceptions=True
    )
    (winner,) = [table for table, result in zip(tables, results, strict=True) if result is None]
    losers = [result for result in results if result is not None]
    assert [type(error) for error in losers] == [AlreadyAnswered] * 19
    first = StoredAnswer(1, winner.answer)
    assert {error.stored_answer for error in losers if isinstance(error, AlreadyAnswered)} == {first}
    assert (await replicas[1].load("t")).state == winner.state
    assert await replicas[0].read_log("t", 0, 10) == [LogEntry(1, winner.entry)]
    assert await replicas[0].count_owned("ann", "waiting") == 1


async def test_one_of_many_request_ids(store: Store) -> None:
    """Of several request ids, the one with a stored answer is found; impossible ids have none."""
    await create(store, "t", request_id="make")
    await advance(store, "t", 2, 3)
    for asked, found in (
        (("never", "make"), StoredAnswer(1, b"answer 1")),
        (("nul \0", "", "request 3", "never"), StoredAnswer(3, b"answer 3")),
        (("never", "nor this", "nul \0"), None),
        ((), None),
    ):
        assert await store.find_answer("t", *asked) == found


# ---- commit ----


async def test_commit_takes_a_table_one_revision_on(store: Store) -> None:
    """A commit replaces state, status and updated_at, keeps created_at, and adds one to the revision."""
    await create(store, "t", now=1000.0)
    assert await store.commit(step("t", 1, state=b"new", status="playing", now=2000.5, entry=b"what")) == 2
    assert await store.load("t") == StoredTable("t", 2, b"new", "playing", 1000.0, 2000.5)
    assert await store.load_revision("t") == 2
    assert await store.read_log("t", 1, 10) == [LogEntry(2, b"what")]


async def test_commits_are_seen_by_other_replicas(store_factory: StoreFactory) -> None:
    """A replica sees at once what another has acknowledged."""
    one, other = await store_factory(), await store_factory()
    await create(one, "t")
    for revision in range(1, 20):
        writer, reader = (one, other) if revision % 2 else (other, one)
        await writer.commit(step("t", revision))
        assert (await reader.load("t")).revision == revision + 1


@pytest.mark.parametrize("expected", [-1, 0, 1, 3, MAX_NUMBER, 2**70])
async def test_commit_on_another_revision_loses(store: Store, expected: int) -> None:
    """A commit that builds on any revision but the newest raises RevisionConflict and changes nothing."""
    await create(store, "t")
    await advance(store, "t", 2, 2)
    before = await store.load("t")
    with pytest.raises(RevisionConflict) as caught:
        await store.commit(step("t", expected, status="lost", request_id="lost", records=((1, b"lost"),)))
    assert caught.value.current == 2
    assert await store.load("t") == before
    assert [entry.revision for entry in await store.read_log("t", 0, 10)] == [1, 2]
    assert await store.find_answer("t", "lost") is None
    assert await store.read_records("t", 0, 10) == []
    assert await store.list_tables("lost", 10, None) == []


async def test_commit_to_no_table_is_refused(store: Store) -> None:
    """A commit does not create a table."""
    with pytest.raises(TableNotFound) as caught:
        await store.commit(step("t", 0, request_id="r"))
    assert caught.value.table_id == "t"
    assert await store.list_tables(None, 10, None) == []


async def test_repeated_request_gets_its_first_answer(store: Store) -> None:
    """A request id committed before raises AlreadyAnswered, whether or not the revision fits, and writes nothing."""
    await create(store, "t")
    await advance(store, "t", 2, 5)
    for expected in (2, 5):
        with pytest.raises(AlreadyAnswered) as caught:
            await store.commit(step("t", expected, answer=b"another", request_id="request 3"))
        assert (caught.value.table_id, caught.value.stored_answer) == ("t", StoredAnswer(3, b"answer 3"))
    assert await store.load_revision("t") == 5
    assert await store.find_answer("t", "request 3") == StoredAnswer(3, b"answer 3")


async def test_answers_are_stored_by_table(store: Store) -> None:
    """The same request id may be used once at every table."""
    for table_id in ("a", "b"):
        await create(store, table_id, request_id=f"make {table_id}")
        assert await store.commit(step(table_id, 1, request_id="r", answer=table_id.encode())) == 2
    assert await store.find_answer("a", "r") == StoredAnswer(2, b"a")
    assert await store.find_answer("b", "r") == StoredAnswer(2, b"b")
    assert await store.commit(step("b", 2, request_id="make a")) == 3


async def test_commits_without_request_id_store_no_answer(store: Store) -> None:
    """Any number of commits may have None as their request id."""
    await create(store, "t")
    for revision in range(1, 4):
        assert await store.commit(step("t", revision)) == revision + 1


async def test_newest_answers_are_kept_and_old_ones_dropped(store: Store) -> None:
    """The answers of the newest KEPT_ANSWERS revisions are kept, hardly more, and that of create for good."""
    await create(store, "t", request_id="make")
    newest = KEPT_ANSWERS + 2 * PRUNE_STEP + 3
    await advance(store, "t", 2, newest)
    oldest_kept = newest - KEPT_ANSWERS + 1
    for revision in range(oldest_kept, newest + 1, 7):
        assert await store.find_answer("t", f"request {revision}") == StoredAnswer(revision, b"answer %d" % revision)
    assert await store.find_answer("t", f"request {oldest_kept}") is not None
    assert await store.find_answer("t", f"request {oldest_kept - PRUNE_STEP}") is None
    assert await store.find_answer("t", "request 2") is None
    assert await store.find_answer("t", "make") == StoredAnswer(1, b"answer 1")
    with pytest.raises(AlreadyAnswered):
        await create(store, "t", request_id="make")


@pytest.mark.parametrize(("table_id", "request_id"), [("t", "never"), ("no table", "r"), ("", "r"), ("t", "\0")])
async def test_unknown_request_has_no_answer(store: Store, table_id: str, request_id: str) -> None:
    """An unknown table or request has no stored answer."""
    await create(store, "t")
    assert await store.find_answer(table_id, request_id) is None


async def test_racing_commits_win_every_revision_once(store_factory: StoreFactory) -> None:
    """Writers on two replicas that race for one table win every revision exactly once, as the log shows."""
    replicas = [await store_factory(), await store_factory()]
    await create(replicas[0], "t")
    won: dict[int, bytes] = {}

    async def race(name: bytes, store: Store) -> None:
        revision = await store.load_revision("t")
        while revision < 60:
            expected = revision
            try:
                revision = await store.commit(step("t", expected, entry=name))
            except RevisionConflict as conflict:
                revision = conflict.current
            else:
                assert revision not in won
                won[revision] = name
            assert revision > expected

    await soon(asyncio.gather(*[race(b"writer %d" % i, replicas[i % 2]) for i in range(6)]))
    assert {entry.revision: entry.payload for entry in await replicas[1].read_log("t", 1, 1000)} == won


async def test_failing_commits_do_not_disturb_their_neighbours(store: Store) -> None:
    """Of commits made together, one that fails does not affect the others."""
    for i in range(10):
        await create(store, f"t{i}")
    await store.commit(step("t0", 1, request_id="old"))
    good = [step(f"t{i}", 1, request_id="new") for i in range(1, 10)]
    bad = [
        (step("t0", 1, request_id="late"), RevisionConflict),
        (step("no table", 1, request_id="r"), TableNotFound),
        (step("t0", 2, request_id="old"), AlreadyAnswered),
    ]
    commits = [commit for i, one in enumerate(good) for commit in (one, bad[i % 3][0])]
    results = await asyncio.gather(*map(store.commit, commits), return_exceptions=True)
    assert results[0::2] == [2] * 9
    assert [type(result) for result in results[1::2]] == [bad[i % 3][1] for i in range(9)]
    assert await store.load_revision("t0") == 2
    assert await store.find_answer("t0", "late") is None
    for i in range(1, 10):
        assert await store.find_answer(f"t{i}", "new") == StoredAnswer(2, b"answer 2")


async def test_same_request_made_at_once_is_committed_once(store: Store) -> None:
    """Of simultaneous commits with one request id one wins, and all others get its answer."""
    await create(store, "t")
    results = await asyncio.gather(
        *[store.commit(step("t", 1, request_id="r", answer=b"%d" % i)) for i in range(10)], return_exceptions=True
    )
    (winner,) = [i for i, result in enumerate(results) if result == 2]
    answers = [result.stored_answer for result in results if isinstance(result, AlreadyAnswered)]
    assert answers == [StoredAnswer(2, b"%d" % winner)] * 9


async def test_cancelled_commit_is_whole_or_absent(store: Store) -> None:
    """Cancelled commits are whole or absent, and the store works on."""
    await create(store, "t")
    commits = [asyncio.ensure_future(store.commit(step("t", 1, request_id=f"r{i}"))) for i in range(20)]
    await asyncio.sleep(0)
    for commit in commits[::2]:
        commit.cancel()
    results = await asyncio.gather(*commits, return_exceptions=True)
    assert [type(result) for result in results[::2]] == [asyncio.CancelledError] * 10
    revision = await store.load_revision("t")
    assert len(await store.read_log("t", 0, 100)) == revision == 2
    made = [i for i in range(20) if await store.find_answer("t", f"r{i}")]
    assert len(made) == 1
    assert await store.commit(step("t", revision)) == revision + 1


# ---- log ----


async def test_log_is_read_in_pages(store: Store) -> None:
    """Entries come in order, without a gap, after the given revision and up to the limit."""
    await create(store, "t")
    await create(store, "neighbour")
    await advance(store, "t", 2, 10)
    assert await store.read_log("t", 0, 3) == [LogEntry(i, b"entry %d" % i) for i in (1, 2, 3)]
    assert await store.read_log("t", 3, 3) == [LogEntry(i, b"entry %d" % i) for i in (4, 5, 6)]
    assert await store.read_log("t", 8, 100) == [LogEntry(9, b"entry 9"), LogEntry(10, b"entry 10")]
    assert await store.read_log("t", -5, 1) == [LogEntry(1, b"entry 1")]


@pytest.mark.parametrize("after", [2, 3, MAX_NUMBER, 2**70])
async def test_log_after_the_newest_revision_is_empty(store: Store, after: int) -> None:
    """There is nothing after the newest revision, or after a future one."""
    await create(store, "t")
    await advance(store, "t", 2, 2)
    assert await store.read_log("t", after, 10) == []


async def test_dropped_history_is_told(store: Store) -> None:
    """Entries that may go are dropped once they are PRUNE_STEP, and reading one raises HistoryGone with the oldest."""
    await create(store, "t")
    newest = 2 * PRUNE_STEP
    await advance(store, "t", 2, newest - 1)
    assert len(await store.read_log("t", 0, MAX_PAGE)) == newest - 1
    assert await store.commit(step("t", newest - 1, keep_log_after=PRUNE_STEP + 5)) == newest
    with pytest.raises(HistoryGone) as caught:
        await store.read_log("t", 0, 10)
    oldest = caught.value.oldest
    assert 6 < oldest <= PRUNE_STEP + 6
    with pytest.raises(HistoryGone):
        await store.read_log("t", oldest - 2, 10)
    kept = await store.read_log("t", oldest - 1, MAX_PAGE)
    assert kept == [LogEntry(i, b"entry %d" % i) for i in range(oldest, newest + 1)]


async def test_newest_entry_is_never_dropped(store: Store) -> None:
    """Whatever log may be dropped, the newest entry stays, and later commits follow it."""
    await create(store, "t")
    newest = PRUNE_STEP + 3
    await advance(store, "t", 2, newest - 1)
    await store.commit(step("t", newest - 1, keep_log_after=2**70))
    assert (await store.read_log("t", newest - 1, 10)) == [LogEntry(newest, b"entry %d" % newest)]
    assert await store.commit(step("t", newest, keep_log_after=-1)) == newest + 1
    assert [entry.revision for entry in await store.read_log("t", newest - 1, 10)] == [newest, newest + 1]


async def test_history_of_other_tables_stays(store: Store) -> None:
    """Dropping a table's log changes no other table's."""
    for table_id in ("a", "b", "c"):
        await create(store, table_id)
        await advance(store, table_id, 2, 3)
    await advance(store, "b", 4, PRUNE_STEP + 2)
    await store.commit(step("b", PRUNE_STEP + 2, keep_log_after=PRUNE_STEP + 2))
    with pytest.raises(HistoryGone):
        await store.read_log("b", 0, 10)
    for table_id in ("a", "c"):
        assert [entry.revision for entry in await store.read_log(table_id, 0, 10)] == [1, 2, 3]


# ---- records ----


async def test_records_are_read_in_pages(store: Store) -> None:
    """Records come in the order of their deals, from any commits, after the given deal and up to the limit."""
    await create(store, "t")
    await store.commit(step("t", 1, records=((3, b"three"), (1, b"one"))))
    await store.commit(step("t", 2, records=((2, b"two"), (0, b"zero"))))
    assert await store.read_records("t", -1, 10) == [(0, b"zero"), (1, b"one"), (2, b"two"), (3, b"three")]
    assert await store.read_records("t", 0, 2) == [(1, b"one"), (2, b"two")]
    assert await store.read_records("t", 3, 10) == []
    assert await store.read_records("t", 2**70, 10) == []
    assert len(await store.read_records("t", -(2**70), 10)) == 4


async def test_record_of_the_same_deal_is_replaced(store: Store) -> None:
    """A deal has one record: the newest."""
    await create(store, "t")
    await store.commit(step("t", 1, records=((1, b"first"),)))
    await store.commit(step("t", 2, records=((1, b"second"),)))
    assert await store.read_records("t", 0, 10) == [(1, b"second")]


# ---- list ----


async def test_tables_are_listed_in_order_of_id(store: Store) -> None:
    """All tables come in code point order, as `load` returns them, page after page without a gap or a repeat."""
    for table_id in reversed(ODD_IDS):
        await create(store, table_id)
    listed: list[StoredTable] = []
    while page := await store.list_tables(None, 3, listed[-1].table_id if listed else None):
        assert len(page) <= 3
        listed += page
    assert [stored.table_id for stored in listed] == ODD_IDS
    assert listed[0] == await store.load(ODD_IDS[0])


async def test_tables_are_listed_by_status(store: Store) -> None:
    """A table is listed under its newest status alone, also page by page."""
    for i in range(6):
        await create(store, f"t{i}", status="waiting")
    for i in (1, 2, 4):
        await store.commit(step(f"t{i}", 1, status="playing"))

    async def ids(status: str | None, limit: int, after: str | None) -> list[str]:
        return [stored.table_id for stored in await store.list_tables(status, limit, after)]

    assert await ids("waiting", 10, None) == ["t0", "t3", "t5"]
    assert await ids("playing", 10, "") == ["t1", "t2", "t4"]
    assert await ids("playing", 1, "t1") == ["t2"]
    assert await ids("playing", 10, "t11") == ["t2", "t4"]
    assert await ids("finished", 10, None) == []
    assert len(await ids(None, 10, None)) == 6


# ---- count ----


async def test_tables_are_counted(store_factory: StoreFactory) -> None:
    """Tables are counted by status, whichever process made, changed or removed them."""
    here, there = await store_factory(), await store_factory()

    async def counts(store: Store) -> list[int]:
        return [await store.count(status) for status in ("wait", "waiting", "waiting2", "playing")]

    assert await counts(here) == [0, 0, 0, 0]
    for number, store in enumerate((here, there, here, there)):
        await create(store, f"t{number}", status="waiting", now=1.0)
    await create(here, "u", status="waiting2", now=3.0)
    assert await counts(here) == await counts(there) == [0, 4, 1, 0]
    await there.commit(step("t0", 1, status="playing", now=3.0))
    await here.commit(step("t0", 2, status="playing", now=3.0))
    assert await counts(here) == await counts(there) == [0, 3, 1, 1]
    assert await there.expire(2.0, 10) == 3
    assert await counts(here) == await counts(there) == [0, 0, 1, 1]


# ---- owned ----


async def test_tables_of_an_owner_are_counted(store_factory: StoreFactory) -> None:
    """Tables are counted by owner and status, whichever process made or changed them; without an owner they are not."""
    here, there = await store_factory(), await store_factory()
    assert await here.count_owned("ann", "waiting") == 0
    for number, (store, owner) in enumerate([(here, "ann"), (there, "ann"), (here, "bo"), (there, None)]):
        await store.create(NewTable(f"t{number}", b"state", "waiting", 1.0, b"entry", None, b"answer", owner))
    for store in (here, there):
        assert await store.count_owned("ann", "waiting") == 2
        assert await store.count_owned("bo", "waiting") == 1
        assert await store.count_owned("an", "waiting") == 0
    await there.commit(step("t0", 1, status="playing"))
    for store in (here, there):
        assert (await store.count_owned("ann", "waiting"), await store.count_owned("ann", "playing")) == (1, 1)
    await here.commit(step("t0", 2, status="playing"))
    await here.commit(step("t0", 3, status="finished"))
    assert [await there.count_owned("ann", status) for status in ("waiting", "playing", "finished")] == [1, 0, 1]


async def test_refused_create_is_not_counted(store: Store) -> None:
    """A create that was refused, or repeats another one, counts for no owner."""
    await store.create(NewTable("t", b"state", "waiting", 1.0, b"entry", "make", b"answer", "ann"))
    with pytest.raises(TableExists):
        await store.create(NewTable("t", b"state", "waiting", 1.0, b"entry", "other", b"answer", "ann"))
    with pytest.raises(AlreadyAnswered):
        await store.create(NewTable("t", b"state", "waiting", 1.0, b"entry", "make", b"answer", "ann"))
    assert await store.count_owned("ann", "waiting") == 1


async def test_expired_tables_are_not_counted(store: Store) -> None:
    """A table that is removed no longer counts."""
    await store.create(NewTable("t", b"state", "waiting", 1.0, b"entry", None, b"answer", "ann"))
    assert await store.expire(2.0, 10) == 1
    assert await store.count_owned("ann", "waiting") == 0


# ---- due ----


async def test_due_tables(store: Store) -> None:
    """A table is due from its time on, the earliest first, as its newest write says."""
    times = {"a": 30.0, "b": 10.5, "c": None, "d": 20.0}
    for table_id, due_at in times.items():
        await store.create(NewTable(table_id, b"", "waiting", 1.0, b"", None, b"", due_at=due_at))
    assert await store.due(10.4, 10) == []
    assert await store.due(10.5, 10) == ["b"]
    assert await store.due(100.0, 10) == ["b", "d", "a"]
    assert await store.due(100.0, 2) == ["b", "d"]
    await store.commit(step("b", 1))
    await store.commit(step("c", 1, due_at=25.0))
    await store.commit(step("d", 1, due_at=20.0))
    assert await store.due(100.0, 10) == ["d", "c", "a"]
    await store.commit(step("a", 1, due_at=5.0))
    await store.commit(step("c", 2, due_at=None))
    assert await store.due(100.0, 10) == ["a", "d"]


async def test_refused_commit_changes_no_due_time(store: Store) -> None:
    """A commit that loses, or that is a repeat, leaves the time at which something is due as it is."""
    await store.create(NewTable("t", b"", "waiting", 1.0, b"", "make", b"", due_at=10.0))
    with pytest.raises(RevisionConflict):
        await store.commit(step("t", 7, due_at=5.0))
    await store.commit(step("t", 1, request_id="r", due_at=10.0))
    with pytest.raises(AlreadyAnswered):
        await store.commit(step("t", 2, request_id="r"))
    assert await store.due(9.9, 10) == []
    assert await store.due(10.0, 10) == ["t"]


async def test_tables_with_something_due_do_not_expire(store: Store) -> None:
    """A table for which something is due is spared, however old, and holds up no other; later it expires as all do."""
    for number in range(5):
        await store.create(NewTable(f"due {number}", b"", "waiting", 1.0, b"", None, b"", due_at=1e10))
    await store.create(NewTable("old", b"", "waiting", 1.5, b"", None, b""))
    assert await store.expire(2.0, 3) == 1
    assert await store.expire(50_000.0, 3) == 0
    assert [table.table_id for table in await store.list_tables(None, 9, None)] == [f"due {n}" for n in range(5)]
    await store.commit(step("due 1", 1, now=3.0))
    assert await store.expire(3.0, 3) == 0
    assert await store.expire(50_001.0, 3) == 1
    assert await store.due(1e10, 9) == ["due 0", "due 2", "due 3", "due 4"]


async def test_replicas_see_what_is_due(store_factory: StoreFactory) -> None:
    """A table that one replica wrote is due at the others, in the order of many tables' times."""
    here, there = await store_factory(), await store_factory()
    names = [f"table {number}" for number in range(150)]
    for number, name in enumerate(names):
        await here.create(NewTable(name, b"", "waiting", 1.0, b"", None, b"", due_at=1000.0 - number))
    assert await there.due(1000.0, 200) == names[::-1]
    assert await there.due(1000.0, 7) == names[:-8:-1]


@pytest.mark.parametrize("due_at", [-1.0, 1e11, float("nan")])
async def test_due_times_are_times(store: Store, due_at: float) -> None:
    """A due time out of range is refused, and so are arguments of the look for them."""
    with pytest.raises(ValueError, match="not a time"):
        await store.create(NewTable("t", b"", "waiting", 1.0, b"", None, b"", due_at=due_at))
    with pytest.raises(ValueError, match="not a time"):
        await store.due(due_at, 10)
    with pytest.raises(ValueError, match="limit"):
        await store.due(1.0, 0)


# ---- expire ----


async def test_untouched_tables_expire(store: Store) -> None:
    """Tables not written since the given time are removed; a commit is a write."""
    for i in range(4):
        await create(store, f"t{i}", now=1000.0 + i)
    await store.commit(step("t0", 1, now=9000.0))
    assert await store.expire(1003.0, 10) == 2
    assert [stored.table_id for stored in await store.list_tables(None, 10, None)] == ["t0", "t3"]
    assert await store.expire(1003.0, 10) == 0


async def test_longest_untouched_tables_expire_first(store: Store) -> None:
    """At most `limit` tables are removed at a time, from the earliest hours first."""
    for i in range(6):
        await create(store, f"t{i}", now=3600.0 * (10 - i))
    assert await store.expire(1e9, 4) == 4
    assert [stored.table_id for stored in await store.list_tables(None, 10, None)] == ["t0", "t1"]
    assert await store.expire(1e9, 4) == 2


async def test_expired_table_goes_whole(store: Store) -> None:
    """Nothing is left of an expired table: its id and its request ids can be used again. Other tables stay."""
    for table_id in ("a", "b", "c", "d"):
        touched = 2000.0 if table_id in "bd" else 5000.0
        await create(store, table_id, request_id=f"make {table_id}", now=touched)
        await store.commit(step(table_id, 1, request_id="r", records=((1, b"deal"),), now=touched))
    assert await store.expire(3000.0, 10) == 2
    for table_id in ("d", "b"):
        for read in _reads_of(store, table_id):
            with pytest.raises(TableNotFound):
                await read()
        with pytest.raises(TableNotFound):
            await store.commit(step(table_id, 2))
        assert await store.find_answer(table_id, "r") is None
        assert await store.find_answer(table_id, f"make {table_id}") is None

        await create(store, table_id, request_id=f"make {table_id}")
        assert await store.commit(step(table_id, 1, request_id="r")) == 2
        assert await store.read_records(table_id, 0, 10) == []
        assert [entry.revision for entry in await store.read_log(table_id, 0, 10)] == [1, 2]
    for table_id in ("a", "c"):
        assert await store.find_answer(table_id, "r") == StoredAnswer(2, b"answer 2")
        assert await store.read_records(table_id, 0, 10) == [(1, b"deal")]
        assert len(await store.read_log(table_id, 0, 10)) == 2
        assert await store.find_answer(table_id, f"make {table_id}") == StoredAnswer(1, b"answer 1")


async def test_replicas_may_expire_at_once(store_factory: StoreFactory) -> None:
    """Replicas that expire at the same time remove every table once."""
    replicas = [await store_factory(), await store_factory()]
    await asyncio.gather(*[create(replicas[0], f"t{i}") for i in range(50)])
    counts = await asyncio.gather(*[replicas[i % 2].expire(5000.0, 10) for i in range(10)])
    assert sum(counts) == 50
    assert await replicas[0].list_tables(None, 10, None) == []


# ---- subscribe ----


async def test_commits_wake_subscribers_on_every_replica(store_factory: StoreFactory) -> None:
    """A commit wakes all who wait for its table, on the replica that made it and on the others."""
    here, there = await store_factory(), await store_factory()
    await create(here, "t")

    async def until(store: Store, revision: int, entered: asyncio.Event) -> None:
        async with store.subscribe("t") as subscription:
            entered.set()
            while await store.load_revision("t") < revision:
                await subscription.wait()

    watchers = []
    for store in (here, here, there, there):
        entered = asyncio.Event()
        watchers.append(asyncio.ensure_future(until(store, 4, entered)))
        await soon(entered.wait())
    await advance(here, "t", 2, 3)
    await advance(there, "t", 4, 4)
    await soon(asyncio.gather(*watchers))


async def test_change_before_waiting_is_not_lost(store_factory: StoreFactory) -> None:
    """A change between entering a subscription and waiting on it ends the wait, here and on another replica."""
    here, there = await store_factory(), await store_factory()
    await create(here, "t")
    for store in (here, there):
        async with store.subscribe("t") as subscription:
            revision = await store.load_revision("t")
            await here.commit(step("t", revision))
            assert await store.load_revision("t") == revision + 1
            await wait_for_revision(subscription, revision + 1)


async def test_no_revision_is_missed_under_load(store_factory: StoreFactory) -> None:
    """Subscribers get all revisions in order while a replica writes, reading only up to the revision of the wake-up."""
    here, there = await store_factory(), await store_factory()
    await create(here, "t")
    last = 150

    async def follow(store: Store) -> list[int]:
        seen: list[int] = []
        told: int | None = None
        async with store.subscribe("t") as subscription:
            while True:
                while told is None or len(seen) < told:
                    entries = await store.read_log("t", len(seen), 7)
                    seen += [entry.revision for entry in entries]
                    if not entries:
                        break
                if len(seen) == last:
                    return seen
                told = await subscription.wait()

    watching = [asyncio.ensure_future(follow(store)) for store in (here, there, there)]
    await advance(here, "t", 2, last)
    for seen in await soon(asyncio.gather(*watching)):
        assert seen == list(range(1, last + 1))


async def test_waiting_for_a_table_to_come_and_go(store_factory: StoreFactory) -> None:
    """A subscription may come before its table, and is woken when the table is created and when it is removed."""
    here, there = await store_factory(), await store_factory()
    for store in (here, there):
        async with store.subscribe("t") as subscription:
            for _ in range(3):
                await create(here, "t", now=1000.0)
                await wait_for_revision(subscription, 1)
                await here.expire(2000.0, 1)
                await wait_for_revision(subscription, None)


async def test_any_table_can_be_waited_for(store_factory: StoreFactory) -> None:
    """Whatever characters an id has, another replica's commits to its table wake its subscriptions."""
    here, there = await store_factory(), await store_factory()
    for table_id in ODD_IDS:
        await create(here, table_id)
    async with contextlib.AsyncExitStack() as stack:
        waiting = [await stack.enter_async_context(there.subscribe(table_id)) for table_id in ODD_IDS]
        for revision in (1, 2):
            for table_id, subscription in zip(ODD_IDS, waiting, strict=True):
                await here.commit(step(table_id, revision))
                await wait_for_revision(subscription, revision + 1)


async def test_wake_up_has_the_newest_revision(store_factory: StoreFactory) -> None:
    """After a commit a wait ends with its revision, or with one that is not known, and never with a future one."""
    here, there = await store_factory(), await store_factory()
    await create(here, "t")
    async with here.subscribe("t") as one, there.subscribe("t") as other:
        for revision in range(2, 20):
            await advance(here, "t", revision, revision)
            for subscription in (one, other):
                await wait_for_revision(subscription, revision)


async def test_subscriptions_of_one_table_are_independent(store: Store) -> None:
    """Neither a wake-up of one subscription nor its end affects the others."""
    await create(store, "t")
    async with store.subscribe("t") as first:
        async with store.subscribe("t"):
            pass
        async with store.subscribe("t") as second:
            await store.commit(step("t", 1))
            for subscription in (first, second):
                await soon(subscription.wait())
        await store.commit(step("t", 2))
        await soon(first.wait())


async def test_cancelled_wait_loses_nothing(store: Store) -> None:
    """A cancelled wait, as by a timeout, loses no change."""
    await create(store, "t")
    async with store.subscribe("t") as subscription:
        for _ in range(3):
            waiting = asyncio.ensure_future(subscription.wait())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
        await store.commit(step("t", 1))
        await soon(subscription.wait())


async def test_waiter_can_be_woken_for_other_reasons(store: Store) -> None:
    """`wake` ends a wait although the table has not changed, now or when it begins."""
    async with store.subscribe("t") as subscription:
        subscription.wake()
        await soon(subscription.wait())
        for _ in range(3):  # any wake-ups the store makes by itself are used up
            waiting = asyncio.ensure_future(subscription.wait())
            await asyncio.sleep(0)
            subscription.wake()
            await soon(waiting)


# ---- arguments ----


@pytest.mark.parametrize("table_id", ["never", "", "x" * (MAX_ID_LENGTH + 1), "nul \0", "surrogate \udc00"])
async def test_unknown_and_impossible_ids_are_not_found(store: Store, table_id: str) -> None:
    """Every read of a table that is not there, or cannot be, raises TableNotFound."""
    await create(store, "t")
    for read in _reads_of(store, table_id):
        with pytest.raises(TableNotFound):
            await read()
    with pytest.raises(TableNotFound):
        await store.commit(step(table_id, 1))


_BROKEN: dict[str, Callable[[Store], Awaitable[object]]] = {
    "create without id": lambda store: create(store, ""),
    "create with a long id": lambda store: create(store, "x" * (MAX_ID_LENGTH + 1)),
    "create with NUL": lambda store: create(store, "a\0b"),
    "create with a surrogate": lambda store: create(store, "\ud83c"),
    "create without status": lambda store: create(store, "new", status=""),
    "create before time": lambda store: create(store, "new", now=-1.0),
    "create without time": lambda store: create(store, "new", now=float("nan")),
    "create with an empty request id": lambda store: create(store, "new", request_id=""),
    "create for nobody": lambda store: store.create(NewTable("u", b"", "s", 1.0, b"", None, b"", "")),
    "create for a long name": lambda store: store.create(
        NewTable("u", b"", "s", 1.0, b"", None, b"", "x" * (MAX_ID_LENGTH + 1))
    ),
    "tables of nobody": lambda store: store.count_owned("", "waiting"),
    "count without status": lambda store: store.count(""),
    "count of a long status": lambda store: store.count("x" * (MAX_STATUS_LENGTH + 1)),
    "tables without status": lambda store: store.count_owned("ann", ""),
    "commit with a long status": lambda store: store.commit(step("t", 1, status="x" * (MAX_STATUS_LENGTH + 1))),
    "commit after time": lambda store: store.commit(step("t", 1, now=float("inf"))),
    "commit with a long request id": lambda store: store.commit(step("t", 1, request_id="x" * (MAX_ID_LENGTH + 1))),
    "commit with a large state": lambda store: store.commit(step("t", 1, state=bytes(MAX_PAYLOAD + 1))),
    "commit with a large entry": lambda store: store.commit(step("t", 1, entry=bytes(MAX_PAYLOAD + 1))),
    "commit with a large answer": lambda store: store.commit(step("t", 1, answer=bytes(MAX_PAYLOAD + 1))),
    "commit with a large record": lambda store: store.commit(step("t", 1, records=((1, bytes(MAX_PAYLOAD + 1)),))),
    "commit with a negative deal": lambda store: store.commit(step("t", 1, records=((-1, b""),))),
    "commit with a deal too many": lambda store: store.commit(step("t", 1, records=((MAX_NUMBER + 1, b""),))),
    "log of nothing": lambda store: store.read_log("t", 0, 0),
    "log of too much": lambda store: store.read_log("t", 0, MAX_PAGE + 1),
    "records of nothing": lambda store: store.read_records("t", 0, 0),
    "list of nothing": lambda store: store.list_tables(None, 0, None),
    "list without status": lambda store: store.list_tables("", 1, None),
    "list after NUL": lambda store: store.list_tables(None, 1, "\0"),
    "expire of nothing": lambda store: store.expire(1.0, 0),
    "expire without time": lambda store: store.expire(float("nan"), 1),
}


@pytest.mark.parametrize("call", _BROKEN.values(), ids=_BROKEN.keys())
async def test_broken_arguments_are_refused(store: Store, call: Callable[[Store], Awaitable[object]]) -> None:
    """An argument out of its range raises ValueError and nothing is written."""
    await create(store, "t")
    with pytest.raises(ValueError, match=r"."):
        await call(store)
    assert [stored[:2] for stored in await store.list_tables(None, 10, None)] == [("t", 1)]


# ---- ping, close, event loops ----


async def test_ping_answers(store: Store) -> None:
    """A store that works answers a ping."""
    await soon(store.ping())


async def test_close_finishes_what_is_under_way(store_factory: StoreFactory) -> None:
    """Calls made before close are answered, and what they wrote is there when the store is opened again."""
    store = await store_factory()
    await create(store, "t")
    commits = [asyncio.ensure_future(store.commit(step("t", revision))) for revision in range(1, 30)]
    reads = [asyncio.ensure_future(store.load("t")) for _ in range(10)]
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        await store.close()
    outcomes = Counter(type(result) for result in await asyncio.gather(*commits, return_exceptions=True))
    assert set(outcomes) <= {int, RevisionConflict}
    assert all(stored.table_id == "t" for stored in await asyncio.gather(*reads))
    assert await (await store_factory()).load_revision("t") == 1 + outcomes[int]


async def test_closing_store_refuses(store: Store) -> None:
    """From the beginning of close on, while earlier calls are still finished, new ones raise StoreUnavailable."""
    await create(store, "t")
    commit = asyncio.ensure_future(store.commit(step("t", 1)))
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(store.close())
    await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable):
        await create(store, "late")
    await soon(closing)
    assert await soon(commit) == 2


async def test_closed_store_refuses(store: Store) -> None:
    """After close every call raises StoreUnavailable, except close itself."""
    await create(store, "t")
    await store.close()
    await store.close()
    calls: list[Callable[[], Awaitable[object]]] = [
        *_reads_of(store, "t"),
        lambda: create(store, "new"),
        lambda: store.count_owned("ann", "waiting"),
        lambda: store.count("waiting"),
        lambda: store.find_answer("t", "r"),
        lambda: store.commit(step("t", 1)),
        lambda: store.list_tables(None, 1, None),
        lambda: store.expire(1.0, 1),
        lambda: store.subscribe("t").__aenter__(),
        store.ping,
    ]
    for call in calls:
        with pytest.raises(StoreUnavailable):
            await call()


async def test_close_ends_subscriptions(store: Store) -> None:
    """A wait that the close ends, and one that begins later, raises StoreUnavailable."""
    async with store.subscribe("t") as subscription, store.subscribe("u") as later:

        async def wait_on() -> None:
            while True:
                await subscription.wait()

        waiting = asyncio.ensure_future(wait_on())
        await asyncio.sleep(0)
        await store.close()
        with pytest.raises(StoreUnavailable):
            await soon(waiting)
        with pytest.raises(StoreUnavailable):
            await later.wait()


async def test_store_is_not_shared_between_event_loops(store: Store) -> None:
    """A call from another event loop than the one that opened the store raises RuntimeError and does nothing."""
    await create(store, "t")

    async def enter() -> None:
        async with store.subscribe("t"):
            pass

    for call in (lambda: store.commit(step("t", 1)), lambda: store.load("t"), enter):
        with pytest.raises(RuntimeError, match="event loop"):
            await asyncio.to_thread(asyncio.run, call())
    assert await store.load_revision("t") == 1


def _reads_of(store: Store, table_id: str) -> list[Callable[[], Awaitable[object]]]:
    """Return the calls that read a table and raise TableNotFound if there is none."""
    return [
        lambda: store.load(table_id),
        lambda: store.load_revision(table_id),
        lambda: store.read_log(table_id, 0, 10),
        lambda: store.read_records(table_id, 0, 10),
    ]
