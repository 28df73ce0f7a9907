from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from buraco.v1 import table_pb2
from buraco_codec.moves import move_from_pb
from buraco_rules import Deal, apply_for
from tests.service.refusals import gathered, read_refusal
from tests.service.scripts import dealt, plain_turns, steps_to, submitted, turns
from tests.service.table_server import Player, Replica, create, get, join_raw, serving, start, watch

LOST = {"FAILED_PRECONDITION", "ABORTED"}


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[list[Replica]]:
    """Two servers of one store, each called over two connections."""
    path = tmp_path / "tables.db"
    async with contextlib.AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(serving(path)) for _ in range(2)]
        yield [*servers, *[await stack.enter_async_context(server.connected()) for server in servers]]


def split(outcomes: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """The answers, and the reasons of the refusals, all of which must be such as the loser of a race gets."""
    won = [outcome for outcome in outcomes if not isinstance(outcome, grpc.aio.AioRpcError)]
    refusals = [read_refusal(outcome) for outcome in outcomes if isinstance(outcome, grpc.aio.AioRpcError)]
    assert {refusal.code.name for refusal in refusals} <= LOST
    return won, [refusal.reason for refusal in refusals]


async def assert_log_leads_to_state(replica: Replica, table_id: str, deal: Deal) -> None:
    """Every revision has one entry, and the moves of the entries lead from the deal to what is stored."""
    stored = await replica.table(table_id)
    entries = await replica.store.read_log(table_id, 0, 1000)
    assert [entry.revision for entry in entries] == list(range(1, stored.revision + 1))
    for entry in entries:
        for move in table_pb2.StoredEntry.FromString(entry.payload).moves:
            deal, _ = apply_for(deal, move.seat, move_from_pb(move.move))
    assert stored.deal == deal


@pytest.mark.parametrize("with_revision", [False, True])
async def test_submits(replicas: list[Replica], with_revision: bool) -> None:
    """Of many players of one seat who move at once one moves; the others are refused, and the table goes on by one."""
    players = await start(replicas[0])
    table_id = players[0].table_id
    public = watch(replicas[1], table_id)
    await public.expect("state")
    for number, turn in enumerate(plain_turns(dealt(), 6)):
        before = 3 + number
        revision = before if with_revision else None
        outcomes = await gathered(
            *[players[turn.seat].at(at).submit(*turn.moves, revision=revision) for at in replicas * 3]
        )
        won, lost = split(outcomes)
        assert [answer.revision for answer in won] == [before + 1]
        assert set(lost) == {"REVISION_STALE"} if with_revision else set(lost) <= {"NOT_YOUR_TURN", "REVISION_STALE"}
        assert (await public.expect("events")).revision == before + 1
    await assert_log_leads_to_state(replicas[0], table_id, dealt())


async def test_submits_of_all_seats(replicas: list[Replica]) -> None:
    """All seats shouting at once through calls and streams: whoever's turn it is gets through, and nothing is lost."""
    players = await start(replicas[0], seats=4)
    table_id = players[0].table_id
    streams = [await player.at(replica).play() for player, replica in zip(players, replicas, strict=True)]
    script = list(plain_turns(dealt(seats=4), 8))
    for turn in script:
        requests = [await stream.submit(*turn.moves) for stream in streams]
        won, _ = split(
            await gathered(*[player.at(at).submit(*turn.moves) for player in players for at in replicas[:2]])
        )
        accepted = 0
        for stream, request in zip(streams, requests, strict=True):
            while (update := await stream.next()).kind != "answer":
                assert update.kind in ("state", "events")
            assert update.message.request_id == request
            accepted += update.message.HasField("accepted")
        assert accepted + len(won) == 1
    assert (await get(replicas[0], table_id)).revision == 5 + len(script)
    await assert_log_leads_to_state(replicas[1], table_id, dealt(seats=4))


async def test_undos(replicas: list[Replica]) -> None:
    """Of undos that are all meant for one revision one is made."""
    steps = steps_to(lambda deal: len(deal.turn.undo) == 2, dealt(), random.Random(3))
    players = await start(replicas[0])
    await submitted(players, turns(steps))
    player = players[steps[-1].seat]
    revision = (await player.look()).revision
    won, lost = split(await gathered(*[player.at(at).undo(revision=revision) for at in replicas * 2]))
    assert [answer.revision for answer in won] == [revision + 1]
    assert set(lost) == {"REVISION_STALE"}
    assert (await replicas[1].table(player.table_id)).deal == steps[-1].before


async def test_joins(replicas: list[Replica]) -> None:
    """More players than seats: every seat is taken once, and the rest learns that the table is full."""
    table = await create(replicas[0], seats=4)
    names = [f"player {number}" for number in range(12)]
    outcomes = await gathered(
        *[join_raw(replicas[number % 4], table.id, player_name=name) for number, name in enumerate(names)]
    )
    won, lost = split(outcomes)
    assert sorted(answer.seat for answer in won) == [0, 1, 2, 3]
    assert sorted(answer.table.revision for answer in won) == [2, 3, 4, 5]
    assert lost == ["TABLE_FULL"] * 8
    players = [Player(replicas[0], table.id, answer.seat, answer.token) for answer in won]
    for player in players:
        assert (await player.look()).view.seat == player.seat
    stored = await replicas[0].table(table.id)
    by_seat = {answer.seat: answer.table.seats[answer.seat].player_name for answer in won}
    assert [seat.player_name for seat in stored.seats] == [by_seat[seat] for seat in range(4)]
    assert stored.deal == dealt(seats=4)


async def test_joins_of_one_seat(replicas: list[Replica]) -> None:
    """Of many who want the same seat one gets it, and its token alone is good."""
    table = await create(replicas[0])
    won, lost = split(await gathered(*[join_raw(at, table.id, seat=1) for at in replicas * 2]))
    assert len(won) == 1
    assert lost == ["SEAT_TAKEN"] * 7
    assert (await get(replicas[1], table.id)).revision == 2


async def test_leaving_while_moving(replicas: list[Replica]) -> None:
    """A leave and a move at once: either order may win, and what is stored is what was answered."""
    for number in range(4):
        players = await start(replicas[0])
        (turn,) = plain_turns(dealt(), 1)
        mover = players[turn.seat]
        calls = [mover.at(replicas[0]).leave(), mover.at(replicas[1]).submit(*turn.moves)]
        outcomes = await gathered(*calls[:: 1 if number % 2 else -1])
        refusals = [read_refusal(outcome) for outcome in outcomes if isinstance(outcome, grpc.aio.AioRpcError)]
        assert [refusal.reason for refusal in refusals] in ([], ["SEAT_NOT_YOURS"])
        stored = await replicas[1].table(mover.table_id)
        assert stored.revision == 5 - len(refusals)
        assert not stored.seats[mover.seat].token_id
        await assert_log_leads_to_state(replicas[0], mover.table_id, dealt())
