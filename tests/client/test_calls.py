from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from buraco.v1 import move_pb2, table_pb2, table_service_pb2
from buraco_client import (
    Backoff,
    BuracoClient,
    DeadlineExceeded,
    LimitReached,
    RevisionStale,
    RuleBroken,
    Unavailable,
)
from tests.client.conftest import PATIENCE
from tests.client.scripted import Service, forever, refuse, retry_info, stale, unavailable_store

if TYPE_CHECKING:
    from tests.client.scripted import Script
    from tests.clock import LoopClock

SUBMITTED = table_service_pb2.SubmitMovesResponse(revision=8)
DRAW = move_pb2.Move(draw_stock=move_pb2.DrawStock())


async def test_mutating_call_is_repeated_with_its_request_id(client: BuracoClient, script: Script) -> None:
    """While the store is unavailable the same submit is sent again until it is answered."""
    script.on("SubmitMoves", unavailable_store(), unavailable_store(), SUBMITTED)
    assert await client.restore_seat("t", 0, "token").submit([DRAW], 7) == SUBMITTED
    sent = script.requests["SubmitMoves"]
    assert len(sent) == 3
    assert sent[0] == sent[1] == sent[2]
    assert uuid.UUID(sent[0].request_id).version == 4
    assert (list(sent[0].moves), sent[0].revision) == ([DRAW], 7)


async def test_every_call_has_a_request_id_of_its_own(client: BuracoClient, script: Script) -> None:
    """Two submits of the same moves are two submits."""
    script.on("SubmitMoves", SUBMITTED, SUBMITTED)
    seat = client.restore_seat("t", 0, "token")
    await seat.submit([DRAW])
    await seat.submit([DRAW])
    first, second = script.requests["SubmitMoves"]
    assert first.request_id != second.request_id
    assert not first.HasField("revision")


async def test_callers_request_id_is_sent(client: BuracoClient, script: Script) -> None:
    """After a deadline the caller repeats the call with the error's request id."""
    late = refuse(grpc.StatusCode.DEADLINE_EXCEEDED, "")
    script.on("JoinTable", late, table_service_pb2.JoinTableResponse(seat=1, token="abc"))
    with pytest.raises(DeadlineExceeded) as caught:
        await client.join_table("t", "Ana")
    seat = await client.join_table("t", "Ana", request_id=caught.value.request_id)
    first, second = script.requests["JoinTable"]
    assert first == second
    assert first.request_id == caught.value.request_id
    assert (seat.table_id, seat.seat, seat.token) == ("t", 1, "abc")


async def test_reads_are_repeated(client: BuracoClient, script: Script) -> None:
    """A read is sent again while the service is unavailable."""
    script.on("GetTable", unavailable_store(), table_service_pb2.GetTableResponse(table=table_pb2.Table(id="t")))
    assert (await client.get_table("t")).id == "t"


async def test_calls_that_the_server_cancels_are_repeated(
    client: BuracoClient, service: Service, script: Script
) -> None:
    """A call that comes too late for a replica that stops is cancelled there, and sent again."""

    async def too_late(request: Any, context: Any) -> None:
        await context.abort(grpc.StatusCode.CANCELLED)

    script.on("SubmitMoves", too_late, SUBMITTED)
    assert await client.restore_seat("t", 0, "token").submit([DRAW], 7) == SUBMITTED
    first, second = script.requests["SubmitMoves"]
    assert first == second
    script.on("GetTable", *[too_late] * 3)
    async with BuracoClient(service.target, backoff=ThreeTries()) as other:
        with pytest.raises(Unavailable) as caught:
            await other.get_table("t", timeout=PATIENCE)
    assert caught.value.code is grpc.StatusCode.CANCELLED
    assert script.left("GetTable") == 0


async def test_calls_that_the_caller_cancels_are_not_repeated(
    client: BuracoClient, service: Service, script: Script
) -> None:
    """A call whose task is cancelled, or whose client is closed, is not sent again."""
    for end in ("cancel", "close"):
        asked = asyncio.Event()

        async def hangs(request: Any, context: Any, asked: asyncio.Event = asked) -> None:
            asked.set()
            await forever()

        script.on("GetTable", hangs)
        async with BuracoClient(service.target) as other:
            call = asyncio.create_task(other.get_table("t"))
            await asked.wait()
            if end == "cancel":
                call.cancel()
            else:
                await other.close()
            with pytest.raises(asyncio.CancelledError):
                await call
    assert len(script.requests["GetTable"]) == 2


async def test_refusals_are_not_repeated(client: BuracoClient, script: Script) -> None:
    """A decision of the service is final: a broken rule is raised at once, with the call's request id."""
    script.on("SubmitMoves", refuse(grpc.StatusCode.FAILED_PRECONDITION, "GAP"), SUBMITTED)
    with pytest.raises(RuleBroken) as caught:
        await client.restore_seat("t", 0, "token").submit([DRAW])
    assert script.left("SubmitMoves") == 1
    assert caught.value.request_id == script.requests["SubmitMoves"][0].request_id


async def test_deadline_reaches_the_service(service: Service, script: Script) -> None:
    """Every call carries a deadline, the client's own if none is given."""
    left: list[float] = []

    async def step(request: Any, context: Any) -> Any:
        left.append(context.time_remaining())
        return table_service_pb2.GetTableResponse()

    script.on("GetTable", step, step)
    async with BuracoClient(service.target, timeout=30.0) as client:
        await client.get_table("t")
        await client.get_table("t", timeout=11.0)
    assert 20.0 < left[0] <= 31.0
    assert 1.0 < left[1] <= 12.0


class ThreeTries(Backoff):
    """Waits too long after the third failure for any deadline."""

    def delay(self, failures: int) -> float:
        return 0.01 if failures < 3 else 3600.0


async def test_tries_share_one_deadline(service: Service, script: Script, clock: LoopClock) -> None:
    """A later try gets what the earlier ones left of the deadline, and the last failure is what is raised."""
    left: list[float] = []

    class Late(ThreeTries):
        def delay(self, failures: int) -> float:
            clock.advance(10.0)
            return super().delay(failures)

    async def step(request: Any, context: Any) -> None:
        left.append(context.time_remaining())
        await unavailable_store()(request, context)

    script.on("GetTable", step, step, step, step)
    async with BuracoClient(service.target, backoff=Late()) as client:
        with pytest.raises(Unavailable) as caught:
            await client.get_table("t", timeout=PATIENCE)
    assert caught.value.reason == "STORE_UNAVAILABLE"
    first, _, third = left
    assert first - third > 15.0


async def test_call_waits_for_a_service_that_is_not_there_yet(script: Script) -> None:
    """A call that finds no service at the address succeeds when the service comes up within the deadline."""
    failed = asyncio.Event()

    class Noted(Backoff):
        def delay(self, failures: int) -> float:
            failed.set()
            return super().delay(failures)

    service = Service(script)
    await service.start()
    await service.stop()
    script.on("GetTable", table_service_pb2.GetTableResponse(table=table_pb2.Table(id="t")))
    async with BuracoClient(service.target, timeout=PATIENCE, backoff=Noted(0.01, 0.1)) as client:
        call = asyncio.create_task(client.get_table("t"))
        await failed.wait()
        async with service:
            assert (await call).id == "t"


async def test_nobody_there_is_unavailable(script: Script) -> None:
    """If nothing listens the error is Unavailable, not DeadlineExceeded."""
    service = Service(script)
    await service.start()
    await service.stop()
    async with BuracoClient(service.target, backoff=ThreeTries(), timeout=20.0) as client:
        with pytest.raises(Unavailable):
            await client.get_table("t")


async def test_limit_is_waited_for(client: BuracoClient, script: Script) -> None:
    """A call refused for a limit is sent again after the time the service asks for, and not before."""
    limit = refuse(grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED", retry_info(0.15))
    script.on("CreateTable", limit, table_service_pb2.CreateTableResponse(table=table_pb2.Table(id="t")))
    loop = asyncio.get_running_loop()
    begun = loop.time()
    assert (await client.create_table("classic", 4)).id == "t"
    assert loop.time() - begun >= 0.15
    first, second = script.requests["CreateTable"]
    assert first == second


async def test_limit_beyond_the_deadline_is_raised_at_once(client: BuracoClient, script: Script) -> None:
    """If the service asks for more time than is left, the error comes at once with that time."""
    script.on("CreateTable", refuse(grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED", retry_info(3600.0)))
    with pytest.raises(LimitReached) as caught:
        await client.create_table("classic", 4)
    assert caught.value.retry_after == 3600.0


async def test_limit_without_a_time_is_raised(client: BuracoClient, script: Script) -> None:
    """A limit without a time is raised at once."""
    script.on("CreateTable", refuse(grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED"))
    with pytest.raises(LimitReached):
        await client.create_table("classic", 4)


async def test_stale_revision_is_raised(client: BuracoClient, script: Script) -> None:
    """Moves chosen for an old revision are not sent again: the caller has to choose anew."""
    script.on("SubmitMoves", stale(), SUBMITTED)
    with pytest.raises(RevisionStale):
        await client.restore_seat("t", 0, "token").submit([DRAW], 7)
    assert script.left("SubmitMoves") == 1


async def test_lost_race_is_run_again(client: BuracoClient, script: Script) -> None:
    """A call that lost a race and was not meant for a certain revision is sent again."""
    script.on("SubmitMoves", stale(), SUBMITTED)
    assert await client.restore_seat("t", 0, "token").submit([DRAW]) == SUBMITTED


async def test_cancelled_call_is_cancelled_at_the_service(client: BuracoClient, script: Script) -> None:
    """Who stops waiting for an answer stops the work for it."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def step(request: Any, context: Any) -> None:
        context.add_done_callback(lambda _: ended.set())
        begun.set()
        await forever()

    script.on("GetTable", step)
    call = asyncio.create_task(client.get_table("t"))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await ended.wait()


@pytest.mark.parametrize("failures", [1, 2, 5, 9, 5000])
def test_backoff_doubles_up_to_its_cap(failures: int) -> None:
    """The wait is anything between nothing and the first wait doubled with every failure, at most the cap."""
    longest = min(2.0, 0.1 * 2 ** min(failures - 1, 10))
    delays = [Backoff(first=0.1, cap=2.0).delay(failures) for _ in range(500)]
    assert all(0.0 <= delay <= longest for delay in delays)
    assert min(delays) < 0.2 * longest
    assert max(delays) > 0.8 * longest
