"""Calls over HTTP, served by `Calls` like those over gRPC.

`WebCall` takes the place of grpc_server's IncomingCall. Within it connectrpc speaks the three protocols: a call is
admitted by its headers (`begin`), its message is passed as bytes (`answer`, `stream`), and what goes wrong outside of
its handler gets a status with details, too (`end`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final

import grpc
from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.request import RequestContext

from buraco_service import errors
from buraco_service.access.limits import MESSAGE_HEADROOM
from buraco_service.errors import ApiError
from buraco_service.observing.current_call import current_call
from buraco_service.serving.calls import Calls
from buraco_service.serving.methods import Handler, Metadata
from buraco_service.serving.web.asgi import Headers, Message, Receive, Scope, Send
from buraco_service.serving.web.context import WebContext
from buraco_service.serving.web.formats import Format, Types

# The headers that connectrpc reads, and their forms. It is not asked to compress answers: most are small.
_TIMEOUT = re.compile(rb"[0-9]{1,10}")
_GRPC_TIMEOUT = re.compile(rb"[0-9]{1,8}[HMSmun]")
_TOKEN = re.compile(rb"[a-z0-9-]{0,16}")
_HEADERS: Final = {
    b"connect-protocol-version": re.compile(b"1"),
    b"connect-timeout-ms": _TIMEOUT,
    b"grpc-timeout": _GRPC_TIMEOUT,
    b"content-encoding": _TOKEN,
    b"connect-content-encoding": _TOKEN,
    b"grpc-encoding": _TOKEN,
}
_FRAME_HEAD: Final = 5
"""Bytes before a message in a stream."""

_current: ContextVar[WebCall] = ContextVar("web_call")


def current_web_call() -> WebCall:
    """Return the call over HTTP that this task serves. Raise LookupError in other tasks."""
    return _current.get()


class WebCall:
    """One call over HTTP. `connect` is the application of connectrpc; `extra` are headers of the response."""

    def __init__(
        self,
        calls: Calls,
        connect: Callable[[Scope, Receive, Send], Awaitable[None]],
        request: tuple[Scope, Receive, Send],
        form: Format,
        types: Types,
        max_bytes: int,
        extra: Headers,
    ) -> None:
        self._calls = calls
        self._connect = connect
        self._scope, self._receive_raw, self._send_raw = request
        self._form = form
        self._types = types
        self._max_bytes = max_bytes
        self._extra = extra
        self._received = 0
        self._is_received = False
        self._fault: ApiError | None = None
        self._error: BaseException | None = None
        self._choose: Callable[[Metadata], Awaitable[Handler | None]]
        self._handler: Handler
        self._metadata = read_metadata(self._scope)
        self.context = WebContext(self._metadata, name_peer(self._scope))

    async def handle(self, path: str, choose: Callable[[Metadata], Awaitable[Handler | None]]) -> None:
        """See `Incoming`."""
        self._choose = choose
        token = _current.set(self)
        call = current_call.get()
        assert call is not None, "set by Calls"
        call.protocol = self._form.name
        scope = {**self._scope, "path": path, "root_path": "", "headers": self._checked_headers(), "extensions": {}}
        try:
            await self._connect(scope, self._receive, self._send)
        except asyncio.CancelledError:
            if call.task is None or not isinstance(call.ended_by, ApiError):
                raise
            # Its status has been sent; see `end`.
            call.task.uncancel()
        finally:
            _current.reset(token)
            self._let_go()

    def _let_go(self) -> None:
        """Break the cycles in which the call is: what it holds of its connection is large, above all with TLS, and
        the garbage collector comes seldom.
        """
        del self._choose, self._connect, self._scope, self._receive_raw, self._send_raw
        # connectrpc keeps its errors in a frame that their tracebacks name.
        _drop_tracebacks(self._error)
        _drop_tracebacks(self.context.aborted)

    async def begin(self, request: RequestContext[Any, Any]) -> None:
        """Admit the call, or raise the error of one that is refused. Nothing of its message was read."""
        answer = request.response_headers if self._form.is_plain else request.response_trailers
        timeout = request.timeout_ms
        self.context.begin(answer, None if timeout is None else timeout / 1000)
        handler = await self._choose(self._metadata)
        assert handler is not None, "only methods that exist are asked for"
        self._handler = handler
        if self._fault is not None:
            await self._calls.refuse(self.context, self._fault)
        if handler.request_streaming:
            await self._calls.refuse(self.context, errors.needs_grpc())

    async def end(self, error: Exception | None) -> None:
        """Give an error that the handler did not see its status, and raise that in its place."""
        self._error = error
        call = current_call.get()
        assert call is not None, "set by Calls"
        if error is None or call.finished:
            return
        if isinstance(call.ended_by, ApiError):
            error = call.ended_by
        found = _explain(error, self._max_bytes)
        if found is not None:
            await self._calls.refuse(self.context, found)

    async def answer(self, sent: bytes) -> bytes:
        """Return the response to the request of a unary call, both in the call's format."""
        handle: Any = self._handler.unary_unary
        return self._types.write(self._form, await handle(self._read(sent), self.context))

    async def stream(self, sent: bytes) -> AsyncGenerator[bytes]:
        """Yield the responses of a stream."""
        handle: Any = self._handler.unary_stream
        write: Any = self._handler.response_serializer
        messages = self.context.messages
        answering = asyncio.create_task(handle(self._read(sent), self.context))
        answering.add_done_callback(lambda _: messages.close())
        try:
            async for message in messages:
                yield self._types.write(self._form, write(message))
            await answering
        finally:
            answering.cancel()
            await asyncio.wait((answering,))
            # Fetched, so that it is not reported as lost: `Calls` has counted and logged it.
            _ = answering.cancelled() or answering.exception()

    def _read(self, sent: bytes) -> bytes:
        return self._types.read(self._form, sent, self._max_bytes)

    async def _receive(self) -> Message:
        """Receive a part of the body. Raise LIMIT_REACHED as soon as it is too large."""
        part = await self._receive_raw()
        if part["type"] == "http.request":
            self._received += len(part.get("body", b""))
            if self._received > MESSAGE_HEADROOM * self._max_bytes + _FRAME_HEAD:
                raise errors.message_too_large(self._received, self._max_bytes)
            self._is_received = not part.get("more_body", False)
        return part

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *self._extra]
            if not self._is_received:
                # Nobody reads the rest of the body.
                message["headers"].append((b"connection", b"close"))
        await self._send_raw(message)

    def _checked_headers(self) -> Headers:
        """Return the headers for connectrpc; of those that are malformed note the fault."""
        checked = [(b"content-type", self._form.content_type)]
        for key, value in self._scope["headers"]:
            form = _HEADERS.get(key)
            if form is None:
                continue
            if form.fullmatch(value):
                checked.append((key, value))
            else:
                self._fault = errors.malformed_protocol(f"the header {key.decode()} is malformed")
        return checked


def read_metadata(scope: Scope) -> Metadata:
    """Return the headers as gRPC has its metadata: without those that are not ASCII."""
    return [(key.decode(), value.decode()) for key, value in scope["headers"] if key.isascii() and value.isascii()]


def name_peer(scope: Scope) -> str:
    """Return the address of the connection as grpc names it.

    >>> name_peer({"client": ("::1", 50123)})
    'ipv6:[::1]:50123'
    """
    host, port = scope.get("client") or ("", 0)
    return f"ipv6:[{host}]:{port}" if ":" in host else f"ipv4:{host}:{port}" if host else "unix:"


def _drop_tracebacks(error: BaseException | None) -> None:
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


def _explain(error: Exception, max_bytes: int) -> Exception | None:
    """Return the error that the caller gets for one of connectrpc; None where nobody waits for an answer any more."""
    if not isinstance(error, ConnectError):
        return error
    if isinstance(error.__cause__, ApiError):
        return error.__cause__
    if error.code in (Code.CANCELED, Code.DEADLINE_EXCEEDED):
        return None
    if error.code is Code.RESOURCE_EXHAUSTED:
        # How large it is, is not known: it was not read, or not decompressed, to its end.
        return errors.message_too_large(MESSAGE_HEADROOM * max_bytes + 1, max_bytes)
    if error.code is Code.UNIMPLEMENTED:
        return errors.malformed_protocol(error.message, grpc.StatusCode.UNIMPLEMENTED)
    return errors.malformed_protocol(error.message)
