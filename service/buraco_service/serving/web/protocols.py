"""connectrpc with our methods: it reads and writes the frames of three protocols, and passes messages as bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from connectrpc.code import Code
from connectrpc.compression.gzip import GzipCompression
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint

from buraco_service.access.limits import MESSAGE_HEADROOM
from buraco_service.serving.web.asgi import Receive, Scope, Send
from buraco_service.serving.web.calls import current_web_call
from buraco_service.serving.web.formats import Types

_Context = RequestContext[Any, Any]


def make_connect(
    methods: Mapping[str, Types], max_message_bytes: int
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Return the application of connectrpc for the methods, by path."""
    application: Any = _Application(methods, MESSAGE_HEADROOM * max_message_bytes)
    connect: Callable[[Scope, Receive, Send], Awaitable[None]] = application
    return connect


class _Application(ConnectASGIApplication[None]):
    def __init__(self, methods: Mapping[str, Types], max_bytes: int) -> None:
        endpoints = {path: _make_endpoint(path, types) for path, types in methods.items()}
        super().__init__(
            service=None,
            endpoints=lambda _: endpoints,
            interceptors=[_Calls()],
            read_max_bytes=max_bytes,
            compressions=[_Gzip()],
            codecs=[_Bytes("proto"), _Bytes("json")],
        )

    @property
    def path(self) -> str:
        return "/"


class _Calls:
    """Begins and ends the call that is served."""

    async def on_start(self, ctx: _Context) -> None:
        await current_web_call().begin(ctx)

    async def on_end(self, token: None, ctx: _Context, error: Exception | None, /) -> None:
        await current_web_call().end(error)


class _Bytes:
    """Leaves messages as they are: `calls` reads and writes them."""

    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name

    def encode(self, message: bytes) -> bytes:
        return message

    def decode(self, data: bytes | bytearray, message_class: type[bytes]) -> bytes:
        return bytes(data)


class _Gzip(GzipCompression):
    """Requests may be compressed, and are bounded as they are decompressed. Answers are not: `calls` asks for none."""

    def decompress(self, data: bytes | bytearray | memoryview, read_max_bytes: int | None = None) -> bytes:
        try:
            return super().decompress(data, read_max_bytes)
        except ConnectError:
            raise
        except Exception as error:
            raise ConnectError(Code.INVALID_ARGUMENT, "the message is not compressed by gzip") from error


def _make_endpoint(path: str, types: Types) -> Any:
    service, _, name = path.strip("/").partition("/")
    method = MethodInfo(
        name=name,
        service_name=service,
        input=bytes,
        output=bytes,
        idempotency_level=IdempotencyLevel.UNKNOWN,
        stream_type=StreamType.SERVER_STREAM if types.is_stream else StreamType.UNARY,
    )
    return Endpoint.server_stream(method, _stream) if types.is_stream else Endpoint.unary(method, _answer)


async def _answer(sent: bytes, _: _Context) -> bytes:
    return await current_web_call().answer(sent)


def _stream(sent: bytes, _: _Context) -> AsyncIterator[bytes]:
    return current_web_call().stream(sent)
