from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from buraco.v1 import rule_set_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import PRESETS_BY_ID, DrawStock
from tests.service.refusals import Refusal, assert_invalid, refused
from tests.service.scripts import CLASSIC, dealt
from tests.service.table_server import (
    PATIENCE,
    Player,
    Replica,
    bearing,
    create,
    get,
    join,
    join_raw,
    moves_to_pb,
    new_id,
    public_view,
    records,
    serving,
    start,
    unchanged,
    watch,
)

INVALID = ("INVALID_ARGUMENT", "REQUEST_INVALID")
NOWHERE = "0" * 32
NO_IDS = ("", "x", "0" * 31, "0" * 33, "0" * 31 + "-", "é" * 32, "0" * 31 + "\n", "0" * 4096)
NO_UUIDS = (
    "",
    "1",
    "x" * 36,
    "123e4567-e89b-12d3-a456-42661417400",
    "{123e4567-e89b-12d3-a456-426614174000}",
    "0" * 5000,
)


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server with a table, so that there is something to be harmed."""
    async with serving(tmp_path / "tables.db", max_message_bytes=65_536) as running:
        await create(running)
        yield running


@pytest.fixture
async def players(replica: Replica) -> list[Player]:
    """Two players of a match that has begun."""
    return await start(replica)


async def create_refused(replica: Replica, **fields: Any) -> Refusal:
    """CreateTable that must fail and change nothing."""
    with unchanged(replica):
        return await refused(create(replica, **fields))


async def test_unknown_rule_set(replica: Replica) -> None:
    """An id that is no preset's is refused, and the presets are named."""
    refusal = await create_refused(replica, rule_set_id="canasta")
    assert_invalid(refusal, "rule_set_id", reason="RULE_SET_UNKNOWN")
    assert all(preset in refusal.fields["rule_set_id"] for preset in PRESETS_BY_ID)


async def test_no_rule_set(replica: Replica) -> None:
    """A table needs rules."""
    with unchanged(replica):
        request = pb.CreateTableRequest(seats=2, request_id=new_id())
        assert_invalid(await refused(replica.tables.CreateTable(request)), "rules")


async def test_invalid_house_rules(replica: Replica) -> None:
    """Every defect of house rules is named, with its option."""
    broken = rule_set_pb2.RuleSet()
    broken.CopyFrom(rule_set_to_pb(CLASSIC))
    broken.id = "house"
    broken.jokers = 3
    broken.value_two = 1001
    broken.wild_moves = 77  # type: ignore[assignment]
    broken.pots_per_side = 3
    broken.ClearField("tie")
    refusal = await create_refused(replica, rule_set=broken)
    names = ("jokers", "value_two", "wild_moves", "pots_per_side", "tie")
    assert refusal.short == ("INVALID_ARGUMENT", "RULE_SET_INVALID")
    assert {f"rule_set.{name}" for name in names} <= set(refusal.fields)


async def test_preset_id_for_other_rules(replica: Replica) -> None:
    """House rules may not pass for a preset."""
    rules = rule_set_to_pb(dataclasses.replace(CLASSIC, id="house", max_turns=7))
    disguised = rule_set_pb2.RuleSet()
    disguised.CopyFrom(rules)
    disguised.id = CLASSIC.id
    refusal = await create_refused(replica, rule_set=disguised)
    assert_invalid(refusal, "rule_set.max_turns", reason="RULE_SET_INVALID")


@pytest.mark.parametrize("seats", [0, 1, 3, 5, 2**32 - 1])
async def test_number_of_seats(replica: Replica, seats: int) -> None:
    """There are tables for 2 and for 4 and no others (R2.1)."""
    assert_invalid(await create_refused(replica, seats=seats), "seats")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("target_score", 1_000_001),
        ("target_score", 2**32 - 1),
        ("stake", 10**12 + 1),
        ("stake", 2**64 - 1),
        ("seed", b""),
        ("seed", b"x" * 31),
        ("seed", b"x" * 33),
        *[("request_id", text) for text in NO_UUIDS],
    ],
)
async def test_fields_of_create(replica: Replica, field: str, value: Any) -> None:
    """A field out of its range is named."""
    assert_invalid(await create_refused(replica, **{field: value}), field)


async def test_all_faults_of_create(replica: Replica) -> None:
    """All fields at fault are named at once; the rule set gives the reason."""
    fields = {"rule_set_id": "?", "seats": 3, "target_score": 10**7, "stake": 10**13, "seed": b"1", "request_id": "2"}
    refusal = await create_refused(replica, **fields)
    assert_invalid(refusal, *fields, reason="RULE_SET_UNKNOWN")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("player_name", ""),
        ("player_name", "x" * 65),
        ("player_name", "a\nb"),
        ("player_name", "a\x00b"),
        ("player_name", "\x1b[31mred"),
        ("player_name", "a\x7fb"),
        ("player_name", "a\u0085b"),
        ("player_name", "\u202eadA"),
        ("player_name", " \u3000"),
        ("player_name", "\u3164"),
        ("player_name", "\u0301"),
        ("player_name", "A\u200dda"),
        ("entropy", b"x" * 65),
        *[("request_id", text) for text in NO_UUIDS],
        *[("table_id", text) for text in NO_IDS],
    ],
)
async def test_fields_of_join(replica: Replica, field: str, value: Any) -> None:
    """A name that could disturb a terminal or a log, too much entropy, and ids that are none are refused."""
    table = await create(replica)
    with unchanged(replica):
        assert_invalid(await refused(join_raw(replica, **{"table_id": table.id, field: value})), field)


async def test_longest_name_and_entropy(replica: Replica) -> None:
    """64 characters of any script and 64 bytes of entropy are allowed."""
    table = await create(replica)
    joined = await join_raw(replica, table.id, player_name="ж" * 64, entropy=b"x" * 64)
    assert joined.table.seats[0].player_name == "ж" * 64


async def test_names_in_any_script(replica: Replica) -> None:
    """A name may need joiners; everybody sees it in its one form, and whoever sends a bad one learns what is wrong."""
    table = await create(replica)
    await join(replica, table.id, player_name=" علی\u200cرضا  👨\u200d👩\u200d👧 Zoe\u0308 ")
    (changed,) = (await watch(replica, table.id, 1).expect("events")).events
    assert changed.seat_changed.player_name == "علی\u200cرضا 👨\u200d👩\u200d👧 Zoë"
    assert (await get(replica, table.id)).seats[0].player_name == changed.seat_changed.player_name
    refusal = await refused(join_raw(replica, table.id, player_name="A\u200bda"))
    assert refusal.fields == {"player_name": "U+200B ZERO WIDTH SPACE is not allowed in a name, or not in this place"}


async def test_seats_of_join(replica: Replica) -> None:
    """A seat that the table has not, that is taken, or that is the last of none left is refused."""
    table = await create(replica)
    await join(replica, table.id, seat=0)
    with unchanged(replica):
        assert_invalid(await refused(join_raw(replica, table.id, seat=2)), "seat")
        taken = await refused(join_raw(replica, table.id, seat=0))
        assert taken.short == ("FAILED_PRECONDITION", "SEAT_TAKEN")
        assert taken.metadata == {"seat": "0"}
        assert taken.broken == [("SEAT_TAKEN", "")]
    await join(replica, table.id)
    with unchanged(replica):
        for seat in (None, 0, 1):
            full = await refused(join_raw(replica, table.id, seat=seat))
            assert full.short == ("FAILED_PRECONDITION", "TABLE_FULL")


async def test_unknown_table(replica: Replica, players: list[Player]) -> None:
    """Every call about a table that is none says so."""
    nowhere = players[0]._replace(table_id=NOWHERE)
    with unchanged(replica):
        for call in (
            replica.tables.GetTable(pb.GetTableRequest(table_id=NOWHERE)),
            join_raw(replica, NOWHERE),
            public_view(replica, NOWHERE),
            records(replica, NOWHERE),
            watch(replica, NOWHERE).next(),
            watch(replica, NOWHERE, 7).next(),
            nowhere.look(),
            nowhere.legal(),
            nowhere.submit(DrawStock()),
            nowhere.undo(),
            nowhere.leave(),
            (await nowhere.play()).next(),
        ):
            refusal = await refused(call)
            assert refusal.short == ("NOT_FOUND", "TABLE_UNKNOWN")
            assert refusal.metadata == {"tableId": NOWHERE}


@pytest.mark.parametrize("text", NO_IDS)
async def test_malformed_table_id(replica: Replica, players: list[Player], text: str) -> None:
    """What has not the form of a table's id is refused by every call."""
    wrong = players[0]._replace(table_id=text)
    with unchanged(replica):
        for call in (
            replica.tables.GetTable(pb.GetTableRequest(table_id=text)),
            public_view(replica, text),
            records(replica, text),
            watch(replica, text).next(),
            wrong.legal(),
            wrong.submit(DrawStock()),
            wrong.undo(),
            wrong.leave(),
            (await wrong.play()).next(),
        ):
            assert_invalid(await refused(call), "table_id")


@pytest.mark.parametrize("text", NO_UUIDS)
async def test_malformed_request_id(replica: Replica, players: list[Player], text: str) -> None:
    """A mutating call needs a UUID."""
    player = players[dealt().seat_to_move]
    with unchanged(replica):
        for request in (
            replica.tables.SubmitMoves(
                pb.SubmitMovesRequest(table_id=player.table_id, moves=moves_to_pb([DrawStock()]), request_id=text),
                metadata=player.metadata,
            ),
            replica.tables.UndoMove(
                pb.UndoMoveRequest(table_id=player.table_id, request_id=text), metadata=player.metadata
            ),
            replica.tables.LeaveTable(
                pb.LeaveTableRequest(table_id=player.table_id, request_id=text), metadata=player.metadata
            ),
        ):
            assert_invalid(await refused(request), "request_id")


async def test_bytes_that_are_no_message(replica: Replica) -> None:
    """Bytes that cannot be parsed are the caller's fault."""
    for method in ("CreateTable", "SubmitMoves", "JoinTable"):
        call: Any = replica.channel.unary_unary(f"/buraco.v1.TableService/{method}")
        with unchanged(replica):
            assert (await refused(call(b"\x0a\xff", timeout=PATIENCE))).short == INVALID


@pytest.mark.parametrize("size", [201, 2**32 - 1])
async def test_list_page_size(replica: Replica, size: int) -> None:
    """A page of tables holds at most 200."""
    assert_invalid(await refused(replica.tables.ListTables(pb.ListTablesRequest(page_size=size))), "page_size")
    await replica.tables.ListTables(pb.ListTablesRequest(page_size=200))


@pytest.mark.parametrize("token", [text for text in NO_IDS if text])
async def test_list_page_token(replica: Replica, token: str) -> None:
    """A page token is one that was given out; any other is refused."""
    assert_invalid(await refused(replica.tables.ListTables(pb.ListTablesRequest(page_token=token))), "page_token")


async def test_list_state(replica: Replica) -> None:
    """A state that tables cannot have is refused."""
    request = pb.ListTablesRequest(state=4)  # type: ignore[arg-type]
    assert_invalid(await refused(replica.tables.ListTables(request)), "state")


@pytest.mark.parametrize("size", [51, 2**32 - 1])
async def test_record_page_size(replica: Replica, players: list[Player], size: int) -> None:
    """A page of records holds at most 50, and a deal number too high is simply behind the last."""
    assert_invalid(await refused(records(replica, players[0].table_id, page_size=size)), "page_size")
    assert not (await records(replica, players[0].table_id, page_size=50, after_deal=2**32 - 1)).deals


async def test_nothing_internal_in_errors(replica: Replica, players: list[Player]) -> None:
    """No error text quotes a path, a class or a token."""
    refusals = [
        await refused(players[0]._replace(table_id=NOWHERE).look()),
        await refused(replica.tables.LeaveTable(pb.LeaveTableRequest(), metadata=bearing("rubbish"))),
        await refused(join_raw(replica, players[0].table_id)),
        await refused(players[1 - dealt().seat_to_move].submit(DrawStock())),
    ]
    for refusal in refusals:
        assert refusal.domain == "buraco"
        for word in ("Traceback", "Error(", "sqlite", ".py", "rubbish", players[0].token):
            assert word not in str(refusal)
