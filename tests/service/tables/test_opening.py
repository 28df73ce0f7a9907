"""Who may take a seat, who may take it away, and which tables a list shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from buraco.v1 import table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_service.access.api_keys import ApiKey
from buraco_service.configuration.loading import load
from buraco_service.tables import finding
from buraco_service.tables.invitations import make_code, normalise_code
from tests.service import host
from tests.service.announcing import Announcing
from tests.service.host import key_set, player_token
from tests.service.refusals import assert_invalid, refused
from tests.service.table_server import (
    PATIENCE,
    RULE_SET,
    Metadata,
    Replica,
    bearing,
    contents,
    get,
    join_raw,
    new_id,
    serving,
    start,
    unchanged,
    watch,
)

INVITATION = table_pb2.TableOptions(access=table_pb2.TABLE_ACCESS_INVITATION)
KEYS = (ApiKey.of("lobby", b"a secret of sixteen bytes or more"), ApiKey.of("bots", b"another secret of that kind"))
LOBBY: Metadata = (("x-api-key", "a secret of sixteen bytes or more"),)
BOTS: Metadata = (("x-api-key", "another secret of that kind"),)
NOT_INVITED = ("PERMISSION_DENIED", "NOT_INVITED")


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


@pytest.fixture(params=["sqlite_url", "redis_url", "redis_cluster_url", "postgres_url"])
async def replicas(request: pytest.FixtureRequest, keys_file: Path) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two servers, each with connections of its own to the same store, of each kind."""
    url: str = request.getfixturevalue(request.param)
    async with serving(url, player_keys_file=keys_file) as one, serving(url, player_keys_file=keys_file) as other:
        yield one, other


async def create_raw(replica: Replica, metadata: Metadata = (), **fields: Any) -> pb.CreateTableResponse:
    """CreateTable, with its whole answer."""
    plain: dict[str, Any] = {"rule_set_id": RULE_SET, "seats": 2, "request_id": new_id()}
    return await replica.tables.CreateTable(
        pb.CreateTableRequest(**plain | fields), metadata=metadata, timeout=PATIENCE
    )


async def remove(
    replica: Replica, table_id: str, seat: int, metadata: Metadata, request_id: str | None = None
) -> table_pb2.Table:
    """RemovePlayer."""
    request = pb.RemovePlayerRequest(table_id=table_id, seat=seat, request_id=request_id or new_id())
    return (await replica.tables.RemovePlayer(request, metadata=metadata, timeout=PATIENCE)).table


async def listed(replica: Replica, metadata: Metadata = (), **fields: Any) -> set[str]:
    """The ids of all tables that ListTables shows, page by page."""
    found: list[str] = []
    request = pb.ListTablesRequest(**fields)
    while True:
        page = await replica.tables.ListTables(request, metadata=metadata, timeout=PATIENCE)
        found += [table.id for table in page.tables]
        if not page.next_page_token:
            assert len(found) == len(set(found))
            assert found == sorted(found)
            return set(found)
        request.page_token = page.next_page_token


def test_codes_are_long_and_random() -> None:
    """A code has 16 characters of 32 that look different, and is read in either case, with hyphens and blanks."""
    codes = {make_code() for _ in range(500)}
    assert len(codes) == 500
    letters = set("".join(codes))
    assert len(letters) == 32
    assert not letters & set("01OI")
    for code in codes:
        assert len(code) == 16
        assert normalise_code(f" {code[:4].lower()}-{code[4:8]} {code[8:]}\t") == code


async def test_invitation(replicas: tuple[Replica, Replica]) -> None:
    """Who has the code may join at any replica, nobody else; who has a seat comes back without it."""
    here, there = replicas
    created = await create_raw(here, options=INVITATION)
    code, table_id = created.invitation_code, created.table.id
    assert created.table.options.access == table_pb2.TABLE_ACCESS_INVITATION
    missing = await refused(join_raw(there, table_id))
    assert missing.short == ("PERMISSION_DENIED", "INVITATION_REQUIRED")
    for wrong in (code[:-1], code[::-1] + "2", "é" * 16, "x" * 64):
        refusal = await refused(join_raw(there, table_id, invitation_code=wrong))
        assert refusal.short == ("PERMISSION_DENIED", "INVITATION_WRONG")
        assert wrong not in refusal.message
    assert_invalid(await refused(join_raw(there, table_id, invitation_code="x" * 65)), "invitation_code")
    typed = f"{code[:8]}-{code[8:]}".lower()
    ada, request_id = player_token("ada"), new_id()
    first = await join_raw(there, table_id, ada, invitation_code=typed, request_id=request_id)
    assert await join_raw(here, table_id, ada, invitation_code=code, request_id=request_id) == first
    reused = await refused(join_raw(here, table_id, ada, invitation_code="x", request_id=request_id))
    assert reused.reason == "REQUEST_ID_REUSED"
    assert (await join_raw(here, table_id, ada)).seat == first.seat
    assert (await join_raw(here, table_id, invitation_code=code)).seat == 1


async def test_code_is_shown_to_the_creator_alone(replica: Replica, log_stream: Announcing) -> None:
    """The answer to the creator has the code, also when repeated; tables, lists, streams, errors and logs do not."""
    request_id = new_id()
    created = await create_raw(replica, options=INVITATION, request_id=request_id)
    code = created.invitation_code
    assert await create_raw(replica, options=INVITATION, request_id=request_id) == created
    other = await refused(create_raw(replica, bearing(player_token()), options=INVITATION, request_id=request_id))
    assert other.reason == "REQUEST_ID_REUSED"
    await join_raw(replica, created.table.id, invitation_code=code)
    shown: list[Any] = [created.table, await get(replica, created.table.id), other]
    shown.append(await replica.tables.ListTables(pb.ListTablesRequest(), timeout=PATIENCE))
    shown.append(await watch(replica, created.table.id).expect("state"))
    shown.append(await refused(join_raw(replica, created.table.id, invitation_code=code + "2")))
    for message in shown:
        assert code not in str(message)
    assert code not in log_stream.getvalue()
    assert not (await create_raw(replica)).invitation_code


async def test_named_players(replica: Replica) -> None:
    """A table for players whom the creator named refuses all others, and those without a player token."""
    options = table_pb2.TableOptions(access=table_pb2.TABLE_ACCESS_PLAYERS, player_ids=["ada", "bo", "ada"])
    table = (await create_raw(replica, options=options)).table
    assert list(table.options.player_ids) == ["ada", "bo"]
    for token in (None, player_token("cy")):
        assert (await refused(join_raw(replica, table.id, token))).short == NOT_INVITED
    assert [(await join_raw(replica, table.id, player_token(name))).seat for name in ("bo", "ada")] == [0, 1]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"access": 9}, "options.access"),
        ({"player_ids": ["ada"]}, "options.player_ids"),
        ({"access": 2, "player_ids": ["ada"]}, "options.player_ids"),
        ({"access": 3}, "options.player_ids"),
        ({"access": 3, "player_ids": [str(number) for number in range(65)]}, "options.player_ids"),
        ({"access": 3, "player_ids": ["ada", "b o"]}, "options.player_ids[1]"),
        ({"access": 3, "player_ids": ["x" * 129]}, "options.player_ids[0]"),
    ],
)
async def test_bad_options(replica: Replica, options: dict[str, Any], field: str) -> None:
    """What cannot be chosen is refused, and no table is created."""
    assert_invalid(await refused(create_raw(replica, options=table_pb2.TableOptions(**options))), field)
    assert not any(contents(replica).values())


async def test_plain_tables_are_stored_as_before(replica: Replica) -> None:
    """A table for everybody that nobody in particular created has none of the new fields in the store."""
    table = (await create_raw(replica)).table
    stored = table_pb2.StoredTable.FromString((await replica.store.load(table.id)).state)
    assert not stored.HasField("options")
    assert (stored.invitation_code, stored.creator, list(stored.removed_player_ids)) == ("", "", [])


async def test_creator_removes_a_player(replicas: tuple[Replica, Replica]) -> None:
    """The creator frees a seat: its token is void, its player cannot come back, and a repeat changes nothing."""
    here, there = replicas
    ada, bo = player_token("ada"), player_token("bo")
    table = (await create_raw(here, bearing(ada))).table
    assert table.creator_player_id == "ada"
    held = await join_raw(here, table.id, bo)
    watching = watch(there, table.id)
    await watching.expect("state")
    for metadata in ((), bearing(bo), bearing(held.token)):
        assert (await refused(remove(there, table.id, 0, metadata))).short == ("PERMISSION_DENIED", "NOT_CREATOR")
    request_id = new_id()
    after = await remove(there, table.id, 0, bearing(ada), request_id)
    assert after.seats[0] == table_pb2.TableSeat(seat=0)
    (event,) = (await watching.expect("events")).events
    assert (event.seat_changed.seat, event.seat_changed.player_name, event.seat_changed.removed) == (0, "", True)
    watching.cancel()
    assert await remove(here, table.id, 0, bearing(ada), request_id) == after
    leaving = pb.LeaveTableRequest(table_id=table.id, request_id=new_id())
    gone = await refused(here.tables.LeaveTable(leaving, metadata=bearing(held.token), timeout=PATIENCE))
    assert gone.reason == "SEAT_NOT_YOURS"
    assert (await refused(join_raw(there, table.id, bo))).short == NOT_INVITED
    assert (await join_raw(there, table.id)).seat == 0


async def test_removals_that_are_refused(replica: Replica) -> None:
    """Free seats, seats that are not there and matches that have begun are refused, and nothing changes."""
    ada = bearing(player_token("ada"))
    table = (await create_raw(replica, ada)).table
    with unchanged(replica):
        assert (await refused(remove(replica, table.id, 0, ada))).short == ("FAILED_PRECONDITION", "SEAT_FREE")
        assert_invalid(await refused(remove(replica, table.id, 2, ada)), "seat")
    for _ in range(2):
        await join_raw(replica, table.id)
    with unchanged(replica):
        assert (await refused(remove(replica, table.id, 0, ada))).short == ("FAILED_PRECONDITION", "TABLE_NOT_WAITING")
    nobodys = (await create_raw(replica)).table
    await join_raw(replica, nobodys.id)
    for metadata in ((), ada):
        assert (await refused(remove(replica, nobodys.id, 0, metadata))).reason == "NOT_CREATOR"


async def test_creator_who_removes_itself_comes_back(replica: Replica) -> None:
    """The creator is not shut out by freeing its own seat."""
    ada = player_token("ada")
    table = (await create_raw(replica, bearing(ada))).table
    await join_raw(replica, table.id, ada)
    await remove(replica, table.id, 0, bearing(ada))
    assert (await join_raw(replica, table.id, ada)).seat == 0


async def test_key_as_creator(tmp_path: Path, keys_file: Path) -> None:
    """A program removes players of the tables that its key created, and of no others."""
    async with serving(tmp_path / "t.db", api_keys=KEYS, player_keys_file=keys_file) as replica:
        table = (await create_raw(replica, LOBBY)).table
        assert not table.creator_player_id
        await join_raw(replica, table.id)
        for metadata in ((), BOTS, bearing(player_token("lobby"))):
            assert (await refused(remove(replica, table.id, 0, metadata))).reason == "NOT_CREATOR"
        assert not (await remove(replica, table.id, 0, LOBBY)).seats[0].player_name


async def test_players_open_tables_without_a_key(tmp_path: Path, keys_file: Path) -> None:
    """Where players may, a player token stands in place of an API key, for so many tables that wait."""
    ada, bo = bearing(player_token("ada")), bearing(player_token("bo"))
    settings: dict[str, Any] = {"api_keys": KEYS, "player_keys_file": keys_file}
    async with serving(tmp_path / "t.db", player_tables=2, **settings) as replica:
        first, _ = [(await create_raw(replica, ada)).table for _ in range(2)]
        full = await refused(create_raw(replica, ada))
        assert full.short == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
        assert (full.metadata["limit"], full.metadata["maximum"]) == ("player_tables", "2")
        await create_raw(replica, bo)
        await create_raw(replica, (*LOBBY, *ada))
        for _ in range(2):
            await join_raw(replica, first.id)
        await create_raw(replica, ada)
        seat_token = (await join_raw(replica, (await create_raw(replica, LOBBY)).table.id)).token
        for metadata in ((), bearing(seat_token)):
            assert (await refused(create_raw(replica, metadata))).reason == "API_KEY_MISSING"
        assert (await refused(create_raw(replica, bearing("x.y.z")))).reason == "PLAYER_TOKEN_INVALID"
    async with serving(tmp_path / "t.db", player_tables=0, **settings) as replica:
        assert (await refused(create_raw(replica, ada))).reason == "API_KEY_MISSING"


def test_players_tables_by_mode() -> None:
    """Players may open 20 tables in development mode, and none in production mode unless that is set."""
    production = {"BURACO_MODE": "production", "BURACO_SIGNING_KEYS": "a:" + "x" * 64, "BURACO_TLS": "off"}
    assert load({}, {}).player_tables == 20
    assert load(production, {}).player_tables == 0
    assert load(production | {"BURACO_PLAYER_TABLES": "3"}, {}).player_tables == 3


async def test_filters(replicas: tuple[Replica, Replica]) -> None:
    """Every filter shows the tables that it holds of, and together they hold together."""
    here, there = replicas
    plain = (await create_raw(here)).table.id
    staked = (await create_raw(here, stake=50)).table.id
    other = (await create_raw(here, rule_set_id="open", seats=4)).table.id
    invited = (await create_raw(here, options=INVITATION, stake=7)).table.id
    (ada, _) = await start(here)
    await join_raw(here, staked, player_token("ada"))
    everything = {plain, staked, other, invited, ada.table_id}
    assert await listed(there) == await listed(there, page_size=1) == everything
    assert await listed(there, rule_set_id="open") == {other}
    assert await listed(there, rule_set_id="no-such-rules") == set()
    assert await listed(there, free_seats=1) == everything - {ada.table_id}
    assert await listed(there, free_seats=2) == {plain, other, invited}
    assert await listed(there, free_seats=4) == {other}
    assert await listed(there, access=table_pb2.TABLE_ACCESS_INVITATION) == {invited}
    assert await listed(there, access=table_pb2.TABLE_ACCESS_PUBLIC) == everything - {invited}
    assert await listed(there, min_stake=7) == {staked, invited}
    assert await listed(there, max_stake=7) == everything - {staked}
    assert await listed(there, max_stake=0, page_size=1) == {plain, other, ada.table_id}
    assert await listed(there, min_stake=7, max_stake=7, free_seats=2) == {invited}
    mine = bearing(player_token("ada"))
    assert await listed(there, mine, mine=True) == {staked}
    assert await listed(there, mine, mine=True, max_stake=7) == set()
    assert await listed(there, state=table_pb2.TABLE_STATE_PLAYING, max_stake=7) == {ada.table_id}


async def test_updated_after(replicas: tuple[Replica, Replica]) -> None:
    """What changed after a time is listed, to the microsecond, and what changed at it or before is not."""
    here, there = replicas
    tables = [(await create_raw(here)).table for _ in range(3)]
    for table in tables:
        later = {one.id for one in tables if one.updated_at.ToNanoseconds() > table.updated_at.ToNanoseconds()}
        assert await listed(there, updated_after=table.updated_at) == later
    newest = max(tables, key=lambda table: table.updated_at.ToNanoseconds()).updated_at
    joined = await join_raw(here, tables[0].id)
    assert await listed(there, updated_after=newest) == {joined.table.id}
    assert await listed(there, updated_after=Timestamp()) == {table.id for table in tables}


async def test_a_page_reads_so_many_tables(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filtered page stops after its share of tables and has a token to go on with, perhaps without a table."""
    monkeypatch.setattr(finding, "READ_AT_ONCE", 2)
    ids = sorted([(await create_raw(replica)).table.id for _ in range(9)])
    request = pb.ListTablesRequest(min_stake=1)
    page = await replica.tables.ListTables(request, timeout=PATIENCE)
    assert (len(page.tables), page.next_page_token) == (0, ids[3])
    assert await listed(replica, min_stake=1) == set()
    assert await listed(replica, max_stake=0) == set(ids)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"rule_set_id": "x" * 65}, "rule_set_id"),
        ({"free_seats": 5}, "free_seats"),
        ({"access": 9}, "access"),
        ({"min_stake": 10**12 + 1}, "min_stake"),
        ({"max_stake": 10**12 + 1}, "max_stake"),
        ({"min_stake": 2, "max_stake": 1}, "max_stake"),
        ({"updated_after": Timestamp(seconds=-1)}, "updated_after"),
        ({"updated_after": Timestamp(nanos=10**9)}, "updated_after"),
        ({"updated_after": Timestamp(seconds=253_402_300_800)}, "updated_after"),
    ],
)
async def test_bad_filters(replica: Replica, fields: dict[str, Any], field: str) -> None:
    """A filter that cannot be is refused."""
    assert_invalid(await refused(listed(replica, **fields)), field)


async def test_removed_at_the_same_time(replica: Replica) -> None:
    """Of a removal and a join at once, each is decided on what the other left."""
    ada = bearing(player_token("ada"))
    for _ in range(5):
        table = (await create_raw(replica, ada)).table
        await join_raw(replica, table.id)
        results = await asyncio.gather(
            remove(replica, table.id, 0, ada), join_raw(replica, table.id), return_exceptions=True
        )
        seats = (await get(replica, table.id)).seats
        taken = [bool(seat.player_name) for seat in seats]
        # Removed first, or joined first and the match began.
        assert taken in ([True, False], [True, True])
        assert isinstance(results[0], Exception) is (taken == [True, True])
