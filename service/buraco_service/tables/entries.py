"""Entries of a table's log: what a change did, as the store keeps it and as each receiver may see it."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from buraco.v1 import move_pb2, table_pb2
from buraco_codec.events import redacted_event
from buraco_codec.fields import has_unknown_fields
from buraco_codec.moves import move_bytes
from buraco_codec.wire import field, number, number_tag, numbers, tag
from buraco_rules import Move
from buraco_service import errors

_EVENTS: Final = tag(table_pb2.StoredEntry.EVENTS_FIELD_NUMBER)
_MOVES: Final = tag(table_pb2.StoredEntry.MOVES_FIELD_NUMBER)
_UNDO: Final = numbers(table_pb2.StoredEntry.UNDO_FIELD_NUMBER, True)
_SEAT: Final = numbers(move_pb2.SeatMove.SEAT_FIELD_NUMBER, 3)
_MOVE: Final = tag(move_pb2.SeatMove.MOVE_FIELD_NUMBER)
_TOLD_REVISION: Final = number_tag(table_pb2.Events.REVISION_FIELD_NUMBER)
_TOLD_EVENT: Final = tag(table_pb2.Events.EVENTS_FIELD_NUMBER)


class Entry(NamedTuple):
    """One change of a table."""

    revision: int
    """The table's, after it."""
    events: tuple[bytes, ...] = ()
    """What happened, unredacted; each a serialised Event."""
    moves: tuple[bytes, ...] = ()
    """The moves of the change, in order; each a serialised SeatMove."""
    undo: bool = False
    """The change took the newest move back."""

    def events_for(self, seat: int | None) -> list[bytes]:
        """What happened, as the player at a seat may see it, or everybody (None)."""
        return [redacted_event(event, seat) for event in self.events]

    def payload(self) -> bytes:
        """What a store keeps: a StoredEntry."""
        events = [field(_EVENTS, event) for event in self.events]
        return b"".join([*events, *[field(_MOVES, move) for move in self.moves], _UNDO[self.undo]])


def seat_move(seat: int, move: Move) -> bytes:
    """A move and who made it: a serialised SeatMove."""
    return _SEAT[seat] + field(_MOVE, move_bytes(move))


def told(revision: int, events: Iterable[bytes]) -> bytes:
    """What a watcher is told of a change: serialised Events, whose fields PlayAccepted has under the same numbers."""
    return b"".join([number(_TOLD_REVISION, revision), *[field(_TOLD_EVENT, event) for event in events]])


def stored_moves(payload: bytes) -> table_pb2.StoredEntry:
    """The moves of a change that a store kept, and whether it took one back, without its events. Raises TABLE_TOO_NEW
    where it says more than this version knows; of the events it may.
    """
    entry = table_pb2.StoredEntry.FromString(payload)
    entry.ClearField("events")
    return _known(entry)


def read_entry(revision: int, payload: bytes) -> Entry:
    """The change that a store kept. Raises TABLE_TOO_NEW where it says more than this version knows: what of that is
    hidden from whom is not known either.
    """
    entry = _known(table_pb2.StoredEntry.FromString(payload))
    return Entry(
        revision,
        tuple([event.SerializeToString() for event in entry.events]),
        tuple([move.SerializeToString() for move in entry.moves]),
        entry.undo,
    )


def _known(entry: table_pb2.StoredEntry) -> table_pb2.StoredEntry:
    if has_unknown_fields(entry):
        raise errors.table_too_new()
    return entry
