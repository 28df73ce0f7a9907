from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from buraco.v1 import card_pb2, move_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_rules import Discard, DrawStock, LayMeld, LayOff, MoveWild, TakePile
from tests.service.refusals import assert_invalid, refused
from tests.service.scripts import after_moves, dealt, plain_turn
from tests.service.table_server import (
    PATIENCE,
    Player,
    Replica,
    create,
    join,
    moves_to_pb,
    new_id,
    serving,
    start,
    unchanged,
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


@pytest.mark.parametrize(
    ("move", "field"),
    [
        (move_pb2.Move(), "moves[0]"),
        (move_pb2.Move(discard=move_pb2.Discard()), "moves[0].discard.card"),
        (move_pb2.Move(discard=move_pb2.Discard(card=54)), "moves[0].discard.card"),  # type: ignore[arg-type]
        (move_pb2.Move(discard=move_pb2.Discard(card=-1)), "moves[0].discard.card"),  # type: ignore[arg-type]
        (
            move_pb2.Move(lay_meld=move_pb2.LayMeld(cards=[1, 0, 3])),  # type: ignore[list-item]
            "moves[0].lay_meld.cards[1]",
        ),
        (
            move_pb2.Move(lay_off=move_pb2.LayOff(meld=0, cards=[2**31 - 1])),  # type: ignore[list-item]
            "moves[0].lay_off.cards[0]",
        ),
        (
            move_pb2.Move(lay_meld=move_pb2.LayMeld(cards=[card_pb2.CARD_JOKER] * 109)),
            "moves[0].lay_meld.cards",
        ),
        (
            move_pb2.Move(lay_meld=move_pb2.LayMeld(cards=[card_pb2.CARD_JOKER] * 3, wild_position=15)),
            "moves[0].lay_meld.wild_position",
        ),
        (move_pb2.Move(move_wild=move_pb2.MoveWild()), "moves[0].move_wild.wild_position"),
    ],
)
async def test_malformed_move(replica: Replica, players: list[Player], move: move_pb2.Move, field: str) -> None:
    """What cannot be read as a move is named, card by card, in a call and on the stream alike."""
    player = players[dealt().seat_to_move]
    stream = await player.play()
    await stream.expect("state")
    with unchanged(replica):
        request = pb.SubmitMovesRequest(table_id=player.table_id, moves=[move], request_id=new_id())
        assert_invalid(await refused(replica.tables.SubmitMoves(request, metadata=player.metadata)), field)
        await stream.send(submit=pb.PlaySubmit(moves=[move], request_id=new_id()))
        error = (await stream.expect("answer")).error
    assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT.value[0], "REQUEST_INVALID")
    assert field in error.message


async def test_number_of_moves(replica: Replica, players: list[Player]) -> None:
    """A call has 1 to 256 moves."""
    player = players[dealt().seat_to_move]
    with unchanged(replica):
        assert_invalid(await refused(player.submit()), "moves")
        assert_invalid(await refused(player.submit(*[DrawStock()] * 257)), "moves")
        at_most = await refused(player.submit(*[DrawStock()] * 256))
    assert at_most.short == ("FAILED_PRECONDITION", "ALREADY_DRAWN")
    assert at_most.metadata == {"moveIndex": "1"}


async def test_all_faults_of_submit(replica: Replica, players: list[Player]) -> None:
    """Every fault of a request is named: its ids and each of its moves."""
    moves = [move_pb2.Move(discard=move_pb2.Discard()), move_pb2.Move(draw_stock=move_pb2.DrawStock()), move_pb2.Move()]
    request = pb.SubmitMovesRequest(table_id="?", moves=moves, request_id="!")
    with unchanged(replica):
        refusal = await refused(replica.tables.SubmitMoves(request, metadata=players[0].metadata))
    assert_invalid(refusal, "request_id", "table_id", "moves[0].discard.card", "moves[2]")


async def test_oversized_request(replica: Replica, players: list[Player]) -> None:
    """A message larger than the setting allows is refused before it is read, and the connection lives on."""
    player = players[dealt().seat_to_move]
    # Fields that nobody knows are read over, so that only the size can be what is wrong.
    padded = (
        pb.SubmitMovesRequest(
            table_id=player.table_id, moves=moves_to_pb([DrawStock()]), request_id=new_id()
        ).SerializeToString()
        + b"\xfa\x3f\x80\x80\x04"
        + b"x" * 65_536
    )
    submit: Any = replica.channel.unary_unary("/buraco.v1.TableService/SubmitMoves")
    with unchanged(replica):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await submit(padded, metadata=player.metadata, timeout=PATIENCE)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        stream = await player.play()
        await stream.expect("state")
        await stream.send(submit=pb.PlaySubmit(moves=[move_pb2.Move()] * 40_000, request_id=new_id()))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stream.next()
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (await player.submit(DrawStock())).revision == 4


@pytest.mark.parametrize(
    "move", [DrawStock(), TakePile(), Discard(1), LayMeld((3, 4, 5)), LayOff(0, (3,)), MoveWild(0, 3)]
)
async def test_out_of_turn(replica: Replica, players: list[Player], move: Any) -> None:
    """Whatever the seat that is not to move tries is refused as out of turn (R3.2)."""
    waiting = players[1 - dealt().seat_to_move]
    with unchanged(replica):
        refusal = await refused(waiting.submit(move))
    assert refusal.short == ("FAILED_PRECONDITION", "NOT_YOUR_TURN")
    assert refusal.broken == [("NOT_YOUR_TURN", "moves[0]")]
    assert refusal.domain == "buraco"


async def test_undo_out_of_turn(replica: Replica, players: list[Player]) -> None:
    """Only the seat to move can take something back."""
    with unchanged(replica):
        refusal = await refused(players[1 - dealt().seat_to_move].undo())
    assert refusal.short == ("FAILED_PRECONDITION", "NOT_YOUR_TURN")
    assert refusal.broken == [("NOT_YOUR_TURN", "")]
    assert not refusal.metadata


async def test_not_yet_playing(replica: Replica) -> None:
    """There is nothing to play before the match."""
    table = await create(replica)
    player = await join(replica, table.id)
    with unchanged(replica):
        for call in (player.submit(DrawStock()), player.undo()):
            refusal = await refused(call)
            assert refusal.short == ("FAILED_PRECONDITION", "TABLE_NOT_PLAYING")


async def test_stale_revision(replica: Replica, players: list[Player]) -> None:
    """Moves meant for any revision but the newest are refused with both revisions, in a call and on the stream."""
    turn = plain_turn(dealt())
    mover, other = players[turn.seat], players[1 - turn.seat]
    await mover.submit(*turn.moves)
    following = plain_turn(after_moves(dealt(), turn.moves)).moves[0]
    stream = await other.play()
    await stream.expect("state")
    with unchanged(replica):
        for revision in (0, 1, 3, 5, 2**63, 2**64 - 1):
            metadata = {"currentRevision": "4", "revision": str(revision)}
            for call in (other.submit(following, revision=revision), other.undo(revision=revision)):
                refusal = await refused(call)
                assert refusal.short == ("ABORTED", "REVISION_STALE")
                assert refusal.metadata == metadata
            for request in (stream.submit(following, revision=revision), stream.undo(revision=revision)):
                error = await stream.denied(await request)
                assert (error.code, error.reason) == (grpc.StatusCode.ABORTED.value[0], "REVISION_STALE")
                assert dict(error.metadata) == metadata
    assert (await other.submit(following, revision=4)).revision == 5


async def test_stale_after_a_seat_change(replica: Replica, players: list[Player]) -> None:
    """A seat given back is a change of the table like any other: moves meant for before are stale."""
    mover = dealt().seat_to_move
    await players[1 - mover].leave()
    with unchanged(replica):
        refusal = await refused(players[mover].submit(DrawStock(), revision=3))
    assert refusal.short == ("ABORTED", "REVISION_STALE")
