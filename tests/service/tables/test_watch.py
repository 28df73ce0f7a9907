from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import grpc
import grpc.aio
import pytest

from buraco.v1 import event_pb2
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import DrawStock, next_match
from buraco_service.tables.feed import Feed
from tests.clock import LoopClock
from tests.service.refusals import refused
from tests.service.scripts import (
    CLASSIC,
    SeatTurn,
    after_moves,
    dealt,
    plain_turn,
    plain_turns,
    played,
    short_rules,
    submitted,
    turns,
)
from tests.service.table_server import (
    END,
    NAMES,
    Play,
    Player,
    Replica,
    Update,
    Updates,
    create,
    get,
    join,
    public_view,
    serving,
    shown_view,
    start,
    watch,
)

SHORT = short_rules(2)
LONG_AGO = dataclasses.replace(CLASSIC, id="long-ago", max_turns=40)
"""House rules whose deals have some 80 revisions, move by move: more than the log keeps beyond need."""


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A running server."""
    async with serving(tmp_path / "tables.db") as running:
        yield running


def changes_in(updates: Sequence[Update]) -> list[tuple[int, list[event_pb2.Event]]]:
    """Revisions and events of updates that are all events."""
    assert {update.kind for update in updates} <= {"events"}
    return [(update.message.revision, list(update.message.events)) for update in updates]


async def play_turns(players: Sequence[Player], number: int) -> int:
    """Submit so many plain turns from the beginning of the match; returns the last revision."""
    return (await submitted(players, plain_turns(dealt(seats=len(players)), number)))[-1].revision


async def test_state_then_events(replica: Replica) -> None:
    """A watch begins with table and view, then sends every change in order, revision by revision, to the end."""
    script = list(turns(list(played(dealt(), random.Random(1)))))
    players = await start(replica)
    table_id = players[0].table_id
    public, private = watch(replica, table_id), players[1].watch()
    first = await public.expect("state")
    assert first.table == await get(replica, table_id)
    assert first.view == (await public_view(replica, table_id)).view
    assert (await private.expect("state")).view == await players[1].view()
    answers = await submitted(players, script)
    for updates in (await public.rest(), await private.rest()):
        assert [revision for revision, _ in changes_in(updates)] == [answer.revision for answer in answers]
        assert [answer.revision for answer in answers] == list(range(4, 4 + len(answers)))
        kinds = [[event.WhichOneof("event") for event in events] for _, events in changes_in(updates)]
        assert kinds == [[event.WhichOneof("event") for event in answer.events] for answer in answers]
        assert kinds[-1][-2:] == ["deal_ended", "match_ended"]


async def test_seats_and_start_are_told(replica: Replica) -> None:
    """Joins and leaves are sent, and the start with the watcher's hand and nobody else's."""
    table = await create(replica)
    early = await join(replica, table.id, player_name="Early")
    await early.leave()
    stayer = await join(replica, table.id, player_name="Ada")
    public, private = watch(replica, table.id), stayer.watch()
    assert not (await public.expect("state")).HasField("view")
    await private.expect("state")
    await join(replica, table.id, player_name="Bo")
    deal = dealt()
    for updates, hand in ((public, ()), (private, deal.hands[0])):
        message = await updates.expect("events")
        assert message.revision == 5
        changed, start_told = message.events
        assert changed.seat_changed == event_pb2.SeatChanged(seat=1, player_name="Bo")
        assert tuple(start_told.dealt.hand) == hand
        assert not start_told.dealt.hands
    before = await watch(replica, table.id, 1).until(5)
    assert [[event.seat_changed.player_name for event in events] for _, events in changes_in(before)] == [
        ["Early"],
        [""],
        ["Ada"],
        ["Bo", ""],
    ]


async def test_resume_after_every_revision(replica: Replica) -> None:
    """A watch resumed after any revision gets what came since, nothing twice and nothing lost, and so does the next."""
    players = await start(replica, seats=4)
    newest = await play_turns(players, 8)
    whole = changes_in(await players[2].watch(0).until(newest))
    assert [revision for revision, _ in whole] == list(range(1, newest + 1))
    for revision in range(newest):
        stream = players[2].watch(revision)
        assert changes_in(await stream.until(newest)) == whole[revision:]
        stream.cancel()


async def test_resume_from_the_store(tmp_path: Path) -> None:
    """A replica that made none of the changes sends them all the same."""
    path = tmp_path / "tables.db"
    async with serving(path) as replica:
        players = await start(replica)
        newest = await play_turns(players, 40)
        whole = changes_in(await players[0].watch(0).until(newest))
    async with serving(path) as replica:
        player = players[0].at(replica)
        for revision in (0, 1, 2, 20, newest - 1):
            assert changes_in(await player.watch(revision).until(newest)) == whole[revision:]


async def test_resume_at_the_newest(replica: Replica) -> None:
    """A watch resumed after the newest revision begins with the next change."""
    players = await start(replica)
    stream = players[0].watch(3)
    await play_turns(players, 1)
    assert [revision for revision, _ in changes_in([await stream.next()])] == [4]


@pytest.mark.parametrize("ahead", [1, 1000, 2**64 - 4])
async def test_revision_in_the_future(replica: Replica, ahead: int) -> None:
    """A revision that the table has not reached cannot be resumed after: the state follows."""
    players = await start(replica)
    stream = players[0].watch(3 + ahead)
    assert (await stream.expect("history_gone")).oldest_revision == 0
    state = await stream.expect("state")
    assert (state.table.revision, state.view) == (3, await players[0].view())
    await play_turns(players, 1)
    assert (await stream.expect("events")).revision == 4


async def test_history_gone(tmp_path: Path) -> None:
    """What the log no longer keeps is answered with the oldest revision to resume after, then the state."""
    path = tmp_path / "tables.db"
    rng = random.Random(5)
    async with serving(path) as replica:
        players = await start(replica, rule_set=rule_set_to_pb(LONG_AGO), target_score=1_000_000)
        first = list(played(dealt(LONG_AGO, target=1_000_000), rng))
        second = list(played(dealt(LONG_AGO, match=next_match(first[-1].after)), rng))
        singly = [SeatTurn(step.seat, (step.move,)) for step in (*first, *second)]
        newest = (await submitted(players, singly))[-1].revision
    async with serving(path) as replica:
        player = players[0].at(replica)
        stream = player.watch(1)
        oldest = (await stream.expect("history_gone")).oldest_revision
        assert oldest == 3 + len(first) - 1, "the deal that ended last is kept whole, from its dealing on"
        state = await stream.expect("state")
        assert (state.table.revision, state.view) == (newest, await player.view())
        kept = changes_in(await player.watch(oldest).until(newest))
        assert [revision for revision, _ in kept] == list(range(oldest + 1, newest + 1))
        assert any(event.HasField("dealt") for event in kept[0][1])
        for dropped in (oldest - 1, 0):
            assert (await player.watch(dropped).expect("history_gone")).oldest_revision == oldest
        future = player.watch(newest + 1)
        assert (await future.expect("history_gone")).oldest_revision == oldest


async def test_heartbeats(tmp_path: Path) -> None:
    """A quiet watch gets heartbeats with the revision it has seen, and goes on afterwards."""
    async with serving(tmp_path / "tables.db", heartbeat=0.1) as replica:
        players = await start(replica)
        public, resumed = watch(replica, players[0].table_id), players[0].watch(3)
        await public.expect("state")
        for stream in (public, resumed):
            for _ in range(2):
                assert (await stream.expect("heartbeat")).revision == 3
        await play_turns(players, 1)
        for stream in (public, resumed):
            while (update := await stream.next()).kind == "heartbeat":
                assert update.message.revision == 3
            assert (update.kind, update.message.revision) == ("events", 4)
            assert (await stream.expect("heartbeat")).revision == 4


async def test_drain(tmp_path: Path) -> None:
    """A replica that stops lets its watchers know after which revision to go on elsewhere, and ends their streams."""
    async with serving(tmp_path / "tables.db") as replica, serving(tmp_path / "tables.db") as other:
        players = await start(replica)
        newest = await play_turns(players, 2)
        streams = [watch(replica, players[0].table_id), players[1].watch(newest - 1)]
        play = await players[1].play()
        await streams[0].expect("state")
        await streams[1].expect("events")
        await play.expect("state")
        stopping = asyncio.create_task(replica.server.stop())
        for stream in (*streams, play):
            assert (await stream.expect("reconnect")).revision == newest
            assert await stream.next() == END
        await stopping
        deal = (await other.table(players[0].table_id)).deal
        assert deal is not None
        turn = plain_turn(deal)
        await players[turn.seat].at(other).submit(*turn.moves)
        assert (await players[0].at(other).watch(newest).expect("events")).revision == newest + 1


async def test_old_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that is too old learns with the next message after which revision to go on."""
    clock, waiting, wait = LoopClock(monkeypatch), asyncio.Event(), Feed.wait

    async def noted(feed: Feed) -> None:
        waiting.set()
        await wait(feed)

    async def grow_old(stream: Updates | Play) -> None:
        await stream.expect("state")
        await waiting.wait()
        clock.advance(1000.0)
        await stream.expect("heartbeat")
        assert (await stream.expect("reconnect")).revision == 3
        assert await stream.next() == END

    monkeypatch.setattr(Feed, "wait", noted)
    async with serving(tmp_path / "tables.db", max_connection_age=600.0, heartbeat=900.0) as replica:
        players = await start(replica)
        await grow_old(watch(replica, players[0].table_id))
        waiting.clear()
        await grow_old(await players[1].play())


async def test_end_of_the_match(replica: Replica) -> None:
    """After the match every watch ends: one that saw the end, one that resumes before or after it, and a new one."""
    players = await start(replica, rule_set=rule_set_to_pb(SHORT))
    streams = [watch(replica, players[0].table_id), players[0].watch(3)]
    await streams[0].expect("state")
    newest = (await submitted(players, plain_turns(dealt(SHORT), 2)))[-1].revision
    for stream in (*streams, players[1].watch(3)):
        assert [revision for revision, _ in changes_in(await stream.rest())] == [4, 5]
    assert newest == 5
    assert await players[0].watch(newest).rest() == []
    fresh = await watch(replica, players[0].table_id).rest()
    assert [update.kind for update in fresh] == ["state"]
    assert fresh[0].message.table.HasField("result")
    assert [update.kind for update in await players[0].watch(newest + 1).rest()] == ["history_gone", "state"]


async def test_seat_given_back_while_watching(replica: Replica) -> None:
    """Whoever gives a seat back sees nothing of it any more: the watch ends before the new player's cards come."""
    players = await start(replica)
    table_id = players[0].table_id
    seat = dealt().seat_to_move
    private, public = players[seat].watch(), watch(replica, table_id)
    await private.expect("state")
    await public.expect("state")
    await players[seat].leave()
    substitute = await join(replica, table_id, player_name="Sub")
    await substitute.submit(DrawStock())
    assert (await refused(private.next())).short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")
    assert [revision for revision, _ in changes_in(await public.until(6))] == [4, 5, 6]
    for after in (None, 3, 4, 5, 6, 7):
        refusal = await refused(players[seat].watch(after).next())
        assert refusal.short == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")


async def test_substitute_watches(replica: Replica) -> None:
    """A substitute sees the seat as its own, and may resume from before taking it."""
    players = await start(replica)
    seat = dealt().seat_to_move
    drew = await players[seat].submit(DrawStock())
    await players[seat].leave()
    substitute = await join(replica, players[0].table_id, player_name="Sub")
    resumed = changes_in(await substitute.watch(3).until(6))
    assert resumed[0] == (4, list(drew.events))
    state = await substitute.watch().expect("state")
    names = ["Sub" if player.seat == seat else name for player, name in zip(players, NAMES, strict=False)]
    assert state.view == shown_view(after_moves(dealt(), [DrawStock()]), seat, *names, present=[seat])


async def test_two_replicas(tmp_path: Path) -> None:
    """A move made at one replica reaches the watchers at another one of the same store."""
    path = tmp_path / "tables.db"
    async with serving(path) as here, serving(path) as there:
        players = await start(here)
        public, private = watch(there, players[0].table_id), players[0].at(there).watch()
        await public.expect("state")
        await private.expect("state")
        deal = dealt()
        for number in range(6):
            turn = plain_turn(deal)
            # To and fro, so that each replica works on what the other one wrote.
            replica = (here, there)[number % 2]
            answer = await players[turn.seat].at(replica).submit(*turn.moves)
            deal = after_moves(deal, turn.moves)
            assert (await public.expect("events")).revision == answer.revision == number + 4
            private_events = await private.expect("events")
            assert private_events.revision == answer.revision
            if turn.seat == 0:
                assert list(private_events.events) == list(answer.events)


async def test_watch_that_hangs_up(replica: Replica) -> None:
    """A watch that the client cancels is over for the server too: it no longer counts."""
    players = await start(replica)
    stream = players[0].watch()
    await stream.expect("state")
    assert replica.metrics.registry.get_sample_value("buraco_watches") == 1
    stream.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stream.next()
    # The server learns of it in its own time; a stop waits for the stream to end.
    await replica.server.stop()
    assert replica.metrics.registry.get_sample_value("buraco_watches") == 0


async def test_bad_token(replica: Replica) -> None:
    """A watch with a bad token is refused instead of being shown the public view."""
    players = await start(replica)
    stream = watch(replica, players[0].table_id, metadata=(("authorization", "Bearer nonsense"),))
    refusal = await refused(stream.next())
    assert refusal.short == ("UNAUTHENTICATED", "TOKEN_INVALID")
    assert refusal.code is grpc.StatusCode.UNAUTHENTICATED
