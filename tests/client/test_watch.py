from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client import Backoff, BuracoClient, TableUnknown, TokenRejected, Unavailable, Update, Watch
from tests.client.conftest import PATIENCE, QUICK
from tests.client.scripted import (
    Beats,
    Service,
    Step,
    events,
    forever,
    refuse,
    retry_info,
    send,
    state,
    turn,
    unavailable_store,
    view,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from google.protobuf.message import Message

    from tests.client.scripted import Script
    from tests.clock import LoopClock

HEARTBEAT = table_service_pb2.Heartbeat(revision=3)
RECONNECT = table_service_pb2.Reconnect(revision=3)
HISTORY_GONE = table_service_pb2.HistoryGone(oldest_revision=9)
FINISHED = table_pb2.TABLE_STATE_FINISHED


def stream(*updates: Message, then: Step = forever) -> Step:
    """A stream that sends the updates, and then goes on as `then` does."""

    async def step(request: Any, context: Any) -> None:
        await send(context, *updates)
        await then(request, context)

    return step


async def end(request: Any, context: Any) -> None:
    """Ends the stream with OK."""


async def take(updates: AsyncIterator[Update], count: int) -> list[Update]:
    """The next so many updates."""
    return [await anext(updates) for _ in range(count)]


def resumed_after(script: Script) -> list[int | None]:
    """The revisions after which the streams were opened; None: from the start."""
    return [
        request.after_revision if request.HasField("after_revision") else None
        for request in script.requests["WatchTable"]
    ]


async def test_state_comes_first_and_then_changes(client: BuracoClient, script: Script) -> None:
    """A watch yields the state and then the changes; heartbeats keep it going and are not shown."""
    script.on("WatchTable", stream(state(3), HEARTBEAT, events(4), HEARTBEAT, events(5)))
    async with client.watch("t") as updates:
        before = updates.revision
        assert await take(updates, 3) == [state(3), events(4), events(5)]
        assert (before, updates.revision) == (None, 5)
    assert resumed_after(script) == [None]
    assert "authorization" not in script.metadata["WatchTable"][0]


async def test_seat_watches_with_its_token(client: BuracoClient, script: Script) -> None:
    """A seat's watch shows what the seat may see."""
    script.on("WatchTable", stream(events(8)))
    script.on("GetTable", table_service_pb2.GetTableResponse(table=table_pb2.Table(revision=7)))
    async with client.restore_seat("t", 0, "abc").watch(after_revision=7) as updates:
        assert await take(updates, 1) == [events(8)]
    assert resumed_after(script) == [7]
    assert script.metadata["WatchTable"][0]["authorization"] == "Bearer abc"


async def test_watch_outlives_the_server(client: BuracoClient, script: Script, service: Service) -> None:
    """When the server stops and comes back on the same port, the watch goes on after the last revision."""
    script.on("WatchTable", stream(state(3), events(4)), stream(events(5)), stream(events(6)))
    async with client.watch("t") as updates:
        seen = await take(updates, 2)
        await service.stop()
        await service.start()
        seen += await take(updates, 1)
        waiting = asyncio.create_task(take(updates, 1))
        await service.stop()
        await service.start()
        seen += await waiting
    assert seen == [state(3), events(4), events(5), events(6)]
    assert resumed_after(script) == [None, 4, 5]


async def test_watch_moves_on_when_the_replica_asks(client: BuracoClient, script: Script) -> None:
    """A reconnect message makes the watch open another stream, which the iteration does not notice."""
    script.on("WatchTable", stream(state(3), RECONNECT), stream(RECONNECT), stream(RECONNECT, then=end))
    script.on("WatchTable", stream(events(4)))
    async with client.watch("t") as updates:
        assert await take(updates, 2) == [state(3), events(4)]
    assert resumed_after(script) == [None, 3, 3, 3]


async def test_streams_that_bring_nothing_new_are_opened_ever_more_slowly(service: Service, script: Script) -> None:
    """The first wish for another stream is followed at once, the next ones with a growing wait, until news come."""
    waits: list[int] = []

    class Noted(Backoff):
        def delay(self, failures: int) -> float:
            waits.append(failures)
            return 0.0

    script.on("WatchTable", stream(state(3), RECONNECT), stream(events(3), RECONNECT), stream(RECONNECT))
    script.on("WatchTable", stream(events(4), RECONNECT), stream(RECONNECT), stream(events(5)))
    async with BuracoClient(service.target, backoff=Noted()) as client, client.watch("t") as updates:
        assert await take(updates, 3) == [state(3), events(4), events(5)]
    assert waits == [2, 3, 2]


async def test_silent_stream_is_replaced(service: Service, script: Script, clock: LoopClock) -> None:
    """A stream without a heartbeat for too long is given up, at the server too, and opened anew."""
    given_up = asyncio.Event()

    async def silent(request: Any, context: Any) -> None:
        context.add_done_callback(lambda _: given_up.set())
        await forever()

    script.on("WatchTable", stream(state(3), then=silent), stream(events(4)))
    async with (
        BuracoClient(service.target, heartbeat_timeout=10.0, backoff=QUICK) as client,
        client.watch("t") as updates,
    ):
        assert await take(updates, 1) == [state(3)]
        following = asyncio.create_task(take(updates, 1))
        await asyncio.sleep(0)  # it waits for a message now
        clock.advance(11.0)
        assert await following == [events(4)]
        await given_up.wait()
    assert resumed_after(script) == [None, 3]


async def test_heartbeats_keep_a_quiet_stream(service: Service, script: Script, clock: LoopClock) -> None:
    """As long as heartbeats come in time, a stream on which nothing happens is kept."""
    beats = Beats(script)
    script.on("WatchTable", stream(state(3), then=lambda request, context: beats.on(context)))
    async with (
        BuracoClient(
            service.target, heartbeat_timeout=100.0, reconnect_timeout=100.0, timeout=PATIENCE, backoff=QUICK
        ) as client,
        client.watch("t") as updates,
    ):
        assert await take(updates, 1) == [state(3)]
        following = asyncio.create_task(take(updates, 1))
        await asyncio.sleep(0)  # it waits for a message now
        for _ in range(3):
            clock.advance(40.0)
            await beats.send(client, HEARTBEAT)
        await beats.send(client, events(4))
        assert await following == [events(4)]
    assert resumed_after(script) == [None]


async def test_no_revision_comes_twice(client: BuracoClient, script: Script) -> None:
    """What a resumed stream repeats is left out, be it changes or the state."""
    script.on("WatchTable", stream(state(3), events(4), events(4), events(3), then=unavailable_store()))
    script.on("WatchTable", stream(state(4), events(2), events(4), events(5)))
    async with client.watch("t") as updates:
        assert await take(updates, 3) == [state(3), events(4), events(5)]


async def test_newer_state_takes_the_place_of_changes(client: BuracoClient, script: Script) -> None:
    """A stream may bring the state instead of the changes since."""
    script.on("WatchTable", stream(state(3), then=unavailable_store()), stream(state(7), events(7), events(8)))
    async with client.watch("t") as updates:
        assert await take(updates, 3) == [state(3), state(7), events(8)]


@pytest.mark.parametrize("revision", [12, 2])
async def test_gone_history_is_told_and_the_state_follows(client: BuracoClient, script: Script, revision: int) -> None:
    """If changes are no longer stored, the watch yields that and starts over, even at a lower revision."""
    script.on("WatchTable", stream(state(3), then=unavailable_store()))
    script.on("WatchTable", stream(HISTORY_GONE, state(revision), events(revision + 1)))
    async with client.watch("t") as updates:
        assert await take(updates, 4) == [state(3), HISTORY_GONE, state(revision), events(revision + 1)]


async def test_state_after_gone_history_is_fetched_whatever_happens(client: BuracoClient, script: Script) -> None:
    """A stream that breaks between the news and the state is opened from the start."""
    script.on(
        "WatchTable",
        stream(state(3), then=unavailable_store()),
        stream(HISTORY_GONE, then=unavailable_store()),
        stream(state(12)),
    )
    async with client.watch("t") as updates:
        assert await take(updates, 3) == [state(3), HISTORY_GONE, state(12)]
    assert resumed_after(script) == [None, 3, None]


@pytest.mark.parametrize("last", [events(4, match_ended=True), state(4, FINISHED)])
async def test_watch_ends_with_the_match(client: BuracoClient, script: Script, last: Message) -> None:
    """The end of the match is the last update, whether the server closes the stream or not."""
    script.on("WatchTable", stream(state(3), last, events(5)))
    updates = client.watch("t")
    assert [update async for update in updates] == [state(3), last]
    with pytest.raises(StopAsyncIteration):
        await anext(updates)


async def test_views_and_turns_come_if_asked_for(client: BuracoClient, script: Script) -> None:
    """A watch asks for views and legal moves, yields them, and leaves out what a resumed stream repeats of them."""
    script.on(
        "WatchTable",
        stream(state(3), view(3), turn(3), events(4), view(4), then=unavailable_store()),
        stream(view(4), turn(4), turn(4), events(5), view(5)),
    )
    async with client.restore_seat("t", 0, "abc").watch(views=True, legal_moves=True) as updates:
        assert await take(updates, 7) == [state(3), turn(3), events(4), view(4), turn(4), events(5), view(5)]
    for request in script.requests["WatchTable"]:
        assert request.views
        assert request.legal_moves
    assert resumed_after(script) == [None, 4]


async def test_views_start_over_with_the_state(client: BuracoClient, script: Script) -> None:
    """After a lost history views and turns of lower revisions are new."""
    script.on("WatchTable", stream(state(8), events(9), view(9), turn(9), then=unavailable_store()))
    script.on("WatchTable", stream(HISTORY_GONE, state(3), turn(3), events(4), view(4)))
    async with client.watch("t", views=True) as updates:
        assert (await take(updates, 9))[4:] == [HISTORY_GONE, state(3), turn(3), events(4), view(4)]


async def test_last_view_ends_the_watch(client: BuracoClient, script: Script) -> None:
    """With views the end of the match is its view, fetched by another stream if need be."""
    last = events(4, match_ended=True)
    script.on("WatchTable", stream(state(3), last, then=unavailable_store()), stream(view(4), events(5)))
    assert [update async for update in client.watch("t", views=True)] == [state(3), last, view(4)]
    assert resumed_after(script) == [None, 4]


async def test_service_without_views_ends_the_watch(client: BuracoClient, script: Script) -> None:
    """A service that knows no views ends the stream behind the last events: nobody waits for a view."""
    last = events(4, match_ended=True)
    script.on("WatchTable", stream(state(3), last, then=end))
    assert [update async for update in client.watch("t", views=True)] == [state(3), last]
    assert len(script.requests["WatchTable"]) == 1


async def test_watch_after_the_end_has_nothing_to_wait_for(client: BuracoClient, script: Script) -> None:
    """Resumed after the last revision of a finished table, a watch ends at once."""
    table = table_pb2.Table(id="t", revision=9, state=FINISHED)
    script.on("GetTable", table_service_pb2.GetTableResponse(table=table))
    assert [update async for update in client.watch("t", after_revision=9)] == []
    assert not script.requests["WatchTable"]


async def test_watch_of_a_finished_table_catches_up(client: BuracoClient, script: Script) -> None:
    """Resumed before the last revision of a finished table, a watch yields the rest and ends."""
    table = table_pb2.Table(id="t", revision=9, state=FINISHED)
    script.on("GetTable", table_service_pb2.GetTableResponse(table=table))
    script.on("WatchTable", stream(events(8), events(9)))
    assert [update async for update in client.watch("t", after_revision=7)] == [events(8), events(9)]


async def test_closed_stream_is_no_end(client: BuracoClient, script: Script) -> None:
    """A stream that the server closes while the match runs is opened anew."""
    script.on("WatchTable", stream(state(3), then=end), stream(events(4)))
    async with client.watch("t") as updates:
        assert await take(updates, 2) == [state(3), events(4)]


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (grpc.StatusCode.NOT_FOUND, "TABLE_UNKNOWN", TableUnknown),
        (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED", TokenRejected),
    ],
)
async def test_refusal_ends_the_watch(
    client: BuracoClient, script: Script, code: grpc.StatusCode, reason: str, kind: type[Exception]
) -> None:
    """What opening the stream anew cannot cure is raised at once."""
    script.on("WatchTable", stream(state(3), then=refuse(code, reason)), stream(events(4)))
    updates = client.watch("t")
    assert await anext(updates) == state(3)
    with pytest.raises(kind):
        await anext(updates)
    assert script.left("WatchTable") == 1


async def test_limit_delays_the_watch(client: BuracoClient, script: Script) -> None:
    """A stream refused for a limit is opened after the time the service asks for."""
    limit = refuse(grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED", retry_info(0.1))
    script.on("WatchTable", limit, stream(state(3)))
    begun = asyncio.get_running_loop().time()
    async with client.watch("t") as updates:
        assert await take(updates, 1) == [state(3)]
    assert asyncio.get_running_loop().time() - begun >= 0.1


async def test_patience_ends(service: Service, script: Script, clock: LoopClock) -> None:
    """A watch whose service stays unavailable raises when the client's reconnect_timeout is over."""
    script.on("WatchTable", stream(state(3)))
    async with BuracoClient(service.target, reconnect_timeout=10.0, backoff=QUICK) as client:
        updates = client.watch("t")
        await anext(updates)
        await service.stop()
        with pytest.raises(Unavailable):
            await clock.hurry(anext(updates))


async def test_slow_iteration_uses_up_no_patience(service: Service, script: Script, clock: LoopClock) -> None:
    """Patience counts the time a stream is broken, not the time between two steps of the iteration."""
    script.on("WatchTable", stream(state(3), then=unavailable_store()), stream(events(4)))
    async with (
        BuracoClient(service.target, reconnect_timeout=10.0, backoff=QUICK) as client,
        client.watch("t") as updates,
    ):
        await anext(updates)
        clock.advance(11.0)
        assert await anext(updates) == events(4)


async def watched(script: Script) -> tuple[asyncio.Event, asyncio.Event]:
    """Add a stream of one state; return events for its opening and its end."""
    opened, given_up = asyncio.Event(), asyncio.Event()

    async def step(request: Any, context: Any) -> None:
        context.add_done_callback(lambda _: given_up.set())
        await send(context, state(3))
        opened.set()
        await forever()

    script.on("WatchTable", step)
    return opened, given_up


async def test_cancelled_watcher_ends_its_stream(client: BuracoClient, script: Script) -> None:
    """A watching task that is cancelled leaves no stream behind at the server."""
    opened, given_up = await watched(script)

    async def watcher() -> None:
        async for _ in client.watch("t"):
            pass

    task = asyncio.create_task(watcher())
    await opened.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await given_up.wait()


async def test_left_iteration_ends_its_stream(client: BuracoClient, script: Script) -> None:
    """Leaving the iteration with `break` leaves no stream behind either."""
    _, given_up = await watched(script)
    async for update in client.watch("t"):
        assert update == state(3)
        break
    await given_up.wait()


async def test_watch_closed_elsewhere_ends_the_iteration(client: BuracoClient, script: Script) -> None:
    """Closing a watch ends the iteration over it, in whatever it waits for."""
    _, given_up = await watched(script)
    seen = asyncio.Event()

    async def watcher(updates: Watch) -> None:
        async for update in updates:
            assert update == state(3)
            seen.set()

    updates = client.watch("t")
    task = asyncio.create_task(watcher(updates))
    await seen.wait()
    await updates.aclose()
    await task
    await given_up.wait()


async def test_step_given_up_loses_nothing(client: BuracoClient, script: Script) -> None:
    """After a step that timed out the iteration goes on where it was."""
    script.on("WatchTable", stream(state(3)), stream(events(4)))
    async with client.watch("t") as updates:
        assert await take(updates, 1) == [state(3)]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(updates), 0.05)
        assert await take(updates, 1) == [events(4)]
    assert resumed_after(script) == [None, 3]
