"""What other versions of the service have stored."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from buraco.v1 import event_pb2, table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_bots.report import replay
from buraco_codec.moves import move_from_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import DrawStock, deal_problems
from buraco_service.stores.base import Commit
from tests.faults.earlier.saying import said_of
from tests.faults.later import LATER
from tests.service.refusals import refused
from tests.service.scripts import dealt, plain_turn, played, short_rules, turns
from tests.service.table_server import (
    Player,
    Replica,
    get,
    join,
    public_view,
    records,
    serving,
    start,
    unchanged,
    watch,
)

EARLIER = Path(__file__).parent / "earlier"
TOO_NEW = ("UNAVAILABLE", "TABLE_TOO_NEW")


async def _player(replica: Replica, table_id: str, seat: int) -> Player:
    """Who holds a seat, with a token such as the earlier version has given."""
    held = (await replica.table(table_id)).seats[seat]
    return Player(replica, table_id, seat, replica.tokens.issue(table_id, seat, held.token_id, time.time()))


@pytest.fixture(params=sorted(file.stem for file in EARLIER.glob("*.json")))
async def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Replica, list[Any]]]:
    """A running server on what an earlier version has left, and what that version said."""
    shutil.copy(EARLIER / f"{request.param}.db", tmp_path / "tables.db")
    async with serving(tmp_path / "tables.db") as running:
        yield running, json.loads((EARLIER / f"{request.param}.json").read_text())


async def test_says_the_same(earlier: tuple[Replica, list[Any]]) -> None:
    """Of tables of an earlier version this one says the same, to everybody and to each seat."""
    replica, said = earlier
    assert len(said) > 5
    with unchanged(replica):
        for before in said:
            table_id = before["table"]["id"]
            tokens = [(await _player(replica, table_id, seat)).token for seat in range(len(before["views"]) - 1)]
            assert await said_of(replica.tables, table_id, tokens) == before


async def test_plays_on(earlier: tuple[Replica, list[Any]]) -> None:
    """A table of an earlier version is played to the end of its deal, and beyond; its records can be replayed."""
    replica, said = earlier
    rng = random.Random(7)
    for table_id, revision in [(before["table"]["id"], int(before["table"]["revision"])) for before in said]:
        stream = watch(replica, table_id, 0)
        told = [(await stream.expect("events")).revision for _ in range(revision)]
        for seat in [seat.seat for seat in (await get(replica, table_id)).seats if not seat.player_name]:
            await join(replica, table_id, seat=seat)
        table = await replica.table(table_id)
        deals_before = table.deal.match.deal_number if table.deal else 0
        for _ in range(150):
            table = await replica.table(table_id)
            assert table.deal is not None
            assert deal_problems(table.deal) == ()
            if table.result is not None or table.deal.match.deal_number > deals_before + 1:
                break
            player = await _player(replica, table_id, table.deal.seat_to_move)
            moves = (await player.legal()).moves
            await player.submit(move_from_pb(rng.choice(moves)))
        deals = (await records(replica, table_id)).deals
        for record in deals:
            replay(record)
        newest = (await get(replica, table_id)).revision
        told += [(await stream.expect("events")).revision for _ in range(newest - revision)]
        assert told == list(range(1, newest + 1))


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


async def _commit(replica: Replica, table_id: str, state: bytes, entry: bytes) -> None:
    """What a replica of a later version may write."""
    stored = await replica.store.load(table_id)
    step = Commit(table_id, stored.revision, state, stored.status, stored.updated_at, entry, None, b"")
    await replica.store.commit(step)


def _with_more(stored: bytes, *path: str) -> bytes:
    """A stored table that says more than we know, at the top or further in."""
    table = table_pb2.StoredTable.FromString(stored)
    part: Any = table
    for name in path:
        part = getattr(part, name)
        part = part[0] if name == "seats" else part
    part.MergeFromString(LATER)
    return table.SerializeToString()


@pytest.mark.parametrize("path", [(), ("seats",), ("rule_set",), ("snapshot", "deal", "turn")], ids=".".join)
async def test_table_of_a_later_version(replica: Replica, path: tuple[str, ...]) -> None:
    """A table that says more than this version knows is refused for that, and stays as it is."""
    players = await start(replica)
    turn = plain_turn(dealt())
    mover = players[turn.seat]
    table_id = mover.table_id
    stream = await mover.play()
    await stream.expect("state")
    stored = (await replica.store.load(table_id)).state
    await _commit(replica, table_id, _with_more(stored, *path), b"")
    with unchanged(replica):
        for call in (
            get(replica, table_id),
            public_view(replica, table_id),
            replica.tables.ListTables(pb.ListTablesRequest()),
            mover.look(),
            mover.legal(),
            mover.submit(*turn.moves),
            mover.undo(),
            mover.leave(),
            watch(replica, table_id).next(),
        ):
            assert (await refused(call)).short == TOO_NEW
        # An answer would leave the player at this replica, whose every answer is the same.
        await stream.submit(*turn.moves)
        await stream.expect("events")
        assert (await refused(stream.next())).short == TOO_NEW
    # Back as it was, as after a step back to the earlier version, it can be played on.
    await _commit(replica, table_id, stored, b"")
    assert (await mover.submit(DrawStock())).revision == 6


async def test_names_that_earlier_versions_took(replica: Replica) -> None:
    """A player whose name would be refused today plays on under it."""
    players = await start(replica)
    table_id = players[0].table_id
    table = table_pb2.StoredTable.FromString((await replica.store.load(table_id)).state)
    table.seats[0].player_name = "\u3164"
    changed = event_pb2.Event(seat_changed=event_pb2.SeatChanged(player_name="\u3164"))
    entry = table_pb2.StoredEntry(events=[changed]).SerializeToString()
    await _commit(replica, table_id, table.SerializeToString(), entry)
    (told,) = (await watch(replica, table_id, 3).expect("events")).events
    assert told == changed
    turn = plain_turn(dealt())
    await players[turn.seat].submit(*turn.moves)
    assert (await get(replica, table_id)).seats[0].player_name == "\u3164"


def _event_of_later() -> bytes:
    """A log entry whose event says more than we know."""
    return table_pb2.StoredEntry(events=[event_pb2.Event.FromString(LATER)]).SerializeToString()


async def test_event_of_a_later_version(replica: Replica) -> None:
    """An event that this version does not know is shown to nobody: what of it is hidden it does not know either."""
    players = await start(replica)
    table_id = players[0].table_id
    streams = [watch(replica, table_id), players[0].watch()]
    for stream in streams:
        await stream.expect("state")
    await _commit(replica, table_id, (await replica.store.load(table_id)).state, _event_of_later())
    for stream in streams:
        assert (await refused(stream.next())).short == TOO_NEW


async def test_deal_with_an_event_of_a_later_version(replica: Replica) -> None:
    """A deal in which an event says more than this version knows is played to its end, and its record is whole."""
    rules = short_rules(4)
    script = list(turns(list(played(dealt(rules), random.Random(1)))))
    players = await start(replica, rule_set=rule_set_to_pb(rules))
    table_id = players[0].table_id
    for turn in script:
        await players[turn.seat].submit(*turn.moves)
        await _commit(replica, table_id, (await replica.store.load(table_id)).state, _event_of_later())
    (record,) = (await records(replica, table_id)).deals
    replay(record)
    assert [move_from_pb(move.move) for move in record.moves] == [move for turn in script for move in turn.moves]
