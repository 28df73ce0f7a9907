from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client import BuracoError, DeadlineExceeded, RevisionStale, RuleBroken
from tests.client.playing import CODE, DRAW, Table, accepted, refused, take
from tests.client.scripted import events, forever, send, state, turn, view

if TYPE_CHECKING:
    from buraco_client import BuracoClient
    from tests.client.scripted import Script
    from tests.clock import LoopClock


async def test_seat_plays_on_one_stream(client: BuracoClient, script: Script, table: Table) -> None:
    """A seat sees the state, its turns and what happens, and plays, all on one stream."""

    async def play(context: Any) -> None:
        request_id = await table.ask(context)
        await send(context, accepted(request_id, 4), turn(4))
        request_id = await table.ask(context)
        await send(context, accepted(request_id, 5))
        await forever()

    script.on("PlayTable", table.stream(state(3), turn(3), then=play))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert await take(session, 2) == [state(3), turn(3)]
        assert await session.submit([DRAW], 3) == 4
        assert session.revision == 4
        assert await take(session, 2) == [events(4), turn(4)]
        assert await session.submit([DRAW]) == 5
        assert await take(session, 1) == [events(5)]
    assert script.metadata["PlayTable"] == [script.metadata["PlayTable"][0]]
    assert script.metadata["PlayTable"][0]["authorization"] == "Bearer abc"
    assert table.opened == [table_service_pb2.PlayOpen(table_id="t", legal_moves=True)]
    first, second = (asked.submit for asked in table.asked)
    assert (list(first.moves), first.revision) == ([DRAW], 3)
    assert not second.HasField("revision")
    assert first.request_id != second.request_id


async def test_turns_are_sent_only_if_asked_for(client: BuracoClient, script: Script, table: Table) -> None:
    """Who works out the legal moves itself does not have them sent."""
    script.on("PlayTable", table.stream(state(3)))
    async with client.restore_seat("t", 0, "abc").play(legal_moves=False) as session:
        await take(session, 1)
    assert not table.opened[0].legal_moves


async def test_views_come_if_asked_for(client: BuracoClient, script: Script, table: Table) -> None:
    """A session with views yields one after every change, the last one after the end of the match."""

    async def play(context: Any) -> None:
        await send(context, accepted(await table.ask(context), 4), view(4))
        await send(context, accepted(await table.ask(context), 5, match_ended=True), view(5))

    script.on("PlayTable", table.stream(state(3), turn(3), then=play))
    async with client.restore_seat("t", 0, "abc").play(views=True) as session:
        for revision in (4, 5):
            assert await session.submit([DRAW]) == revision
        updates = [update async for update in session]
    assert updates == [state(3), turn(3), events(4), view(4), events(5, match_ended=True), view(5)]
    assert table.opened == [table_service_pb2.PlayOpen(table_id="t", legal_moves=True, views=True)]


async def test_service_without_views_ends_the_session(client: BuracoClient, script: Script, table: Table) -> None:
    """A service that knows no views ends the stream behind the last events: nobody waits for a view."""

    async def play(context: Any) -> None:
        await send(context, accepted(await table.ask(context), 4, match_ended=True))

    script.on("PlayTable", table.stream(state(3), then=play))
    async with client.restore_seat("t", 0, "abc").play(views=True) as session:
        await session.submit([DRAW])
        assert [update async for update in session] == [state(3), events(4, match_ended=True)]


async def test_updates_wait_for_the_iteration(client: BuracoClient, script: Script, table: Table) -> None:
    """A submit can be answered before anybody iterates; what came before it and what it did wait."""

    async def play(context: Any) -> None:
        await send(context, accepted(await table.ask(context), 4))
        await forever()

    script.on("PlayTable", table.stream(state(3), turn(3), then=play))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert await session.submit([DRAW]) == 4
        assert await take(session, 3) == [state(3), turn(3), events(4)]


async def test_undo_goes_over_the_stream(client: BuracoClient, script: Script, table: Table) -> None:
    """Taking a move back is asked and answered like a submit."""

    async def play(context: Any) -> None:
        await send(context, accepted(await table.ask(context), 4))
        await send(context, refused(await table.ask(context), CODE.FAILED_PRECONDITION, "NOTHING_TO_UNDO"))
        await forever()

    script.on("PlayTable", table.stream(state(3), then=play))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert await session.undo(3) == 4
        with pytest.raises(RuleBroken):
            await session.undo()
    assert table.asked[0].undo.revision == 3
    assert not table.asked[1].undo.HasField("revision")


async def test_refused_submit_leaves_the_session_open(client: BuracoClient, script: Script, table: Table) -> None:
    """A broken rule is raised from the submit, and the next submit goes over the same stream."""

    async def play(context: Any) -> None:
        await send(context, refused(await table.ask(context), CODE.FAILED_PRECONDITION, "GAP"))
        await send(context, refused(await table.ask(context), CODE.ABORTED, "REVISION_STALE"))
        await send(context, accepted(await table.ask(context), 4))
        await forever()

    script.on("PlayTable", table.stream(state(3), then=play))
    async with client.restore_seat("t", 0, "abc").play() as session:
        with pytest.raises(RuleBroken) as caught:
            await session.submit([DRAW])
        assert caught.value.request_id == table.asked[0].submit.request_id
        with pytest.raises(RevisionStale):
            await session.submit([DRAW], 2)
        assert await session.submit([DRAW], 3) == 4
    assert len(table.opened) == 1


@pytest.mark.parametrize(
    ("code", "reason"), [(CODE.UNAVAILABLE, "STORE_UNAVAILABLE"), (CODE.ABORTED, "REVISION_STALE")]
)
async def test_passing_trouble_is_sat_out(
    client: BuracoClient, script: Script, table: Table, code: grpc.StatusCode, reason: str
) -> None:
    """While the store is unavailable, or after a lost race, a submit without a revision is sent again unchanged."""

    async def play(context: Any) -> None:
        for _ in range(3):
            await send(context, refused(await table.ask(context), code, reason))
        await send(context, accepted(await table.ask(context), 4))
        await forever()

    script.on("PlayTable", table.stream(state(3), then=play))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert await session.submit([DRAW]) == 4
    assert len(table.asked) == 4
    assert table.asked == [table.asked[0]] * 4


async def test_overdue_answer_can_be_asked_for_again(
    client: BuracoClient, script: Script, table: Table, clock: LoopClock
) -> None:
    """After a deadline the same request id gets the answer; the one that came too late is ignored."""
    overdue = asyncio.Event()

    async def late(context: Any) -> None:
        request_id = await table.ask(context)
        clock.advance(11.0)
        await overdue.wait()
        await send(context, accepted(request_id, 4))
        request_id = await table.ask(context)
        await send(context, accepted(request_id, 4, repeat=True))
        request_id = await table.ask(context)
        await send(context, accepted(request_id, 5))
        await forever()

    script.on("PlayTable", table.stream(state(3), then=late))
    async with client.restore_seat("t", 0, "abc").play() as session:
        with pytest.raises(DeadlineExceeded) as caught:
            await session.submit([DRAW], timeout=10.0)
        overdue.set()
        assert await take(session, 2) == [state(3), events(4)]
        assert await session.submit([DRAW], request_id=caught.value.request_id) == 4
        assert await session.submit([DRAW]) == 5
    assert table.asked[0] == table.asked[1]
    assert caught.value.request_id == table.asked[0].submit.request_id


async def test_iteration_ends_with_the_match(client: BuracoClient, script: Script, table: Table) -> None:
    """The end of the match ends the iteration; the submit that brought it about still gets its answer."""

    async def finish(context: Any) -> None:
        await send(context, accepted(await table.ask(context), 4, match_ended=True), events(5))
        await forever()

    script.on("PlayTable", table.stream(state(3), turn(3), then=finish))
    async with client.restore_seat("t", 0, "abc").play() as session:
        seen = [await anext(session), await anext(session)]
        assert await session.submit([DRAW]) == 4
        seen += [update async for update in session]
    assert seen == [state(3), turn(3), events(4, match_ended=True)]


async def test_finished_table_is_no_game(client: BuracoClient, script: Script, table: Table) -> None:
    """At a table that is finished already the state is all there is."""
    last = state(9, table_pb2.TABLE_STATE_FINISHED)
    script.on("PlayTable", table.stream(last))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert [update async for update in session] == [last]


async def test_submits_of_two_tasks_go_one_after_the_other(client: BuracoClient, script: Script, table: Table) -> None:
    """Two tasks that submit at once get their own answers, in turn."""

    async def play(context: Any) -> None:
        for revision in (4, 5):
            await send(context, accepted(await table.ask(context), revision))
        await forever()

    script.on("PlayTable", table.stream(state(3), then=play))
    async with client.restore_seat("t", 0, "abc").play() as session:
        first, second = await asyncio.gather(session.submit([DRAW]), session.submit([DRAW]))
    assert (first, second) == (4, 5)


async def test_cancelled_submit_leaves_the_session_usable(client: BuracoClient, script: Script, table: Table) -> None:
    """Who gives up waiting for an answer can go on with the session."""
    asked = asyncio.Event()

    async def play(context: Any) -> None:
        first = await table.ask(context)
        asked.set()
        second = await table.ask(context)
        await send(context, accepted(first, 4), accepted(second, 5))
        await forever()

    script.on("PlayTable", table.stream(state(3), then=play))
    async with client.restore_seat("t", 0, "abc").play() as session:
        submit = asyncio.create_task(session.submit([DRAW]))
        await asked.wait()
        submit.cancel()
        with pytest.raises(asyncio.CancelledError):
            await submit
        assert await session.submit([DRAW]) == 5
        assert await take(session, 3) == [state(3), events(4), events(5)]
    assert len(table.opened) == 1


async def test_closing_ends_everything(client: BuracoClient, script: Script, table: Table) -> None:
    """Leaving the block ends the stream at the server and wakes all that still wait for the session."""
    opened, given_up = asyncio.Event(), asyncio.Event()

    async def hold(context: Any) -> None:
        context.add_done_callback(lambda _: given_up.set())
        await table.ask(context)
        opened.set()
        await forever()

    script.on("PlayTable", table.stream(state(3), then=hold))
    async with client.restore_seat("t", 0, "abc").play() as session:
        assert await take(session, 1) == [state(3)]
        submit = asyncio.create_task(session.submit([DRAW]))
        step = asyncio.create_task(take(session, 1))
        await opened.wait()
    await given_up.wait()
    for task in (submit, step):
        with pytest.raises(BuracoError) as caught:
            await task
        assert caught.value.code is CODE.CANCELLED


async def test_cancelled_player_ends_its_stream(client: BuracoClient, script: Script, table: Table) -> None:
    """A playing task that is cancelled leaves no stream behind at the server."""
    opened, given_up = asyncio.Event(), asyncio.Event()

    async def hold(context: Any) -> None:
        context.add_done_callback(lambda _: given_up.set())
        opened.set()
        await forever()

    async def player() -> None:
        async with client.restore_seat("t", 0, "abc").play() as session:
            async for _ in session:
                pass

    script.on("PlayTable", table.stream(state(3), then=hold))
    task = asyncio.create_task(player())
    await opened.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await given_up.wait()
