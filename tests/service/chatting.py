"""What players do about chat."""

from __future__ import annotations

from typing import Any

from buraco.v1 import table_service_pb2 as pb
from tests.service.table_server import PATIENCE, Metadata, Player, Replica, new_id


class Clock:
    """A clock that stands until it is set forward."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


async def send(player: Player, text: str = "", *, request_id: str | None = None, **fields: Any) -> pb.ChatMessage:
    """SendChat: a text, or fields."""
    if text:
        fields["text"] = text
    request = pb.SendChatRequest(table_id=player.table_id, request_id=request_id or new_id(), **fields)
    return (await player.replica.tables.SendChat(request, metadata=player.metadata, timeout=PATIENCE)).message


async def listed(replica: Replica, table_id: str, metadata: Metadata = (), **fields: Any) -> pb.ListChatResponse:
    """ListChat, by default for everybody."""
    request = pb.ListChatRequest(table_id=table_id, **fields)
    return await replica.tables.ListChat(request, metadata=metadata, timeout=PATIENCE)


async def texts(player: Player, **fields: Any) -> list[str]:
    """The texts that a player may read."""
    answer = await listed(player.replica, player.table_id, player.metadata, **fields)
    return [message.text for message in answer.messages]
