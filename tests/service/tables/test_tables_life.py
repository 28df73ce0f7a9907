from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from buraco.v1 import deal_pb2, table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import PRESETS, DrawStock, RuleSet, commitment, next_match, server_seed
from tests.service.refusals import refused
from tests.service.scripts import (
    after_moves,
    dealt,
    plain_turn,
    plain_turns,
    short_rules,
    submitted,
)
from tests.service.table_server import (
    PATIENCE,
    RULE_SET,
    SEED,
    Player,
    Replica,
    create,
    get,
    join,
    join_raw,
    new_id,
    public_view,
    serving,
    shown_view,
    start,
)

SHORT = short_rules(2)


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
async def test_create_preset(replica: Replica, rules: RuleSet) -> None:
    """A table of a preset waits with free seats, the usual target, and the commitment to its first deal on show."""
    before = time.time()
    request = pb.CreateTableRequest(rule_set_id=rules.id, seats=4, seed=SEED, request_id=new_id())
    table = (await replica.tables.CreateTable(request, timeout=PATIENCE)).table
    assert len(table.id) == 32
    assert table.revision == 1
    assert table.state == table_pb2.TABLE_STATE_WAITING
    assert table.rule_set == rule_set_to_pb(rules)
    assert [(seat.seat, seat.player_name) for seat in table.seats] == [(0, ""), (1, ""), (2, ""), (3, "")]
    assert table.target_score == rules.usual_targets[0]
    assert table.stake == 0
    assert before - 1 <= table.created_at.ToNanoseconds() / 1e9 <= time.time() + 1
    assert table.updated_at == table.created_at
    assert not table.HasField("match")
    assert not table.HasField("result")
    assert table.commitment == commitment(server_seed(SEED, 1))
    assert table.seeded_by_creator
    assert await get(replica, table.id) == table


async def test_create_house_rules(replica: Replica) -> None:
    """House rules are kept as they were sent, and their first usual target is the default."""
    request = pb.CreateTableRequest(rule_set=rule_set_to_pb(SHORT), seats=2, stake=10**12, request_id=new_id())
    table = (await replica.tables.CreateTable(request, timeout=PATIENCE)).table
    assert table.rule_set == rule_set_to_pb(SHORT)
    assert table.target_score == 77
    assert table.stake == 10**12
    assert (await create(replica, rule_set=rule_set_to_pb(SHORT), target_score=1_000_000)).target_score == 1_000_000
    assert (await create(replica, rule_set=rule_set_to_pb(SHORT), target_score=0)).target_score == 0


async def test_create_random_seed(replica: Replica) -> None:
    """Without a seed every table gets one of its own, and no table is marked as seeded by its creator."""
    requests = [pb.CreateTableRequest(rule_set_id=RULE_SET, seats=2, request_id=new_id()) for _ in range(2)]
    first, second = [(await replica.tables.CreateTable(request, timeout=PATIENCE)).table for request in requests]
    assert first.commitment != second.commitment
    assert not first.seeded_by_creator
    assert len((await replica.table(first.id)).master_seed) == 32


async def test_list_pages(replica: Replica) -> None:
    """Pages hold the tables in the order of their ids, each once, as GetTable shows them; the last names no next."""
    tables = {table.id: table for table in [await create(replica) for _ in range(5)]}
    found: list[table_pb2.Table] = []
    sizes: list[int] = []
    token = ""
    while not sizes or token:
        request = pb.ListTablesRequest(page_size=2, page_token=token)
        page = await replica.tables.ListTables(request, timeout=PATIENCE)
        sizes.append(len(page.tables))
        found += page.tables
        token = page.next_page_token
    assert sizes == [2, 2, 1]
    assert [table.id for table in found] == sorted(tables)
    assert all(table == tables[table.id] for table in found)
    whole = await replica.tables.ListTables(pb.ListTablesRequest(page_size=5), timeout=PATIENCE)
    assert list(whole.tables) == found
    assert not whole.next_page_token
    assert list((await replica.tables.ListTables(pb.ListTablesRequest(), timeout=PATIENCE)).tables) == found


async def test_list_by_state(replica: Replica) -> None:
    """A list of one state holds the tables in that state and no others."""
    waiting = await create(replica)
    playing = (await start(replica))[0].table_id
    players = await start(replica, rule_set=rule_set_to_pb(SHORT))
    await submitted(players, plain_turns(dealt(SHORT), 2))
    by_state = {}
    for state in (table_pb2.TABLE_STATE_WAITING, table_pb2.TABLE_STATE_PLAYING, table_pb2.TABLE_STATE_FINISHED):
        listed = await replica.tables.ListTables(pb.ListTablesRequest(state=state), timeout=PATIENCE)
        assert all(table.state == state for table in listed.tables)
        by_state[state] = [table.id for table in listed.tables]
    assert list(by_state.values()) == [[waiting.id], [playing], [players[0].table_id]]


async def test_join_until_the_match_starts(replica: Replica) -> None:
    """Players take the seats they name or the first free ones; the last one starts the match (R2)."""
    table = await create(replica, seats=4)
    assert not (await public_view(replica, table.id)).HasField("view")
    first = await join_raw(replica, table.id, seat=2, player_name="Cy")
    assert first.seat == 2
    assert first.table.revision == 2
    assert [seat.player_name for seat in first.table.seats] == ["", "", "Cy", ""]
    seats = [(await join_raw(replica, table.id, player_name=name)).seat for name in ("Ada", "Bo")]
    assert seats == [0, 1]
    assert (await get(replica, table.id)).state == table_pb2.TABLE_STATE_WAITING
    look = await Player(replica, table.id, 2, first.token).look()
    assert (look.revision, look.HasField("view")) == (4, False)
    last = await join_raw(replica, table.id, player_name="Di")
    assert last.seat == 3
    assert last.table.state == table_pb2.TABLE_STATE_PLAYING
    assert last.table == await get(replica, table.id)
    assert [seat.player_name for seat in last.table.seats] == ["Ada", "Bo", "Cy", "Di"]
    assert last.table.match == deal_pb2.Match(deal_number=1, scores=[0, 0], starter=dealt(seats=4).match.starter)


async def test_entropy_is_mixed_in(replica: Replica) -> None:
    """What the players add when they join changes the shuffle as the contract says."""
    entropies = (b"a", b"\x00" * 64)
    players = await start(replica, entropies=entropies)
    expected = dealt(entropies=entropies)
    assert (await replica.table(players[0].table_id)).deal == expected
    assert expected.hands != dealt().hands


async def test_leave_before_the_match(replica: Replica) -> None:
    """A seat given back before the match is free for anybody, and what its player added to the shuffle is dropped."""
    table = await create(replica)
    former = await join(replica, table.id, entropy=b"mine")
    left = (await former.leave()).table
    assert (left.revision, left.state) == (3, table_pb2.TABLE_STATE_WAITING)
    assert [seat.player_name for seat in left.seats] == ["", ""]
    assert (await refused(former.look())).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
    assert (await join_raw(replica, table.id)).seat == 0
    await join_raw(replica, table.id)
    assert (await replica.table(table.id)).deal == dealt()


async def test_leave_during_the_match(replica: Replica) -> None:
    """In a running match a seat waits for a substitute, who takes over hand and turn, and changes no shuffle."""
    entropies = (b"one", b"two")
    players = await start(replica, rule_set=rule_set_to_pb(SHORT), target_score=2000, entropies=entropies)
    deal = dealt(SHORT, target=2000, entropies=entropies)
    table_id, seat = players[0].table_id, deal.seat_to_move
    left = (await players[seat].leave()).table
    assert left.state == table_pb2.TABLE_STATE_PLAYING
    assert left.seats[seat].player_name == ""
    turn = plain_turn(deal)
    assert (await refused(players[seat].submit(*turn.moves))).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
    out_of_turn = await refused(players[1 - seat].submit(DrawStock()))
    assert out_of_turn.short == ("FAILED_PRECONDITION", "NOT_YOUR_TURN")
    substitute = await join(replica, table_id, player_name="Sub", entropy=b"wants other cards")
    assert substitute.seat == seat
    names = ("Sub", "Bo") if seat == 0 else ("Ada", "Sub")
    assert await substitute.view() == shown_view(deal, seat, *names)
    await substitute.submit(*turn.moves)
    deal = after_moves(deal, turn.moves)
    turn = plain_turn(deal)
    await players[1 - seat].submit(*turn.moves)
    deal = after_moves(deal, turn.moves)
    following = dealt(SHORT, match=next_match(deal), entropies=entropies)
    assert (await replica.table(table_id)).deal == following


async def test_views(replica: Replica) -> None:
    """Each seat sees its own hand; without a token nobody's is seen."""
    players = await start(replica, seats=4)
    deal = dealt(seats=4)
    for player in players:
        look = await player.look()
        assert look.revision == 5
        assert look.view == shown_view(deal, player.seat)
        assert tuple(look.view.hand) == deal.hands[player.seat]
    view = (await public_view(replica, players[0].table_id)).view
    assert view == shown_view(deal, None)
    assert not view.HasField("seat")
    assert not view.hand


async def test_moves_survive_a_restart(tmp_path: Path) -> None:
    """What was acknowledged is there when another process opens the file, and the old tokens still hold."""
    path = tmp_path / "tables.db"
    async with serving(path) as replica:
        players = await start(replica)
        turn = plain_turn(dealt())
        await players[turn.seat].submit(*turn.moves)
        before = await get(replica, players[0].table_id)
    async with serving(path) as replica:
        assert await get(replica, before.id) == before
        following = plain_turn(after_moves(dealt(), turn.moves))
        answer = await players[following.seat].at(replica).submit(*following.moves)
        assert answer.revision == before.revision + 1
