"""The server's side of play streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc

from buraco.v1 import move_pb2, table_service_pb2
from tests.client.scripted import Step, events, forever, send

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from google.protobuf.message import Message

    from buraco_client import PlaySession, PlayUpdate

CODE = grpc.StatusCode
DRAW = move_pb2.Move(draw_stock=move_pb2.DrawStock())


class Table:
    """The server's side of the play streams of a test: what it was asked, stream by stream."""

    def __init__(self) -> None:
        self.opened: list[table_service_pb2.PlayOpen] = []
        self.asked: list[table_service_pb2.PlayTableRequest] = []

    async def open(self, context: Any) -> None:
        request = await context.read()
        assert request.HasField("open")
        self.opened.append(request.open)

    async def ask(self, context: Any) -> str:
        """The next submit or undo; returns its request id."""
        request = await context.read()
        assert isinstance(request, table_service_pb2.PlayTableRequest)
        self.asked.append(request)
        return request.submit.request_id or request.undo.request_id

    def stream(self, *updates: Message, then: Callable[[Any], Awaitable[None]] = forever) -> Step:
        """A stream that sends the updates once it is opened, and goes on as `then` does."""

        async def step(requests: Any, context: Any) -> None:
            await self.open(context)
            await send(context, *updates)
            await then(context)

        return step

    @property
    def resumed_after(self) -> list[int | None]:
        """The revisions after which the streams were opened; None: from the start."""
        return [opened.after_revision if opened.HasField("after_revision") else None for opened in self.opened]


def accepted(
    request_id: str, revision: int, *, repeat: bool = False, match_ended: bool = False
) -> table_service_pb2.PlayAnswer:
    """The moves were played. Their events come with the answer, unless it is a repeat."""
    did = [] if repeat else events(revision, match_ended=match_ended).events
    return table_service_pb2.PlayAnswer(
        request_id=request_id, accepted=table_service_pb2.PlayAccepted(revision=revision, events=did)
    )


def refused(request_id: str, code: grpc.StatusCode, reason: str) -> table_service_pb2.PlayAnswer:
    """The moves were refused."""
    error = table_service_pb2.PlayError(code=code.value[0], reason=reason)
    return table_service_pb2.PlayAnswer(request_id=request_id, error=error)


async def unavailable(context: Any) -> None:
    """The stream breaks."""
    await context.abort(CODE.UNAVAILABLE, "unavailable")


async def take(session: PlaySession, count: int) -> list[PlayUpdate]:
    """The next so many updates."""
    return [await anext(session) for _ in range(count)]
