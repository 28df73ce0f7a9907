from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable
from typing import Any, cast

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from buraco_service import errors
from buraco_service.access.api_keys import ApiKeys
from buraco_service.access.limits import Limits
from buraco_service.observing.current_call import bind_table, current_call
from buraco_service.observing.metrics import Metrics
from buraco_service.serving.calls import Calls
from buraco_service.serving.grpc_server import GrpcServer
from buraco_service.stores.base import StoreUnavailable
from tests.service.announcing import PATIENCE, Announcing
from tests.service.echo import SERVICE, Caller, Echo, text

MOST = 3


class Harness:
    """A server of the echo service, and what it leaves behind."""

    def __init__(self, stream: Announcing) -> None:
        self.metrics = Metrics()
        self.echo = Echo()
        self.stream = stream
        limits = Limits(max_concurrent_calls=MOST, max_watches=MOST)
        self.server = GrpcServer(Calls(self.metrics, limits, ApiKeys()), (("grpc.so_reuseport", 0),))
        self.echo.register(self.server)
        self.port = self.server.add_insecure_port("127.0.0.1:0")

    def lines(self, event: str = "call") -> list[dict[str, Any]]:
        """The lines logged so far about an event."""
        return self.stream.lines(event)

    async def calls(self, number: int) -> list[dict[str, Any]]:
        """The lines about calls, once there are so many: a client may see the end before the server notes it."""
        await self.stream.wait_for(lambda: len(self.lines()) >= number)
        return self.lines()

    def count(self, name: str, method: str, kind: str, **labels: str) -> float:
        """A counter of one RPC."""
        rpc = {"grpc_type": kind, "grpc_service": SERVICE, "grpc_method": method, **labels}
        return self.metrics.registry.get_sample_value(name, rpc) or 0.0

    def handled(self, method: str, kind: str, code: str) -> float:
        """How often an RPC ended with a code."""
        return self.count("grpc_server_handled_total", method, kind, grpc_code=code)


@pytest.fixture
async def harness(log_stream: Announcing) -> AsyncIterator[Harness]:
    """A running server."""
    made = Harness(log_stream)
    await made.server.start()
    yield made
    await made.server.stop(None)


@pytest.fixture
async def caller(harness: Harness) -> AsyncIterator[Caller]:
    """A client of the server."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{harness.port}") as channel:
        yield Caller(channel)


async def refused(call: Awaitable[Any]) -> grpc.aio.AioRpcError:
    """The error with which a call ends."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


def status_of(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    """The google.rpc.Status of an error."""
    found: status_pb2.Status | None = rpc_status.from_call(cast(grpc.Call, error))
    assert found is not None
    return found


def info(error: grpc.aio.AioRpcError) -> error_details_pb2.ErrorInfo:
    """The ErrorInfo of an error."""
    found = error_details_pb2.ErrorInfo()
    assert status_of(error).details[0].Unpack(found)
    return found


def trailing(metadata: Any) -> dict[str, Any]:
    """Trailing metadata as a dictionary."""
    return dict(metadata or ())


async def listed(stream: Any) -> list[str]:
    """The texts of a stream of answers."""
    return [answer.value async for answer in stream]


async def test_all_kinds_pass_through(harness: Harness, caller: Caller) -> None:
    """All four kinds of RPC, in both styles of streaming, answer as they would without the interceptor."""
    words = [text("a"), text("b")]
    assert (await caller.say(text("hello"))).value == "hello"
    assert await listed(caller.spell(text("hello"))) == list("hello")
    assert (await caller.join(iter(words))).value == "ab"
    assert await listed(caller.chat(iter(words))) == ["a", "b"]
    assert await listed(caller.write(iter(words))) == ["a", "b"]


async def test_all_kinds_are_counted(harness: Harness, caller: Caller) -> None:
    """Every call is counted once begun and once ended, timed, and its messages are counted in both directions."""
    words = [text("a"), text("b")]
    await caller.say(text("hello"))
    await listed(caller.spell(text("hello")))
    await caller.join(iter(words))
    await listed(caller.chat(iter(words)))
    await listed(caller.write(iter(words)))
    for method, kind, received, sent in (
        ("Say", "UNARY", 1, 1),
        ("Spell", "SERVER_STREAM", 1, 5),
        ("Join", "CLIENT_STREAM", 2, 1),
        ("Chat", "BIDI_STREAM", 2, 2),
        ("Write", "BIDI_STREAM", 2, 2),
    ):
        assert harness.count("grpc_server_started_total", method, kind) == 1
        assert harness.handled(method, kind, "OK") == 1
        assert harness.count("grpc_server_handling_seconds_count", method, kind) == 1
        assert harness.count("grpc_server_msg_received_total", method, kind) == received
        assert harness.count("grpc_server_msg_sent_total", method, kind) == sent


async def test_one_line_a_call(harness: Harness, caller: Caller) -> None:
    """A call leaves one line with method, code, seconds and request id, and with the table if it was about one."""
    await caller.say(text("hello"))
    await caller.say(text("table t1"))
    plain, about_table = harness.lines()
    assert plain["method"] == f"/{SERVICE}/Say"
    assert plain["code"] == "OK"
    assert 0 < plain["seconds"] < PATIENCE
    assert plain["level"] == "info"
    assert plain["request_id"] == harness.echo.request_ids[0]
    assert "table_id" not in plain
    assert about_table["table_id"] == "t1"
    assert "hello" not in harness.stream.getvalue()


async def test_request_id_of_the_caller(harness: Harness, caller: Caller) -> None:
    """A sane request id of the caller's is used throughout and comes back."""
    call = caller.say(text("hello"), metadata=(("x-request-id", "web-1/2:3"),))
    await call
    assert trailing(await call.trailing_metadata()) == {"x-request-id": "web-1/2:3"}
    assert harness.echo.request_ids == ["web-1/2:3"]
    assert harness.lines()[0]["request_id"] == "web-1/2:3"


@pytest.mark.parametrize("unfit", ["", "a b", "-x", 'a"b', "x" * 129, "{}"])
async def test_unfit_request_ids(harness: Harness, caller: Caller, unfit: str) -> None:
    """A request id that may not stand in a log is replaced by one of ours."""
    await caller.say(text("hello"), metadata=(("x-request-id", unfit),))
    (used,) = harness.echo.request_ids
    assert used is not None
    assert re.fullmatch(r"[0-9a-f]{12}-1", used)


async def test_request_ids_of_our_own(harness: Harness, caller: Caller) -> None:
    """Calls without a request id get different ones, which come back with streams and errors."""
    harness.echo.fail = _raise_for("bad", errors.table_not_found("t1"))
    await caller.say(text("hello"))
    stream = caller.spell(text("a"))
    await listed(stream)
    error = await refused(caller.say(text("bad")))
    first, second, third = harness.echo.request_ids
    assert len({first, second, third}) == 3
    assert trailing(await stream.trailing_metadata())["x-request-id"] == second
    assert trailing(error.trailing_metadata())["x-request-id"] == third


async def test_concurrent_calls_keep_their_context(harness: Harness, caller: Caller) -> None:
    """Calls at the same time each see their own request id and table."""
    ids = [f"id-{number}" for number in range(MOST)]
    await asyncio.gather(*(caller.say(text(f"table {name}"), metadata=(("x-request-id", name),)) for name in ids))
    assert sorted((line["request_id"], line["table_id"]) for line in harness.lines()) == [(name, name) for name in ids]


def _raise_for(value: str, error: BaseException) -> Any:
    def fail(sent: str) -> None:
        if sent == value:
            raise error

    return fail


@pytest.mark.parametrize("method", ["say", "spell", "join", "chat", "write"])
async def test_errors_of_ours(harness: Harness, caller: Caller, method: str) -> None:
    """An ApiError reaches the caller whole from every kind of RPC; it is counted and logged with its reason."""
    harness.echo.fail = _raise_for("bad", errors.stale_revision(7))
    request: Any = text("bad") if method in ("say", "spell") else iter([text("bad")])
    call = getattr(caller, method)(request)
    error = await refused(call if method in ("say", "join") else listed(call))
    assert (error.code(), error.details()) == (grpc.StatusCode.ABORTED, "the table is at revision 7: read it again")
    assert (info(error).domain, info(error).reason) == ("buraco", "REVISION_STALE")
    (line,) = harness.lines()
    assert (line["code"], line["reason"], line["level"]) == ("ABORTED", "REVISION_STALE", "info")
    kind = {"say": "UNARY", "spell": "SERVER_STREAM", "join": "CLIENT_STREAM"}.get(method, "BIDI_STREAM")
    assert harness.handled(method.title(), kind, "ABORTED") == 1


async def test_error_after_answers(harness: Harness, caller: Caller) -> None:
    """A stream may fail after it has answered: the answers arrive, then the error."""
    harness.echo.fail = _raise_for("bad", errors.seat_not_yours())
    stream = caller.chat(iter([text("good"), text("bad")]))
    assert (await stream.read()).value == "good"
    error = await refused(stream.read())
    assert info(error).reason == "SEAT_NOT_YOURS"


@pytest.mark.parametrize("method", ["say", "spell", "join", "chat"])
async def test_nothing_internal_leaks(harness: Harness, caller: Caller, method: str) -> None:
    """An unforeseen exception becomes INTERNAL with a fixed text; its cause is logged under the id in it."""
    harness.echo.fail = _raise_for("bad", RuntimeError("the secret hand is As Kd"))
    request: Any = text("bad") if method in ("say", "spell") else iter([text("bad")])
    call = getattr(caller, method)(request)
    error = await refused(call if method in ("say", "join") else listed(call))
    assert (error.code(), error.details()) == (grpc.StatusCode.INTERNAL, "internal error")
    assert "secret" not in str(error.trailing_metadata())
    (cause,) = harness.lines("unforeseen error")
    assert info(error).metadata["errorId"] == cause["error_id"]
    assert "RuntimeError: the secret hand is As Kd" in cause["exception"]
    assert cause["level"] == "error"
    assert cause["request_id"] == harness.lines()[0]["request_id"]


async def test_store_away(harness: Harness, caller: Caller) -> None:
    """A store that is away is UNAVAILABLE with a retry delay; why is only logged."""
    harness.echo.fail = _raise_for("bad", StoreUnavailable("disk full at /var/lib"))
    error = await refused(caller.say(text("bad")))
    assert (error.code(), error.details()) == (grpc.StatusCode.UNAVAILABLE, "the store is not available")
    assert info(error).reason == "STORE_UNAVAILABLE"
    retry = error_details_pb2.RetryInfo()
    assert status_of(error).details[1].Unpack(retry)
    assert retry.retry_delay.seconds == 1
    assert harness.lines("store unavailable")[0]["cause"] == "disk full at /var/lib"


@pytest.mark.parametrize("method", ["Say", "Join"])
async def test_malformed_messages(harness: Harness, caller: Caller, method: str) -> None:
    """Bytes that are no request of the method are INVALID_ARGUMENT, and counted like any error."""
    error = await refused(caller.raw(method)(b"\xff\xff\xff"))
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert info(error).reason == "REQUEST_INVALID"
    assert harness.echo.request_ids == []
    assert harness.handled(method, {"Say": "UNARY", "Join": "CLIENT_STREAM"}[method], "INVALID_ARGUMENT") == 1


async def test_wrong_answer(harness: Harness, caller: Caller) -> None:
    """A handler that answers with something that is no message has failed: INTERNAL, nothing leaks."""
    error = await refused(caller.unary("Wrong")(text("x")))
    assert (error.code(), error.details()) == (grpc.StatusCode.INTERNAL, "internal error")


async def test_status_of_the_handler(harness: Harness, caller: Caller) -> None:
    """A status that the handler sends itself passes, and is counted."""
    error = await refused(caller.unary("Abort")(text("x")))
    assert (error.code(), error.details()) == (grpc.StatusCode.DATA_LOSS, "by hand")
    (line,) = await harness.calls(1)
    assert line["code"] == "DATA_LOSS"
    assert harness.handled("Abort", "UNARY", "DATA_LOSS") == 1


async def test_unknown_methods(harness: Harness, caller: Caller) -> None:
    """Methods that do not exist are UNIMPLEMENTED and counted together, whatever they are called."""
    for method, service in (("Nothing", SERVICE), ("Say", "some.Service"), ("x" * 200, "y")):
        error = await refused(caller.unary(method, service)(text("x")))
        assert error.code() == grpc.StatusCode.UNIMPLEMENTED
    unknown = {"grpc_type": "unknown", "grpc_service": "unknown", "grpc_method": "unknown"}
    sample = harness.metrics.registry.get_sample_value
    assert sample("grpc_server_handled_total", {**unknown, "grpc_code": "UNIMPLEMENTED"}) == 3
    assert sample("grpc_server_started_total", unknown) == 3
    assert [line["code"] for line in harness.lines()] == ["UNIMPLEMENTED"] * 3
    assert len({line["request_id"] for line in harness.lines()} - {""}) == 3


async def test_cancelled_call(harness: Harness, caller: Caller) -> None:
    """A call that the client cancels stops its handler and is counted as CANCELLED."""
    call = caller.hang(text("x"))
    await asyncio.wait_for(harness.echo.hanging.wait(), PATIENCE)
    call.cancel()
    await asyncio.wait_for(harness.echo.ended.wait(), PATIENCE)
    (line,) = await harness.calls(1)
    assert line["code"] == "CANCELLED"
    assert harness.handled("Hang", "UNARY", "CANCELLED") == 1


async def test_cancelled_stream(harness: Harness, caller: Caller) -> None:
    """A stream that the client leaves stops its generator at once and is counted as CANCELLED."""
    stream = caller.spell(text("a…"))
    assert (await stream.read()).value == "a"
    stream.cancel()
    await asyncio.wait_for(harness.echo.ended.wait(), PATIENCE)
    (line,) = await harness.calls(1)
    assert line["code"] == "CANCELLED"
    assert harness.handled("Spell", "SERVER_STREAM", "CANCELLED") == 1


async def test_deadline(harness: Harness, caller: Caller) -> None:
    """A call whose deadline passes stops its handler and is counted as DEADLINE_EXCEEDED."""
    seconds = 0.05
    while not harness.echo.hanging.is_set():  # on a busy machine the deadline may pass before the handler begins
        error = await refused(caller.hang(text("x"), timeout=seconds))
        assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        seconds *= 2
    await asyncio.wait_for(harness.echo.ended.wait(), PATIENCE)
    assert {line["code"] for line in await harness.calls(1)} == {"DEADLINE_EXCEEDED"}


async def test_cancellation_from_within(harness: Harness, caller: Caller) -> None:
    """A handler that stumbles over something cancelled has failed: its caller is answered, not left waiting."""
    harness.echo.fail = _raise_for("bad", asyncio.CancelledError())
    error = await refused(caller.say(text("bad"), timeout=PATIENCE))
    assert (error.code(), error.details()) == (grpc.StatusCode.INTERNAL, "internal error")


async def test_limit(harness: Harness, caller: Caller) -> None:
    """Streams past their limit are refused with LIMIT_REACHED and a retry delay; calls go on, and room comes back."""
    calls = [caller.spell(text("a…")) for _ in range(MOST)]
    for call in calls:
        await call.read()
    for stream in (caller.spell(text("one too many")), caller.chat(iter([text("one too many")]))):
        error = await refused(listed(stream))
        assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (info(error).reason, dict(info(error).metadata)) == (
            "LIMIT_REACHED",
            {"limit": "watches", "maximum": "3"},
        )
    assert (await caller.say(text("hello"))).value == "hello"
    calls[0].cancel()
    await harness.calls(4)
    assert await listed(caller.spell(text("ab"))) == ["a", "b"]
    harness.echo.release.set()
    assert (await calls[1].read()).value == "…"


async def test_limit_of_calls(harness: Harness, caller: Caller) -> None:
    """Calls past theirs are refused likewise, and counted by the name of the limit."""
    calls = [caller.hang(text("hello")) for _ in range(MOST)]
    for _ in calls:
        await asyncio.wait_for(harness.echo.hung.acquire(), PATIENCE)
    error = await refused(caller.say(text("one too many")))
    assert dict(info(error).metadata) == {"limit": "concurrent_calls", "maximum": "3"}
    harness.echo.release.set()
    assert [(await call).value for call in calls] == ["hello"] * MOST
    labels = {"reason": "LIMIT_REACHED", "limit": "concurrent_calls"}
    assert harness.metrics.registry.get_sample_value("buraco_refusals_total", labels) == 1


def test_outside_of_calls() -> None:
    """Outside of a call there is none, and naming a table does nothing."""
    bind_table("t1")
    assert current_call.get() is None
