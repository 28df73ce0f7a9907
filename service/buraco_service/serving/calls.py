"""Everything that every call has in common, from its headers to its status.

It gives a call its request id, binds the context of its log lines, has it let in or refused, ends it when its message
does not come, turns exceptions into statuses that leak nothing, counts and times the call, and logs one line when it
ends. Requests and responses are (de)serialised here rather than by grpc, so that malformed ones are answered and
counted like any other error.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Any, Never, Self, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from buraco_service import errors
from buraco_service.access.admission import Admission, Kind, Limits
from buraco_service.access.api_keys import ApiKeys
from buraco_service.errors import ApiError
from buraco_service.observing import logs
from buraco_service.observing.collectors import GrpcType, MethodMetrics
from buraco_service.observing.current_call import CallContext, current_call
from buraco_service.observing.metrics import Metrics
from buraco_service.observing.tracing import Tracing
from buraco_service.serving.grpc_server import IncomingCall, Metadata
from buraco_service.stores.base import StoreUnavailable

REQUEST_ID_KEY = "x-request-id"
# Probes and tools: no key is asked for, and they are logged at debug level while all is well.
_PROBES = ("grpc.health.", "grpc.reflection.")
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=@-]{0,127}")
# Statuses that say that a caller asks for too much, or for what it may not have.
_REFUSALS = frozenset(
    {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED}
)
# Lines a second about calls that a limit refused, and about unknown methods; the others are only counted.
_MAX_REFUSAL_LINES = 20
# Seconds between looks for calls whose message is overdue; and for which a refused stream may send its first message.
_LOOK = 1.0
_FIRST_MESSAGE_WAIT = 0.5
_TYPES: dict[tuple[bool, bool], GrpcType] = {
    (False, False): "UNARY",
    (True, False): "CLIENT_STREAM",
    (False, True): "SERVER_STREAM",
    (True, True): "BIDI_STREAM",
}

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Calls:
    """The calls of one server (see `grpc_server.CallHandler`)."""

    def __init__(self, metrics: Metrics, limits: Limits, api_keys: ApiKeys, tracing: Tracing | None = None) -> None:
        self._metrics = metrics
        self._tracing = tracing
        self._limits = limits
        self._admission = Admission(limits, api_keys)
        self._methods: dict[str, _Method] = {}
        self._unknown = _Method("unknown", None, metrics)
        self._log = logs.get_logger().bind()
        self._log_call = logs.get_call_logger()
        self._refusal_lines = _LinesASecond(_MAX_REFUSAL_LINES)
        self._ids = itertools.count(1)
        self._prefix = secrets.token_hex(6)

    @property
    def busy(self) -> bool:
        """Return True while calls are being served; probes, and calls whose message has not come, do not count."""
        return self._admission.busy

    def register(self, path: str, handler: _Handler) -> None:
        """Serve this method from now on."""
        method = _Method(path, handler, self._metrics)
        method.handler = self._wrap(method, handler)
        self._methods[path] = method

    async def serve(self, path: str | None, incoming: IncomingCall) -> None:
        """Serve one call; the path is None where no such method is registered."""
        method = self._unknown if path is None else self._methods[path]
        call = CallContext(method.path)
        call.task = asyncio.current_task()
        # This task is the call's own, and the handler runs in it.
        current_call.set(call)
        method.figures.started += 1
        try:
            await incoming.handle(method.path, partial(self._handler_of, call, method, incoming.context))
        except asyncio.CancelledError:
            if call.finished or call.task is None or not isinstance(call.ended_by, ApiError):
                raise
            call.task.uncancel()
            await self._refuse(call, method, incoming.context, call.ended_by)
        finally:
            self._admission.leave(call)
            if not call.finished:
                # Its message has not come, and nobody waits for an answer any more.
                self._finish(call, method, "CANCELLED")

    async def end_overdue(self) -> None:
        """End calls whose message does not come in time, and count those that are waited for, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK)
            self._admission.end_overdue()
            self._metrics.set_unsent_messages(self._admission.unsent)

    async def _handler_of(
        self, call: CallContext, method: _Method, context: _Context, metadata: Metadata
    ) -> _Handler | None:
        """Return what handles the call, None if nothing does. Abort one that is refused."""
        call.metadata = metadata
        given = _request_id(metadata)
        call.request_id_given = given is not None
        call.request_id = given or f"{self._prefix}-{next(self._ids):x}"
        if method.handler is None:
            self._finish(call, method, "UNIMPLEMENTED", limited=True)
            return None
        if self._tracing is not None and not method.kind.is_probe:
            call.trace = self._tracing.begin(call, stream=method.kind is Kind.STREAM)
        try:
            self._admission.arrive(call, context, method.kind)
        except ApiError as error:
            await self._refuse(call, method, context, error)
        return method.handler

    def _wrap(self, method: _Method, handler: _Handler) -> _Handler:
        """Return the handler that grpc gets in place of the servicer's."""
        read = _reader(handler.request_deserializer, method.figures, self._limits.max_message_bytes)
        write = _writer(handler.response_serializer, method.figures)
        work = _worker(method.path, handler, write)
        message_came = self._admission.message_came

        async def answer(request: Any, context: _Context) -> Any:
            call = current_call.get()
            assert call is not None, "set in serve"
            try:
                if handler.request_streaming:
                    request = _Messages(context, partial(message_came, call))
                else:
                    message_came(call)
                    request = read(request)
                response = await work(request, context)
            except BaseException as error:  # noqa: BLE001 - the outermost handler: no exception may pass unseen
                await self._fail(call, method, context, error)
            # Metadata cost a single call 10 microseconds: who sent no id gets one with errors and streams only.
            if call.request_id_given or handler.response_streaming:
                context.set_trailing_metadata((*context.trailing_metadata(), (REQUEST_ID_KEY, call.request_id)))
            self._finish(call, method, _code(context))
            return response

        return _method_handler(handler, answer, read, write)

    async def _fail(self, call: CallContext, method: _Method, context: _Context, error: BaseException) -> Never:
        """Account for a call that ended with an exception, and answer it if somebody is still there."""
        if isinstance(error, grpc.aio.AbortError):
            # The handler has sent its status itself.
            self._finish(call, method, _code(context))
            raise error
        if _is_over(error):
            if call.ended_by is None:
                late = context.time_remaining() == 0
                self._finish(call, method, "DEADLINE_EXCEEDED" if late else "CANCELLED")
            raise error
        if not isinstance(error, (Exception, asyncio.CancelledError)):
            raise error
        await self._refuse(call, method, context, self._answer(error))

    async def _refuse(self, call: CallContext, method: _Method, context: _Context, error: ApiError) -> Never:
        """Account for a call that is not served, and send its status."""
        if method.request_streaming and self._admission.awaits_message(call):
            await _await_first_message(context)
        # From here on it ends by itself.
        call.ended_by = error
        if error.code in _REFUSALS:
            self._metrics.count_refusal(error.reason, error.metadata.get("limit", ""))
        self._finish(call, method, error.code.name, error.reason, limited=error.code in _REFUSALS)
        await context.abort(
            error.code,
            error.message,
            (*context.trailing_metadata(), errors.details_metadata(error), (REQUEST_ID_KEY, call.request_id)),
        )

    def _answer(self, error: BaseException) -> ApiError:
        if isinstance(error, ApiError):
            return error
        if isinstance(error, StoreUnavailable):
            self._log.warning("store unavailable", cause=str(error))
            return errors.store_unavailable()
        error_id = secrets.token_hex(8)
        self._log.error("unforeseen error", error_id=error_id, exc_info=error)
        return errors.internal(error_id)

    def _finish(
        self, call: CallContext, method: _Method, code: str, reason: str | None = None, *, limited: bool = False
    ) -> None:
        """Count and log the end of a call; with `limited` only so many lines a second are logged."""
        call.finished = True
        seconds = time.perf_counter() - call.started
        method.figures.observe_end(code, seconds)
        if call.trace is not None:
            call.trace.end(code, reason, call.table_id)
        if method.kind.is_probe and reason is None:
            self._log.debug("call", method=call.method, code=code, seconds=round(seconds, 6))
        elif not limited:
            self._log_call(call, code, seconds, reason)
        elif self._refusal_lines.has_room():
            left_out = self._refusal_lines.left_out()
            if left_out:
                self._log.warning("refusals not logged", count=left_out)
            self._log_call(call, code, seconds, reason)


class _Method:
    """What is known of a method before it is called; `handler` is None for all methods that do not exist."""

    __slots__ = ("figures", "handler", "kind", "path", "request_streaming")

    def __init__(self, path: str, handler: _Handler | None, metrics: Metrics) -> None:
        self.path = path
        self.handler: _Handler | None = None
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


class _Messages:
    """The messages of a stream as an async iterator, which notes when the first has come."""

    __slots__ = ("_came", "_context")

    def __init__(self, context: _Context, came: Callable[[], None]) -> None:
        self._context = context
        self._came: Callable[[], None] | None = came

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        message = await self._context.read()
        if message is grpc.aio.EOF:
            raise StopAsyncIteration
        if self._came is not None:
            self._came()
            self._came = None
        return message


class _LinesASecond:
    """So many lines may be logged in any second; the others are counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._second = 0
        self._lines = 0
        self._left_out = 0

    def has_room(self) -> bool:
        """Count a line in, or as left out."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._lines = second, 0
        self._lines += 1
        if self._lines <= self._most:
            return True
        self._left_out += 1
        return False

    def left_out(self) -> int:
        """Return how many lines were left out since the last time this was asked."""
        count, self._left_out = self._left_out, 0
        return count


async def _await_first_message(context: _Context) -> None:
    """Wait a moment for the first message of a stream that is about to be refused.

    A client that is still writing when its stream ends does not get to see why it ended.
    """
    with contextlib.suppress(TimeoutError, ApiError, grpc.aio.BaseError):
        async with asyncio.timeout(_FIRST_MESSAGE_WAIT):
            await context.read()


def _request_id(metadata: Metadata) -> str | None:
    """The caller's own request id, if it is one that may stand in logs."""
    for key, value in metadata:
        if key == REQUEST_ID_KEY and isinstance(value, str) and _REQUEST_ID.fullmatch(value):
            return value
    return None


def _worker(path: str, handler: _Handler, write: Callable[[Any], bytes]) -> Callable[..., Awaitable[Any]]:
    """The servicer's method as a coroutine function that sends every answer but a single one itself."""
    inner: Any = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream

    async def once(request: Any, context: _Context) -> bytes:
        return write(await inner(request, context))

    async def many(request: Any, context: _Context) -> None:
        # Closed at once when the call is cancelled, not when the garbage collector finds it.
        async with aclosing(inner(request, context)) as messages:
            async for message in messages:
                await context.write(message)

    if inspect.isasyncgenfunction(inner):
        return many
    if not inspect.iscoroutinefunction(inner):
        raise TypeError(f"the handler of {path} is not async")
    return inner if handler.response_streaming else once


def _method_handler(handler: _Handler, answer: Any, read: Any, write: Any) -> _Handler:
    """Messages of streams pass through grpc, which is handed our reader and writer; single ones do not need them."""
    if handler.request_streaming and handler.response_streaming:
        return grpc.stream_stream_rpc_method_handler(answer, request_deserializer=read, response_serializer=write)
    if handler.request_streaming:
        return grpc.stream_unary_rpc_method_handler(answer, request_deserializer=read)
    if handler.response_streaming:
        return grpc.unary_stream_rpc_method_handler(answer, response_serializer=write)
    return grpc.unary_unary_rpc_method_handler(answer)


def _code(context: _Context) -> str:
    """The name of the status that the handler has set, OK if none."""
    code: grpc.StatusCode | None = context.code()
    return "OK" if code is None else code.name


def _is_over(error: BaseException) -> bool:
    """Whether an exception says that nobody waits for the answer any more."""
    if isinstance(error, asyncio.CancelledError):
        # Cancelled from outside. A handler that merely awaited something cancelled has failed, and its caller
        # still waits.
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    # What grpc raises when the connection is gone under a stream; UsageError is a mistake of the handler's.
    return isinstance(error, grpc.aio.BaseError) and not isinstance(error, grpc.aio.UsageError)


def _reader(deserialize: Callable[[bytes], Any] | None, figures: MethodMetrics, largest: int) -> Callable[[bytes], Any]:
    parse: Callable[[bytes], Any] = deserialize or bytes

    def read(data: bytes) -> Any:
        figures.received += 1
        if len(data) > largest:
            raise errors.message_too_large(len(data), largest)
        try:
            return parse(data)
        except DecodeError:
            raise errors.malformed_message() from None

    return read


def _writer(serialize: Callable[[Any], bytes] | None, figures: MethodMetrics) -> Callable[[Any], bytes]:
    render: Callable[[Any], bytes] = serialize or bytes

    def write(message: Any) -> bytes:
        data = message if isinstance(message, bytes) else render(message)
        figures.sent += 1
        return data

    return write
