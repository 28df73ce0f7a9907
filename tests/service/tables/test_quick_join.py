"""QuickJoin: one seat a request, at a table that fits, whatever is interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from buraco.v1 import table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_service.access.api_keys import ApiKey
from buraco_service.tables.finding import QUICK_JOIN_STATUS
from buraco_service.tables.state import TableState
from tests.service import host
from tests.service.host import key_set, player_token
from tests.service.refusals import assert_invalid, refused
from tests.service.table_server import (
    PATIENCE,
    RULE_SET,
    Player,
    Replica,
    bearing,
    create,
    get,
    join_raw,
    new_id,
    serving,
    unchanged,
    watch,
)

STORES: Final = ["sqlite_url", "redis_url", "redis_cluster_url", "postgres_url"]


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    """The keys of the host."""
    path = tmp_path / "player-keys.json"
    path.write_text(key_set(*host.KEYS))
    return path


@pytest.fixture
async def replica(tmp_path: Path, keys_file: Path) -> AsyncIterator[Replica]:
    """A running server that knows the host's players."""
    async with serving(tmp_path / "tables.db", player_keys_file=keys_file) as running:
        yield running


@pytest.fixture(params=STORES)
async def replicas(request: pytest.FixtureRequest, keys_file: Path) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two servers, each with connections of its own to the same store, of each kind."""
    url: str = request.getfixturevalue(request.param)
    async with serving(url, player_keys_file=keys_file) as one, serving(url, player_keys_file=keys_file) as other:
        yield one, other


async def quick(replica: Replica, token: str | None = None, **fields: Any) -> pb.QuickJoinResponse:
    """QuickJoin, by default one deal of Classic for two."""
    if "rule_set" not in fields:
        fields.setdefault("rule_set_id", RULE_SET)
    plain: dict[str, Any] = {"seats": 2, "target_score": 0, "player_name": "Ada", "request_id": new_id()}
    metadata = () if token is None else bearing(token)
    return await replica.tables.QuickJoin(pb.QuickJoinRequest(**plain | fields), metadata=metadata, timeout=PATIENCE)


async def taken(replica: Replica) -> dict[str, int]:
    """How many seats are taken, by table, as the store has it."""
    listed = (await replica.tables.ListTables(pb.ListTablesRequest(), timeout=PATIENCE)).tables
    return {table.id: sum([bool(seat.player_name) for seat in table.seats]) for table in listed}


async def test_a_seat_and_a_match(replicas: tuple[Replica, Replica]) -> None:
    """The first player opens a table and the next finds it, at another replica; then they play."""
    here, there = replicas
    first = await quick(here)
    assert (first.seat, first.table.state) == (0, table_pb2.TABLE_STATE_WAITING)
    second = await quick(there, player_name="Bo")
    assert (second.table.id, second.seat) == (first.table.id, 1)
    assert second.table.state == table_pb2.TABLE_STATE_PLAYING
    assert not second.table.seeded_by_creator
    for joined, at in ((first, there), (second, here)):
        assert len((await Player(at, joined.table.id, joined.seat, joined.token).view()).hand) == 11
    third = await quick(here)
    assert third.table.id != first.table.id


async def test_repeats(replicas: tuple[Replica, Replica]) -> None:
    """The same request gets the same answer at any replica, also after the match began; another one is refused."""
    here, there = replicas
    request_id = new_id()
    first = await quick(here, request_id=request_id)
    await quick(there, player_name="Bo")
    for at in replicas:
        assert await quick(at, request_id=request_id) == first
    for other in ({"player_name": "Bo"}, {"stake": 1}, {"entropy": b"x"}, {"seats": 4}):
        refusal = await refused(quick(there, request_id=request_id, **other))
        assert refusal.short == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
    assert (await refused(quick(there, player_token(), request_id=request_id))).reason == "REQUEST_ID_REUSED"
    assert await taken(here) == {first.table.id: 2}


async def test_repeats_at_once(replicas: tuple[Replica, Replica]) -> None:
    """A request that is sent many times at once, to two replicas, takes one seat."""
    for _ in range(5):
        request_id = new_id()
        before = sum((await taken(replicas[0])).values())
        answers = await asyncio.gather(*[quick(at, request_id=request_id) for at in replicas * 4])
        assert answers == answers[:1] * 8
        assert sum((await taken(replicas[0])).values()) == before + 1


async def test_many_players_at_once(replicas: tuple[Replica, Replica]) -> None:
    """Players who come at once get a seat each, no seat twice, and wait at few tables."""
    answers = await asyncio.gather(
        *[quick(replicas[number % 2], player_name=f"Player {number}", seats=4) for number in range(12)]
    )
    assert len({(answer.table.id, answer.seat) for answer in answers}) == 12
    seats = await taken(replicas[0])
    assert sum(seats.values()) == 12
    assert max(seats.values()) == 4


async def test_two_players_at_once(replicas: tuple[Replica, Replica]) -> None:
    """Two players who come at once to two replicas, where no table fits, meet at one table."""
    together = 0
    for number in range(6):
        one, two = await asyncio.gather(*[quick(at, stake=number) for at in replicas])
        assert one.table.id != two.table.id or {one.seat, two.seat} == {0, 1}
        together += one.table.id == two.table.id
    # Perhaps ten seconds are over between two of them.
    assert together >= 5


async def test_only_tables_that_fit(replica: Replica) -> None:
    """A table is passed over if anything is not as asked for, or its creator may know the cards."""
    clock = table_pb2.TableOptions(confirmation_time={"seconds": 5})  # type: ignore[arg-type]
    invited = table_pb2.TableOptions(access=table_pb2.TABLE_ACCESS_INVITATION)
    misfits: list[dict[str, Any]] = [
        {"rule_set_id": "open"},
        {"seats": 4},
        {"target_score": 5},
        {"stake": 1},
        {"options": clock},
        {"options": invited},
    ]
    others = {(await create(replica, **({"seed": None} | fields))).id for fields in misfits}
    others.add((await create(replica)).id)
    first = await quick(replica)
    assert first.table.id not in others
    timed = await quick(replica, options=clock)
    assert timed.table.options.confirmation_time.seconds == 5
    assert timed.table.id in others


async def test_the_fullest_table_first(replica: Replica) -> None:
    """Of tables that fit, the one with the fewest free seats is taken."""
    tables = [await create(replica, seed=None, seats=4) for _ in range(4)]
    for index, joins in ((1, 1), (2, 3), (3, 2)):
        for _ in range(joins):
            await join_raw(replica, tables[index].id)
    order = [(await quick(replica, seats=4)).table.id for _ in range(4)]
    assert order == [tables[index].id for index in (2, 3, 3, 1)]


async def test_player_comes_back(replica: Replica) -> None:
    """A player who waits at a table that fits comes back to the seat, and nothing changes at the table."""
    ada = player_token("ada")
    first = await quick(replica, ada)
    await create(replica, seed=None)
    again = await quick(replica, ada)
    assert (again.table, again.seat) == (first.table, first.seat)
    view = await Player(replica, again.table.id, again.seat, again.token).look()
    assert view.revision == first.table.revision


async def test_repeat_of_a_return(replicas: tuple[Replica, Replica]) -> None:
    """A request that brought a player back to a seat has that answer for good, whatever happens to the table."""
    here, there = replicas
    ada, request_id = player_token("ada"), new_id()
    first = await quick(here, ada)
    again = await quick(there, ada, request_id=request_id)
    assert (again.table, again.seat) == (first.table, first.seat)
    await quick(here, player_name="Bo")
    await create(here, seed=None)
    for at in replicas:
        assert await quick(at, ada, request_id=request_id) == again
    leaving = pb.LeaveTableRequest(table_id=first.table.id, request_id=new_id())
    await here.tables.LeaveTable(leaving, metadata=bearing(first.token), timeout=PATIENCE)
    assert await quick(there, ada, request_id=request_id) == again
    refusal = await refused(quick(there, ada, request_id=request_id, seats=4))
    assert refusal.reason == "REQUEST_ID_REUSED"


async def test_seats_for_bots(replica: Replica) -> None:
    """A table is found by the bots that are wanted; their seats stay theirs, and the others are for players."""
    bots = table_pb2.TableOptions(bots=[table_pb2.BotSeat(seat=1, level="greedy"), {"seat": 3, "level": "greedy"}])  # type: ignore[list-item]
    plain = await quick(replica, seats=4)
    first = await quick(replica, seats=4, options=bots)
    second = await quick(replica, seats=4, options=bots, player_name="Bo")
    assert plain.table.id != first.table.id == second.table.id
    assert (first.seat, second.seat, second.table.state) == (0, 2, table_pb2.TABLE_STATE_WAITING)
    assert (await quick(replica, seats=4, options=bots)).table.id != first.table.id


async def test_removed_player_goes_elsewhere(replica: Replica) -> None:
    """A table from which a player was removed does not fit that player any more."""
    host_token, ada = player_token("host"), player_token("ada")
    table = await create(replica, seed=None, metadata=bearing(host_token))
    assert (await quick(replica, ada)).table.id == table.id
    request = pb.RemovePlayerRequest(table_id=table.id, seat=0, request_id=new_id())
    await replica.tables.RemovePlayer(request, metadata=bearing(host_token), timeout=PATIENCE)
    assert (await quick(replica, ada)).table.id != table.id
    assert (await quick(replica, player_token("bo"))).table.id != table.id, "there is a fuller one"


async def test_choices_are_no_tables(replica: Replica) -> None:
    """What is stored of the choice of a table is neither listed, found nor counted, and expires."""
    await quick(replica)
    stored = await replica.store.list_tables(QUICK_JOIN_STATUS, 10, None)
    assert len(stored) == 1
    assert (await refused(get(replica, stored[0].table_id))).reason == "TABLE_UNKNOWN"
    assert (await refused(join_raw(replica, stored[0].table_id))).reason == "TABLE_UNKNOWN"
    watching = await refused(watch(replica, stored[0].table_id).expect("state"))
    assert watching.reason == "TABLE_UNKNOWN"
    assert len(await taken(replica)) == 1
    assert len(await replica.store.list_tables(None, 10, None)) == 2
    page = await replica.tables.ListTables(pb.ListTablesRequest(page_size=1), timeout=PATIENCE)
    last = await replica.tables.ListTables(
        pb.ListTablesRequest(page_size=1, page_token=page.next_page_token), timeout=PATIENCE
    )
    assert len(page.tables) + (len(last.tables) if page.next_page_token else 0) == 1
    assert [await replica.store.count(state.status) for state in TableState] == [1, 0, 0]
    assert replica.metrics.registry.get_sample_value("buraco_tables_created_total", {"rule_set": RULE_SET}) == 1
    assert await replica.store.expire(9e10, 10) == 2


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"seats": 3}, ["seats"]),
        ({"player_name": ""}, ["player_name"]),
        ({"entropy": b"x" * 65}, ["entropy"]),
        ({"request_id": "x"}, ["request_id"]),
        ({"stake": 10**12 + 1, "target_score": 10**7}, ["target_score", "stake"]),
        ({"options": table_pb2.TableOptions(access=table_pb2.TABLE_ACCESS_INVITATION)}, ["options.access"]),
    ],
)
async def test_bad_requests(replica: Replica, fields: dict[str, Any], names: list[str]) -> None:
    """What cannot be asked for is refused, and nothing is stored."""
    assert_invalid(await refused(quick(replica, **fields)), *names)
    assert await replica.store.list_tables(None, 10, None) == []


async def test_keys_and_players(tmp_path: Path, keys_file: Path) -> None:
    """With API keys a QuickJoin needs one, or a player token where players may open tables, within their bound."""
    keys = (ApiKey.of("lobby", b"a secret of sixteen bytes or more"),)
    async with serving(tmp_path / "t.db", api_keys=keys, player_tables=1, player_keys_file=keys_file) as replica:
        assert (await refused(quick(replica))).reason == "API_KEY_MISSING"
        ada = player_token("ada")
        await quick(replica, ada)
        with unchanged(replica):
            refusal = await refused(quick(replica, ada, stake=5))
        assert (refusal.reason, refusal.metadata["limit"]) == ("LIMIT_REACHED", "player_tables")
