"""Traces by OpenTelemetry, sent over OTLP. Only imported if the environment asks for traces (see `tracing`).

Spans carry names, status, request id and table id (as the logs show it), and nothing of a message: no card, no token.
The library reads its other variables itself: OTEL_TRACES_SAMPLER, OTEL_BSP_…, OTEL_RESOURCE_ATTRIBUTES ….
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from opentelemetry import propagate
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer, format_trace_id, set_span_in_context

from buraco_service.observing import logs
from buraco_service.observing.current_call import CallContext

# Statuses that mark a server's span as failed: faults of the service, not of its caller.
_SERVER_FAULTS: Final = frozenset(
    {"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"}
)
_FLUSH_MS: Final = 3000
_NO_PARENT: Final = Context()

_current_use_case: ContextVar[Span | None] = ContextVar("use_case", default=None)


class OtlpTracing:
    """Makes traces and exports them in the background."""

    def __init__(self, environment: Mapping[str, str], version: str) -> None:
        resource = {SERVICE_VERSION: version, SERVICE_INSTANCE_ID: str(uuid.uuid4())}
        attributes = environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
        if not environment.get("OTEL_SERVICE_NAME") and SERVICE_NAME not in attributes:
            resource[SERVICE_NAME] = "buraco"
        self._provider = TracerProvider(resource=Resource.create(resource))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("buraco", version)

    def begin(self, call: CallContext, *, stream: bool) -> OtlpCallTrace:
        """Start the trace of a new call, as a part of its caller's trace if its headers name one."""
        method = call.method.lstrip("/")
        system = "connectrpc" if call.protocol and call.protocol.startswith("connect") else "grpc"
        span = self._tracer.start_span(
            method,
            propagate.extract(_text_headers(call.metadata), _NO_PARENT),
            SpanKind.SERVER,
            {"rpc.system.name": system, "rpc.method": method, "buraco.request_id": call.request_id},
            start_time=_unix_nanoseconds_before(time.perf_counter() - call.started),
        )
        return OtlpCallTrace(self._tracer, span, stream)

    def close(self) -> None:
        """Export what is left, and block for that: 3 seconds, and the exporter's own time to shut down."""
        self._provider.force_flush(_FLUSH_MS)
        self._provider.shutdown()


class OtlpCallTrace:
    """The trace of one call: its span, and spans for use cases and operations below it."""

    __slots__ = ("_span", "_stream", "_tracer", "trace_id")

    def __init__(self, tracer: Tracer, span: Span, stream: bool) -> None:
        self._tracer = tracer
        self._span = span
        self._stream = stream
        self.trace_id = format_trace_id(span.get_span_context().trace_id)

    @contextmanager
    def trace_use_case(self, name: str) -> Iterator[None]:
        """Make the block's time a span. On a stream it is a trace of its own, linked to the stream's."""
        if self._stream:
            links = [Link(self._span.get_span_context())]
            span = self._tracer.start_span(f"table {name}", _NO_PARENT, links=links)
        else:
            span = self._tracer.start_span(f"table {name}", set_span_in_context(self._span, _NO_PARENT))
        token = _current_use_case.set(span)
        try:
            yield
        finally:
            _current_use_case.reset(token)
            span.end()

    def record_operation(self, name: str, outcome: str, seconds: float) -> None:
        """Add a span for an operation of the store that took so many seconds and ended just now.

        Reads by which a stream follows its table belong to no use case: no span.
        """
        parent = _current_use_case.get() or (None if self._stream else self._span)
        if parent is None:
            return
        span = self._tracer.start_span(
            f"store {name}",
            set_span_in_context(parent, _NO_PARENT),
            SpanKind.CLIENT,
            {"buraco.store.outcome": outcome},
            start_time=_unix_nanoseconds_before(seconds),
        )
        if outcome in ("unavailable", "error"):
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    def end(self, code: str, reason: str | None, table_id: str | None) -> None:
        """End the call's span, with the name of its status code; as failed if the service is at fault."""
        self._span.set_attribute("rpc.response.status_code", code)
        if reason is not None:
            self._span.set_attribute("error.type", reason)
        if table_id is not None:
            self._span.set_attribute("buraco.table_id", logs.format_table_id(table_id))
        if code in _SERVER_FAULTS:
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()


def _unix_nanoseconds_before(seconds: float) -> int:
    """Return the time so many seconds before now, as spans take it."""
    return time.time_ns() - round(seconds * 1e9)


def _text_headers(metadata: Iterable[tuple[str, str | bytes]]) -> dict[str, str]:
    return {key: value for key, value in metadata if isinstance(value, str)}
