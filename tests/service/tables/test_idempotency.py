from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from buraco.v1 import table_service_pb2 as pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import DrawStock, Move, TakePile
from buraco_service.access.api_keys import ApiKey
from buraco_service.access.seat_tokens import SeatClaims, SeatTokens
from buraco_service.errors import ApiError
from buraco_service.observing.metrics import Metrics
from buraco_service.stores.base import KEPT_ANSWERS, PRUNE_STEP
from buraco_service.stores.urls import open_store
from buraco_service.tables.tables import Tables
from tests.service.refusals import gathered, refused
from tests.service.scripts import CLASSIC, dealt, plain_turn, short_rules, steps_to, submitted, turns
from tests.service.table_server import (
    KEY,
    RULE_SET,
    SEED,
    Player,
    Replica,
    create,
    get,
    join,
    join_raw,
    new_id,
    serving,
    start,
    unchanged,
)

REUSED = ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
Call = Callable[[Replica, str], Awaitable[Any]]


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


async def _creating(replica: Replica) -> Call:
    async def call(at: Replica, request_id: str) -> Any:
        request = pb.CreateTableRequest(rule_set_id=RULE_SET, seats=2, seed=SEED, request_id=request_id)
        return await at.tables.CreateTable(request)

    return call


async def _joining(replica: Replica) -> Call:
    table = await create(replica)
    return lambda at, request_id: join_raw(at, table.id, request_id=request_id)


async def _leaving(replica: Replica) -> Call:
    players = await start(replica)
    return lambda at, request_id: players[0].at(at).leave(request_id)


async def _submitting(replica: Replica) -> Call:
    players = await start(replica)
    turn = plain_turn(dealt())
    return lambda at, request_id: players[turn.seat].at(at).submit(*turn.moves, request_id=request_id, revision=3)


async def _undoing(replica: Replica) -> Call:
    steps = steps_to(lambda deal: len(deal.turn.undo) == 1, dealt(), random.Random(3))
    players = await start(replica)
    await submitted(players, turns(steps))
    return lambda at, request_id: players[steps[-1].seat].at(at).undo(request_id=request_id)


CALLS = pytest.mark.parametrize("prepare", [_creating, _joining, _leaving, _submitting, _undoing])
Prepare = Callable[[Replica], Awaitable[Call]]


def _bytes(answer: Any) -> bytes:
    data: bytes = answer.SerializeToString(deterministic=True)
    return data


@CALLS
async def test_repeat(replica: Replica, prepare: Prepare) -> None:
    """A repeated call gets the first answer, byte for byte, and changes nothing, however the id is written."""
    call = await prepare(replica)
    request_id = new_id()
    first = await call(replica, request_id)
    with unchanged(replica):
        for form in (request_id, request_id.upper(), request_id.replace("-", "")):
            assert _bytes(await call(replica, form)) == _bytes(first)


@CALLS
async def test_repeat_at_another_replica(tmp_path: Path, prepare: Prepare) -> None:
    """A replica that never saw the request answers its repeat all the same, and so does one started later."""
    path = tmp_path / "tables.db"
    async with serving(path) as here, serving(path) as there:
        call = await prepare(here)
        request_id = new_id()
        first = _bytes(await call(here, request_id))
        with unchanged(here):
            assert _bytes(await call(there, request_id)) == first
    async with serving(path) as later:
        assert _bytes(await call(later, request_id)) == first


@CALLS
async def test_repeats_at_the_same_time(tmp_path: Path, prepare: Prepare) -> None:
    """Of many equal calls at once, at two replicas, one makes the change, and all get its answer."""
    path = tmp_path / "tables.db"
    async with serving(path) as here, serving(path) as there:
        call = await prepare(here)
        before = await _revisions(here)
        request_id = new_id()
        answers = await gathered(*[call(at, request_id) for at in (here, there) * 6])
        assert len({_bytes(answer) for answer in answers}) == 1
        assert await _revisions(here) == before + 1


async def _revisions(replica: Replica) -> int:
    """All changes of all tables."""
    return sum([stored.revision for stored in await replica.store.list_tables(None, 100, None)])


async def test_repeat_after_more_has_happened(replica: Replica) -> None:
    """The first answer stands, though the table has moved on and the moves would be illegal now."""
    players = await start(replica)
    turn = plain_turn(dealt())
    request_id = new_id()
    first = await players[turn.seat].submit(*turn.moves, request_id=request_id, revision=3)
    await players[1 - turn.seat].submit(DrawStock())
    with unchanged(replica):
        assert await players[turn.seat].submit(*turn.moves, request_id=request_id, revision=3) == first


async def test_refusals_are_not_remembered(replica: Replica) -> None:
    """A request that was refused may be sent again, and is decided anew."""
    players = await start(replica)
    turn = plain_turn(dealt())
    request_id = new_id()
    waiting = players[1 - turn.seat]
    assert (await refused(waiting.submit(DrawStock(), request_id=request_id))).reason == "NOT_YOUR_TURN"
    await players[turn.seat].submit(*turn.moves)
    assert (await waiting.submit(DrawStock(), request_id=request_id)).revision == 5


async def test_across_call_and_stream(replica: Replica) -> None:
    """A request made by a call is known on the stream, and the other way round."""
    players = await start(replica)
    draw, discard = plain_turn(dealt()).moves
    player = players[dealt().seat_to_move]
    request_id = new_id()
    await player.submit(draw, request_id=request_id)
    stream = await player.play()
    await stream.expect("state")
    with unchanged(replica):
        await stream.submit(draw, request_id=request_id)
        assert await stream.accepted(request_id) == pb.PlayAccepted(revision=4)
    request_id = await stream.submit(discard)
    accepted = await stream.accepted(request_id)
    with unchanged(replica):
        answer = await player.submit(discard, request_id=request_id)
    assert (answer.revision, list(answer.events)) == (5, list(accepted.events))


async def test_call_and_stream_at_the_same_time(replica: Replica) -> None:
    """The same request by call and by stream at once makes one change."""
    players = await start(replica)
    draw = DrawStock()
    player = players[dealt().seat_to_move]
    stream = await player.play()
    await stream.expect("state")
    request_id = new_id()

    async def send() -> None:
        for _ in range(4):
            await stream.submit(draw, request_id=request_id)

    calls = [player.submit(draw, request_id=request_id) for _ in range(4)]
    answers = await gathered(*calls, send())
    assert {answer.revision for answer in answers[:4]} == {4}
    sent = []
    missing = 4
    while missing:
        update = await stream.next()
        if update.kind == "answer":
            missing -= 1
            assert update.message.accepted.revision == 4
            sent += update.message.accepted.events
        else:
            assert update.kind == "events"
            sent += update.message.events
    assert len(sent) == 1, "the change is sent once"
    assert (await get(replica, player.table_id)).revision == 4


async def _assert_reused(call: Awaitable[Any]) -> None:
    assert (await refused(call)).short == REUSED


CREATE: dict[str, Any] = {"rule_set_id": RULE_SET, "seats": 2, "target_score": 100, "stake": 5, "seed": SEED}


@pytest.mark.parametrize(
    "change",
    [
        {"rule_set_id": "burraco"},
        {"rule_set_id": None, "rule_set": rule_set_to_pb(short_rules(6))},
        {"seats": 4},
        {"target_score": 0},
        {"target_score": None},
        {"stake": 0},
        {"seed": bytes(32)},
        {"seed": None},
    ],
    ids=str,
)
async def test_another_create(replica: Replica, change: dict[str, Any]) -> None:
    """A table is not another one because it has the id of its request."""
    request_id = new_id()
    first = await create(replica, request_id=request_id, **CREATE)
    with unchanged(replica):
        request = pb.CreateTableRequest(request_id=request_id, **CREATE | change)
        await _assert_reused(replica.tables.CreateTable(request))
        assert await create(replica, request_id=request_id, **CREATE) == first


async def test_same_create_in_other_words(replica: Replica) -> None:
    """A create says the same with a preset's rules as with its id, and with a default as without it."""
    request_id = new_id()
    asked: dict[str, Any] = {"rule_set_id": RULE_SET, "seats": 2, "request_id": request_id}
    first = await replica.tables.CreateTable(pb.CreateTableRequest(**asked))
    words: list[dict[str, Any]] = [
        {"rule_set_id": None, "rule_set": rule_set_to_pb(CLASSIC)},
        {"target_score": CLASSIC.usual_targets[0], "stake": 0},
        {"request_id": request_id.upper()},
    ]
    with unchanged(replica):
        for fields in words:
            assert await replica.tables.CreateTable(pb.CreateTableRequest(**asked | fields)) == first


@pytest.mark.parametrize("change", [{"seat": 0}, {"seat": None}, {"player_name": "Bo"}, {"entropy": b"mine"}], ids=str)
async def test_another_join(replica: Replica, change: dict[str, Any]) -> None:
    """Whoever comes with the id of another's join gets no seat, and above all not the other's token."""
    table = await create(replica)
    request: dict[str, Any] = {"request_id": new_id(), "seat": 1, "player_name": "Ada", "entropy": b""}
    first = await join_raw(replica, table.id, **request)
    with unchanged(replica):
        await _assert_reused(join_raw(replica, table.id, **request | change))
        assert await join_raw(replica, table.id, **request) == first


async def test_another_submit(replica: Replica) -> None:
    """Moves or a revision other than those of the id are refused, by call and on the stream, and the stream goes on."""
    players = await start(replica)
    draw, discard = plain_turn(dealt()).moves
    player = players[dealt().seat_to_move]
    request_id = new_id()
    first = await player.submit(draw, request_id=request_id, revision=3)
    stream = await player.play()
    await stream.expect("state")
    others: list[tuple[tuple[Move, ...], int | None]] = [
        ((discard,), 3),
        ((discard,), 4),
        ((discard,), None),
        ((draw, discard), 3),
        ((draw, draw), 3),
        ((TakePile(),), 3),
        ((draw,), 2),
        ((draw,), 4),
        ((draw,), None),
    ]
    with unchanged(replica):
        for moves, revision in others:
            await _assert_reused(player.submit(*moves, request_id=request_id, revision=revision))
            await stream.submit(*moves, request_id=request_id, revision=revision)
            error = await stream.denied(request_id)
            assert (error.code, error.reason) == (grpc.StatusCode.ALREADY_EXISTS.value[0], REUSED[1])
        await _assert_reused(player.undo(request_id=request_id))
        await stream.undo(request_id=request_id)
        assert (await stream.denied(request_id)).reason == REUSED[1]
        await stream.submit(draw, request_id=request_id, revision=3)
        assert (await stream.accepted(request_id)).revision == first.revision
    await stream.submit(discard)
    assert (await stream.expect("answer")).accepted.revision == 5


async def test_another_undo(replica: Replica) -> None:
    """An undo meant for another revision is another one, and moves are none."""
    steps = steps_to(lambda deal: len(deal.turn.undo) == 1, dealt(), random.Random(3))
    players = await start(replica)
    await submitted(players, turns(steps))
    player = players[steps[-1].seat]
    request_id = new_id()
    first = await player.undo(request_id=request_id)
    with unchanged(replica):
        await _assert_reused(player.undo(request_id=request_id, revision=first.revision - 1))
        await _assert_reused(player.submit(DrawStock(), request_id=request_id))
        assert await player.undo(request_id=request_id) == first


async def test_another_seat(replica: Replica) -> None:
    """A request id that another seat has used shows nothing of the other's answer."""
    players = await start(replica)
    turn = plain_turn(dealt())
    request_id = new_id()
    first = await players[turn.seat].submit(turn.moves[0], request_id=request_id)
    assert first.events[0].drew.card
    other = players[1 - turn.seat]
    with unchanged(replica):
        await _assert_reused(other.submit(turn.moves[0], request_id=request_id))
        await _assert_reused(other.leave(request_id))
        stream = await other.play()
        await stream.expect("state")
        await stream.submit(turn.moves[0], request_id=request_id)
        assert (await stream.denied(request_id)).reason == REUSED[1]


async def test_another_api_key(tmp_path: Path) -> None:
    """Creates and joins are their API key's, by its name: whoever comes with another one, or none, gets no answer."""
    secrets = [("one", "the first secret of one"), ("one", "the next secret of one"), ("two", "the secret of another")]
    keys = tuple([ApiKey.of(name, secret.encode()) for name, secret in secrets])
    one, renewed, two = [(("x-api-key", secret),) for _, secret in secrets]
    request_id = new_id()
    async with serving(tmp_path / "tables.db", api_keys=keys) as replica:
        table = await create(replica, request_id=request_id, metadata=one)
        assert await create(replica, request_id=request_id, metadata=renewed) == table
        joining = pb.JoinTableRequest(table_id=table.id, player_name="Ada", request_id=new_id())
        first = await replica.tables.JoinTable(joining, metadata=one)
        by_nobody = await join_raw(replica, table.id, request_id=(unkeyed := new_id()))
        with unchanged(replica):
            await _assert_reused(create(replica, request_id=request_id, metadata=two))
            for metadata in (two, ()):
                await _assert_reused(replica.tables.JoinTable(joining, metadata=metadata))
            assert await replica.tables.JoinTable(joining, metadata=renewed) == first
            joining.request_id = unkeyed
            await _assert_reused(replica.tables.JoinTable(joining, metadata=one))
            assert await join_raw(replica, table.id, request_id=unkeyed) == by_nobody


async def test_another_method(replica: Replica) -> None:
    """At one table an id is one request's, whatever the methods are, the table's create included."""
    steps = steps_to(lambda deal: len(deal.turn.undo) == 1, dealt(), random.Random(3))
    created, joined, played, undone, left = [new_id() for _ in range(5)]
    table = await create(replica, request_id=created)
    players = [await join(replica, table.id, request_id=joined), await join(replica, table.id, player_name="Bo")]
    player = players[steps[-1].seat]
    *before, last = turns(steps)
    await submitted(players, before)
    await player.submit(*last.moves, request_id=played)
    await player.undo(request_id=undone)
    calls: dict[str, Callable[[str], Awaitable[Any]]] = {
        joined: lambda request_id: join_raw(replica, table.id, request_id=request_id),
        played: lambda request_id: player.submit(*last.moves, request_id=request_id),
        undone: lambda request_id: player.undo(request_id=request_id),
        left: player.leave,
    }
    with unchanged(replica):
        for used in (created, joined, played, undone):
            for own, call in calls.items():
                if own != used:
                    await _assert_reused(call(used))
    await player.leave(left)
    with unchanged(replica):
        await _assert_reused(join_raw(replica, table.id, request_id=left))
    # Elsewhere they are as good as new.
    other = await create(replica, request_id=joined)
    assert other.id != table.id
    assert (await join_raw(replica, other.id, request_id=created)).table.revision == 2


async def test_another_request_after_a_refusal(replica: Replica) -> None:
    """The id of a request that was refused is free."""
    players = await start(replica)
    draw, discard = plain_turn(dealt()).moves
    player = players[dealt().seat_to_move]
    request_id = new_id()
    assert (await refused(player.submit(discard, request_id=request_id))).reason == "NOT_DRAWN"
    assert (await player.submit(draw, request_id=request_id)).revision == 4
    with unchanged(replica):
        await _assert_reused(player.submit(discard, request_id=request_id))


async def test_same_id_at_another_table(replica: Replica) -> None:
    """Answers are stored by table; a token of another table gets none of them."""
    here, there = await start(replica), await start(replica)
    seat = dealt().seat_to_move
    request_id = new_id()
    await here[seat].submit(DrawStock(), request_id=request_id)
    stranger = there[seat]._replace(table_id=here[0].table_id)
    with unchanged(replica):
        refusal = await refused(stranger.submit(DrawStock(), request_id=request_id))
        assert refusal.short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
        stream = await stranger.play()
        assert (await refused(stream.next())).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
    assert (await there[seat].submit(DrawStock(), request_id=request_id)).revision == 4


async def test_same_id_after_the_seat_changed_hands(replica: Replica) -> None:
    """Neither a player who left nor the substitute gets the answer to the other's request."""
    players = await start(replica)
    seat = dealt().seat_to_move
    first_id, second_id = new_id(), new_id()
    first = await players[seat].submit(DrawStock(), request_id=first_id)
    await players[seat].leave()
    substitute = await join(replica, players[0].table_id, player_name="Sub")
    discard = plain_turn(dealt()).moves[1]
    await _assert_reused(substitute.submit(DrawStock(), request_id=first_id))
    await substitute.submit(discard, request_id=second_id)
    with unchanged(replica):
        refusal = await refused(players[seat].submit(discard, request_id=second_id))
        assert refusal.short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
        # The own answer may be had again: it reveals nothing new.
        assert await players[seat].submit(DrawStock(), request_id=first_id) == first


async def test_leave_can_be_repeated(replica: Replica) -> None:
    """The token that a leave has voided still gets the answer to that leave, and to no other."""
    players = await start(replica)
    request_id = new_id()
    first = await players[0].leave(request_id)
    await join(replica, players[0].table_id)
    with unchanged(replica):
        assert await players[0].leave(request_id) == first
        assert (await refused(players[0].leave())).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")


async def test_join_can_be_repeated_after_the_start(replica: Replica) -> None:
    """Whoever lost the answer to a join gets seat and token again, though all seats are taken by then."""
    table = await create(replica)
    request_id = new_id()
    first = await join_raw(replica, table.id, request_id=request_id, seat=1)
    await join(replica, table.id)
    with unchanged(replica):
        again = await join_raw(replica, table.id, request_id=request_id, seat=1)
    assert again == first
    assert (await Player(replica, table.id, again.seat, again.token).look()).view.seat == 1


@pytest.mark.slow
async def test_how_long_requests_are_remembered(replica: Replica) -> None:
    """The requests of the newest 512 changes are stored with their answers, older ones soon no longer."""
    table = await create(replica)
    joins = []
    for _ in range((KEPT_ANSWERS + 2 * PRUNE_STEP) // 2):
        request_id = new_id()
        joined = await join_raw(replica, table.id, request_id=request_id)
        joins.append((request_id, joined))
        await Player(replica, table.id, joined.seat, joined.token).leave()
    newest = (await get(replica, table.id)).revision
    for request_id, joined in joins:
        if joined.table.revision > newest - KEPT_ANSWERS:
            with unchanged(replica):
                assert await join_raw(replica, table.id, request_id=request_id) == joined
    assert await join_raw(replica, table.id, request_id=joins[0][0]) != joins[0][1]


async def test_created_anew(sqlite_url: str) -> None:
    """A table that expired and was created anew by its request is what it is now, also where the old one was known.

    Neither replica takes the one for the other, although both have come to the same revision.
    """
    store = await open_store(sqlite_url)
    now = [time.time()]
    here, there = [
        Tables(store, SeatTokens((KEY,), 10_000), Metrics(), clock=lambda: now[0], table_ttl=60) for _ in range(2)
    ]
    request_id = new_id()

    async def created(at: Tables, stake: int) -> str:
        given: dict[str, Any] = {"master_seed": SEED, "seeded_by_creator": True, "request_id": request_id}
        return (await at.create(CLASSIC, 2, target_score=0, stake=stake, **given)).table.id

    async def joined(at: Tables, name: str) -> SeatClaims:
        return at.tokens.verify((await at.join(table_id, None, name, b"", new_id())).token, now[0])

    table_id = await created(here, stake=1)
    former = await joined(here, "Ada")
    assert (await there.repository.get(table_id)).revision == 2
    now[0] += 61
    assert await store.expire(now[0] - 60, 10) == 1
    assert await created(there, stake=2) == table_id
    player = await joined(there, "Bo")
    for at in (here, there):
        with pytest.raises(ApiError) as caught:
            await at.leave(table_id, former, new_id())
        assert caught.value.reason == "SEAT_NOT_YOURS"
        table = await at.repository.get(table_id)
        assert (table.revision, table.stake, table.seats[0].player_name) == (2, 2, "Bo")
    assert (await here.leave(table_id, player, new_id())).table.revision == 3
    await store.close()
