"""A service without generated code that does what a test wants: it answers, fails, waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import grpc.aio
from google.protobuf.wrappers_pb2 import StringValue

from buraco_service.observing.current_call import bind_table, current_call
from buraco_service.serving.grpc_server import GrpcServer

SERVICE = "test.Echo"
Context = grpc.aio.ServicerContext[Any, Any]


class Echo:
    """All four kinds of RPC. `fail` decides by the text of a request what goes wrong with it."""

    def __init__(self) -> None:
        self.fail: Callable[[str], None] = lambda text: None
        # Set while a call hangs.
        self.hanging = asyncio.Event()
        # Released once for each call that hangs.
        self.hung = asyncio.Semaphore(0)
        self.release = asyncio.Event()
        # Set when a hanging call or an open stream ended, however it did.
        self.ended = asyncio.Event()
        self.request_ids: list[str] = []

    def register(self, server: GrpcServer) -> None:
        """Add the service to a server."""
        read, write = StringValue.FromString, StringValue.SerializeToString
        single, from_one, from_many, both = (
            grpc.unary_unary_rpc_method_handler,
            grpc.unary_stream_rpc_method_handler,
            grpc.stream_unary_rpc_method_handler,
            grpc.stream_stream_rpc_method_handler,
        )
        behaviours: dict[str, tuple[Any, Any]] = {
            "Say": (single, self.say),
            "Hang": (single, self.hang),
            "Abort": (single, self.abort),
            "Wrong": (single, self.wrong),
            "Spell": (from_one, self.spell),
            "Join": (from_many, self.join),
            "Chat": (both, self.chat),
            "Write": (both, self.write),
        }
        handlers = {name: kind(behaviour, read, write) for name, (kind, behaviour) in behaviours.items()}
        server.add_registered_method_handlers(SERVICE, handlers)

    def _take(self, request: StringValue) -> str:
        call = current_call.get()
        assert call is not None
        self.request_ids.append(call.request_id)
        if request.value.startswith("table "):
            bind_table(request.value.removeprefix("table "))
        self.fail(request.value)
        return request.value

    async def say(self, request: StringValue, context: Context) -> StringValue:
        """Answer with the request."""
        return StringValue(value=self._take(request))

    async def hang(self, request: StringValue, context: Context) -> StringValue:
        """Answer when released."""
        try:
            self.hanging.set()
            self.hung.release()
            await self.release.wait()
            return request
        finally:
            self.ended.set()

    async def abort(self, request: StringValue, context: Context) -> StringValue:
        """Send a status of its own."""
        await context.abort(grpc.StatusCode.DATA_LOSS, "by hand")

    async def wrong(self, request: StringValue, context: Context) -> Any:
        """Answer with something that is no message."""
        return 42

    async def spell(self, request: StringValue, context: Context) -> AsyncIterator[StringValue]:
        """Answer letter by letter; after a "…" it waits."""
        try:
            for letter in self._take(request):
                if letter == "…":
                    await self.release.wait()
                yield StringValue(value=letter)
        finally:
            self.ended.set()

    async def join(self, requests: AsyncIterator[StringValue], context: Context) -> StringValue:
        """Answer with all requests together."""
        return StringValue(value="".join([self._take(request) async for request in requests]))

    async def chat(self, requests: AsyncIterator[StringValue], context: Context) -> AsyncIterator[StringValue]:
        """Answer each request."""
        async for request in requests:
            yield StringValue(value=self._take(request))

    async def write(self, requests: AsyncIterator[StringValue], context: Context) -> None:
        """The same, written in the other style."""
        async for request in requests:
            await context.write(StringValue(value=self._take(request)))


class Caller:
    """Calls the service by the names of its methods."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        read, write = StringValue.FromString, StringValue.SerializeToString
        self.say = self.unary("Say")
        self.hang = self.unary("Hang")
        self.spell: Any = channel.unary_stream(f"/{SERVICE}/Spell", write, read)
        self.join: Any = channel.stream_unary(f"/{SERVICE}/Join", write, read)
        self.chat: Any = channel.stream_stream(f"/{SERVICE}/Chat", write, read)
        self.write: Any = channel.stream_stream(f"/{SERVICE}/Write", write, read)

    def unary(self, method: str, service: str = SERVICE) -> Any:
        """A method with one request and one answer, by its name."""
        return self._channel.unary_unary(f"/{service}/{method}", StringValue.SerializeToString, StringValue.FromString)

    def raw(self, method: str) -> Any:
        """The same, taking bytes instead of a message."""
        return self._channel.unary_unary(f"/{SERVICE}/{method}")


def text(value: str) -> StringValue:
    """A request."""
    return StringValue(value=value)
