"""Resignation, a draw by agreement, and aborting: how a match ends that is not played to its end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf import duration_pb2

from buraco.v1 import deal_pb2, event_pb2, table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import DrawStock, next_match
from tests.service.endings import (
    DRAW,
    RESIGNATION,
    abort,
    contents_of,
    offer_draw,
    offers,
    resign,
)
from tests.service.refusals import assert_invalid, gathered, read_refusal, refused
from tests.service.scripts import after_moves, dealt, plain_turn, plain_turns, short_rules, submitted
from tests.service.table_server import (
    END,
    Replica,
    create,
    get,
    join,
    new_id,
    opened,
    records,
    serving,
    start,
    unchanged,
    watch,
)
from tests.service.tables.test_records import replayed

Ending = Callable[..., Awaitable[table_pb2.Table]]
ENDINGS = pytest.mark.parametrize("end", [resign, offer_draw, abort])
FINISHED = table_pb2.TABLE_STATE_FINISHED
PLAYING = table_pb2.TABLE_STATE_PLAYING
SHORT = short_rules(2)


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


def result(how: event_pb2.MatchEnd.ValueType, **fields: Any) -> table_pb2.MatchResult:
    """The result of a match without a finished deal."""
    return table_pb2.MatchResult(how=how, scores=(0, 0), **fields)


# ---- resigning ----


@pytest.mark.parametrize("seat", [0, 1])
async def test_one_of_two_resigns(replica: Replica, seat: int) -> None:
    """A player without a partner resigns at once, whoever is to move: the other wins the stake (R11.3)."""
    players = await start(replica, stake=7)
    table_id = players[0].table_id
    watchers = [watch(replica, table_id), *[player.watch() for player in players], *await opened(players)]
    for watcher in watchers[:3]:
        await watcher.expect("state")
    table = await resign(players[seat])
    payouts = [-7 if other == seat else 7 for other in (0, 1)]
    assert table.state == FINISHED
    assert table.result == result(event_pb2.MATCH_END_RESIGNED, winner=1 - seat, resigned_side=seat, payouts=payouts)
    assert table.revision == 4
    assert await get(replica, table_id) == table
    for watcher in watchers:
        resigned, ended = contents_of((await watcher.expect("events")).events)
        assert resigned == event_pb2.Resigned(seat=seat)
        assert ended == event_pb2.MatchEnded(
            winner=1 - seat,
            scores=(0, 0),
            payouts=payouts,
            how=event_pb2.MATCH_END_RESIGNED,
            resigned_side=seat,
        )
        assert await watcher.next() is END


async def test_partners_resign_together(replica: Replica) -> None:
    """The resignation of one of two partners is an offer that all see; with the partner's their side has resigned."""
    players = await start(replica, seats=4, stake=5)
    watcher = watch(replica, players[0].table_id)
    await watcher.expect("state")
    table = await resign(players[1])
    assert (table.state, offers(table)) == (PLAYING, [(1, RESIGNATION)])
    assert contents_of((await watcher.expect("events")).events) == [event_pb2.Resigned(seat=1, pending=True)]
    table = await resign(players[0])
    assert (table.state, offers(table)) == (PLAYING, [(1, RESIGNATION), (0, RESIGNATION)])
    await watcher.expect("events")
    table = await resign(players[3])
    assert table.result == result(event_pb2.MATCH_END_RESIGNED, winner=0, resigned_side=1, payouts=(5, -5, 5, -5))
    assert not table.offers
    resigned, ended = contents_of((await watcher.expect("events")).events)
    assert resigned == event_pb2.Resigned(seat=3)
    assert isinstance(ended, event_pb2.MatchEnded)
    assert await watcher.next() is END


async def test_partner_of_a_free_seat_resigns_alone(replica: Replica) -> None:
    """Whoever has no partner any more resigns at once, also where the resignation was an offer before."""
    players = await start(replica, seats=4)
    await resign(players[2])
    await players[0].leave()
    table = await resign(players[2])
    assert table.result == result(event_pb2.MATCH_END_RESIGNED, winner=1, resigned_side=0)


async def test_scores_of_finished_deals_count(replica: Replica) -> None:
    """A match that is resigned has the scores of its finished deals; what the running deal would count is lost."""
    players = await start(replica, rule_set=rule_set_to_pb(SHORT), target_score=5000)
    first = dealt(SHORT, target=5000)
    await submitted(players, plain_turns(first, 2))
    end = after_moves(first, [move for turn in plain_turns(first, 2) for move in turn.moves])
    match = next_match(end)
    second = dealt(SHORT, match=match)
    await submitted(players, plain_turns(second, 1))
    table = await resign(players[0])
    assert tuple(table.result.scores) == match.scores != (0, 0)
    assert table.result.winner == 1
    assert table.match.deal_number == 2


# ---- offers ----


@pytest.mark.parametrize(("offer", "kind"), [(resign, RESIGNATION), (offer_draw, DRAW)])
async def test_offer_lapses_with_the_next_turn(
    replica: Replica, offer: Ending, kind: event_pb2.OfferKind.ValueType
) -> None:
    """An offer is open to the end of the turn in which it is made, and until its seat draws again."""
    players = await start(replica, seats=4)
    deal = dealt(seats=4)
    mover = players[deal.seat_to_move]
    script = list(plain_turns(deal, 5))
    await mover.submit(script[0].moves[0])
    await offer(mover)
    await mover.submit(script[0].moves[1])
    await submitted(players, script[1:4])
    assert offers(await get(replica, mover.table_id)) == [(mover.seat, kind)]
    answer = await mover.submit(*script[4].moves)
    withdrawn, drew, _ = contents_of(answer.events)
    assert withdrawn == event_pb2.OfferWithdrawn(seat=mover.seat, kind=kind)
    assert isinstance(drew, event_pb2.Drew)
    assert not (await get(replica, mover.table_id)).offers


async def test_refused_move_leaves_the_offer_open(replica: Replica) -> None:
    """A move that is refused withdraws nothing."""
    players = await start(replica)
    waiting = players[1 - dealt().seat_to_move]
    await offer_draw(waiting)
    with unchanged(replica):
        assert (await refused(waiting.submit(DrawStock()))).reason == "NOT_YOUR_TURN"
    assert offers(await get(replica, waiting.table_id)) == [(waiting.seat, DRAW)]


async def test_withdraw(replica: Replica) -> None:
    """A player withdraws one offer; the seat's other offer and those of others stay open."""
    players = await start(replica, seats=4)
    await resign(players[1])
    await offer_draw(players[1])
    await offer_draw(players[2])
    watcher = watch(replica, players[0].table_id)
    await watcher.expect("state")
    table = await offer_draw(players[1], withdraw=True)
    assert offers(table) == [(1, RESIGNATION), (2, DRAW)]
    assert contents_of((await watcher.expect("events")).events) == [event_pb2.OfferWithdrawn(seat=1, kind=DRAW)]
    assert offers(await resign(players[1], withdraw=True)) == [(2, DRAW)]
    assert offers(await offer_draw(players[1])) == [(2, DRAW), (1, DRAW)]


async def test_leaving_withdraws(replica: Replica) -> None:
    """With a seat its offers are given back, so that nobody is bound by what another offered."""
    players = await start(replica, seats=4)
    await offer_draw(players[3])
    await resign(players[3])
    await offer_draw(players[1])
    watcher = watch(replica, players[0].table_id)
    await watcher.expect("state")
    assert offers((await players[3].leave()).table) == [(1, DRAW)]
    assert contents_of((await watcher.expect("events")).events) == [
        event_pb2.SeatChanged(seat=3),
        event_pb2.OfferWithdrawn(seat=3, kind=DRAW),
        event_pb2.OfferWithdrawn(seat=3, kind=RESIGNATION),
    ]


async def test_end_of_the_match_closes_offers(replica: Replica) -> None:
    """A match that is played to its end while an offer is open ends as played, and the offer is over."""
    players = await start(replica, rule_set=rule_set_to_pb(SHORT))
    first, second = plain_turns(dealt(SHORT), 2)
    await players[first.seat].submit(*first.moves)
    await offer_draw(players[first.seat])
    answer = await players[second.seat].submit(*second.moves)
    assert answer.events[-1].match_ended.how == event_pb2.MATCH_END_UNSPECIFIED
    table = await get(replica, players[0].table_id)
    assert not table.offers
    assert table.result.how == event_pb2.MATCH_END_UNSPECIFIED


# ---- a draw by agreement ----


@pytest.mark.parametrize("seats", [2, 4])
async def test_all_agree_to_a_draw(replica: Replica, seats: int) -> None:
    """The match is a draw when all players have offered it, in any order, and stakes return (R11.3)."""
    players = await start(replica, seats=seats, stake=9)
    watcher = watch(replica, players[0].table_id)
    await watcher.expect("state")
    order = [players[seat] for seat in random.Random(seats).sample(range(seats), seats)]
    for player in order[:-1]:
        assert (await offer_draw(player)).state == PLAYING
        assert contents_of((await watcher.expect("events")).events) == [event_pb2.DrawOffered(seat=player.seat)]
    table = await offer_draw(order[-1])
    assert table.result == result(event_pb2.MATCH_END_DRAW_AGREED, payouts=[0] * seats)
    assert not table.offers
    offered, ended = contents_of((await watcher.expect("events")).events)
    assert offered == event_pb2.DrawOffered(seat=order[-1].seat)
    assert ended == event_pb2.MatchEnded(scores=(0, 0), payouts=[0] * seats, how=event_pb2.MATCH_END_DRAW_AGREED)
    assert await watcher.next() is END


async def test_free_seats_need_not_agree(replica: Replica) -> None:
    """Of a draw only those decide who are there, also if the last who had not agreed has left."""
    players = await start(replica, seats=4)
    await players[0].leave()
    await offer_draw(players[1])
    await offer_draw(players[2])
    assert (await players[3].leave()).table.state == PLAYING
    assert (await offer_draw(players[1])).result == result(event_pb2.MATCH_END_DRAW_AGREED)


# ---- aborting ----


@pytest.mark.parametrize("seats", [2, 4])
async def test_abort_until_all_have_moved(replica: Replica, seats: int) -> None:
    """Any seat may abort until the last player has drawn; from then on it is too late."""
    script = list(plain_turns(dealt(seats=seats), seats))
    for before in range(seats):
        players = await start(replica, seats=seats, stake=3)
        await submitted(players, script[:before])
        watcher = watch(replica, players[0].table_id)
        await watcher.expect("state")
        table = await abort(players[before])
        assert table.result == result(event_pb2.MATCH_END_ABORTED, payouts=[0] * seats)
        aborted, ended = contents_of((await watcher.expect("events")).events)
        assert aborted == event_pb2.Aborted(seat=before)
        assert ended == event_pb2.MatchEnded(scores=(0, 0), payouts=[0] * seats, how=event_pb2.MATCH_END_ABORTED)
    players = await start(replica, seats=seats)
    await submitted(players, script[:-1])
    await players[script[-1].seat].submit(script[-1].moves[0])
    for player in players:
        with unchanged(replica):
            assert (await refused(abort(player))).short == ("FAILED_PRECONDITION", "TOO_LATE_TO_ABORT")


async def test_second_deal_is_too_late_to_abort(replica: Replica) -> None:
    """In a later deal everybody has made a move before."""
    players = await start(replica, rule_set=rule_set_to_pb(SHORT), target_score=5000)
    await submitted(players, plain_turns(dealt(SHORT, target=5000), 2))
    assert (await get(replica, players[0].table_id)).match.deal_number == 2
    assert (await refused(abort(players[0]))).reason == "TOO_LATE_TO_ABORT"


# ---- after the end ----


@ENDINGS
async def test_nothing_is_played_after_the_end(replica: Replica, end: Ending) -> None:
    """After the end nobody has a move, every change is refused, and hands stay hidden in views."""
    players = await start(replica)
    turn = plain_turn(dealt())
    mover = players[turn.seat]
    await mover.submit(turn.moves[0])
    for player in players[: 2 if end is offer_draw else 1]:
        await end(player)
    look = await mover.look()
    assert look.view.phase == deal_pb2.PHASE_OVER
    assert not look.view.next_actions
    assert not look.view.ending
    assert len(look.view.hand) == 12
    assert not (await mover.legal()).moves
    other = (await players[1 - turn.seat].view()).hand
    assert len(other) == 11
    with unchanged(replica):
        calls = [mover.submit(turn.moves[1]), mover.undo(), mover.leave(), join(replica, mover.table_id)]
        for call in [*calls, resign(mover), offer_draw(mover), abort(mover)]:
            assert (await refused(call)).short == ("FAILED_PRECONDITION", "TABLE_FINISHED")


async def test_record_of_the_deal_that_is_cut_off(replica: Replica) -> None:
    """The deal that the end cuts off is recorded with its seed and moves once the match is over, and not before."""
    players = await start(replica, rule_set=rule_set_to_pb(SHORT), target_score=5000)
    table_id = players[0].table_id
    first = dealt(SHORT, target=5000)
    await submitted(players, plain_turns(first, 2))
    match = next_match(after_moves(first, [move for turn in plain_turns(first, 2) for move in turn.moves]))
    second = dealt(SHORT, match=match)
    (turn,) = plain_turns(second, 1)
    await players[turn.seat].submit(*turn.moves)
    before = await records(replica, table_id)
    assert [deal.deal_number for deal in before.deals] == [1]
    assert not before.HasField("cut_off")
    await resign(players[0])
    whole = await records(replica, table_id)
    assert whole.deals == before.deals
    assert (whole.cut_off.deal_number, whole.cut_off.ending, whole.more) == (2, 0, False)
    assert not whole.cut_off.HasField("score")
    assert replayed(whole.cut_off) == after_moves(second, turn.moves)
    assert await records(replica, table_id, page_size=1) == whole
    assert await records(replica, table_id, after_deal=1) == pb.GetRecordResponse(cut_off=whole.cut_off)
    assert await records(replica, table_id, after_deal=2) == pb.GetRecordResponse()


async def test_record_pages_before_the_cut_off_deal(replica: Replica) -> None:
    """A page in the middle has no cut-off deal, and says that more follows."""
    players = await start(replica, rule_set=rule_set_to_pb(SHORT), target_score=100_000)
    deal = dealt(SHORT, target=100_000)
    for _ in range(3):
        script = list(plain_turns(deal, 2))
        await submitted(players, script)
        deal = dealt(SHORT, match=next_match(after_moves(deal, [move for turn in script for move in turn.moves])))
    await resign(players[0])
    pages = [await records(replica, players[0].table_id, after_deal=after, page_size=2) for after in (0, 2)]
    assert [([deal.deal_number for deal in page.deals], page.more) for page in pages] == [([1, 2], True), ([3], False)]
    assert [page.cut_off.deal_number for page in pages] == [0, 4]


async def test_metrics(replica: Replica) -> None:
    """Matches that players end are counted by how, and neither as played nor as deals."""

    def count(name: str, **labels: str) -> float:
        return replica.metrics.registry.get_sample_value(name, labels) or 0

    resigned, aborted = await start(replica), await start(replica)
    await resign(resigned[0])
    await abort(aborted[0])
    name, rules = "buraco_matches_cut_off_total", "buraco-plus-classic"
    assert count(name, rule_set=rules, how="resigned") == count(name, rule_set=rules, how="aborted") == 1
    assert not count("buraco_matches_finished_total", rule_set=rules)
    assert not any(
        sample.value
        for metric in replica.metrics.registry.collect()
        for sample in metric.samples
        if sample.name == "buraco_deals_finished_total"
    )


async def test_clock_stops(replica: Replica) -> None:
    """With the match its clock ends: nothing is due at the table any more."""
    options = table_pb2.TableOptions(turn_time=duration_pb2.Duration(seconds=60))
    players = await start(replica, options=options)
    assert (await replica.table(players[0].table_id)).due_at is not None
    table = await resign(players[0])
    assert (await replica.table(table.id)).due_at is None
    assert not table.HasField("turn_expires_at")


async def test_shown_score_comes_first(replica: Replica) -> None:
    """While the score of a deal is shown no match is ended."""
    options = table_pb2.TableOptions(confirmation_time=duration_pb2.Duration(seconds=600))
    players = await start(replica, rule_set=rule_set_to_pb(SHORT), target_score=5000, options=options)
    await submitted(players, plain_turns(dealt(SHORT, target=5000), 2))
    with unchanged(replica):
        for end in (resign, offer_draw, abort):
            assert (await refused(end(players[0]))).short == ("FAILED_PRECONDITION", "AWAITING_CONFIRMATION")


# ---- refusals ----


async def test_offers_twice(replica: Replica) -> None:
    """An offer that is open cannot be made again, and none that is not open be withdrawn."""
    players = await start(replica, seats=4)
    with unchanged(replica):
        for call in (resign(players[0], withdraw=True), offer_draw(players[0], withdraw=True)):
            assert (await refused(call)).short == ("FAILED_PRECONDITION", "NO_OFFER")
    await resign(players[0])
    await offer_draw(players[0])
    with unchanged(replica):
        for call in (resign(players[0]), offer_draw(players[0])):
            assert (await refused(call)).short == ("FAILED_PRECONDITION", "ALREADY_OFFERED")
        assert (await refused(resign(players[1], withdraw=True))).reason == "NO_OFFER"


@ENDINGS
async def test_who_may_not(replica: Replica, end: Ending) -> None:
    """Before the match, without a seat of the table, and with bad input nothing is ended."""
    table = await create(replica)
    waiting = await join(replica, table.id)
    stranger = (await start(replica))[0]._replace(table_id=table.id)
    with unchanged(replica):
        assert (await refused(end(waiting))).short == ("FAILED_PRECONDITION", "TABLE_NOT_PLAYING")
        assert (await refused(end(stranger))).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
        assert (await refused(end(waiting._replace(token="none")))).short == ("UNAUTHENTICATED", "TOKEN_INVALID")
        assert_invalid(await refused(end(waiting, table_id="x", request_id="y")), "request_id", "table_id")
        assert (await refused(end(waiting, table_id="0" * 32))).short == ("NOT_FOUND", "TABLE_UNKNOWN")
    for name in ("Resign", "OfferDraw", "AbortTable"):
        request = getattr(pb, f"{name}Request")(table_id=table.id, request_id=new_id())
        refusal = await refused(getattr(replica.tables, name)(request))
        assert refusal.short == ("UNAUTHENTICATED", "TOKEN_MISSING")


# ---- idempotency and races ----


@ENDINGS
async def test_repeat(replica: Replica, end: Ending) -> None:
    """A repeat gets the first answer, also after the match; any other request under the id is refused."""
    players = await start(replica, seats=4 if end is resign else 2)
    request_id = new_id()
    first = await end(players[0], request_id=request_id)
    with unchanged(replica):
        assert await end(players[0], request_id=request_id) == first
    if first.state == PLAYING:
        await end(players[2 if end is resign else 1])
    with unchanged(replica):
        assert await end(players[0], request_id=request_id) == first
        others = [other for other in (resign, offer_draw, abort) if other is not end]
        calls = [
            end(players[1], request_id=request_id),
            *[other(players[0], request_id=request_id) for other in others],
        ]
        if end is not abort:
            calls.append(end(players[0], request_id=request_id, withdraw=True))
        for call in calls:
            assert (await refused(call)).short == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")


@pytest.fixture(params=["sqlite_url", "redis_url", "redis_cluster_url", "postgres_url"])
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two servers, each with connections of its own to the same store."""
    url: str = request.getfixturevalue(request.param)
    async with serving(url) as one, serving(url) as other:
        yield one, other


async def test_offers_at_once(replicas: tuple[Replica, Replica]) -> None:
    """Of offers of a draw that all make at once, at two replicas, none is lost: the last one ends the match, once."""
    here, there = replicas
    players = await start(here, seats=4, stake=4)
    spread = [player.at(replicas[seat % 2]) for seat, player in enumerate(players)]
    watcher = watch(there, players[0].table_id)
    await watcher.expect("state")
    tables = await asyncio.gather(*map(offer_draw, spread))
    assert sorted(table.revision for table in tables) == [6, 7, 8, 9]
    (last,) = [table for table in tables if table.state == FINISHED]
    assert last.result == result(event_pb2.MATCH_END_DRAW_AGREED, payouts=[0] * 4)
    for replica in replicas:
        assert await get(replica, last.id) == last
    sent = [event for update in await watcher.rest() for event in update.message.events]
    assert [event.WhichOneof("event") for event in sent] == ["draw_offered"] * 4 + ["match_ended"]
    for replica in replicas:
        assert (await records(replica, last.id)).cut_off.deal_number == 1


async def test_move_and_end_at_once(replicas: tuple[Replica, Replica]) -> None:
    """Of a move and a resignation at once both are done in one order, or the move finds the match over."""
    here, there = replicas
    for _ in range(4):
        players = await start(here)
        turn = plain_turn(dealt())
        mover, other = players[turn.seat], players[1 - turn.seat].at(there)
        moved, table = await gathered(mover.submit(*turn.moves), resign(other))
        assert table.state == FINISHED
        made = not isinstance(moved, grpc.aio.AioRpcError)
        if not made:
            assert read_refusal(moved).reason == "TABLE_FINISHED"
        cut_off = (await records(there, table.id)).cut_off
        assert len(cut_off.moves) == (2 if made else 0)
        assert (await get(there, table.id)).revision == (5 if made else 4)


async def test_offers_outlive_the_replica(tmp_path: Path) -> None:
    """Offers are stored with the table: at another replica, later, they are open as before."""
    async with serving(tmp_path / "tables.db") as first:
        players = await start(first, seats=4)
        await resign(players[0])
    async with serving(tmp_path / "tables.db") as second:
        assert offers(await get(second, players[0].table_id)) == [(0, RESIGNATION)]
        table = await resign(players[2].at(second))
        assert table.result == result(event_pb2.MATCH_END_RESIGNED, winner=1, resigned_side=0)
