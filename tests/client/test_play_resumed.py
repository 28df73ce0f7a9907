from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from buraco.v1 import card_pb2, move_pb2, table_service_pb2
from buraco_client import BuracoClient, DeadlineExceeded, TableRefused, TokenRejected, Unavailable
from tests.client.conftest import PATIENCE, QUICK
from tests.client.playing import CODE, DRAW, Table, accepted, refused, take, unavailable
from tests.client.scripted import Beats, Service, events, forever, refuse, send, state, turn

if TYPE_CHECKING:
    from tests.client.scripted import Script
    from tests.clock import LoopClock

RECONNECT = table_service_pb2.Reconnect(revision=3)
HISTORY_GONE = table_service_pb2.HistoryGone(oldest_revision=9)


async def test_unanswered_submit_is_sent_again(client: BuracoClient, script: Script, table: Table) -> None:
    """A stream that breaks before the answer is replaced by one on which the same request goes again."""

    async def breaks(context: Any) -> None:
        await table.ask(context)
        await context.abort(CODE.UNAVAILABLE, "unavailable")

    async def answers(context: Any) -> None:
        await send(context, accepted(await table.ask(context), 4))
        await forever()

    script.on("PlayTable", table.stream(state(3), turn(3), then=breaks), table.stream(then=breaks))
    script.on("PlayTable", table.stream(then=answers))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert await take(session, 2) == [state(3), turn(3)]
        assert await session.submit([DRAW], 3) == 4
        assert await take(session, 1) == [events(4)]
    assert len(table.asked) == 3
    assert table.asked == [table.asked[0]] * 3
    assert table.resumed_after == [None, 3, 3]


async def test_session_outlives_the_server(
    client: BuracoClient, script: Script, table: Table, service: Service
) -> None:
    """When the server stops before it answers and comes back on the same port, the submit is answered."""
    asked = asyncio.Event()

    async def hangs(context: Any) -> None:
        await table.ask(context)
        asked.set()
        await forever()

    async def answers(context: Any) -> None:
        await send(context, accepted(await table.ask(context), 4, repeat=True))
        await forever()

    script.on("PlayTable", table.stream(state(3), turn(3), then=hangs))
    script.on("PlayTable", table.stream(events(4), then=answers))
    async with client.restore_seat("t", 0, "abc").play() as session:
        submit = asyncio.create_task(session.submit([DRAW], 3))
        await asked.wait()
        await service.stop()
        await service.start()
        assert await submit == 4
        assert await take(session, 3) == [state(3), turn(3), events(4)]
    assert table.asked == [table.asked[0]] * 2


async def test_submit_between_two_streams_waits_for_the_next(
    client: BuracoClient, script: Script, table: Table, service: Service
) -> None:
    """A submit made while there is no stream goes over the next one."""

    async def answers(context: Any) -> None:
        await send(context, accepted(await table.ask(context), 4))
        await forever()

    script.on("PlayTable", table.stream(state(3)), table.stream(then=answers))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert await take(session, 1) == [state(3)]
        await service.stop()
        submit = asyncio.create_task(session.submit([DRAW]))
        await service.start()
        assert await submit == 4
    assert len(table.asked) == 1


async def test_session_moves_on_when_the_replica_asks(client: BuracoClient, script: Script, table: Table) -> None:
    """A reconnect message makes the session open another stream, and takes an unanswered submit along."""

    async def drains(context: Any) -> None:
        await table.ask(context)
        await send(context, RECONNECT)
        await forever()

    async def answers(context: Any) -> None:
        await send(context, accepted(await table.ask(context), 4))
        await forever()

    script.on("PlayTable", table.stream(state(3), turn(3), then=drains), table.stream(then=answers))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert await session.submit([DRAW]) == 4
        assert await take(session, 3) == [state(3), turn(3), events(4)]
    assert table.asked == [table.asked[0]] * 2
    assert table.resumed_after == [None, 3]


async def test_silent_stream_is_replaced(service: Service, script: Script, table: Table, clock: LoopClock) -> None:
    """A stream that is silent for too long is given up, at the server too, and opened anew."""
    given_up = asyncio.Event()

    async def silent(context: Any) -> None:
        context.add_done_callback(lambda _: given_up.set())
        await table.ask(context)
        clock.advance(11.0)
        await forever()

    async def answers(context: Any) -> None:
        await send(context, accepted(await table.ask(context), 4))
        await forever()

    script.on("PlayTable", table.stream(state(3), turn(3), then=silent), table.stream(then=answers))
    async with (
        BuracoClient(service.target, heartbeat_timeout=10.0, backoff=QUICK) as client,
        client.restore_seat("t", 0, "abc").play() as session,
    ):
        assert await session.submit([DRAW]) == 4
        await given_up.wait()
    assert table.asked == [table.asked[0]] * 2


async def test_heartbeats_keep_a_quiet_stream(service: Service, script: Script, table: Table, clock: LoopClock) -> None:
    """As long as heartbeats come in time, a stream on which nothing happens is kept."""
    beats = Beats(script)
    script.on("PlayTable", table.stream(state(3), then=beats.on))
    async with (
        BuracoClient(
            service.target, heartbeat_timeout=100.0, reconnect_timeout=100.0, timeout=PATIENCE, backoff=QUICK
        ) as client,
        client.restore_seat("t", 0, "abc").play() as session,
    ):
        assert await take(session, 1) == [state(3)]
        for _ in range(3):
            clock.advance(40.0)
            await beats.send(client, table_service_pb2.Heartbeat(revision=3))
        await beats.send(client, events(4))
        assert await take(session, 1) == [events(4)]
    assert len(table.opened) == 1


async def test_repeated_turn_is_left_out(client: BuracoClient, script: Script, table: Table) -> None:
    """A turn comes once, on whichever stream: lost with one it comes with the next, repeated it is left out."""
    script.on("PlayTable", table.stream(state(3), events(4), then=unavailable))
    script.on("PlayTable", table.stream(turn(4), then=unavailable))
    script.on("PlayTable", table.stream(turn(4), events(5), turn(5)))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert await take(session, 5) == [state(3), events(4), turn(4), events(5), turn(5)]
    assert table.resumed_after == [None, 4, 4]


async def test_gone_history_is_told_and_the_state_follows(client: BuracoClient, script: Script, table: Table) -> None:
    """If changes are no longer stored, the session yields that and starts over, even at a lower revision."""
    script.on("PlayTable", table.stream(state(3), turn(3), then=unavailable))
    script.on("PlayTable", table.stream(HISTORY_GONE, state(2), turn(2)))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert await take(session, 5) == [state(3), turn(3), HISTORY_GONE, state(2), turn(2)]


async def test_refusal_ends_the_session(client: BuracoClient, script: Script, table: Table) -> None:
    """What opening the stream anew cannot cure is raised from the iteration and from every submit."""

    async def expires(context: Any) -> None:
        await refuse(CODE.UNAUTHENTICATED, "TOKEN_EXPIRED")(None, context)

    script.on("PlayTable", table.stream(state(3), then=expires), table.stream(state(4)))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert await take(session, 1) == [state(3)]
        for _ in range(2):
            with pytest.raises(TokenRejected):
                await anext(session)
            with pytest.raises(TokenRejected):
                await session.submit([DRAW])
    assert script.left("PlayTable") == 1


async def test_refusal_at_the_door_is_raised(client: BuracoClient, script: Script) -> None:
    """A stream that is refused before it was read from is refused with the service's reason."""
    script.on("PlayTable", *[refuse(CODE.UNAUTHENTICATED, "TOKEN_INVALID")] * 100)
    async with client.restore_seat("t", 0, "abc").play() as session:
        with pytest.raises(TokenRejected):
            await session.submit([DRAW])


async def test_patience_ends(service: Service, script: Script, table: Table, clock: LoopClock) -> None:
    """A session whose service stays unavailable raises when the client's reconnect_timeout is over, everywhere."""
    script.on("PlayTable", table.stream(state(3)))
    async with (
        BuracoClient(service.target, reconnect_timeout=10.0, backoff=QUICK) as client,
        client.restore_seat("t", 0, "abc").play() as session,
    ):
        await take(session, 1)
        await service.stop()
        with pytest.raises(Unavailable):
            await clock.hurry(anext(session))
        async with asyncio.timeout(1800):
            with pytest.raises(Unavailable):
                await clock.hurry(session.submit([DRAW], timeout=3600.0))


async def test_question_after_the_match_opens_a_stream_of_its_own(
    client: BuracoClient, script: Script, table: Table
) -> None:
    """When the server has closed the stream of a finished match, a submit still gets the server's answer."""
    closed = asyncio.Event()

    async def close(context: Any) -> None:
        context.add_done_callback(lambda _: closed.set())

    async def refuses(context: Any) -> None:
        await send(context, refused(await table.ask(context), CODE.FAILED_PRECONDITION, "TABLE_FINISHED"))
        await forever()

    script.on("PlayTable", table.stream(state(3), events(4, match_ended=True), then=close))
    script.on("PlayTable", table.stream(then=refuses))
    script.on("GetTable", table_service_pb2.GetTableResponse())
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert len([update async for update in session]) == 2
        await closed.wait()
        # Comes down the same connection after the end of the stream.
        await client.get_table("t")
        with pytest.raises(TableRefused):
            await session.submit([DRAW])
    assert table.resumed_after == [None, 4]


async def test_closed_stream_is_no_end(client: BuracoClient, script: Script, table: Table) -> None:
    """A stream that the server closes while the match runs is opened anew."""

    async def end(context: Any) -> None:
        pass

    script.on("PlayTable", table.stream(state(3), turn(3), then=end), table.stream(events(4)))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert await take(session, 3) == [state(3), turn(3), events(4)]


async def test_stuck_write_ends_with_its_stream(service: Service, script: Script, table: Table) -> None:
    """Where a silent server takes in no more, the submit that is being written is overdue like any other."""
    large = [move_pb2.Move(lay_meld=move_pb2.LayMeld(cards=[card_pb2.CARD_JOKER] * 1000))] * 900

    async def answers(context: Any) -> None:
        for revision in itertools.count(4):
            await send(context, accepted(await table.ask(context), revision))

    script.on("PlayTable", table.stream(state(3), turn(3)), table.stream(then=answers))
    async with (
        BuracoClient(service.target, heartbeat_timeout=1.0, backoff=QUICK) as client,
        client.restore_seat("t", 0, "abc").play() as session,
    ):
        assert await take(session, 2) == [state(3), turn(3)]
        while not table.asked:
            # The first ones are left lying; the last may come through already.
            with contextlib.suppress(DeadlineExceeded):
                await session.submit(large, timeout=0.01)
        assert await session.submit([DRAW]) == session.revision
    assert table.resumed_after == [None, 3]
