from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from buraco.v1 import table_service_pb2 as pb
from buraco_rules.moves import DrawStock
from buraco_service.stores.base import KEPT_REQUESTS, PRUNE_STEP
from tests.service.refusals import gathered, refused
from tests.service.scripts import dealt, plain_turn, steps_to, submitted, turns
from tests.service.serving import (
    RULE_SET,
    SEED,
    Player,
    Replica,
    create,
    get,
    join,
    join_raw,
    moves_to_pb,
    new_id,
    serving,
    start,
    unchanged,
)

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
    return sum([stored.revision for stored in await replica.store.list(None, 100, None)])


async def test_repeat_after_more_has_happened(replica: Replica) -> None:
    """The first answer stands, though the table has moved on and the moves would be illegal now."""
    players = await start(replica)
    turn = plain_turn(dealt())
    request_id = new_id()
    first = await players[turn.seat].submit(*turn.moves, request_id=request_id, revision=3)
    await players[1 - turn.seat].submit(DrawStock())
    with unchanged(replica):
        assert await players[turn.seat].submit(*turn.moves, request_id=request_id, revision=3) == first
        assert await players[turn.seat].submit(DrawStock(), request_id=request_id) == first


async def test_refusals_are_not_remembered(replica: Replica) -> None:
    """A request that was refused may be sent again, and is judged anew."""
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
    told = []
    missing = 4
    while missing:
        update = await stream.next()
        if update.kind == "answer":
            missing -= 1
            assert update.message.accepted.revision == 4
            told += update.message.accepted.events
        else:
            assert update.kind == "events"
            told += update.message.events
    assert len(told) == 1, "the change is told once"
    assert (await get(replica, player.table_id)).revision == 4


async def test_same_id_for_another_seat(replica: Replica) -> None:
    """A request id that another seat has used is a new request: it shows nothing of the other's answer."""
    players = await start(replica)
    turn = plain_turn(dealt())
    request_id = new_id()
    first = await players[turn.seat].submit(turn.moves[0], request_id=request_id)
    assert first.events[0].drew.card
    other = players[1 - turn.seat]
    assert (await refused(other.submit(DrawStock(), request_id=request_id))).reason == "NOT_YOUR_TURN"
    await players[turn.seat].submit(turn.moves[1])
    assert (await other.submit(DrawStock(), request_id=request_id)).revision == 6


async def test_same_id_for_another_method(replica: Replica) -> None:
    """A request id used for one method is new to another one, of the same seat too."""
    table = await create(replica)
    request_id = new_id()
    assert (await create(replica, request_id=request_id)).id != table.id
    joined = await join_raw(replica, table.id, request_id=request_id)
    player = Player(replica, table.id, joined.seat, joined.token)
    with unchanged(replica):
        assert (await refused(player.submit(DrawStock(), request_id=request_id))).reason == "TABLE_NOT_PLAYING"
        assert (await refused(player.undo(request_id=request_id))).reason == "TABLE_NOT_PLAYING"
    left = await player.leave(request_id)
    assert left.table.revision == 3
    assert not left.table.seats[0].player_name


async def test_same_id_for_submit_and_undo(replica: Replica) -> None:
    """An undo is no repeat of the play with the same id."""
    steps = steps_to(lambda deal: len(deal.turn.undo) == 1, dealt(), random.Random(3))
    players = await start(replica)
    player = players[steps[-1].seat]
    *before, last = turns(steps)
    await submitted(players, before)
    request_id = new_id()
    played = await player.submit(*last.moves, request_id=request_id)
    undone = await player.undo(request_id=request_id)
    assert undone.revision == played.revision + 1
    assert [event.WhichOneof("event") for event in undone.events] == ["undone"]
    stream = await player.play()
    await stream.expect("state")
    with unchanged(replica):
        await stream.undo(request_id=request_id)
        assert (await stream.accepted(request_id)).revision == undone.revision
        await stream.submit(*last.moves, request_id=request_id)
        assert (await stream.accepted(request_id)).revision == played.revision


async def test_same_id_at_another_table(replica: Replica) -> None:
    """Tables remember requests for themselves; a token of another table gets no remembered answer."""
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
    assert (await refused(substitute.submit(DrawStock(), request_id=first_id))).reason == "ALREADY_DRAWN"
    await substitute.submit(discard, request_id=second_id)
    with unchanged(replica):
        refusal = await refused(players[seat].submit(discard, request_id=second_id))
        assert refusal.short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
        # The own answer may be had again: it tells nothing new.
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
    """The requests of the newest 512 changes are remembered, older ones soon no longer."""
    table = await create(replica)
    joins = []
    for _ in range((KEPT_REQUESTS + 2 * PRUNE_STEP) // 2):
        request_id = new_id()
        joined = await join_raw(replica, table.id, request_id=request_id)
        joins.append((request_id, joined))
        await Player(replica, table.id, joined.seat, joined.token).leave()
    newest = (await get(replica, table.id)).revision
    for request_id, joined in joins:
        if joined.table.revision > newest - KEPT_REQUESTS:
            with unchanged(replica):
                assert await join_raw(replica, table.id, request_id=request_id) == joined
    assert await join_raw(replica, table.id, request_id=joins[0][0]) != joins[0][1]


async def test_moves_are_not_compared(replica: Replica) -> None:
    """What makes a repeat is the id alone: other moves under it are not played."""
    players = await start(replica)
    turn = plain_turn(dealt())
    request_id = new_id()
    first = await players[turn.seat].submit(turn.moves[0], request_id=request_id)
    request = pb.SubmitMovesRequest(
        table_id=players[0].table_id, moves=moves_to_pb(turn.moves[1:]), request_id=request_id
    )
    with unchanged(replica):
        assert await replica.tables.SubmitMoves(request, metadata=players[turn.seat].metadata) == first
