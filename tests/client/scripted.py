"""A service on loopback that follows the script of a test, call by call."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from google.protobuf import any_pb2, duration_pb2, message_factory
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from buraco.v1 import event_pb2, rules_service_pb2, table_pb2, table_service_pb2

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from google.protobuf.descriptor import MethodDescriptor
    from google.protobuf.message import Message

    from buraco_client import BuracoClient

Context = grpc.aio.ServicerContext
Step = Callable[[Any, Any], Awaitable[Any]]


class Script:
    """Answers each call of a method with the next step for it, and stores what it received."""

    def __init__(self) -> None:
        self.steps: dict[str, deque[Step]] = defaultdict(deque)
        self.requests: dict[str, list[Any]] = defaultdict(list)
        self.metadata: dict[str, list[dict[str, str | bytes]]] = defaultdict(list)

    def on(self, method: str, *steps: Step | Message) -> None:
        """Add what the next calls of the method do; a message is the answer itself."""
        self.steps[method].extend(step if callable(step) else answer(step) for step in steps)

    def left(self, method: str) -> int:
        return len(self.steps[method])

    async def run(self, method: str, request: Any, context: Any) -> Any:
        self.requests[method].append(request)
        self.metadata[method].append(dict(context.invocation_metadata()))
        if not self.steps[method]:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"the script has no more {method}")
        return await self.steps[method].popleft()(request, context)

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        services = [
            *table_service_pb2.DESCRIPTOR.services_by_name.values(),
            *rules_service_pb2.DESCRIPTOR.services_by_name.values(),
        ]
        return [
            grpc.method_handlers_generic_handler(
                service.full_name, {method.name: self._handler(method) for method in service.methods}
            )
            for service in services
        ]

    def _handler(self, method: MethodDescriptor) -> Any:
        async def handle(request: Any, context: Any) -> Any:
            return await self.run(method.name, request, context)

        kind = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }[method.client_streaming, method.server_streaming]
        request_class: Any = message_factory.GetMessageClass(method.input_type)
        return kind(handle, request_class.FromString, lambda message: message.SerializeToString())


class Service:
    """A real server for a script: `async with`, and stopped and started again on the same port at will."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._port = 0
        self._server: grpc.aio.Server | None = None

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self._port}"

    async def start(self) -> None:
        server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        server.add_generic_rpc_handlers(self.script.handlers())
        self._port = server.add_insecure_port(self.target)
        await server.start()
        self._server = server

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(None)
            self._server = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


def answer(message: Message) -> Step:
    """Answer with the message."""

    async def step(request: Any, context: Any) -> Message:
        return message

    return step


def rich_status(
    code: grpc.StatusCode, *details: Message, message: str = "no", packed: list[any_pb2.Any] | None = None
) -> grpc.Status:
    """A status as the service makes it: every detail packed into the trailing metadata."""
    status = status_pb2.Status(code=code.value[0], message=message, details=packed)
    for detail in details:
        status.details.add().Pack(detail)
    return rpc_status.to_status(status)


def refuse(code: grpc.StatusCode, reason: str, *details: Message, **metadata: str) -> Step:
    """End the call as the service does: an ErrorInfo first, then further details."""
    info = error_details_pb2.ErrorInfo(reason=reason, domain="buraco", metadata=metadata)

    async def step(request: Any, context: Any) -> None:
        await context.abort_with_status(rich_status(code, info, *details))

    return step


def unavailable_store() -> Step:
    """The store is unavailable."""
    return refuse(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")


def stale() -> Step:
    """The table is past the revision."""
    return refuse(grpc.StatusCode.ABORTED, "REVISION_STALE")


def retry_info(seconds: float) -> Message:
    """The detail that says when to try again."""
    delay = duration_pb2.Duration()
    delay.FromMilliseconds(int(seconds * 1000))
    return error_details_pb2.RetryInfo(retry_delay=delay)


async def forever(*_: Any) -> None:
    """A call that is never answered."""
    await asyncio.Event().wait()


class Beats:
    """A stream on which a test sends message after message: `on` is what the stream does."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def on(self, context: Any) -> None:
        self._opened.set_result(context)
        await forever()

    async def send(self, client: BuracoClient, message: Message) -> None:
        """Send it, and return when the client has had an answer that came down the same connection behind it."""

        async def behind(request: Any, context: Any) -> Any:
            await send(await self._opened, message)
            return table_service_pb2.GetTableResponse()

        self._script.on("GetTable", behind)
        await client.get_table("t")


def state(revision: int, status: Any = table_pb2.TABLE_STATE_PLAYING) -> table_service_pb2.TableUpdate:
    """The state of the table at a revision."""
    return table_service_pb2.TableUpdate(table=table_pb2.Table(id="t", revision=revision, state=status))


def events(revision: int, *, match_ended: bool = False) -> table_pb2.Events:
    """A change of the table."""
    event = event_pb2.Event(discarded=event_pb2.Discarded(seat=0))
    if match_ended:
        event = event_pb2.Event(match_ended=event_pb2.MatchEnded(winner=1))
    return table_pb2.Events(revision=revision, events=[event])


def turn(revision: int) -> table_service_pb2.PlayTurn:
    """The seat is to move."""
    return table_service_pb2.PlayTurn(revision=revision)


def view(revision: int) -> table_service_pb2.ViewUpdate:
    """What the seat sees after a change."""
    return table_service_pb2.ViewUpdate(revision=revision)


_FIELDS = {
    table_service_pb2.TableUpdate: "state",
    table_pb2.Events: "events",
    table_service_pb2.Heartbeat: "heartbeat",
    table_service_pb2.Reconnect: "reconnect",
    table_service_pb2.HistoryGone: "history_gone",
    table_service_pb2.PlayAnswer: "answer",
    table_service_pb2.PlayTurn: "turn",
    table_service_pb2.ViewUpdate: "view",
    table_service_pb2.ChatMessage: "chat",
}


async def send(context: Any, *updates: Message) -> None:
    """Write updates to a watch or play stream."""
    for update in updates:
        # On the wire the updates that both streams have are the same.
        message: Any = table_service_pb2.PlayTableResponse
        await context.write(message(**{_FIELDS[type(update)]: update}))
