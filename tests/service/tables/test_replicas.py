"""Two replicas on one store, whichever store it is: what one accepts, the other knows and sends."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import grpc.aio
import pytest

from buraco.v1 import table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_codec.moves import move_from_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import DrawStock, legal_moves
from tests.service.refusals import read_refusal
from tests.service.scripts import after_moves, dealt, plain_turns, played, short_rules, turns
from tests.service.table_server import (
    END,
    Replica,
    get,
    moves_to_pb,
    new_id,
    records,
    serving,
    shown_view,
    start,
    watch,
)

RULES = short_rules(8)


@pytest.fixture(params=["sqlite_url", "redis_url", "postgres_url"])
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two servers, each with connections of its own to the same store."""
    url: str = request.getfixturevalue(request.param)
    async with serving(url) as one, serving(url) as other:
        yield one, other


async def test_views_and_turns_at_the_other_replica(replicas: tuple[Replica, Replica]) -> None:
    """What is played at one replica is seen at the other: events, the view and the turn, one after the other."""
    here, there = replicas
    players = await start(here, rule_set=rule_set_to_pb(RULES))
    streams = [player.at(there).watch(views=True, legal_moves=True) for player in players]
    deal = dealt(RULES)
    for stream in streams:
        await stream.expect("state")
    await streams[deal.seat_to_move].expect("turn")
    for revision, turn in enumerate(plain_turns(dealt(RULES), 4), 4):
        await players[turn.seat].submit(*turn.moves)
        deal = after_moves(deal, turn.moves)
        for seat, stream in enumerate(streams):
            assert (await stream.expect("events")).revision == revision
            view = shown_view(deal, seat, present=(0, 1))
            assert await stream.expect("view") == pb.ViewUpdate(revision=revision, view=view)
        listed = await streams[deal.seat_to_move].expect("turn")
        assert list(listed.moves) == moves_to_pb(legal_moves(deal))


async def test_match_is_told_at_both_replicas_turn_by_turn(replicas: tuple[Replica, Replica]) -> None:
    """Players at two replicas finish a match; each turn reaches watchers at both before the next one is made."""
    here, there = replicas
    players = await start(here, rule_set=rule_set_to_pb(RULES))
    table_id = players[0].table_id
    at_home = [players[0], players[1].at(there)]
    watchers = [watch(here, table_id), watch(there, table_id), at_home[1].watch(), players[1].watch()]
    for watcher in watchers:
        await watcher.expect("state")

    script = list(turns(list(played(dealt(RULES), random.Random(1)))))
    for turn in script:
        answer = await at_home[turn.seat].submit(*turn.moves)
        for watcher in watchers:
            sent = await watcher.expect("events")
            assert sent.revision == answer.revision
            assert [event.WhichOneof("event") for event in sent.events] == [
                event.WhichOneof("event") for event in answer.events
            ]
        for replica in replicas:
            view = await players[turn.seat].at(replica).view()
            # With the match the streams end, each in its own time, and with them it changes who is seen.
            for seat in (*view.seats, *answer.view.seats):
                seat.present = False
            assert view == answer.view
    for watcher in watchers:
        assert await watcher.next() is END

    moves = [(turn.seat, move) for turn in script for move in turn.moves]
    for replica in replicas:
        table = await get(replica, table_id)
        assert (table.state, table.revision) == (table_pb2.TABLE_STATE_FINISHED, 3 + len(script))
        (record,) = (await records(replica, table_id)).deals
        assert [(made.seat, move_from_pb(made.move)) for made in record.moves] == moves


async def test_one_of_two_racing_moves_is_taken(replicas: tuple[Replica, Replica]) -> None:
    """Of two moves sent to two replicas at once one is accepted, and its repeat at the other gets the same answer."""
    players = await start(replicas[0])
    revision = (await players[0].look()).revision
    ids = [new_id(), new_id()]
    answers = await asyncio.gather(
        *[
            players[0].at(replica).submit(DrawStock(), revision=revision, request_id=request_id)
            for replica, request_id in zip(replicas, ids, strict=True)
        ],
        return_exceptions=True,
    )
    (lost,) = [answer for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
    assert read_refusal(lost).short == ("ABORTED", "REVISION_STALE")
    (winner,) = [number for number, answer in enumerate(answers) if not isinstance(answer, BaseException)]
    repeat = await players[0].at(replicas[1 - winner]).submit(DrawStock(), revision=revision, request_id=ids[winner])
    assert repeat == answers[winner]
    for replica in replicas:
        assert (await players[0].at(replica).look()).revision == revision + 1
