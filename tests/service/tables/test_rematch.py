"""The rematch: one new table for all who played the match."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from buraco.v1 import table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import MatchResult
from buraco_service.stores.base import StoreUnavailable
from buraco_service.tables.rematch import rematch_of
from buraco_service.tables.state import (
    MatchEnd,
    Offer,
    OfferKind,
    Seat,
    SeatTiming,
    Stakes,
    TableOptions,
    TableState,
    TableValue,
    Timing,
)
from tests.service.endings import abort, rematch, rematch_raw, resign
from tests.service.refusals import assert_invalid, refused
from tests.service.scripts import dealt, plain_turns, short_rules, submitted
from tests.service.table_server import (
    SEED,
    Player,
    Replica,
    create,
    get,
    join,
    join_raw,
    new_id,
    records,
    serving,
    sign_in,
    start,
    unchanged,
)

SHORT = short_rules(2)


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


@pytest.fixture(params=["sqlite_url", "redis_url", "redis_cluster_url", "postgres_url"])
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two servers, each with connections of its own to the same store."""
    url: str = request.getfixturevalue(request.param)
    async with serving(url) as one, serving(url) as other:
        yield one, other


@pytest.mark.parametrize("seats", [2, 4])
async def test_same_seats_at_a_new_table(replica: Replica, seats: int) -> None:
    """After a match all take their seats at one new table, with what was chosen for the first, and play on."""
    house = short_rules(seats)
    rules = rule_set_to_pb(house)
    players = await start(replica, rule_set=rules, seats=seats, target_score=0, stake=6)
    await submitted(players, plain_turns(dealt(house, seats), seats))
    former = await get(replica, players[0].table_id)
    assert former.state == table_pb2.TABLE_STATE_FINISHED
    assert (await refused(get(replica, former.rematch_table_id))).reason == "TABLE_UNKNOWN"

    first = await rematch(players[-1])
    opened = await get(replica, first.table_id)
    assert opened.id == former.rematch_table_id != former.id
    assert opened.state == table_pb2.TABLE_STATE_WAITING
    assert [seat.player_name for seat in opened.seats[:-1]] == [""] * (seats - 1)
    assert opened.seats[-1] == former.seats[-1]
    again = [await rematch(player) for player in players[:-1]] + [first]
    table = await get(replica, first.table_id)
    assert {player.table_id for player in again} == {table.id}
    assert [player.seat for player in again] == list(range(seats))
    assert table.state == table_pb2.TABLE_STATE_PLAYING
    assert table.seats == former.seats
    assert (table.rule_set, table.target_score, table.stake) == (former.rule_set, 0, 6)
    assert not table.seeded_by_creator
    assert table.match.starter == (former.match.starter + 1) % seats
    assert await get(replica, former.id) == former

    deal = (await replica.table(table.id)).deal
    assert deal is not None
    assert deal.seat_to_move == table.match.starter
    assert table.commitment != former.commitment
    await submitted(again, plain_turns(deal, seats))
    (record,) = (await records(replica, table.id)).deals
    assert record.match.starter == table.match.starter
    assert (await get(replica, table.id)).rematch_table_id not in (former.id, table.id)


async def test_entropy(replica: Replica) -> None:
    """What the players add when they ask for the rematch is mixed into its shuffles."""
    players = await start(replica)
    await resign(players[0])
    again = [await rematch(player, entropy=b"%d" % player.seat) for player in players]
    await resign(again[0])
    cut_off = (await records(replica, again[0].table_id)).cut_off
    assert list(cut_off.entropies) == [b"0", b"1"]


async def test_all_at_once(replicas: tuple[Replica, Replica]) -> None:
    """Players who ask at once, at two replicas, come to one table, and its match starts."""
    for _ in range(3):
        players = await start(replicas[0], seats=4)
        await abort(players[0])
        spread = [player.at(replicas[seat % 2]) for seat, player in enumerate(players)]
        again = await asyncio.gather(*map(rematch, spread))
        (table_id,) = {player.table_id for player in again}
        assert [player.seat for player in again] == [0, 1, 2, 3]
        former = await get(replicas[0], players[0].table_id)
        for replica in replicas:
            table = await get(replica, table_id)
            assert table.state == table_pb2.TABLE_STATE_PLAYING
            assert table.match.starter == (former.match.starter + 1) % 4
        for player in again:
            assert len((await player.view()).hand) == 11


async def test_repeat(replica: Replica) -> None:
    """A repeat gets the first answer, another request of the same player a fresh token of the seat, at any time."""
    players = await start(replica)
    await resign(players[0])
    request_id = new_id()
    first = await rematch_raw(players[0], request_id=request_id)
    with unchanged(replica):
        assert await rematch_raw(players[0], request_id=request_id) == first
        second = await rematch_raw(players[0])
        assert (second.seat, second.table) == (first.seat, first.table)
        for other in (
            rematch_raw(players[1], request_id=request_id),
            rematch_raw(players[0], request_id=request_id, entropy=b"x"),
        ):
            assert (await refused(other)).short == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
    await rematch(players[1])
    with unchanged(replica):
        third = await rematch_raw(players[0])
        assert third.table.state == table_pb2.TABLE_STATE_PLAYING
        assert (await rematch_raw(players[0], request_id=request_id)) == first
        for answer in (first, second, third):
            assert len((await Player(replica, first.table.id, 0, answer.token).view()).hand) == 11


async def test_two_devices_of_one_player(replicas: tuple[Replica, Replica]) -> None:
    """A player who asks twice at once has one seat, and both tokens are good."""
    players = await start(replicas[0])
    await resign(players[0])
    ones = await asyncio.gather(*[rematch(players[0].at(replica)) for replica in (*replicas, *replicas)])
    table = await get(replicas[0], ones[0].table_id)
    assert [bool(seat.player_name) for seat in table.seats] == [True, False]
    await rematch(players[1])
    for one in ones:
        assert len((await one.view()).hand) == 11


async def test_seats_of_others_are_free(replica: Replica) -> None:
    """Who does not come has no claim: a stranger may take the seat, whose former player is then refused."""
    players = await start(replica)
    await resign(players[1])
    one = await rematch(players[1])
    stranger = await join(replica, one.table_id, player_name="Zoe")
    assert stranger.seat == 0
    with unchanged(replica):
        assert (await refused(rematch(players[0]))).short == ("FAILED_PRECONDITION", "TABLE_FULL")
    await one.leave()
    with unchanged(replica):
        refusal = await refused(rematch(players[0]))
        assert refusal.short == ("FAILED_PRECONDITION", "SEAT_TAKEN")
        assert refusal.metadata == {"seat": "0"}
    back = await rematch(players[1])
    assert len((await back.view()).hand) == 11


async def test_refused(replica: Replica) -> None:
    """No rematch while the match runs or has not begun, for strangers, or with bad input."""
    table = await create(replica)
    waiting = await join(replica, table.id)
    playing = (await start(replica))[0]
    finished = await start(replica)
    await resign(finished[0])
    stranger = playing._replace(table_id=finished[0].table_id)
    with unchanged(replica):
        for player in (waiting, playing):
            assert (await refused(rematch(player))).short == ("FAILED_PRECONDITION", "TABLE_NOT_FINISHED")
        assert (await refused(rematch(stranger))).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
        assert (await refused(rematch(playing, table_id="0" * 32))).short == ("NOT_FOUND", "TABLE_UNKNOWN")
        bad = {"table_id": "x", "request_id": "y", "entropy": bytes(65)}
        assert_invalid(await refused(rematch(finished[0], **bad)), "entropy", "request_id", "table_id")
        request = pb.RematchRequest(table_id=finished[0].table_id, request_id=new_id())
        assert (await refused(replica.tables.Rematch(request))).short == ("UNAUTHENTICATED", "TOKEN_MISSING")


async def test_former_player_of_a_seat_has_no_rematch(replica: Replica) -> None:
    """The seat at the rematch is for whoever held it at the end."""
    players = await start(replica)
    await players[0].leave()
    substitute = await join(replica, players[0].table_id, player_name="Sub")
    await resign(players[1])
    assert (await refused(rematch(players[0]))).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
    again = await rematch_raw(substitute)
    assert again.table.seats[0].player_name == "Sub"


async def test_players_of_player_tokens(replica: Replica) -> None:
    """The seat at the rematch is the same player's, who may come by JoinTable, too, and then has that seat alone."""
    guest = await sign_in(replica)
    table = await create(replica)
    joined = await join_raw(replica, table.id, guest.player_token)
    one, two = Player(replica, table.id, joined.seat, joined.token), await join(replica, table.id)
    await resign(one)
    again = await rematch_raw(one)
    assert again.table.seats[0].player_id == guest.player_id
    with unchanged(replica):
        back = await join_raw(replica, again.table.id, guest.player_token)
        assert (back.seat, back.table) == (0, again.table)

    await rematch(two)
    next_one = Player(replica, again.table.id, 0, again.token)
    next_two = await rematch(two)
    await resign(next_two)
    third = (await rematch_raw(next_two)).table
    joined = await join_raw(replica, third.id, guest.player_token)
    with unchanged(replica):
        answer = await rematch_raw(next_one)
        assert (answer.seat, answer.table) == (0, joined.table)
        assert len((await Player(replica, third.id, 0, answer.token).view()).hand) == 11


async def test_player_who_took_another_seat(replica: Replica) -> None:
    """A player who has another seat of the new table does not get a second one."""
    guest = await sign_in(replica)
    table = await create(replica, seats=4)
    joined = await join_raw(replica, table.id, guest.player_token)
    one, others = Player(replica, table.id, 0, joined.token), [await join(replica, table.id) for _ in range(3)]
    await abort(one)
    rematch_id = (await rematch(others[0])).table_id
    await join_raw(replica, rematch_id, guest.player_token, seat=2)
    with unchanged(replica):
        refusal = await refused(rematch(one))
        assert refusal.short == ("FAILED_PRECONDITION", "ALREADY_SEATED")
        assert refusal.metadata == {"seat": "2"}


async def test_store_that_fails_in_between(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the store fails once the table is there, a repeat of the request takes the seat at that table."""
    players = await start(replica)
    await resign(players[0])
    request_id = new_id()
    with monkeypatch.context() as broken:

        async def fail(commit: object) -> int:
            raise StoreUnavailable("no disk")

        broken.setattr(type(replica.store), "commit", lambda self, commit: fail(commit))
        assert (await refused(rematch(players[0], request_id=request_id))).short == ("UNAVAILABLE", "STORE_UNAVAILABLE")
    table_id = (await get(replica, players[0].table_id)).rematch_table_id
    assert (await get(replica, table_id)).revision == 1
    again = await rematch_raw(players[0], request_id=request_id)
    assert (again.table.id, again.table.revision) == (table_id, 2)


def test_what_a_rematch_keeps() -> None:
    """Every field of a table is either kept, because its creator chose it, or begins anew."""
    deal = dealt(target=500)
    former = TableValue(
        id="a" * 32,
        rules=deal.rules,
        seats=(Seat("Ada", "one", 1.0, b"x"), Seat("Bo", "two", 2.0, b"y")),
        target_score=500,
        stake=3,
        created_at=1.0,
        updated_at=2.0,
        master_seed=SEED,
        seeded_by_creator=True,
        state=TableState.FINISHED,
        deal=deal,
        result=MatchResult(1, (5, 6)),
        deal_revision=4,
        reversals=5,
        revision=9,
        request_ids_bound_since=7,
        first_starter=deal.match.starter,
        options=TableOptions(turn_time=30.0),
        timing=Timing(1.0, (SeatTiming(2.0), SeatTiming(3.0))),
        offers=(Offer(1, OfferKind.DRAW),),
        how=MatchEnd.RESIGNED,
        stakes=Stakes(3600, settled=True),
        invitation_code="ABCDEFGHJKLMNPQR",
        creator="player:ada",
        removed_player_ids=("cy",),
    )
    unset = [name for name, default in TableValue._field_defaults.items() if getattr(former, name) == default]
    assert not unset, "or what becomes of it is not looked at"
    again = rematch_of(former, "b" * 32, 10.0, Stakes(60))
    kept = {"rules", "target_score", "stake", "options", "invitation_code", "creator"}
    assert {name for name in TableValue._fields if getattr(again, name) == getattr(former, name)} == kept
    assert again.seats == (Seat(), Seat())
    assert again.first_starter == 1 - deal.match.starter
    plain = TableValue(
        "b" * 32, deal.rules, again.seats, 500, 3, 10.0, 10.0, again.master_seed, seeded_by_creator=False
    )
    plain = plain._replace(request_ids_bound_since=1, options=former.options, first_starter=again.first_starter)
    plain = plain._replace(invitation_code=former.invitation_code, creator=former.creator)
    assert again == plain._replace(stakes=Stakes(60))
