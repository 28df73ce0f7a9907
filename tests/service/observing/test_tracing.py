from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider

from buraco_client import BuracoClient, BuracoError
from buraco_service.observing.tracing import TracingError, create_tracing
from tests.service.programs import Program
from tests.service.web.http import ask_json

Traced = Callable[..., Program]


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """A receiver of traces."""

    def __init__(self) -> None:
        self.address = ""
        self.spans: list[Span] = []
        self.services: set[str] = set()
        self.received = b""

    async def Export(self, request: Any, context: Any) -> Any:
        """Keep what was sent."""
        self.received += request.SerializeToString()
        for resource in request.resource_spans:
            self.services |= {_values(resource.resource)["service.name"]}
            for scope in resource.scope_spans:
                self.spans += scope.spans
        return trace_service_pb2.ExportTraceServiceResponse()

    def named(self, name: str) -> list[Span]:
        """The spans of this name."""
        return [span for span in self.spans if span.name == name]


def _values(owner: Any) -> dict[str, str]:
    return {one.key: one.value.string_value for one in owner.attributes}


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    """A collector that listens."""
    collector = Collector()
    server = grpc.aio.server()
    add: Any = trace_service_pb2_grpc.add_TraceServiceServicer_to_server
    add(collector, server)
    collector.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    yield collector
    await server.stop(None)


@pytest.fixture
def traced(tmp_path: Path) -> Iterator[Traced]:
    """Start services that send traces; end those that the test did not."""
    programs: list[Program] = []

    def start(endpoint: str, **environment: str) -> Program:
        settings: dict[str, Any] = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{endpoint}",
            "BURACO_STORE": f"sqlite:///{tmp_path}/tables.db",
            **environment,
        }
        programs.append(Program(tmp_path, **settings))
        return programs[-1]

    yield start
    for program in programs:
        program.process.kill()
        program.process.communicate()


async def stopped(program: Program) -> list[dict[str, Any]]:
    """Stop a program; return its log lines."""
    program.process.terminate()
    status, _, logs = await program.end()
    assert status == 0, logs
    return [json.loads(line) for line in logs.splitlines()]


async def test_calls_over_the_web_port(traced: Traced, collector: Collector) -> None:
    """A call over the web port is a span, too, of the caller's trace, and names its protocol."""
    program = traced(collector.address, BURACO_WEB_PORT="0")
    ready = await program.ready()
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert (await ask_json(ready["web_address"], "ListTables", {}, traceparent=caller)).status == 200
    await stopped(program)
    (span,) = collector.named("buraco.v1.TableService/ListTables")
    assert span.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert _values(span)["rpc.system.name"] == "connectrpc"


async def test_a_call_and_what_it_does(traced: Traced, collector: Collector) -> None:
    """A call is a span of its caller's trace, with its use case and store operations below it, and logs name it."""
    program = traced(collector.address)
    ready = await program.ready()
    async with BuracoClient(ready["address"]) as client:
        table = await client.create_table("open", seats=2, target_score=0)
        seats = [await client.join_table(table.id, name) for name in ("Ada", "Bo")]
        token = seats[0].token
        with trace.use_span(TracerProvider().get_tracer("test").start_span("turn")) as caller:
            for seat in seats:
                moves = (await seat.list_legal_moves()).moves
                if moves:
                    await seat.submit(moves[:1])
                    break
        context = caller.get_span_context()
    logs = await stopped(program)
    assert collector.services == {"buraco"}
    (submit,) = collector.named("buraco.v1.TableService/SubmitMoves")
    assert submit.trace_id.hex() == f"{context.trace_id:032x}"
    assert submit.parent_span_id.hex() == f"{context.span_id:016x}"
    values = _values(submit)
    assert values["rpc.system.name"] == "grpc"
    assert values["rpc.method"] == "buraco.v1.TableService/SubmitMoves"
    assert values["rpc.response.status_code"] == "OK"
    assert values["buraco.table_id"] == table.id
    (line,) = [line for line in logs if line.get("method", "").endswith("/SubmitMoves")]
    assert line["trace_id"] == submit.trace_id.hex()
    assert line["request_id"] == values["buraco.request_id"]
    (case,) = collector.named("table submit")
    (commit,) = [span for span in collector.named("store commit") if span.trace_id == submit.trace_id]
    assert case.parent_span_id == submit.span_id
    assert commit.parent_span_id == case.span_id
    assert submit.start_time_unix_nano <= case.start_time_unix_nano <= commit.start_time_unix_nano
    assert commit.end_time_unix_nano <= case.end_time_unix_nano <= submit.end_time_unix_nano
    assert token.encode() not in collector.received
    assert token.rpartition(".")[2].encode() not in collector.received


async def test_a_stream(traced: Traced, collector: Collector) -> None:
    """Each move on a stream is a trace of its own, linked to the stream's, with its store operations and no others."""
    program = traced(collector.address)
    ready = await program.ready()
    async with BuracoClient(ready["address"]) as client:
        table = await client.create_table("open", seats=2, target_score=0)
        seats = [await client.join_table(table.id, name) for name in ("Ada", "Bo")]
        made = 0
        async with seats[0].play() as one, seats[1].play() as other:

            async def play(session: Any) -> None:
                nonlocal made
                async for update in session:
                    if hasattr(update, "moves"):
                        await session.submit([update.moves[-1]], update.revision)
                        made += 1
                        if made == 4:
                            return

            await asyncio.wait(
                [asyncio.create_task(play(one)), asyncio.create_task(play(other))], return_when=asyncio.FIRST_COMPLETED
            )
    await stopped(program)
    streams = {span.span_id for span in collector.named("buraco.v1.TableService/PlayTable")}
    cases = collector.named("table submit")
    assert len(streams) == 2
    assert len(cases) >= 4
    assert len({case.trace_id for case in cases}) == len(cases)
    for case in cases:
        assert case.parent_span_id == b""
        assert [link.span_id in streams for link in case.links] == [True]
        below = [span.name for span in collector.spans if span.parent_span_id == case.span_id]
        assert "store commit" in below
    assert not [span for span in collector.spans if span.parent_span_id in streams]


async def test_errors_and_hashed_tables(traced: Traced, collector: Collector) -> None:
    """A span carries the reason of an error, which is not the service's, and table ids as in logs."""
    program = traced(collector.address, BURACO_TABLE_ID_IN_LOGS="hashed", OTEL_SERVICE_NAME="cards")
    ready = await program.ready()
    async with BuracoClient(ready["address"]) as client:
        with pytest.raises(BuracoError):
            await client.get_table("0" * 32)
    async with grpc.aio.insecure_channel(ready["address"]) as channel:
        check: Any = health_pb2_grpc.HealthStub(channel)
        await check.Check(health_pb2.HealthCheckRequest())
    logs = await stopped(program)
    assert collector.services == {"cards"}
    (call,) = [span for span in collector.spans if span.kind == Span.SPAN_KIND_SERVER]
    values = _values(call)
    assert (values["rpc.response.status_code"], values["error.type"]) == ("NOT_FOUND", "TABLE_UNKNOWN")
    assert call.status.code == 0
    assert values["buraco.table_id"] == next(line["table_id"] for line in logs if line.get("code") == "NOT_FOUND")
    assert len(values["buraco.table_id"]) == 12


async def test_a_collector_that_does_not_answer(traced: Traced) -> None:
    """Without its collector the service loses traces, but serves calls and stops."""
    program = traced("127.0.0.1:1", OTEL_EXPORTER_OTLP_TIMEOUT="1")
    ready = await program.ready()
    async with BuracoClient(ready["address"]) as client:
        await client.create_table("open", seats=2, target_score=0)
    async with asyncio.timeout(30):
        assert await stopped(program)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4317"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4317"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
    ],
)
def test_off(environment: dict[str, str]) -> None:
    """Calls are not traced unless the environment asks for it."""
    assert create_tracing(environment, "1") is None


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "zipkin"),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "http/protobuf"),
    ],
)
def test_impossible_traces(environment: dict[str, str], problem: str) -> None:
    """Traces that are not possible stop the start, with the reason."""
    with pytest.raises(TracingError, match=problem):
        create_tracing(environment, "1")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra that is not installed."""
    monkeypatch.setitem(sys.modules, "buraco_service.observing.otel", None)
    with pytest.raises(TracingError, match="extra `otel`"):
        create_tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4317"}, "1")
