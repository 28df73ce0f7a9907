"""Tables with a clock, and with scores to confirm, over gRPC at two replicas of each store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration

from buraco.v1 import table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_bots.report import replay
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import Deal, DrawStock
from buraco_service.stores.base import Commit, StoreUnavailable
from buraco_service.tables import deadlines
from buraco_service.tables.finishing import finish_turn
from buraco_service.tables.state import TableValue
from tests.clock import LoopClock
from tests.service.announcing import Announcing
from tests.service.knowledge import Watched
from tests.service.refusals import assert_invalid, gathered, read_refusal, refused
from tests.service.scripts import after_moves, plain_turn, short_rules
from tests.service.table_server import (
    PATIENCE,
    Player,
    Replica,
    create,
    get,
    join,
    new_id,
    public_view,
    records,
    serving,
    start,
    unchanged,
    watch,
)

NOW = 1_800_000_000.0
TOLERANCE = 2.0
TURN, RESERVE, CONFIRMATION = 30.0, 60.0, 20.0


class Clock:
    """The time of two replicas, which may differ."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def seconds(value: float) -> Duration:
    """A time as a message."""
    return Duration(seconds=int(value), nanos=round(value % 1 * 1e9))


def options(**chosen: Any) -> table_pb2.TableOptions:
    """Options of a table: times in seconds."""
    fields: dict[str, Any] = {
        name: seconds(value) if name.endswith("_time") else value for name, value in chosen.items()
    }
    return table_pb2.TableOptions(**fields)


WITH_CLOCK = options(turn_time=TURN, reserve_time=RESERVE, absent_after_turns=2)
WITH_SCORES = options(confirmation_time=CONFIRMATION)


class Two(NamedTuple):
    """Two replicas of one store, each with a clock."""

    here: Replica
    there: Replica
    clocks: tuple[Clock, Clock]

    def wait(self, time: float) -> None:
        """Let time pass."""
        for clock in self.clocks:
            clock.now += time

    async def look(self) -> int:
        """Let both replicas look for what is due, at once; return how much they carried out together."""
        return sum(await asyncio.gather(self.here.deadlines.look(), self.there.deadlines.look()))


@pytest.fixture(params=["sqlite_url", "redis_url", "redis_cluster_url", "postgres_url"])
async def two(request: pytest.FixtureRequest) -> AsyncIterator[Two]:
    """Two replicas of each kind of store."""
    url: str = request.getfixturevalue(request.param)
    clocks = Clock(), Clock()
    async with (
        serving(url, clock=clocks[0], clock_tolerance=TOLERANCE) as here,
        serving(url, clock=clocks[1], clock_tolerance=TOLERANCE) as there,
    ):
        yield Two(here, there, clocks)


@pytest.fixture
async def alone(sqlite_url: str) -> AsyncIterator[Two]:
    """Two replicas, where the store does not matter."""
    clocks = Clock(), Clock()
    async with (
        serving(sqlite_url, clock=clocks[0], clock_tolerance=TOLERANCE) as here,
        serving(sqlite_url, clock=clocks[1], clock_tolerance=TOLERANCE) as there,
    ):
        yield Two(here, there, clocks)


async def mover(replica: Replica, players: list[Player]) -> Player:
    """Who is to move."""
    table = await replica.table(players[0].table_id)
    assert table.deal is not None
    return players[table.deal.seat_to_move]


def deal_of(table: TableValue) -> Deal:
    """The deal of a table, which has one."""
    assert table.deal is not None
    return table.deal


async def play_turn(replica: Replica, players: list[Player]) -> None:
    """Play a plain turn."""
    deal = deal_of(await replica.table(players[0].table_id))
    await players[deal.seat_to_move].submit(*plain_turn(deal).moves)


def counted(replica: Replica, kind: str = "turn") -> float:
    """How much of a kind a replica has carried out, by its metrics."""
    return replica.metrics.registry.get_sample_value("buraco_due_total", {"kind": kind}) or 0.0


async def watched_events(replica: Replica, table_id: str, revision: int) -> list[str]:
    """The kinds of all events of a table up to a revision, as everybody sees them."""
    updates = await watch(replica, table_id, 0).until(revision)
    return [event.WhichOneof("event") or "" for update in updates for event in update.message.events]


# ---- the clock ----


async def test_turn_is_finished_once(two: Two) -> None:
    """A turn whose time and reserve are over is finished by one of the replicas that look, and by one alone."""
    players = await start(two.here, options=WITH_CLOCK)
    table_id = players[0].table_id
    before = await two.here.table(table_id)
    stream = players[0].watch()
    await stream.expect("state")
    two.wait(TURN + RESERVE + TOLERANCE - 0.01)
    assert await two.look() == 0
    two.wait(0.02)
    assert [await two.look() for _ in range(3)] == [1, 0, 0]
    after = await two.there.table(table_id)
    assert after.revision == before.revision + 1
    assert after.deal == after_moves(deal_of(before), finish_turn(deal_of(before)))
    update = await stream.expect("events")
    assert [event.WhichOneof("event") for event in update.events] == ["turn_timed_out", "drew", "discarded"]
    assert update.events[0].turn_timed_out.seat == deal_of(before).seat_to_move
    assert [counted(replica) for replica in (two.here, two.there)].count(1.0) == 1
    # The next turn has its whole time, and the reserve of its own seat.
    two.wait(TURN + RESERVE + TOLERANCE - 0.1)
    assert await two.look() == 0
    two.wait(0.2)
    assert await two.look() == 1


async def test_reserve_is_used_up(two: Two) -> None:
    """What a turn takes longer than its time is gone from the seat's reserve for the rest of the match."""
    players = await start(two.here, options=WITH_CLOCK)
    table_id = players[0].table_id
    first = deal_of(await two.here.table(table_id)).seat_to_move
    for used in (10.0, TURN + 15.0):
        for seat in (first, 1 - first):
            two.wait(used if seat == first else 1.0)
            await play_turn(two.there, players)
    view = (await public_view(two.here, table_id)).view
    left = [seat.reserve_remaining.ToTimedelta().total_seconds() for seat in view.seats]
    assert left[first] == RESERVE - 15.0
    assert left[1 - first] == RESERVE
    two.wait(TURN + RESERVE - 15.0 + TOLERANCE + 0.01)
    assert await two.look() == 1
    assert (await two.here.table(table_id)).timing is not None
    view = (await public_view(two.here, table_id)).view
    assert view.seats[first].reserve_remaining.ToTimedelta().total_seconds() == 0.0
    await play_turn(two.here, players)
    two.wait(TURN + TOLERANCE + 0.01)
    assert await two.look() == 1


async def test_views_show_clocks(alone: Two) -> None:
    """Views count down the turn, then the reserve, of the seat to move; the table says when both are over."""
    players = await start(alone.here, options=WITH_CLOCK)
    player = await mover(alone.here, players)
    table = await get(alone.here, player.table_id)
    assert table.turn_expires_at.ToSeconds() == NOW + TURN + RESERVE
    assert table.options == options(
        turn_time=TURN, reserve_time=RESERVE, absent_after_turns=2, absence=table_pb2.ABSENCE_POLICY_WAIT
    )
    seen = []
    for _ in range(4):
        view = await player.view()
        seat, other = view.seats[player.seat], view.seats[1 - player.seat]
        seen.append((seat.clock_remaining.seconds, seat.reserve_remaining.seconds))
        assert (other.HasField("clock_remaining"), other.reserve_remaining.seconds) == (False, RESERVE)
        alone.wait(25.0)
    assert seen == [(30, 60), (5, 60), (0, 40), (0, 15)]
    answer = await player.submit(DrawStock())
    assert answer.view.seats[player.seat].HasField("clock_remaining")
    stream = await player.play(legal_moves=True)
    state, turn = await stream.expect("state"), await stream.expect("turn")
    for view in (state.view, turn.view):
        assert view.seats[player.seat].HasField("reserve_remaining")


async def test_moves_within_a_turn_do_not_stop_its_clock(alone: Two) -> None:
    """A draw, or any other move that does not end the turn, leaves its end where it was."""
    players = await start(alone.here, options=WITH_CLOCK)
    player = await mover(alone.here, players)
    expiry = (await get(alone.here, player.table_id)).turn_expires_at
    alone.wait(TURN)
    await player.submit(DrawStock())
    assert (await get(alone.here, player.table_id)).turn_expires_at == expiry
    alone.wait(RESERVE + TOLERANCE + 0.1)
    assert await alone.look() == 1
    assert deal_of(await alone.here.table(player.table_id)).seat_to_move != player.seat


async def test_move_after_the_clock(alone: Two) -> None:
    """A move that comes after its turn was finished is refused for that, and changes nothing; its repeat, too."""
    players = await start(alone.here, options=WITH_CLOCK)
    player = await mover(alone.here, players)
    alone.wait(TURN + RESERVE + TOLERANCE + 0.1)
    await alone.look()
    with unchanged(alone.here):
        request_id = new_id()
        for _ in range(2):
            refusal = await refused(player.submit(DrawStock(), request_id=request_id))
            assert refusal.short == ("FAILED_PRECONDITION", "NOT_YOUR_TURN")
        assert (await refused(player.submit(DrawStock(), revision=3))).reason == "REVISION_STALE"


async def test_move_before_the_clock_is_looked_at(alone: Two) -> None:
    """Of a move and the clock that come at the same time one wins, and the other finds that it came too late."""
    for _ in range(10):
        players = await start(alone.here, options=WITH_CLOCK)
        player = await mover(alone.here, players)
        before = await alone.here.table(player.table_id)
        alone.wait(TURN + RESERVE + TOLERANCE + 0.1)
        turn = plain_turn(deal_of(before))

        async def play(player: Player = player, moves: Any = turn.moves) -> bool:
            (outcome,) = await gathered(player.submit(*moves))
            if not isinstance(outcome, grpc.aio.AioRpcError):
                return True
            assert read_refusal(outcome).short == ("FAILED_PRECONDITION", "NOT_YOUR_TURN")
            return False

        has_played, _ = await asyncio.gather(play(), alone.look())
        after = await alone.here.table(player.table_id)
        events = (await watch(alone.here, player.table_id, before.revision).expect("events")).events
        timed_out = events[0].WhichOneof("event") == "turn_timed_out"
        assert (after.revision, timed_out) == (before.revision + 1, not has_played)
        assert deal_of(after).turn.number == deal_of(before).turn.number + 1


async def test_absence_and_return(alone: Two) -> None:
    """After so many turns that the clock finished a seat is absent, until its player does something."""
    players = await start(alone.here, options=WITH_CLOCK)
    table_id = players[0].table_id
    first = await mover(alone.here, players)
    shown = []
    for _ in range(2):
        alone.wait(TURN + RESERVE + TOLERANCE + 0.1)
        assert await alone.look() == 1
        shown.append((await get(alone.here, table_id)).seats[first.seat].absent)
        await play_turn(alone.here, players)
    assert shown == [False, True]
    assert (await players[0].view()).seats[first.seat].absent
    log = [(await watch(alone.here, table_id, revision).expect("events")).events[0] for revision in (3, 5)]
    assert [event.turn_timed_out.absent for event in log] == [False, True]
    await first.submit(DrawStock())
    table = await get(alone.here, table_id)
    assert [seat.absent for seat in table.seats] == [False, False]


async def test_clock_stands_still_without_players(two: Two) -> None:
    """When every seat is absent nothing is due any more; who opens a stream is there again, and the clock goes on."""
    players = await start(two.here, options=options(turn_time=TURN, reserve_time=RESERVE, absent_after_turns=1))
    table_id = players[0].table_id
    for _ in range(2):
        two.wait(TURN + RESERVE + TOLERANCE + 0.1)
        assert await two.look() == 1
    table = await get(two.here, table_id)
    assert [seat.absent for seat in table.seats] == [True, True]
    assert not table.HasField("turn_expires_at")
    assert not any(seat.HasField("clock_remaining") for seat in (await players[0].view()).seats)
    two.wait(3000.0)
    assert await two.look() == 0
    revision = table.revision
    back = players[1 - deal_of(await two.here.table(table_id)).seat_to_move].at(two.there)
    public = watch(two.here, table_id, revision)
    state = await (await back.play()).expect("state")
    assert [seat.absent for seat in state.table.seats] == [seat != back.seat for seat in range(2)]
    (event,) = (await public.expect("events")).events
    assert event.seat_returned.seat == back.seat
    # The seat to move has no reserve left, and the whole time of its turn.
    assert state.table.turn_expires_at.ToMicroseconds() / 1e6 == pytest.approx(two.clocks[0].now + TURN)
    two.wait(TURN + TOLERANCE + 0.1)
    assert await two.look() == 1
    assert deal_of(await two.here.table(table_id)).seat_to_move == back.seat
    assert (await get(two.here, table_id)).revision == revision + 2


async def test_turn_of_who_comes_back_is_charged_for_nothing(alone: Two) -> None:
    """A move at a table whose clock stood still costs no reserve."""
    chosen = options(turn_time=TURN, reserve_time=RESERVE, absent_after_turns=1)
    players = await start(alone.here, options=chosen)
    first = await mover(alone.here, players)
    await play_turn(alone.here, players)
    for player in players:
        await player.leave()
    assert not (await get(alone.here, first.table_id)).HasField("turn_expires_at")
    alone.wait(5000.0)
    assert await alone.look() == 0
    await join(alone.here, first.table_id, seat=1 - first.seat)
    table = await get(alone.here, first.table_id)
    assert table.turn_expires_at.ToSeconds() == alone.clocks[0].now + TURN + RESERVE


async def test_free_seat_does_not_hold_up_a_table(alone: Two) -> None:
    """The turns of a seat that was left are finished as well; who takes it is not absent."""
    players = await start(alone.here, options=options(turn_time=TURN, absent_after_turns=1))
    player = await mover(alone.here, players)
    await player.leave()
    alone.wait(TURN + TOLERANCE + 0.1)
    assert await alone.look() == 1
    assert not (await get(alone.here, player.table_id)).seats[player.seat].absent
    await join(alone.here, player.table_id, seat=player.seat)
    assert not (await get(alone.here, player.table_id)).seats[player.seat].absent


async def test_match_of_nothing_but_the_clock(alone: Two) -> None:
    """A match that nobody plays comes to its end, its records can be replayed, and nothing is due any more."""
    rules = rule_set_to_pb(short_rules(4))
    chosen = options(turn_time=TURN, confirmation_time=CONFIRMATION, absent_after_turns=100)
    players = await start(alone.here, rule_set=rules, target_score=0, options=chosen)
    table_id = players[0].table_id
    for _ in range(4):
        alone.wait(TURN + TOLERANCE)
        assert await alone.look() == 1
    table = await get(alone.here, table_id)
    assert (table.state, len(table.result.scores)) == (table_pb2.TABLE_STATE_FINISHED, 2)
    assert not table.HasField("turn_expires_at")
    assert not table.HasField("awaiting_confirmation")
    alone.wait(1e6)
    assert await alone.here.store.due(alone.clocks[0].now, 10) == []
    for record in (await records(alone.here, table_id)).deals:
        replay(record)


@pytest.mark.parametrize("ahead", [TOLERANCE - 0.5, -3600.0])
async def test_clocks_that_differ(alone: Two, ahead: float) -> None:
    """A replica whose clock is ahead by no more than the tolerance, or far behind, ends no turn early."""
    players = await start(alone.here, options=options(turn_time=TURN))
    alone.clocks[1].now += ahead
    alone.wait(TURN - 0.1)
    assert await alone.there.deadlines.look() == 0
    alone.wait(TOLERANCE + 0.2)
    assert await alone.look() == 1
    assert deal_of(await alone.here.table(players[0].table_id)).turn.number == 2


async def test_replica_looks_by_itself(alone: Two, monkeypatch: pytest.MonkeyPatch, log_stream: Announcing) -> None:
    """A replica looks again and again, also after the store was away; a leap of its clock is logged."""
    players = await start(alone.here, options=options(turn_time=TURN))
    stream = watch(alone.here, players[0].table_id, 3)
    loop = LoopClock(monkeypatch)
    failing = iter([StoreUnavailable("away")])
    due = alone.here.store.due

    async def sometimes(now: float, limit: int) -> list[str]:
        for error in failing:
            raise error
        return await due(now, limit)

    monkeypatch.setattr(alone.here.store, "due", sometimes)
    task = asyncio.create_task(alone.here.deadlines.run())
    await asyncio.sleep(0)
    alone.wait(TURN + TOLERANCE + 0.1)
    events = await loop.hurry(stream.expect("events"))
    assert events.events[0].turn_timed_out.seat in (0, 1)
    task.cancel()
    await asyncio.wait([task])
    (jump,) = log_stream.lines("the clock has jumped")
    assert jump["seconds"] == pytest.approx(TURN + TOLERANCE, abs=20.0)
    (away,) = log_stream.lines("due times were not carried out")
    assert away["cause"] == "away"


async def test_table_of_a_later_version_holds_up_no_other(
    alone: Two, monkeypatch: pytest.MonkeyPatch, log_stream: Announcing
) -> None:
    """What is due at a table that this version cannot read stays due, is logged, and holds up no other table."""
    monkeypatch.setattr(deadlines, "_PAGE", 1)
    groups = [await start(alone.here, options=options(turn_time=TURN)) for _ in range(2)]
    table_id = groups[0][0].table_id
    stored = await alone.here.store.load(table_id)
    due_at = NOW + TURN
    later = stored.state + b"\xc2\x3e\x05later"
    await alone.here.store.commit(
        Commit(table_id, stored.revision, later, stored.status, NOW, b"", None, b"", due_at=due_at)
    )
    alone.wait(TURN + TOLERANCE + 0.1)
    assert [await alone.here.deadlines.look() for _ in range(3)] == [0, 1, 0]
    (line,) = log_stream.lines("due times were not carried out")
    assert (line["table_id"], line["count"]) == (table_id, 1)
    assert "exception" not in line
    assert await alone.here.store.due(due_at, 10) == [table_id]


async def test_tables_without_a_clock_are_never_due(alone: Two) -> None:
    """Nothing becomes due at a table whose creator chose nothing, and nothing of it shows a clock."""
    players = await start(alone.here, options=table_pb2.TableOptions())
    await play_turn(alone.here, players)
    alone.wait(86_400.0)
    assert await alone.look() == 0
    table = await get(alone.here, players[0].table_id)
    assert not table.HasField("options")
    assert not table.HasField("turn_expires_at")
    assert not any(seat.HasField("reserve_remaining") for seat in (await players[0].view()).seats)


# ---- the confirmation of scores ----


async def shown_score(two: Two, *, seats: int = 2, chosen: table_pb2.TableOptions = WITH_SCORES) -> list[Player]:
    """The players of a table whose first deal has ended, and whose score is shown."""
    rules = rule_set_to_pb(short_rules(seats))
    players = await start(two.here, rule_set=rules, seats=seats, target_score=10_000, options=chosen)
    for _ in range(seats):
        await play_turn(two.here, players)
    return players


async def test_next_deal_waits_for_all_players(two: Two) -> None:
    """The next deal is dealt when all players have confirmed the score, and everybody sees who has."""
    players = await shown_score(two, seats=4)
    table_id = players[0].table_id
    ended = deal_of(await two.here.table(table_id))
    stream = watch(two.there, table_id, 8)
    happened = [event.WhichOneof("event") for event in (await stream.expect("events")).events]
    assert happened[-2:] == ["deal_ended", "confirmation_awaited"]
    awaiting = table_pb2.AwaitingConfirmation()
    for number, seat in enumerate((2, 0, 3)):
        answer = await players[seat].at(two.there).confirm(1)
        awaiting = answer.table.awaiting_confirmation
        assert (awaiting.deal_number, len(awaiting.confirmed_seats)) == (1, number + 1)
        assert [event.score_confirmed.seat for event in (await stream.expect("events")).events] == [seat]
    assert list(awaiting.confirmed_seats) == [0, 2, 3]
    assert awaiting.expires_at.ToSeconds() == NOW + CONFIRMATION
    assert awaiting.score.sides[0].total == (await records(two.here, table_id)).deals[0].score.sides[0].total
    view = await players[1].view()
    assert [seat.confirmed for seat in view.seats] == [True, False, True, True]
    assert view.confirmation_remaining.seconds == CONFIRMATION
    assert deal_of(await two.here.table(table_id)) == ended
    answer = await players[1].confirm(1)
    assert not answer.table.HasField("awaiting_confirmation")
    assert answer.table.match.deal_number == 2
    events = (await stream.expect("events")).events
    assert [event.WhichOneof("event") for event in events] == ["score_confirmed", "dealt"]
    assert not any(seat.confirmed for seat in (await players[1].view()).seats)
    for _ in range(4):
        await play_turn(two.there, players)
    assert (await get(two.here, table_id)).awaiting_confirmation.deal_number == 2
    for record in (await records(two.here, table_id)).deals:
        replay(record)


async def test_next_deal_is_dealt_when_the_time_is_over(two: Two) -> None:
    """When the time to confirm is over, the next deal is dealt, once, whoever has confirmed."""
    players = await shown_score(two)
    await players[1].confirm(1)
    two.wait(CONFIRMATION + TOLERANCE - 0.1)
    assert await two.look() == 0
    two.wait(0.2)
    assert [await two.look() for _ in range(2)] == [1, 0]
    table = await get(two.here, players[0].table_id)
    assert (table.match.deal_number, table.HasField("awaiting_confirmation")) == (2, False)
    assert (await refused(players[0].confirm(1))).short == ("FAILED_PRECONDITION", "SCORE_NOT_SHOWN")


async def test_last_confirmations_at_once(two: Two) -> None:
    """Players who confirm at the same time, at two replicas, while the time ends, make one next deal."""
    for _ in range(5):
        players = await shown_score(two)
        two.wait(CONFIRMATION + TOLERANCE + 0.1)
        outcomes = await gathered(players[0].confirm(1), players[1].at(two.there).confirm(1), two.look())
        for outcome in outcomes:
            if isinstance(outcome, grpc.aio.AioRpcError):
                assert read_refusal(outcome).short == ("FAILED_PRECONDITION", "SCORE_NOT_SHOWN")
        table = await two.here.table(players[0].table_id)
        assert deal_of(table).match.deal_number == 2
        logged = await watched_events(two.here, table.id, table.revision)
        assert logged.count("dealt") == 2
        assert logged.count("score_confirmed") == sum(isinstance(one, pb.ConfirmScoreResponse) for one in outcomes)


async def test_confirming_twice(alone: Two) -> None:
    """A score that is confirmed again stays confirmed, under the same request id or another, and nothing changes."""
    players = await shown_score(alone)
    request_id = new_id()
    first = await players[0].confirm(1, request_id)
    with unchanged(alone.here):
        assert await players[0].confirm(1, request_id) == first
        assert (await players[0].confirm(1)).table == first.table
        refusal = await refused(players[1].confirm(1, request_id))
        assert refusal.short == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
    await players[1].confirm(1)
    assert await players[0].confirm(1, request_id) == first


async def test_no_moves_while_the_score_is_shown(alone: Two) -> None:
    """Moves and undos are refused until the next deal; there are no legal moves, and the hands stay hidden."""
    players = await shown_score(alone)
    with unchanged(alone.here):
        for player in players:
            assert list((await player.legal()).moves) == []
            for call in (player.submit(DrawStock()), player.undo()):
                assert (await refused(call)).short == ("FAILED_PRECONDITION", "AWAITING_CONFIRMATION")
    stream = await players[0].play(legal_moves=True)
    await stream.expect("state")
    request = await stream.submit(DrawStock())
    assert (await stream.denied(request)).reason == "AWAITING_CONFIRMATION"


async def test_players_who_leave_need_not_confirm(alone: Two) -> None:
    """A player who leaves is not waited for; one who takes the seat is."""
    players = await shown_score(alone)
    await players[0].confirm(1)
    await players[1].leave()
    table = await get(alone.here, players[0].table_id)
    assert table.match.deal_number == 2
    assert not table.HasField("awaiting_confirmation")

    players = await shown_score(alone)
    await players[1].confirm(1)
    await players[0].leave()
    assert (await get(alone.here, players[0].table_id)).match.deal_number == 2

    players = await shown_score(alone, seats=4)
    for player in players[:2]:
        await player.confirm(1)
    await players[1].leave()
    substitute = await join(alone.here, players[0].table_id, seat=1)
    for player in players[2:]:
        await player.confirm(1)
    assert list((await get(alone.here, players[0].table_id)).awaiting_confirmation.confirmed_seats) == [0, 2, 3]
    assert (await substitute.confirm(1)).table.match.deal_number == 2


async def test_turn_clock_after_a_confirmation(alone: Two) -> None:
    """The time in which a score is shown is charged to nobody; the first turn of the next deal has its whole time."""
    chosen = options(turn_time=TURN, reserve_time=RESERVE, confirmation_time=CONFIRMATION)
    players = await shown_score(alone, chosen=chosen)
    alone.wait(CONFIRMATION - 1)
    for player in players:
        await player.confirm(1)
    table = await get(alone.here, players[0].table_id)
    assert table.turn_expires_at.ToSeconds() == alone.clocks[0].now + TURN + RESERVE
    assert {seat.reserve_remaining.seconds for seat in (await players[0].view()).seats} == {RESERVE}


@pytest.mark.parametrize("deal_number", [2, 7])
async def test_confirming_what_is_not_shown(alone: Two, deal_number: int) -> None:
    """A score can be confirmed only while it is shown, and only by a player of the table."""
    players = await start(alone.here, options=WITH_SCORES)
    assert (await refused(players[0].confirm(1))).short == ("FAILED_PRECONDITION", "SCORE_NOT_SHOWN")
    shown = await shown_score(alone)
    with unchanged(alone.here):
        refusal = await refused(shown[0].confirm(deal_number))
        assert (refusal.reason, refusal.metadata) == ("SCORE_NOT_SHOWN", {"dealNumber": str(deal_number)})
        assert (await refused(shown[0]._replace(token=players[0].token).confirm(1))).reason == "SEAT_NOT_YOURS"
        assert_invalid(await refused(shown[0].confirm(0)), "deal_number")
        assert_invalid(await refused(shown[0].confirm(1, "x")), "request_id")
        request = pb.ConfirmScoreRequest(table_id=shown[0].table_id, deal_number=1, request_id=new_id())
        assert (await refused(alone.here.tables.ConfirmScore(request, timeout=PATIENCE))).reason == "TOKEN_MISSING"


async def test_nothing_hidden_is_shown_with_a_score(alone: Two) -> None:
    """While a score is shown, and when a turn is finished by the clock, nobody is sent a card that is hidden."""
    chosen = options(turn_time=TURN, confirmation_time=CONFIRMATION, absent_after_turns=100)
    rules = rule_set_to_pb(short_rules(4))
    players = await start(alone.here, rule_set=rules, target_score=10_000, options=chosen)
    table_id = players[0].table_id
    watched = Watched()
    watched.note(await alone.here.table(table_id))
    receivers = [(players[0].watch(), 0), (players[1].watch(), 1), (watch(alone.here, table_id), None)]
    for updates, seat in receivers:
        watched.check_update(await updates.next(), seat)
    for _ in range(12):
        alone.wait(TURN + CONFIRMATION + TOLERANCE)
        assert await alone.look() == 1
        table = await alone.here.table(table_id)
        watched.note(table)
        for updates, seat in receivers:
            for update in await updates.until(table.revision):
                watched.check_update(update, seat)
        watched.check_table(await get(alone.here, table_id))
        for seat in (0, 1, None):
            look = await (public_view(alone.here, table_id) if seat is None else players[seat].look())
            watched.check_view(look.view, seat, look.revision)
    assert deal_of(await alone.here.table(table_id)).match.deal_number > 1


# ---- options ----


@pytest.mark.parametrize(
    ("chosen", "field"),
    [
        (options(turn_time=4.999), "turn_time"),
        (options(turn_time=86_400.001), "turn_time"),
        (options(turn_time=-5), "turn_time"),
        (options(turn_time=5.0005), "turn_time"),
        (options(turn_time=5, reserve_time=86_400.001), "reserve_time"),
        (options(reserve_time=5), "reserve_time"),
        (options(turn_time=5, reserve_time=-1), "reserve_time"),
        (options(confirmation_time=600.001), "confirmation_time"),
        (options(confirmation_time=-1), "confirmation_time"),
        (options(turn_time=5, absent_after_turns=101), "absent_after_turns"),
        (options(absent_after_turns=1), "absent_after_turns"),
        (options(turn_time=5, absence=7), "absence"),
        (options(absence=table_pb2.ABSENCE_POLICY_WAIT), "absence"),
    ],
    ids=str,
)
async def test_options_that_cannot_be(alone: Two, chosen: table_pb2.TableOptions, field: str) -> None:
    """Times out of range, and what only a clock makes sense of, are refused by name."""
    assert_invalid(await refused(create(alone.here, options=chosen)), f"options.{field}")


async def test_options_of_a_later_version(alone: Two) -> None:
    """What this version does not know is refused: a table without it would not be the one asked for."""
    chosen = options(turn_time=TURN)
    chosen.MergeFromString(b"\xc2\x3e\x05later")
    assert_invalid(await refused(create(alone.here, options=chosen)), "options")


async def test_options_are_of_the_content(alone: Two) -> None:
    """Repeats of a create are the same with the same options alone; a default counts as if it were given."""
    request_id = new_id()
    first = await create(alone.here, options=options(turn_time=TURN), request_id=request_id)
    again = options(turn_time=TURN, absent_after_turns=3, absence=table_pb2.ABSENCE_POLICY_WAIT)
    assert await create(alone.here, options=again, request_id=request_id) == first
    for other in (options(turn_time=TURN + 1), table_pb2.TableOptions()):
        refusal = await refused(create(alone.here, options=other, request_id=request_id))
        assert refusal.reason == "REQUEST_ID_REUSED"
