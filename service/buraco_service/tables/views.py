"""The view of a table: the view of its deal, with what the table knows of its seats."""

from collections.abc import Sequence
from typing import Final

from buraco.v1 import view_pb2
from buraco_codec.views import view_bytes
from buraco_codec.wire import Fields
from buraco_rules import Move, view_of
from buraco_service.tables.state import Seat, TableValue

_SEAT: Final = Fields(view_pb2.SeatView)


def table_view_bytes(table: TableValue, seat: int | None, moves: Sequence[Move] | None = None) -> bytes | None:
    """Return what a seat may know of the table, or everybody (None), serialised; None until the match starts.

    `moves` are the legal moves of the seat, if the caller has them.
    """
    if table.deal is None:
        return None
    return view_bytes(view_of(table.deal, seat, moves), [_seat_facts(held) for held in table.seats])


def _seat_facts(seat: Seat) -> bytes:
    """Return the fields of a SeatView that the deal does not know."""
    return _SEAT.player_name(seat.player_name.encode()) if seat.player_name else b""
