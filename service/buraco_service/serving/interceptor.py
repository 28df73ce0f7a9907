"""The outermost interceptor: everything that every call has in common.

It gives a call its request id, binds the context of its log lines, has it let in or refused, turns
exceptions into statuses that leak nothing, counts and times the call, and logs one line when it ends.
Requests and responses are (de)serialised here rather than by grpc, so that malformed ones are answered and
counted like any other error.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any, Never, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from buraco_service import errors
from buraco_service.access.admission import Admission, Limits, let_speak
from buraco_service.access.api_keys import ApiKeys
from buraco_service.errors import ApiError
from buraco_service.observing import logs
from buraco_service.observing.current_call import CallContext, current_call
from buraco_service.observing.figures import GrpcType, MethodMetrics
from buraco_service.observing.metrics import Metrics
from buraco_service.observing.tracing import Tracing
from buraco_service.stores.base import StoreUnavailable

REQUEST_ID_KEY = "x-request-id"
# Probes and tools: never refused for a limit or a key, and logged at debug level while all is well.
_INFRASTRUCTURE = ("grpc.health.", "grpc.reflection.")
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=@-]{0,127}")
_LONGEST_UNKNOWN_PATH = 200
# Statuses that say that a caller asks for too much, or for what it may not have.
_REFUSALS = frozenset(
    {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED}
)
_TYPES: dict[tuple[bool, bool], GrpcType] = {
    (False, False): "UNARY",
    (True, False): "CLIENT_STREAM",
    (False, True): "SERVER_STREAM",
    (True, True): "BIDI_STREAM",
}

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class CallInterceptor(grpc.aio.ServerInterceptor):
    """To be the only interceptor of a server, or the first."""

    def __init__(self, metrics: Metrics, limits: Limits, api_keys: ApiKeys, tracing: Tracing | None = None) -> None:
        self._metrics = metrics
        self._tracing = tracing
        self._largest = limits.max_message_bytes
        self._admission = Admission(limits, api_keys)
        # By path. Only paths that exist come in here.
        self._wrapped: dict[str, _Handler] = {}
        self._unknown = _Rpc("", None, metrics)
        self._log = logs.get_logger().bind()
        self._log_call = logs.call_log()
        self._ids = itertools.count(1)
        self._prefix = secrets.token_hex(6)

    @property
    def busy(self) -> bool:
        """Whether calls are being served now, probes and tools apart."""
        return self._admission.busy

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        """Called by grpc for every call, before its message has arrived."""
        path = handler_call_details.method
        metadata = handler_call_details.invocation_metadata
        given = _request_id(metadata)
        request_id = given or f"{self._prefix}-{next(self._ids):x}"
        call = CallContext(path, request_id, given is not None, time.perf_counter(), metadata)
        # This task is the call's own, and the handler runs in it.
        current_call.set(call)
        wrapped = self._wrapped.get(path)
        if wrapped is None:
            handler = await continuation(handler_call_details)
            if handler is None:
                call.method = path[:_LONGEST_UNKNOWN_PATH]
                self._unknown.figures.started += 1
                self._finish(call, self._unknown, "UNIMPLEMENTED")
                return None
            wrapped = self._wrapped[path] = self._wrap(path, handler)
        return wrapped

    def _wrap(self, path: str, handler: _Handler) -> _Handler:
        rpc = _Rpc(path, handler, self._metrics)
        read = _reader(handler.request_deserializer, rpc.figures, self._largest)
        write = _writer(handler.response_serializer, rpc.figures)
        work = _worker(path, handler, write)

        async def answer(request: Any, context: _Context) -> Any:
            call = current_call.get()
            assert call is not None, "set in intercept_service"
            rpc.figures.started += 1
            if self._tracing is not None and not rpc.infrastructure:
                call.trace = self._tracing.begin(call, stream=handler.response_streaming)
            leave: Callable[[], None] | None = None
            try:
                if not rpc.infrastructure:
                    leave = await self._enter(call, handler, context)
                if not handler.request_streaming:
                    request = read(request)
                response = await work(request, context)
            except BaseException as error:  # noqa: BLE001 - the outermost handler: no exception may pass unseen
                await self._fail(call, rpc, context, error)
            finally:
                if leave is not None:
                    leave()
            # Metadata cost a single call 10 microseconds: who sent no id gets one with errors and streams only.
            if call.request_id_given or handler.response_streaming:
                context.set_trailing_metadata((*context.trailing_metadata(), (REQUEST_ID_KEY, call.request_id)))
            self._finish(call, rpc, _code(context))
            return response

        return _method_handler(handler, answer, read, write)

    async def _enter(self, call: CallContext, handler: _Handler, context: _Context) -> Callable[[], None]:
        try:
            return self._admission.enter(call, context, stream=handler.response_streaming)
        except ApiError:
            if handler.request_streaming:
                await let_speak(context)
            raise

    async def _fail(self, call: CallContext, rpc: _Rpc, context: _Context, error: BaseException) -> Never:
        """Accounts for a call that ended with an exception, and answers it if somebody is still there."""
        if isinstance(error, grpc.aio.AbortError):
            # The handler has sent its status itself.
            self._finish(call, rpc, _code(context))
            raise error
        if _is_over(error):
            late = context.time_remaining() == 0
            self._finish(call, rpc, "DEADLINE_EXCEEDED" if late else "CANCELLED")
            raise error
        if not isinstance(error, (Exception, asyncio.CancelledError)):
            raise error
        answer = self._answer(error)
        if answer.code in _REFUSALS:
            self._metrics.refused(answer.reason, answer.metadata.get("limit", ""))
        self._finish(call, rpc, answer.code.name, answer.reason)
        await context.abort(
            answer.code,
            answer.message,
            (*context.trailing_metadata(), errors.details_metadata(answer), (REQUEST_ID_KEY, call.request_id)),
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

    def _finish(self, call: CallContext, rpc: _Rpc, code: str, reason: str | None = None) -> None:
        seconds = time.perf_counter() - call.started
        rpc.figures.finished(code, seconds)
        if call.trace is not None:
            call.trace.end(code, reason, call.table_id)
        if rpc.infrastructure and reason is None:
            self._log.debug("call", method=call.method, code=code, seconds=round(seconds, 6))
        else:
            self._log_call(call, code, seconds, reason)


class _Rpc:
    """What is known of an RPC before it is called."""

    __slots__ = ("figures", "infrastructure")

    def __init__(self, path: str, handler: _Handler | None, metrics: Metrics) -> None:
        service, _, method = path.strip("/").rpartition("/")
        self.infrastructure = service.startswith(_INFRASTRUCTURE)
        self.figures = (
            metrics.unknown_method()
            if handler is None
            else metrics.method(_TYPES[handler.request_streaming, handler.response_streaming], service, method)
        )


def _request_id(metadata: Iterable[tuple[str, str | bytes]]) -> str | None:
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
