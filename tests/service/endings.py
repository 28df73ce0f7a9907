"""What players do about the end of a match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message

from buraco.v1 import event_pb2, table_pb2
from buraco.v1 import table_service_pb2 as pb
from tests.service.table_server import PATIENCE, Player, new_id

RESIGNATION = event_pb2.OFFER_KIND_RESIGNATION
DRAW = event_pb2.OFFER_KIND_DRAW


async def resign(player: Player, **fields: Any) -> table_pb2.Table:
    """Resign."""
    request = pb.ResignRequest(**_ids(player) | fields)
    return (await player.replica.tables.Resign(request, metadata=player.metadata, timeout=PATIENCE)).table


async def offer_draw(player: Player, **fields: Any) -> table_pb2.Table:
    """OfferDraw."""
    request = pb.OfferDrawRequest(**_ids(player) | fields)
    return (await player.replica.tables.OfferDraw(request, metadata=player.metadata, timeout=PATIENCE)).table


async def abort(player: Player, **fields: Any) -> table_pb2.Table:
    """AbortTable."""
    request = pb.AbortTableRequest(**_ids(player) | fields)
    return (await player.replica.tables.AbortTable(request, metadata=player.metadata, timeout=PATIENCE)).table


async def rematch_raw(player: Player, **fields: Any) -> pb.RematchResponse:
    """Rematch."""
    request = pb.RematchRequest(**_ids(player) | fields)
    return await player.replica.tables.Rematch(request, metadata=player.metadata, timeout=PATIENCE)


async def rematch(player: Player, **fields: Any) -> Player:
    """Rematch, as the player at the new table."""
    joined = await rematch_raw(player, **fields)
    return Player(player.replica, joined.table.id, joined.seat, joined.token)


def _ids(player: Player) -> dict[str, Any]:
    return {"table_id": player.table_id, "request_id": new_id()}


def offers(table: table_pb2.Table) -> list[tuple[int, int]]:
    """The open offers of a table: seat and kind."""
    return [(offer.seat, offer.kind) for offer in table.offers]


def contents_of(events: Sequence[event_pb2.Event]) -> list[Message]:
    """What is in events."""
    return [getattr(event, str(event.WhichOneof("event"))) for event in events]
