"""A grpc.aio server that accepts calls by itself: no request can end its accept loop, and a crash is reported.

The accept loop of grpc.aio decodes the path of every call as UTF-8 and ends if it is not: one such request, and no call
is accepted any more. Here calls are accepted for each registered method by its name, and all others without reading
their path. This uses parts of grpcio that are not public; pyproject.toml allows only versions that were tested.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import grpc
import grpc.aio
from grpc._cython import cygrpc  # type: ignore[attr-defined]

from buraco_service.serving.methods import Handler, Metadata

ChannelOptions: TypeAlias = Sequence[tuple[str, Any]]
_UNKNOWN: Final = "unknown method"


class IncomingCall:
    """A call whose headers have come, and perhaps no more."""

    __slots__ = ("_loop", "_state", "context")

    def __init__(self, state: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._state = state
        self._loop = loop
        self.context: grpc.aio.ServicerContext[Any, Any] = cygrpc._ServicerContext(state, None, None, loop)
        """Messages read and written through it are bytes."""

    async def handle(self, path: str, choose: Callable[[Metadata], Awaitable[Handler | None]]) -> None:
        """Handle the call by the handler that `choose` returns for its metadata; None means UNIMPLEMENTED."""
        await cygrpc._handle_rpc(path, None, (_Choice(choose),), self._state, self._loop, False)


class _Choice:
    """Gives grpc the handler, in the place of an interceptor."""

    __slots__ = ("_choose",)

    def __init__(self, choose: Callable[[Metadata], Awaitable[Handler | None]]) -> None:
        self._choose = choose

    def intercept_service(self, _: object, details: grpc.HandlerCallDetails) -> Awaitable[Handler | None]:
        return self._choose(details.invocation_metadata)


class CallHandler(Protocol):
    """What serves the calls."""

    def register(self, path: str, handler: Handler) -> None:
        """Serve this method from now on."""

    def serve(self, path: str | None, incoming: IncomingCall) -> Awaitable[None]:
        """Serve one call; the path is None where no such method is registered."""


class GrpcServer:
    """A server with the methods of `grpc.aio.Server` that are needed here.

    Servicers register with it; `calls` serves what comes. Example:

        server = GrpcServer(Calls(...), [("grpc.so_reuseport", 0)])
        add_EchoServicer_to_server(Echo(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
    """

    def __init__(self, calls: CallHandler, options: ChannelOptions = ()) -> None:
        self._calls = calls
        self._core = _Core(asyncio.get_running_loop(), options, calls)

    def add_generic_rpc_handlers(self, generic_rpc_handlers: Iterable[Any]) -> None:
        """Do nothing: servicers register the same methods by their names, too."""

    def add_registered_method_handlers(self, service_name: str, method_handlers: Mapping[str, Any]) -> None:
        """Register the methods of a service, before the start."""
        handlers = {f"/{service_name}/{method}": handler for method, handler in method_handlers.items()}
        for path, handler in handlers.items():
            self._calls.register(path, handler)
        self._core.add_registered_method_handlers(handlers)

    def add_insecure_port(self, address: str) -> int:
        """Listen at an address in plain text; return the port. Raise RuntimeError if that fails."""
        return _bound(address, self._core.add_insecure_port(address.encode()))

    def add_secure_port(self, address: str, credentials: grpc.ServerCredentials) -> int:
        """Listen at an address with TLS; return the port. Raise RuntimeError if that fails."""
        return _bound(address, self._core.add_secure_port(address.encode(), credentials))

    async def start(self) -> None:
        """Begin to accept calls."""
        await self._core.start()

    async def crashed(self) -> BaseException:
        """Wait until calls are no longer accepted although nobody stopped the server; return why."""
        return await asyncio.shield(self._core.crash)

    async def stop(self, grace: float | None) -> None:
        """Accept no more calls, and return when those under way have ended: by themselves, or cancelled after `grace`
        seconds (None: at once). May be called again with less.
        """
        if self._core.crash.done() and self._core.is_running():
            # Begins the shutdown, and raises what ended the accept loop.
            await asyncio.gather(self._core.shutdown(grace), return_exceptions=True)
        await self._core.shutdown(grace)


class _Core(cygrpc.AioServer):  # type: ignore[misc]
    """The server within grpc.aio, with a loop for each method in place of its accept loop.

    Its own loop waits for one future a method. Here each future ends only when no calls of the method are accepted any
    more, so that the own loop sees no call.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, options: ChannelOptions, calls: CallHandler) -> None:
        super().__init__(loop, None, (), None, tuple(options), None)
        self._event_loop = loop
        self._handler = calls
        # The event loop keeps only weak references to tasks.
        self._running: set[asyncio.Task[None]] = set()
        self.crash: asyncio.Future[BaseException] = loop.create_future()

    def _make_request_call_future(self, method: bytes | None) -> asyncio.Future[None]:
        # Not the task: cancelling it would free the memory into which grpc still writes the next call.
        ended: asyncio.Future[None] = self._event_loop.create_future()
        self._start(self._accept(method, ended))
        return ended

    async def _accept(self, method: bytes | None, ended: asyncio.Future[None]) -> None:
        path = None if method is None else method.decode()
        name = path or _UNKNOWN
        try:
            while True:
                state = await (self._request_call() if method is None else self._request_registered_call(method))
                call = self._handler.serve(path, IncomingCall(state, self._event_loop))
                self._start(cygrpc._schedule_rpc_coro(call, state, self._event_loop, name))
        except Exception as error:  # noqa: BLE001 - it is raised where the future is awaited
            if not ended.done():
                ended.set_exception(error)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._event_loop.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _serving_task_crash_handler(self, serving: asyncio.Task[None]) -> None:
        error = None if serving.cancelled() else serving.exception()
        if error is not None and not isinstance(error, cygrpc._RequestCallError) and not self.crash.done():
            self.crash.set_result(error)


def _bound(address: str, port: int) -> int:
    if port == 0:
        raise RuntimeError(f"failed to bind to {address}")
    return port
