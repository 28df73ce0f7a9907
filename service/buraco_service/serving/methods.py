"""The methods of the services: their kind and metrics, and how their messages are read and written.

Requests and responses are parsed and serialised here rather than by grpc, so that malformed ones are answered and
counted like any other error.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol, Self, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from buraco_service import errors
from buraco_service.access.admission import Kind
from buraco_service.observing.collectors import GrpcType, MethodMetrics
from buraco_service.observing.metrics import Metrics

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Metadata: TypeAlias = Sequence[tuple[str, str | bytes]]
Answer: TypeAlias = Callable[[Any, Context], Awaitable[Any]]

# Probes and tools: they need no key, and are logged at debug level while all is well.
_PROBES = ("grpc.health.", "grpc.reflection.")
_TYPES: dict[tuple[bool, bool], GrpcType] = {
    (False, False): "UNARY",
    (True, False): "CLIENT_STREAM",
    (False, True): "SERVER_STREAM",
    (True, True): "BIDI_STREAM",
}


class Incoming(Protocol):
    """A call whose headers have come, and perhaps no more, by any protocol."""

    @property
    def context(self) -> Context:
        """Return the context of the call. Messages read and written through it are bytes."""

    async def handle(self, path: str, choose: Callable[[Metadata], Awaitable[Handler | None]]) -> None:
        """Handle the call by the handler that `choose` returns for its metadata; None means UNIMPLEMENTED."""


class Method:
    """What is known of a method before it is called; `handler` is None for all methods that do not exist."""

    __slots__ = ("figures", "handler", "kind", "path", "request_streaming")

    def __init__(self, path: str, handler: Handler | None, metrics: Metrics) -> None:
        self.path = path
        self.handler: Handler | None = None
        service, _, name = path.strip("/").rpartition("/")
        streaming = handler is not None and handler.response_streaming
        if service.startswith(_PROBES):
            self.kind = Kind.PROBE_STREAM if streaming else Kind.PROBE
        else:
            self.kind = Kind.STREAM if streaming else Kind.CALL
        self.request_streaming = handler is not None and handler.request_streaming
        self.figures = (
            metrics.unknown_method()
            if handler is None
            else metrics.method(_TYPES[handler.request_streaming, handler.response_streaming], service, name)
        )


class Messages:
    """The messages of a stream as an async iterator, which calls `on_first` when the first has come."""

    __slots__ = ("_context", "_on_first")

    def __init__(self, context: Context, on_first: Callable[[], None]) -> None:
        self._context = context
        self._on_first: Callable[[], None] | None = on_first

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        message = await self._context.read()
        if message is grpc.aio.EOF:
            raise StopAsyncIteration
        if self._on_first is not None:
            self._on_first()
            self._on_first = None
        return message


def make_reader(handler: Handler, figures: MethodMetrics, max_bytes: int) -> Callable[[bytes], Any]:
    """Return the function that counts and parses a request of the method; it raises ApiError."""
    parse: Callable[[bytes], Any] = handler.request_deserializer or bytes

    def read(data: bytes) -> Any:
        figures.received += 1
        if len(data) > max_bytes:
            raise errors.message_too_large(len(data), max_bytes)
        try:
            return parse(data)
        except DecodeError:
            raise errors.malformed_message() from None

    return read


def make_writer(handler: Handler, figures: MethodMetrics) -> Callable[[Any], bytes]:
    """Return the function that counts and serialises a response of the method. Bytes stay as they are."""
    serialise: Callable[[Any], bytes] = handler.response_serializer or bytes

    def write(message: Any) -> bytes:
        data = message if isinstance(message, bytes) else serialise(message)
        figures.sent += 1
        return data

    return write


def make_worker(path: str, handler: Handler, write: Callable[[Any], bytes]) -> Answer:
    """Return the servicer's method as a coroutine function, which sends the responses of a stream by itself."""
    inner: Any = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream

    async def once(request: Any, context: Context) -> bytes:
        return write(await inner(request, context))

    async def many(request: Any, context: Context) -> None:
        # Closed at once when the call is cancelled, not when the garbage collector finds it.
        async with aclosing(inner(request, context)) as messages:
            async for message in messages:
                await context.write(message)

    if inspect.isasyncgenfunction(inner):
        return many
    if not inspect.iscoroutinefunction(inner):
        raise TypeError(f"the handler of {path} is not async")
    return inner if handler.response_streaming else once


def make_grpc_handler(
    handler: Handler, answer: Answer, read: Callable[[bytes], Any], write: Callable[[Any], bytes]
) -> Handler:
    """Return the handler for grpc. It reads and writes the messages of streams itself, single ones come as bytes."""
    if handler.request_streaming and handler.response_streaming:
        return grpc.stream_stream_rpc_method_handler(answer, request_deserializer=read, response_serializer=write)
    if handler.request_streaming:
        return grpc.stream_unary_rpc_method_handler(answer, request_deserializer=read)
    if handler.response_streaming:
        return grpc.unary_stream_rpc_method_handler(answer, response_serializer=write)
    return grpc.unary_unary_rpc_method_handler(answer)
