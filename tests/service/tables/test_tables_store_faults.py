from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from buraco.v1 import table_service_pb2 as pb
from buraco_rules import DrawStock
from buraco_service.stores.base import Commit, RevisionConflict, StoreUnavailable
from tests.service.refusals import refused
from tests.service.scripts import dealt, plain_turn
from tests.service.table_server import (
    Replica,
    create,
    get,
    join_raw,
    new_id,
    public_view,
    records,
    serving,
    start,
    unchanged,
    watch,
)

AWAY = ("UNAVAILABLE", "STORE_UNAVAILABLE")
METHODS = ("create", "load", "load_revision", "commit", "find_answer", "read_log", "read_records", "list_tables")


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


async def test_store_away(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the store is away every call says so and when to try again, shows no cause, and works once it is back."""
    players = await start(replica)
    turn = plain_turn(dealt())
    mover = players[turn.seat]
    stream = await mover.play()
    await stream.expect("state")

    async def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("/secret/place is full")

    with unchanged(replica), monkeypatch.context() as patch:
        for method in METHODS:
            patch.setattr(replica.store, method, away)
        await stream.submit(*turn.moves)
        for call in (
            create(replica),
            get(replica, mover.table_id),
            join_raw(replica, mover.table_id),
            replica.tables.ListTables(pb.ListTablesRequest()),
            records(replica, mover.table_id),
            public_view(replica, mover.table_id),
            mover.look(),
            mover.legal(),
            mover.submit(*turn.moves),
            mover.undo(),
            mover.leave(),
            watch(replica, mover.table_id).next(),
            stream.next(),
        ):
            refusal = await refused(call)
            assert refusal.short == AWAY
            assert refusal.retry_after is not None
            assert refusal.retry_after > 0
            assert "secret" not in str(refusal)
    assert (await mover.submit(*turn.moves)).revision == 4


async def test_answer_lost_in_the_store(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that was written though the store reported a failure is found by a repeat, and not made twice."""
    players = await start(replica)
    turn = plain_turn(dealt())
    mover = players[turn.seat]
    commit = replica.store.commit

    async def written_but_not_said(step: Commit) -> int:
        await commit(step)
        raise StoreUnavailable("the disk went away at the very end")

    request_id = new_id()
    with monkeypatch.context() as patch:
        patch.setattr(replica.store, "commit", written_but_not_said)
        refusal = await refused(mover.submit(*turn.moves, request_id=request_id, revision=3))
        assert refusal.short == AWAY
    with unchanged(replica):
        answer = await mover.submit(*turn.moves, request_id=request_id, revision=3)
    assert answer.revision == 4
    assert [event.WhichOneof("event") for event in answer.events] == ["drew", "discarded"]


async def test_race_lost_again_and_again(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who loses one race after the other is refused at last, with the revision that the table has."""
    players = await start(replica)
    mover = players[dealt().seat_to_move]
    tries = 0

    async def lose(step: Commit) -> int:
        nonlocal tries
        tries += 1
        raise RevisionConflict(step.expected_revision)

    with unchanged(replica), monkeypatch.context() as patch:
        patch.setattr(replica.store, "commit", lose)
        refusal = await refused(mover.submit(DrawStock()))
    assert refusal.short == ("ABORTED", "REVISION_STALE")
    assert refusal.metadata == {"currentRevision": "3"}
    assert 1 < tries < 100
    conflicts = replica.metrics.registry.get_sample_value("buraco_store_conflicts_total")
    assert conflicts == tries


async def test_corrupt_table(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table whose bytes cannot be read is an internal error with an id, and nothing of the bytes is shown."""
    table = await create(replica)
    load = replica.store.load

    async def corrupt(table_id: str) -> Any:
        return (await load(table_id))._replace(state=b"\xffsecret", revision=7)

    async def later(table_id: str) -> int:
        return 7

    monkeypatch.setattr(replica.store, "load", corrupt)
    monkeypatch.setattr(replica.store, "load_revision", later)
    refusal = await refused(get(replica, table.id))
    assert refusal.short == ("INTERNAL", "INTERNAL")
    assert set(refusal.metadata) == {"errorId"}
    assert "secret" not in str(refusal)
