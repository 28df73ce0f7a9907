"""Who is seen at a table, and absence without a stream, over gRPC at two replicas of each store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from buraco.v1 import table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_client import BuracoClient
from buraco_rules import DrawStock
from buraco_service.stores.base import Lease, StoreUnavailable
from buraco_service.tables.presence import LEASE_SECONDS, RENEW_SECONDS
from tests.service.refusals import assert_invalid, refused
from tests.service.table_server import (
    Player,
    Replica,
    Updates,
    create,
    get,
    join,
    join_raw,
    new_id,
    opened,
    public_view,
    sign_in,
    start,
    watch,
)
from tests.service.tables.test_timing import TOLERANCE, TURN, Two, alone, mover, options, seconds, two

__all__ = ["alone", "two"]  # fixtures

AFTER = 30.0
UNSEEN = AFTER + LEASE_SECONDS + TOLERANCE + 0.1
"""Seconds after the end of the last stream in which a seat becomes absent."""


def with_absence(**chosen: Any) -> table_pb2.TableOptions:
    """Options of a table whose players are absent if they are not seen."""
    return table_pb2.TableOptions(absent_after=seconds(AFTER), **chosen)


async def refresh(both: Two) -> None:
    """What each replica does every few seconds; twice, so that each has read what the other wrote."""
    for _ in range(2):
        for replica in (both.here, both.there):
            await replica.presence.refresh()


async def absent(replica: Replica, table_id: str) -> list[bool]:
    """Which seats are absent."""
    return [seat.absent for seat in (await get(replica, table_id)).seats]


async def present(replica: Replica, table_id: str) -> list[bool]:
    """At which seats a player is seen, by a view."""
    return [seat.present for seat in (await public_view(replica, table_id)).view.seats]


async def seats(updates: Updates) -> list[int]:
    """The next message, which must say who is seen."""
    return list((await updates.expect("presence")).seats)


# ---- presence ----


async def test_who_opens_a_stream_is_seen_everywhere(two: Two) -> None:
    """Here at once, at another replica once both have looked; and so is the end of the stream."""
    players = await start(two.here)
    table_id = players[0].table_id
    here, there = (watch(replica, table_id, presence=True) for replica in (two.here, two.there))
    for updates in (here, there):
        await updates.expect("state")
        assert await seats(updates) == []
    stream = await players[1].play()
    await stream.expect("state")
    assert await seats(here) == [1]
    await refresh(two)
    assert await seats(there) == [1]
    assert await present(two.here, table_id) == await present(two.there, table_id) == [False, True]
    stream.cancel()
    assert await seats(here) == []
    two.wait(LEASE_SECONDS + 0.1)
    await refresh(two)
    assert await seats(there) == []
    assert await present(two.there, table_id) == [False, False]


async def test_streams_begin_with_who_is_seen(two: Two) -> None:
    """The first state of a stream shows who is seen, itself included; with `presence` it is sent, too."""
    players = await start(two.here)
    (first,) = await opened(players[:1])
    await refresh(two)
    for replica in (two.here, two.there):
        stream = await players[1].at(replica).play(presence=True)
        view = (await stream.expect("state")).view
        assert [seat.present for seat in view.seats] == [True, True]
        assert await seats(stream) == [0, 1]
        stream.cancel()
        two.wait(RENEW_SECONDS)
        await refresh(two)
    resumed = players[0].at(two.there).watch(after=3, presence=True)
    assert 0 in await seats(resumed)
    first.cancel()


async def test_several_streams_of_a_player(alone: Two) -> None:
    """A player is seen as long as one of several streams is open, at whichever replica."""
    players = await start(alone.here)
    watcher = watch(alone.here, players[0].table_id, presence=True)
    await watcher.expect("state")
    assert await seats(watcher) == []
    first, second = await players[0].play(), players[0].watch(views=True)
    third = await players[0].at(alone.there).play()
    for stream in (first, second, third):
        await stream.expect("state")
    assert await seats(watcher) == [0]
    await refresh(alone)
    first.cancel()
    second.cancel()
    # A stream that is still open here would have its lease renewed in place of the other replica's.
    while alone.here.metrics.registry.get_sample_value("buraco_present_seats"):
        await present(alone.here, players[0].table_id)
    alone.wait(1.0)
    await alone.there.presence.refresh()
    await alone.here.presence.refresh()
    assert await present(alone.here, players[0].table_id) == [True, False]
    third.cancel()


async def test_spectators_and_strangers_are_not_seen(alone: Two) -> None:
    """Only the token that holds the seat now lets its player be seen."""
    players = await start(alone.here)
    table_id = players[0].table_id
    former = players[1]
    await former.leave()
    assert (await refused((await former.play()).next())).reason == "SEAT_NOT_YOURS"
    spectator = watch(alone.here, table_id, presence=True)
    await spectator.expect("state")
    assert await seats(spectator) == []
    await alone.here.presence.refresh()
    assert await alone.here.store.presence([table_id]) == []


async def test_views_of_moves_show_who_is_seen(alone: Two) -> None:
    """The answer to a move shows it as GetView does; without streams the bytes are those of any table."""
    players = await start(alone.here)
    player = await mover(alone.here, players)
    (stream,) = await opened([player])
    answer = await player.submit(DrawStock())
    assert [seat.present for seat in answer.view.seats] == [number == player.seat for number in range(2)]
    assert answer.view == await player.view()
    stream.cancel()


async def test_moves_and_views_read_no_leases(alone: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """What streams and moves need of other replicas they have; only GetView of a table without streams reads it."""
    players = await start(alone.here)
    streams = await opened(players, views=True)
    asked: list[list[str]] = []
    original = alone.here.store.presence

    async def noted(table_ids: list[str]) -> list[Lease]:
        asked.append(table_ids)
        return await original(table_ids)

    monkeypatch.setattr(alone.here.store, "presence", noted)
    player = await mover(alone.here, players)
    await player.submit(DrawStock())
    await player.view()
    assert asked == []
    other = await start(alone.here)
    await other[0].view()
    assert asked == [[other[0].table_id]]
    for stream in streams:
        stream.cancel()


async def test_presence_metric(alone: Two) -> None:
    """The gauge counts seats with a stream here, not streams."""
    players = await start(alone.here)

    def counted() -> float | None:
        return alone.here.metrics.registry.get_sample_value("buraco_present_seats")

    streams = [*await opened(players), *await opened(players[:1])]
    assert counted() == 2
    for stream in streams:
        stream.cancel()
    watcher = watch(alone.here, players[0].table_id, presence=True)
    while (await watcher.next()).message != pb.Presence():
        pass
    assert counted() == 0


async def test_leases_are_renewed_by_themselves(alone: Two) -> None:
    """A replica writes the lease of a stream soon after it is opened, and looks for those of others."""
    players = await start(alone.here)
    tasks = [asyncio.create_task(replica.presence.run()) for replica in (alone.here, alone.there)]
    watcher = watch(alone.there, players[0].table_id, presence=True)
    await watcher.expect("state")
    assert await seats(watcher) == []
    (stream,) = await opened(players[:1])
    assert await seats(watcher) == [0]
    stream.cancel()
    for task in tasks:
        task.cancel()


async def test_presence_survives_a_store_that_fails(alone: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed renewal is tried again; until leases can have been renewed, nobody is made absent."""
    players = await start(alone.here, options=with_absence())
    fails = True
    original = alone.here.store.renew_presence
    renewed = asyncio.Event()

    async def sometimes(leases: list[Lease]) -> None:
        if fails:
            raise StoreUnavailable("for the test")
        await original(leases)
        renewed.set()

    monkeypatch.setattr(alone.here.store, "renew_presence", sometimes)
    task = asyncio.create_task(alone.here.presence.run())
    (stream,) = await opened(players[:1])
    await asyncio.sleep(0.3)
    alone.wait(UNSEEN)
    assert await alone.here.deadlines.look() == 0
    assert await absent(alone.here, players[0].table_id) == [False, False]
    fails = False
    async with asyncio.timeout(10):
        await renewed.wait()
    task.cancel()
    stream.cancel()


async def test_python_client(alone: Two) -> None:
    """In Python a watch and a session yield who is seen after the state, and again whenever that changes."""
    assert alone.here.server.address is not None
    async with BuracoClient(alone.here.server.address) as client:
        table = await client.create_table("buraco-plus-classic", 2)
        ada = await client.join_table(table.id, "Ada")
        async with client.watch(table.id, presence=True) as watch:
            assert isinstance(await anext(watch), pb.TableUpdate)
            assert await anext(watch) == pb.Presence()
            async with ada.play(presence=True) as session:
                assert isinstance(await anext(session), pb.TableUpdate)
                assert await anext(session) == pb.Presence(seats=[0])
                assert await anext(watch) == pb.Presence(seats=[0])
            assert await anext(watch) == pb.Presence()
            async with ada.watch(presence=True) as seen:
                assert isinstance(await anext(seen), pb.TableUpdate)
                assert await anext(seen) == pb.Presence(seats=[0])


# ---- absence ----


async def test_absence_without_a_stream(two: Two) -> None:
    """A player who was not seen for the time is absent, once, whichever replica finds it; one who is seen is not."""
    players = await start(two.here, options=with_absence())
    table_id = players[0].table_id
    (stream,) = await opened([players[1].at(two.there)])
    public = watch(two.here, table_id)
    await public.expect("state")
    await refresh(two)
    two.wait(AFTER + TOLERANCE - 0.2)
    await refresh(two)
    assert await two.look() == 0
    two.wait(0.3)
    assert await two.look() == 1
    (event,) = (await public.expect("events")).events
    assert event.seat_absent.seat == 0
    assert await absent(two.there, table_id) == [True, False]
    assert [seat.absent for seat in (await players[1].view()).seats] == [True, False]
    assert await two.look() == 0
    revision = (await get(two.here, table_id)).revision
    two.wait(5.0)
    await refresh(two)
    assert await two.look() == 0
    assert (await get(two.here, table_id)).revision == revision
    stream.cancel()


async def test_stream_that_ends_and_moves(two: Two) -> None:
    """A stream opened anew at another replica in time is no absence; one that is not is."""
    players = await start(two.here, options=with_absence())
    table_id = players[0].table_id
    revision = (await get(two.here, table_id)).revision
    keeper, stream = await opened([players[1], players[0]])
    replicas = two.there, two.here
    for number in range(4):
        await refresh(two)
        two.wait(AFTER - 1)
        stream.cancel()
        (stream,) = await opened([players[0].at(replicas[number % 2])])
        await refresh(two)
        two.wait(5.0)
        assert await two.look() == 0
    assert (await get(two.here, table_id)).revision == revision
    stream.cancel()
    await asyncio.sleep(0.1)
    two.wait(UNSEEN - 5.0)
    await refresh(two)
    assert await two.look() == 1
    assert await absent(two.here, table_id) == [True, False]
    keeper.cancel()


async def open_stream(player: Player) -> None:
    """Open a stream, and close it."""
    (stream,) = await opened([player])
    stream.cancel()


async def offer_draw(player: Player) -> None:
    """Offer a draw."""
    request = pb.OfferDrawRequest(table_id=player.table_id, request_id=new_id())
    await player.replica.tables.OfferDraw(request, metadata=player.metadata)


async def draw(player: Player) -> None:
    """Make a move."""
    await player.submit(DrawStock())


@pytest.mark.parametrize("back", [open_stream, offer_draw, draw], ids=lambda way: way.__name__)
async def test_return(alone: Two, back: Any) -> None:
    """Who opens a stream, moves or does anything else at the table is there again at once, and is counted anew."""
    players = await start(alone.here, options=with_absence())
    table_id = players[0].table_id
    alone.wait(UNSEEN)
    assert await alone.look() == 1
    assert await absent(alone.here, table_id) == [True, True]
    revision = (await get(alone.here, table_id)).revision
    player = await mover(alone.here, players)
    await back(player.at(alone.there))
    assert await absent(alone.here, table_id) == [number != player.seat for number in range(2)]
    event = (await watch(alone.here, table_id, revision).expect("events")).events[0]
    assert event.seat_returned.seat == player.seat
    assert (await get(alone.here, table_id)).revision == revision + 1
    assert await alone.look() == 0
    alone.wait(UNSEEN)
    assert await alone.look() == 1
    assert await absent(alone.here, table_id) == [True, True]


async def test_player_returns_by_joining(alone: Two) -> None:
    """A player with a player token who takes the seat again is there."""
    table = await create(alone.here, options=with_absence())
    guest = (await sign_in(alone.here)).player_token
    await join_raw(alone.here, table.id, guest)
    await join(alone.here, table.id)
    alone.wait(UNSEEN)
    assert await alone.look() == 1
    again = await join_raw(alone.there, table.id, guest)
    assert [seat.absent for seat in again.table.seats] == [False, True]
    assert await absent(alone.here, table.id) == [False, True]


async def test_time_counts_from_the_start_of_the_match(alone: Two) -> None:
    """Nobody is absent while a table waits; who takes a seat of a running match is counted from then on."""
    table = await create(alone.here, options=with_absence())
    await join(alone.here, table.id)
    alone.wait(10 * UNSEEN)
    assert await alone.look() == 0
    second = await join(alone.here, table.id)
    alone.wait(AFTER + TOLERANCE - 0.1)
    assert await alone.look() == 0
    await second.leave()
    alone.wait(0.2)
    assert await alone.look() == 1
    assert await absent(alone.here, table.id) == [True, False]
    await join(alone.here, table.id)
    alone.wait(AFTER + TOLERANCE - 0.1)
    assert await alone.look() == 0
    alone.wait(0.2)
    assert await alone.look() == 1
    assert await absent(alone.here, table.id) == [True, True]


async def test_clock_stands_still_while_all_are_unseen(alone: Two) -> None:
    """With a clock, too: when nobody is seen nothing is due, and who comes back finds the whole time of the turn."""
    chosen = with_absence(turn_time=seconds(3600), absent_after_turns=3)
    players = await start(alone.here, options=chosen)
    alone.wait(UNSEEN)
    assert await alone.look() == 1
    table = await get(alone.here, players[0].table_id)
    assert [seat.absent for seat in table.seats] == [True, True]
    assert not table.HasField("turn_expires_at")
    alone.wait(100_000.0)
    assert await alone.look() == 0
    stream = await players[0].play()
    state = await stream.expect("state")
    assert state.table.turn_expires_at.ToSeconds() == int(alone.clocks[0].now) + 3600
    stream.cancel()


async def test_stream_opened_while_its_player_becomes_absent(alone: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order of a replica's steps, who has a stream open is there in the end."""
    players = await start(alone.here, options=with_absence())
    table_id = players[0].table_id
    alone.wait(UNSEEN)
    streams: list[Updates] = []
    commit = alone.here.store.commit

    async def late(change: Any) -> int:
        # The leases have been read; the change is committed only after the stream was opened.
        if not streams:
            streams.extend(await opened([players[0].at(alone.there)]))
        return await commit(change)

    monkeypatch.setattr(alone.here.store, "commit", late)
    assert await alone.here.deadlines.look() == 1
    first, second = [(await streams[0].expect("events")).events for _ in range(2)]
    assert [event.seat_absent.seat for event in first] == [0, 1]
    assert [event.seat_returned.seat for event in second] == [0]
    assert await absent(alone.here, table_id) == [False, True]
    streams[0].cancel()


async def test_replica_that_dies_after_its_commit(alone: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a replica leaves behind between its steps is tidied by the next look, and changes nothing."""
    players = await start(alone.here, options=with_absence())
    table_id = players[0].table_id
    alone.wait(UNSEEN)

    async def dies(*_: Any) -> None:
        raise StoreUnavailable("for the test")

    monkeypatch.setattr(alone.here.store, "end_presence", dies)
    assert await alone.here.deadlines.look() == 0
    revision = (await get(alone.here, table_id)).revision
    assert await absent(alone.here, table_id) == [True, True]
    assert await alone.there.store.lapsed(alone.clocks[0].now, 10) == [table_id]
    assert await alone.there.deadlines.look() == 0
    assert await alone.there.store.lapsed(alone.clocks[0].now, 10) == []
    assert (await get(alone.here, table_id)).revision == revision


async def test_abandoned_table_expires(two: Two) -> None:
    """Leases keep no table alive: when it expires nothing is left, and nothing becomes due."""
    players = await start(two.here, options=with_absence())
    table_id = players[0].table_id
    streams = await opened(players)
    await refresh(two)
    assert await two.here.store.expire(two.clocks[0].now + 1, 10) == 1
    await refresh(two)
    assert await two.here.store.presence([table_id]) == []
    assert await two.here.store.lapsed(two.clocks[0].now + 1e6, 10) == []
    for stream in streams:
        stream.cancel()


async def test_absence_is_counted(alone: Two) -> None:
    """The metric of due times knows absence."""
    await start(alone.here, options=with_absence())
    alone.wait(UNSEEN)
    assert await alone.here.deadlines.look() == 1
    assert alone.here.metrics.registry.get_sample_value("buraco_due_total", {"kind": "absence"}) == 1


@pytest.mark.parametrize(
    "chosen",
    [
        table_pb2.TableOptions(absent_after=seconds(9)),
        table_pb2.TableOptions(absent_after=seconds(86_401)),
        table_pb2.TableOptions(absent_after=seconds(10.5)),
        table_pb2.TableOptions(absent_after=seconds(-10)),
    ],
    ids=str,
)
async def test_absence_that_cannot_be(alone: Two, chosen: table_pb2.TableOptions) -> None:
    """A time out of range is refused by name."""
    assert_invalid(await refused(create(alone.here, options=chosen)), "options.absent_after")


async def test_absence_policy_without_a_clock(alone: Two) -> None:
    """What happens to absent players can be chosen with `absent_after` alone, and is shown with its default."""
    chosen = with_absence(absence=table_pb2.ABSENCE_POLICY_WAIT)
    for asked in (with_absence(), chosen):
        assert (await create(alone.here, options=asked)).options == chosen
    assert (await create(alone.here, options=options(turn_time=TURN))).options.absent_after.ToSeconds() == 0
