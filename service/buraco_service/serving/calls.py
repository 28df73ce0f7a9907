"""What every call has in common, from its headers to its status.

A call gets its request id and the context of its log lines, is admitted or refused, and is ended when its message does
not come. Exceptions become statuses that leak nothing. The call is counted and timed, and one line is logged when it
ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import secrets
import time
from functools import partial
from typing import Any, Never

import grpc
import grpc.aio

from buraco_service import errors
from buraco_service.access.admission import Admission, Kind
from buraco_service.access.api_keys import ApiKeys
from buraco_service.access.limits import Limits
from buraco_service.errors import ApiError
from buraco_service.observing import logs
from buraco_service.observing.current_call import CallContext, current_call
from buraco_service.observing.line_limit import LineLimit
from buraco_service.observing.metrics import Metrics
from buraco_service.observing.tracing import Tracing
from buraco_service.serving.methods import (
    Context,
    Handler,
    Incoming,
    Messages,
    Metadata,
    Method,
    make_grpc_handler,
    make_reader,
    make_worker,
    make_writer,
)
from buraco_service.stores.base import StoreUnavailable

REQUEST_ID_KEY = "x-request-id"
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=@-]{0,127}")
# Statuses of calls that are counted as refused.
_REFUSALS = frozenset(
    {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED}
)
# Lines a second about refused calls and unknown methods; the others are only counted.
_MAX_REFUSAL_LINES = 20
# Seconds between looks for calls whose message is overdue.
_OVERDUE_INTERVAL = 1.0
# Seconds that a refused stream has to send its first message.
_FIRST_MESSAGE_WAIT = 0.5


class Calls:
    """The calls of one server (see `grpc_server.CallHandler`)."""

    def __init__(self, metrics: Metrics, limits: Limits, api_keys: ApiKeys, tracing: Tracing | None = None) -> None:
        self._metrics = metrics
        self._tracing = tracing
        self._limits = limits
        self._admission = Admission(limits, api_keys)
        self._methods: dict[str, Method] = {}
        self._unknown = Method("unknown", None, metrics)
        self._log = logs.get_logger().bind()
        self._log_call = logs.get_call_logger()
        self._refusal_lines = LineLimit(_MAX_REFUSAL_LINES)
        self._ids = itertools.count(1)
        self._prefix = secrets.token_hex(6)

    @property
    def is_busy(self) -> bool:
        """Return True while calls are being served; probes, and calls whose message has not come, do not count."""
        return self._admission.is_busy

    def register(self, path: str, handler: Handler) -> None:
        """Serve a method from now on."""
        method = Method(path, handler, self._metrics)
        method.handler = self._wrap(method, handler)
        self._methods[path] = method

    async def serve(self, path: str | None, incoming: Incoming) -> None:
        """Serve one call; the path is None where no such method is registered."""
        method = self._unknown if path is None else self._methods[path]
        call = CallContext(method.path)
        call.task = asyncio.current_task()
        # This task is the call's own, and the handler runs in it.
        current_call.set(call)
        method.figures.started += 1
        try:
            await incoming.handle(method.path, partial(self._choose_handler, call, method, incoming.context))
        except asyncio.CancelledError:
            if call.finished or call.task is None or not isinstance(call.ended_by, ApiError):
                raise
            call.task.uncancel()
            await self._refuse(call, method, incoming.context, call.ended_by)
        finally:
            self._admission.leave(call)
            # The task knows the call, too; without the cycle both are freed at once.
            call.task = None
            if not call.finished:
                # Its message has not come, and nobody waits for an answer any more.
                self._finish(call, method, "CANCELLED")

    async def refuse(self, context: Context, error: Exception) -> Never:
        """End the current call with the status of an error that its handler did not see, such as bytes that no protocol
        allows. It has been admitted, and is not finished.
        """
        call = current_call.get()
        assert call is not None, "set in serve"
        await self._fail(call, self._methods.get(call.method, self._unknown), context, error)

    async def end_overdue(self) -> None:
        """End calls whose message does not come in time, and count those that are waited for, until cancelled."""
        while True:
            await asyncio.sleep(_OVERDUE_INTERVAL)
            self._admission.end_overdue()
            self._metrics.set_unsent_messages(self._admission.unsent)

    async def _choose_handler(
        self, call: CallContext, method: Method, context: Context, metadata: Metadata
    ) -> Handler | None:
        """Return what handles the call, None if nothing does. Abort one that is refused."""
        call.metadata = metadata
        given = _given_request_id(metadata)
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

    def _wrap(self, method: Method, handler: Handler) -> Handler:
        """Return the handler that grpc gets in place of the servicer's."""
        read = make_reader(handler, method.figures, self._limits.max_message_bytes)
        write = make_writer(handler, method.figures)
        work = make_worker(method.path, handler, write)
        message_came = self._admission.message_came

        async def answer(request: Any, context: Context) -> Any:
            call = current_call.get()
            assert call is not None, "set in serve"
            try:
                if handler.request_streaming:
                    request = Messages(context, partial(message_came, call))
                else:
                    message_came(call)
                    request = read(request)
                response = await work(request, context)
            except BaseException as error:  # noqa: BLE001 - the outermost handler: no exception may pass unseen
                await self._fail(call, method, context, error)
            # Trailing metadata cost a single call 10 microseconds: without an id of its own it gets none.
            if call.request_id_given or handler.response_streaming:
                context.set_trailing_metadata((*context.trailing_metadata(), (REQUEST_ID_KEY, call.request_id)))
            self._finish(call, method, _status_name(context))
            return response

        return make_grpc_handler(handler, answer, read, write)

    async def _fail(self, call: CallContext, method: Method, context: Context, error: BaseException) -> Never:
        """Finish a call that ended with an exception, and send its status if the caller still waits."""
        if isinstance(error, grpc.aio.AbortError):
            # The handler has sent its status itself.
            self._finish(call, method, _status_name(context))
            raise error
        if _is_abandoned(error):
            if call.ended_by is None:
                late = context.time_remaining() == 0
                self._finish(call, method, "DEADLINE_EXCEEDED" if late else "CANCELLED")
            raise error
        if not isinstance(error, (Exception, asyncio.CancelledError)):
            raise error
        await self._refuse(call, method, context, self._api_error(error))

    async def _refuse(self, call: CallContext, method: Method, context: Context, error: ApiError) -> Never:
        """Finish a call that is not served, and send its status."""
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

    def _api_error(self, error: BaseException) -> ApiError:
        """Return the error that the caller gets for an exception."""
        if isinstance(error, ApiError):
            return error
        if isinstance(error, StoreUnavailable):
            self._log.warning("store unavailable", cause=str(error))
            return errors.store_unavailable()
        error_id = secrets.token_hex(8)
        self._log.error("unforeseen error", error_id=error_id, exc_info=error)
        return errors.internal(error_id)

    def _finish(
        self, call: CallContext, method: Method, code: str, reason: str | None = None, *, limited: bool = False
    ) -> None:
        """Count and log the end of a call; of those that are `limited` only so many a second are logged."""
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
            if omitted := self._refusal_lines.take_omitted():
                self._log.warning("refusals not logged", count=omitted)
            self._log_call(call, code, seconds, reason)


async def _await_first_message(context: Context) -> None:
    """Wait a moment for the first message of a stream that is about to be refused.

    A client that is still writing when its stream ends does not get to see why it ended.
    """
    with contextlib.suppress(TimeoutError, ApiError, grpc.aio.BaseError):
        async with asyncio.timeout(_FIRST_MESSAGE_WAIT):
            await context.read()


def _given_request_id(metadata: Metadata) -> str | None:
    """Return the caller's own request id, or None without one that is fit for logs."""
    for key, value in metadata:
        if key == REQUEST_ID_KEY and isinstance(value, str) and _REQUEST_ID.fullmatch(value):
            return value
    return None


def _status_name(context: Context) -> str:
    """Return the name of the status that the handler has set, OK if none."""
    code: grpc.StatusCode | None = context.code()
    return "OK" if code is None else code.name


def _is_abandoned(error: BaseException) -> bool:
    """Return True for an exception which means that nobody waits for the answer any more."""
    if isinstance(error, asyncio.CancelledError):
        # A handler that only awaited something cancelled has failed, and its caller still waits.
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    # grpc raises it when the connection of a stream is lost; but UsageError is a mistake of the handler.
    return isinstance(error, grpc.aio.BaseError) and not isinstance(error, grpc.aio.UsageError)
