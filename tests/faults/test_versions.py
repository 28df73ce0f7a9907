"""Tables that other versions of the service have stored."""

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
from tests.faults.earlier.answers import read_answers
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
    """Return the player of a seat, with a token as the earlier version issued it."""
    held = (await replica.table(table_id)).seats[seat]
    return Player(replica, table_id, seat, replica.tokens.issue(table_id, seat, held.token_id, time.time()))


@pytest.fixture(params=sorted(file.stem for file in EARLIER.glob("*.json")))
async def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Replica, list[Any]]]:
    """A running server on the database of an earlier version, and the answers of that version."""
    shutil.copy(EARLIER / f"{request.param}.db", tmp_path / "tables.db")
    async with serving(tmp_path / "tables.db") as running:
        yield running, json.loads((EARLIER / f"{request.param}.json").read_text())


def assert_still_there(before: Any, now: Any) -> None:
    """Everything of an earlier answer is in the new one, unchanged; lists have no more items."""
    if isinstance(before, dict):
        for name, value in before.items():
            assert_still_there(value, now[name])
    elif isinstance(before, list):
        for earlier_item, item in zip(before, now, strict=True):
            assert_still_there(earlier_item, item)
    else:
        assert now == before


async def test_same_answers(earlier: tuple[Replica, list[Any]]) -> None:
    """This version answers about tables of an earlier one as that did, to everybody and to each seat.

    It may add fields: views name the players since.
    """
    replica, answers = earlier
    assert len(answers) > 5
    with unchanged(replica):
        for before in answers:
            table_id = before["table"]["id"]
            tokens = [(await _player(replica, table_id, seat)).token for seat in range(len(before["views"]) - 1)]
            now = await read_answers(replica.tables, table_id, tokens)
            assert_still_there(before, now)
            names = [seat.player_name for seat in (await get(replica, table_id)).seats]
            for shown in [answer["view"] for answer in now["views"] if "view" in answer]:
                assert [seat.get("playerName", "") for seat in shown["seats"]] == names


async def test_plays_on(earlier: tuple[Replica, list[Any]]) -> None:
    """A table of an earlier version is played to the end of its deal, and beyond; its records can be replayed."""
    replica, answers = earlier
    rng = random.Random(7)
    for table_id, revision in [(before["table"]["id"], int(before["table"]["revision"])) for before in answers]:
        stream = watch(replica, table_id, 0)
        revisions = [(await stream.expect("events")).revision for _ in range(revision)]
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
        revisions += [(await stream.expect("events")).revision for _ in range(newest - revision)]
        assert revisions == list(range(1, newest + 1))


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


async def _commit(replica: Replica, table_id: str, state: bytes, entry: bytes) -> None:
    """Commit as a replica of a later version may."""
    stored = await replica.store.load(table_id)
    step = Commit(table_id, stored.revision, state, stored.status, stored.updated_at, entry, None, b"")
    await replica.store.commit(step)


def _with_more(stored: bytes, *path: str) -> bytes:
    """Return a stored table with an unknown field, at the top or further in."""
    table = table_pb2.StoredTable.FromString(stored)
    part: Any = table
    for name in path:
        part = getattr(part, name)
        part = part[0] if name == "seats" else part
    part.MergeFromString(LATER)
    return table.SerializeToString()


@pytest.mark.parametrize("path", [(), ("seats",), ("rule_set",), ("snapshot", "deal", "turn")], ids=".".join)
async def test_table_of_a_later_version(replica: Replica, path: tuple[str, ...]) -> None:
    """A table with a field that this version does not know is refused for that, and stays as it is."""
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
        # An answer would keep the player at this replica, where no call succeeds.
        await stream.submit(*turn.moves)
        await stream.expect("events")
        assert (await refused(stream.next())).short == TOO_NEW
    # As after a return to the earlier version, the table can be played on.
    await _commit(replica, table_id, stored, b"")
    assert (await mover.submit(DrawStock())).revision == 6


async def test_names_that_earlier_versions_accepted(replica: Replica) -> None:
    """A player whose name would be refused today keeps it."""
    players = await start(replica)
    table_id = players[0].table_id
    table = table_pb2.StoredTable.FromString((await replica.store.load(table_id)).state)
    table.seats[0].player_name = "\u3164"
    changed = event_pb2.Event(seat_changed=event_pb2.SeatChanged(player_name="\u3164"))
    entry = table_pb2.StoredEntry(events=[changed]).SerializeToString()
    await _commit(replica, table_id, table.SerializeToString(), entry)
    (event,) = (await watch(replica, table_id, 3).expect("events")).events
    assert event == changed
    turn = plain_turn(dealt())
    await players[turn.seat].submit(*turn.moves)
    assert (await get(replica, table_id)).seats[0].player_name == "\u3164"


def _event_of_later() -> bytes:
    """Return a log entry whose event has an unknown field."""
    return table_pb2.StoredEntry(events=[event_pb2.Event.FromString(LATER)]).SerializeToString()


async def test_event_of_a_later_version(replica: Replica) -> None:
    """An event that this version does not know is sent to nobody, because its hidden part is not known either."""
    players = await start(replica)
    table_id = players[0].table_id
    streams = [watch(replica, table_id), players[0].watch()]
    for stream in streams:
        await stream.expect("state")
    await _commit(replica, table_id, (await replica.store.load(table_id)).state, _event_of_later())
    for stream in streams:
        assert (await refused(stream.next())).short == TOO_NEW


async def test_deal_with_an_event_of_a_later_version(replica: Replica) -> None:
    """A deal with an event that this version does not know is played to its end, and its record is whole."""
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
