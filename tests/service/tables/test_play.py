from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest

from buraco.v1 import event_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_rules import Discard, DrawStock, LayMeld, Violation, legal_moves
from tests.service.refusals import refused
from tests.service.scripts import (
    after_moves,
    dealt,
    plain_turn,
    plain_turns,
    steps_to,
    submitted,
    turns,
)
from tests.service.table_server import (
    END,
    Play,
    Player,
    Replica,
    create,
    get,
    join,
    moves_to_pb,
    new_id,
    opened,
    revision_of,
    serving,
    shown_view,
    start,
    unchanged,
    watch,
)


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


async def test_state_first(replica: Replica) -> None:
    """A stream begins with the table and the seat's view."""
    players = await start(replica)
    stream = await players[1].play()
    state = await stream.expect("state")
    assert state.table == await get(replica, players[0].table_id)
    assert state.view == await players[1].view()


async def test_answer_carries_the_events(replica: Replica) -> None:
    """A move is answered with its events, which the other seats get as events; nobody gets them twice."""
    players = await start(replica)
    deal = dealt()
    draw, discard = plain_turn(deal).moves
    seat = deal.seat_to_move
    streams = await opened(players)
    mover, other = streams[seat], streams[1 - seat]
    for revision, move, kind in ((4, draw, "drew"), (5, discard, "discarded")):
        accepted = await mover.accepted(await mover.submit(move))
        seen = await other.expect("events")
        assert accepted.revision == seen.revision == revision
        for events in (accepted.events, seen.events):
            assert [event.WhichOneof("event") for event in events] == [kind]
    following = plain_turn(after_moves(deal, [draw, discard]))
    accepted = await other.accepted(await other.submit(*following.moves))
    assert accepted.revision == 6
    assert (await mover.expect("events")).revision == 6


async def test_moves_in_flight(replica: Replica) -> None:
    """Requests may be sent without waiting: they are obeyed and answered in order."""
    players = await start(replica)
    turn = plain_turn(dealt())
    stream = (await opened(players))[turn.seat]
    requests = [await stream.submit(move) for move in (*turn.moves, DrawStock())]
    for revision, request in ((4, requests[0]), (5, requests[1])):
        assert (await stream.accepted(request)).revision == revision
    assert (await stream.denied(requests[2])).reason == "NOT_YOUR_TURN"


async def test_unary_call_beside_the_stream(replica: Replica) -> None:
    """What the player does in another way comes down the stream like what others do."""
    players = await start(replica)
    turn = plain_turn(dealt())
    stream = (await opened(players, legal_moves=True))[turn.seat]
    assert (await stream.expect("turn")).revision == 3
    answer = await players[turn.seat].submit(turn.moves[0])
    events = await stream.expect("events")
    assert (events.revision, list(events.events)) == (4, list(answer.events))
    assert (await stream.expect("turn")).revision == 4


async def test_undo(replica: Replica) -> None:
    """An undo is answered like a move, and the seat gets its legal moves anew (R11.4)."""
    steps = steps_to(lambda deal: len(deal.turn.undo) == 1, dealt(), random.Random(3))
    players = await start(replica)
    await submitted(players, turns(steps))
    last = steps[-1]
    streams = await opened(players, legal_moves=True)
    mover, other = streams[last.seat], streams[1 - last.seat]
    revision = (await mover.expect("turn")).revision
    accepted = await mover.accepted(await mover.undo(revision=revision))
    assert accepted.revision == revision + 1
    assert [event.WhichOneof("event") for event in accepted.events] == ["undone"]
    turn = await mover.expect("turn")
    assert turn.revision == revision + 1
    assert list(turn.moves) == moves_to_pb(legal_moves(last.before))
    assert list((await other.expect("events")).events) == list(accepted.events)
    with unchanged(replica):
        error = await mover.denied(await mover.undo())
    assert error.reason == "NOTHING_TO_UNDO"
    assert list(error.violations) == [int(Violation.NOTHING_TO_UNDO)]


async def test_errors_are_answers(replica: Replica) -> None:
    """What a unary call would be refused with is an answer with the same code and reason, and the stream goes on."""
    players = await start(replica)
    deal = dealt()
    turn = plain_turn(deal)
    streams = await opened(players, legal_moves=True)
    mover, other = streams[turn.seat], streams[1 - turn.seat]
    await mover.expect("turn")
    missing = next(card for card in range(1, 53) if card not in after_moves(deal, turn.moves[:1]).hand)
    with unchanged(replica):
        error = await mover.denied(await mover.submit(turn.moves[0], LayMeld((missing,) * 2)))
        refusal = await refused(players[turn.seat].submit(turn.moves[0], LayMeld((missing,) * 2)))
        assert refusal.code is grpc.StatusCode.FAILED_PRECONDITION
        assert error.code == refusal.code.value[0]
        assert (error.reason, dict(error.metadata)) == (refusal.reason, refusal.metadata)
        assert error.message == refusal.message
        assert [Violation(violation).name for violation in error.violations] == [name for name, _ in refusal.broken]
        error = await other.denied(await other.submit(DrawStock()))
        assert (error.reason, list(error.violations)) == ("NOT_YOUR_TURN", [int(Violation.NOT_YOUR_TURN)])
        error = await other.denied(await other.submit(DrawStock(), request_id="no uuid"))
        assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT.value[0], "REQUEST_INVALID")
        error = await mover.denied(await mover.submit())
        assert error.reason == "REQUEST_INVALID"
    assert (await mover.accepted(await mover.submit(*turn.moves))).revision == 4


async def test_error_after_what_happened(tmp_path: Path) -> None:
    """Before a refusal comes everything that explains it, though this replica had not noticed it yet."""
    path = tmp_path / "tables.db"
    async with serving(path) as here, serving(path) as there:
        players = await start(here)
        streams = await opened(players)
        for number, turn in enumerate(plain_turns(dealt(), 6)):
            await players[turn.seat].at(there).submit(*turn.moves)
            request = await streams[turn.seat].submit(DrawStock())
            assert (await streams[turn.seat].expect("events")).revision == 4 + number
            assert (await streams[turn.seat].denied(request)).reason == "NOT_YOUR_TURN"
            assert (await streams[1 - turn.seat].expect("events")).revision == 4 + number


async def test_turns_only_when_asked_for(replica: Replica) -> None:
    """Without having asked for them a seat gets no legal moves."""
    players = await start(replica)
    streams = await opened(players)
    script = list(plain_turns(dealt(), 4))
    for number, turn in enumerate(script):
        await streams[turn.seat].accepted(await streams[turn.seat].submit(*turn.moves))
        assert (await streams[1 - turn.seat].expect("events")).revision == 4 + number


async def test_turn_before_the_match(replica: Replica) -> None:
    """A stream may be opened while the table waits; the start brings the hand, and the first turn to whoever has it."""
    table = await create(replica)
    early = await join(replica, table.id)
    stream = await early.play(legal_moves=True)
    assert not (await stream.expect("state")).HasField("view")
    request = await stream.submit(DrawStock())
    assert (await stream.denied(request)).reason == "TABLE_NOT_PLAYING"
    late = await join(replica, table.id)
    deal = dealt()
    events = await stream.expect("events")
    assert tuple(events.events[1].dealt.hand) == deal.hands[0]
    mover = stream if deal.seat_to_move == 0 else await late.play(legal_moves=True)
    if mover is not stream:
        await mover.expect("state")
    turn = await mover.expect("turn")
    assert turn.view == shown_view(deal, deal.seat_to_move, "Ada", "Ada", present={0, deal.seat_to_move})
    assert list(turn.moves) == moves_to_pb(legal_moves(deal))


class Log(NamedTuple):
    """What a player of a match got."""

    revisions: list[int]
    events: list[event_pb2.Event]
    turns: list[int]
    answers: int


async def play_alone(player: Player, stream: Play, rng: random.Random) -> Log:
    """Play a seat at random by its stream alone, from behind the first state to the end of the match."""
    log = Log([], [], [], 0)
    answers, asked = 0, ""
    while (update := await stream.next()) is not END:
        revision = revision_of(update)
        if update.kind == "turn":
            assert update.message.view.seat_to_move == player.seat
            log.turns.append(update.message.revision)
            asked = new_id()
            move = rng.choice(update.message.moves)
            await stream.send(submit=pb.PlaySubmit(moves=[move], request_id=asked, revision=update.message.revision))
        elif update.kind == "answer":
            assert update.message.request_id == asked
            assert update.message.HasField("accepted"), update
            answers += 1
        if revision is not None:
            log.revisions.append(revision)
            change = update.message.accepted if update.kind == "answer" else update.message
            log.events.extend(change.events)
    return log._replace(answers=answers)


@pytest.mark.parametrize("seats", [2, 4])
async def test_all_seats_at_once(replica: Replica, seats: int) -> None:
    """All seats of a match on their streams at once: each gets every change once, in order, and every turn once."""
    players = await start(replica, seats=seats, seed=bytes(32))
    public = watch(replica, players[0].table_id)
    first = (await public.expect("state")).table.revision
    streams = await opened(players, legal_moves=True)
    seats_played = [
        play_alone(player, stream, random.Random(player.seat)) for player, stream in zip(players, streams, strict=True)
    ]
    logs = await asyncio.gather(*seats_played)
    updates = await public.rest()
    revisions = [update.message.revision for update in updates]
    assert revisions == list(range(first + 1, revisions[-1] + 1))
    assert all(log.revisions == revisions for log in logs)
    # Each revision but the last gave one seat a turn, and nobody else.
    assert sorted(number for log in logs for number in log.turns) == list(range(first, revisions[-1]))
    assert all(log.answers == len(log.turns) for log in logs)
    kinds = [event.WhichOneof("event") for update in updates for event in update.message.events]
    assert all([event.WhichOneof("event") for event in log.events] == kinds for log in logs)
    assert kinds[-1] == "match_ended"
    seats_drew = [event.drew.seat for event in logs[0].events if event.HasField("drew")]
    assert set(seats_drew) == set(range(seats))


async def test_resume(replica: Replica) -> None:
    """A stream resumed after a revision begins with what came since, then the turn."""
    players = await start(replica)
    script = list(plain_turns(dealt(), 3))
    await submitted(players, script)
    mover = 1 - script[-1].seat
    for after in (3, 5, 6):
        stream = await players[mover].play(after, legal_moves=True)
        for revision in range(after + 1, 7):
            assert (await stream.expect("events")).revision == revision
        assert (await stream.expect("turn")).revision == 6
        stream.cancel()
    stream = await players[mover].play(7, legal_moves=True)
    await stream.expect("history_gone")
    assert (await stream.expect("state")).table.revision == 6
    assert (await stream.expect("turn")).revision == 6


async def test_repeat_on_the_stream(replica: Replica) -> None:
    """A repeated request is answered with its revision, and with its events only if they have not come before."""
    players = await start(replica)
    turn = plain_turn(dealt())
    stream = await players[turn.seat].play()
    await stream.expect("state")
    request = await stream.submit(turn.moves[0])
    first = await stream.accepted(request)
    assert (first.revision, len(first.events)) == (4, 1)
    await stream.submit(turn.moves[0], request_id=request)
    assert await stream.accepted(request) == pb.PlayAccepted(revision=4)
    stream.cancel()
    # The answer was lost with the connection: the events come as what was missed.
    resumed = await players[turn.seat].play(3)
    assert list((await resumed.expect("events")).events) == list(first.events)
    await resumed.submit(turn.moves[0], request_id=request)
    assert await resumed.accepted(request) == pb.PlayAccepted(revision=4)
    assert (await resumed.accepted(await resumed.submit(turn.moves[1]))).revision == 5


async def test_heartbeats(tmp_path: Path) -> None:
    """A quiet stream gets heartbeats, and goes on afterwards."""
    async with serving(tmp_path / "tables.db", heartbeat=0.1) as replica:
        players = await start(replica)
        turn = plain_turn(dealt())
        stream = await players[turn.seat].play()
        await stream.expect("state")
        for _ in range(2):
            assert (await stream.expect("heartbeat")).revision == 3
        request = await stream.submit(*turn.moves)
        while (update := await stream.next()).kind == "heartbeat":
            pass
        assert update.message.request_id == request
        assert (await stream.expect("heartbeat")).revision == 4


async def test_two_replicas(tmp_path: Path) -> None:
    """Players at different replicas of one store play one match."""
    path = tmp_path / "tables.db"
    async with serving(path) as here, serving(path) as there:
        players = await start(here)
        streams = await opened([players[0].at(here), players[1].at(there)], legal_moves=True)
        for number, turn in enumerate(plain_turns(dealt(), 6)):
            mover = streams[turn.seat]
            assert (await mover.expect("turn")).revision == 3 + number
            assert (await mover.accepted(await mover.submit(*turn.moves))).revision == 4 + number
            assert (await streams[1 - turn.seat].expect("events")).revision == 4 + number


async def test_discard_of_a_card_not_held(replica: Replica) -> None:
    """A card that is not in the hand is refused whether another player holds it or nobody does."""
    players = await start(replica)
    deal = after_moves(dealt(), [DrawStock()])
    stream = (await opened(players))[deal.seat_to_move]
    await stream.accepted(await stream.submit(DrawStock()))
    held = next(card for card in deal.hands[1 - deal.seat_to_move] if card not in deal.hand)
    nobodys = next(card for card in range(1, 53) if all(card not in hand for hand in deal.hands))
    first, second = [await stream.denied(await stream.submit(Discard(card))) for card in (held, nobodys)]
    assert first == second
    assert first.reason == "CARD_NOT_IN_HAND"
