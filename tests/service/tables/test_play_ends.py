from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from buraco.v1 import move_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import DrawStock
from tests.service.refusals import refused
from tests.service.scripts import (
    dealt,
    plain_turn,
    plain_turns,
    short_rules,
    submitted,
)
from tests.service.table_server import (
    END,
    Play,
    Replica,
    get,
    join,
    new_id,
    opened,
    serving,
    start,
    unchanged,
)

SHORT = short_rules(2)


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


async def test_half_close(replica: Replica) -> None:
    """A client that says it has no more requests gets the answers to all it had sent; then the stream ends well."""
    players = await start(replica)
    turn = plain_turn(dealt())
    stream = await players[turn.seat].play()
    requests = [await stream.submit(move) for move in turn.moves]
    await stream.close()
    await stream.expect("state")
    for revision, request in ((4, requests[0]), (5, requests[1])):
        assert (await stream.accepted(request)).revision == revision
    assert await stream.next() == END


async def test_closed_before_opened(replica: Replica) -> None:
    """A stream that is closed without a word is no error."""
    players = await start(replica)
    stream = players[0].play_unopened()
    await stream.close()
    assert await stream.next() == END


@pytest.mark.parametrize(
    "first",
    [
        {},
        {"submit": pb.PlaySubmit(moves=[move_pb2.Move(draw_stock=move_pb2.DrawStock())])},
        {"undo": pb.PlayUndo(request_id="123e4567-e89b-12d3-a456-426614174000")},
    ],
)
async def test_open_comes_first(replica: Replica, first: dict[str, Any]) -> None:
    """Whatever comes before open is refused, and with it the stream."""
    players = await start(replica)
    stream = players[dealt().seat_to_move].play_unopened()
    with unchanged(replica):
        await stream.send(**first)
        refusal = await refused(stream.next())
    assert refusal.short == ("INVALID_ARGUMENT", "REQUEST_INVALID")
    assert list(refusal.fields) == ["open"]


async def test_open_comes_once(replica: Replica) -> None:
    """A second open is refused, and with it the stream; so is a request that asks for nothing."""
    players = await start(replica)
    for request in ({"open": pb.PlayOpen(table_id=players[0].table_id)}, {}):
        stream = await players[0].play()
        await stream.expect("state")
        await stream.send(**request)
        refusal = await refused(stream.next())
        assert refusal.short == ("INVALID_ARGUMENT", "REQUEST_INVALID")
        assert list(refusal.fields) == ["request"]


async def test_bytes_that_are_no_request(replica: Replica) -> None:
    """Bytes that cannot be parsed end the stream as the caller's fault, first or later."""
    players = await start(replica)
    for opening in ([], [pb.PlayTableRequest(open=pb.PlayOpen(table_id=players[0].table_id)).SerializeToString()]):
        raw: Any = replica.channel.stream_stream("/buraco.v1.TableService/PlayTable")
        call = raw(metadata=players[0].metadata)
        for message in (*opening, b"\x0a\xff"):
            await call.write(message)

        async def everything(call: Any = call) -> None:
            while await call.read() is not grpc.aio.EOF:
                pass

        assert (await refused(everything())).short == ("INVALID_ARGUMENT", "REQUEST_INVALID")


async def test_token_needed(replica: Replica) -> None:
    """A stream is a player's: without a token it is refused before anything is asked."""
    players = await start(replica)
    stream = Play(replica.tables.PlayTable())
    assert (await refused(stream.next())).short == ("UNAUTHENTICATED", "TOKEN_MISSING")
    stranger = await start(replica)
    stream = await stranger[0]._replace(table_id=players[0].table_id).play()
    assert (await refused(stream.next())).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")


async def test_seat_given_back(replica: Replica) -> None:
    """With the seat the stream is lost: nothing of the substitute's cards comes, and no move is obeyed."""
    players = await start(replica)
    seat = dealt().seat_to_move
    idle, busy = await opened([players[seat]] * 2, legal_moves=True)
    for stream in (idle, busy):
        await stream.expect("turn")
    await players[seat].leave()
    substitute = await join(replica, players[0].table_id, player_name="Sub")
    await substitute.submit(DrawStock())
    revision = (await get(replica, players[0].table_id)).revision
    for stream in (idle, busy):
        # The stream may have ended before the request was sent.
        await asyncio.gather(stream.submit(DrawStock()), return_exceptions=True)
        assert (await refused(stream.next())).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
    assert (await get(replica, players[0].table_id)).revision == revision == 6


async def test_streams_end_with_the_match(replica: Replica) -> None:
    """The last move is answered, then every stream of the table ends."""
    players = await start(replica, rule_set=rule_set_to_pb(SHORT))
    streams = await opened(players, legal_moves=True)
    script = list(plain_turns(dealt(SHORT), 2))
    await streams[script[0].seat].expect("turn")
    await streams[script[0].seat].accepted(await streams[script[0].seat].submit(*script[0].moves))
    assert (await streams[script[1].seat].expect("events")).revision == 4
    await streams[script[1].seat].expect("turn")
    last = await streams[script[1].seat].accepted(await streams[script[1].seat].submit(*script[1].moves))
    assert last.events[-1].HasField("match_ended")
    assert await streams[script[1].seat].next() == END
    seen = (await streams[script[0].seat].expect("events")).events
    # The card drawn is all that is between them.
    assert list(seen)[1:] == list(last.events)[1:]
    assert await streams[script[0].seat].next() == END


async def test_stream_after_the_match(replica: Replica) -> None:
    """Who lost the answer to the last move may ask again on a new stream, until the client ends it."""
    players = await start(replica, rule_set=rule_set_to_pb(SHORT))
    first, last = plain_turns(dealt(SHORT), 2)
    await players[first.seat].submit(*first.moves)
    request_id = new_id()
    answer = await players[last.seat].submit(*last.moves, request_id=request_id)
    for after, opening in ((None, ["state"]), (answer.revision, []), (answer.revision - 1, ["events"])):
        stream = await players[last.seat].play(after, legal_moves=True)
        await stream.submit(*last.moves, request_id=request_id)
        refused_id = await stream.submit(DrawStock())
        await stream.close()
        assert [(await stream.next()).kind for _ in opening] == opening
        assert await stream.accepted(request_id) == pb.PlayAccepted(revision=answer.revision)
        assert (await stream.denied(refused_id)).reason == "TABLE_FINISHED"
        assert await stream.next() == END
    waiting = await players[first.seat].play()
    await waiting.expect("state")
    stopping = asyncio.create_task(replica.server.stop())
    assert [update.kind for update in await waiting.rest()] == ["reconnect"]
    await stopping


async def test_silent_stream_after_the_match(tmp_path: Path) -> None:
    """A stream that begins after the match and asks nothing ends by itself."""
    async with serving(tmp_path / "tables.db", heartbeat=0.1) as replica:
        players = await start(replica, rule_set=rule_set_to_pb(SHORT))
        await submitted(players, plain_turns(dealt(SHORT), 2))
        silent = await players[0].play(legal_moves=True)
        assert [update.kind for update in await silent.rest()] == ["state"]


async def test_drain_does_not_cut_answers(replica: Replica) -> None:
    """A replica that stops answers what it has begun: whatever it says or leaves unsaid, the store agrees."""
    players = await start(replica)
    turn = plain_turn(dealt())
    stream = (await opened(players))[turn.seat]
    await stream.submit(turn.moves[0])
    stopping = asyncio.create_task(replica.server.stop())
    rest = await stream.rest()
    path = replica.settings.store.removeprefix("sqlite:///")
    await stopping
    answered = [update.message.accepted.revision for update in rest if update.kind == "answer"]
    async with serving(Path(path)) as other:
        newest = (await get(other, players[0].table_id)).revision
        assert answered == ([4] if newest == 4 else [])
    assert [update.kind for update in rest if update.kind != "answer"] == ["reconnect"]
