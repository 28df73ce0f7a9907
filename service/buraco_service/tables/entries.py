"""Entries of a table's log: what a change did, serialised once, and redacted by a list for each receiver.

Up to here events are values. From here on they are bytes, as in the log of every store: so entries that another replica
wrote need no parser for each kind of event, and no second way to be redacted. Serialising events once a change, not
once a receiver, saves 6 of 13 microseconds a move at a table of two, 9 of 17 with four players and a spectator.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Final, NamedTuple

from buraco.v1 import event_pb2, move_pb2, table_pb2
from buraco_codec.events import event_bytes, redacted_event
from buraco_codec.fields import has_unknown_fields
from buraco_codec.moves import move_bytes
from buraco_codec.wire import Fields
from buraco_rules import commitment
from buraco_rules.events import DealEnded, Dealt, MatchEnded
from buraco_service import errors
from buraco_service.tables.changes import (
    Change,
    ConfirmationAwaited,
    OwnEvent,
    ScoreConfirmed,
    SeatAbsent,
    SeatChanged,
    SeatReturned,
    SubstituteJoined,
    SubstituteLeft,
    TableEvent,
    TurnTimedOut,
)
from buraco_service.tables.offers import Aborted, DrawOffered, OfferWithdrawn, Resigned
from buraco_service.tables.stored_timing import from_timestamp, to_timestamp

_ENTRY: Final = Fields(table_pb2.StoredEntry)
_SEAT_MOVE: Final = Fields(move_pb2.SeatMove)
_EVENTS: Final = Fields(table_pb2.Events)
_OWN_KINDS: Final = {
    SeatChanged: "seat_changed",
    Resigned: "resigned",
    DrawOffered: "draw_offered",
    OfferWithdrawn: "offer_withdrawn",
    Aborted: "aborted",
    TurnTimedOut: "turn_timed_out",
    ConfirmationAwaited: "confirmation_awaited",
    ScoreConfirmed: "score_confirmed",
    SeatAbsent: "seat_absent",
    SeatReturned: "seat_returned",
    SubstituteJoined: "substitute_joined",
    SubstituteLeft: "substitute_left",
}
"""Events that the rules do not know: the field of the message that holds each."""


class Entry(NamedTuple):
    """What a change of a table did."""

    revision: int
    """The table's, after the change."""
    events: tuple[bytes, ...] = ()
    """Serialised Events, hidden cards included."""
    created_at: float = 0.0
    """When the change was made; at tables whose spectators lag."""

    def redacted(self, seat: int | None) -> list[bytes]:
        """Return the events as the player at a seat may see them, or everybody (None)."""
        return [redacted_event(event, seat) for event in self.events]


def make_entry(change: Change) -> Entry:
    """Return the entry that a change adds to the log of its table."""
    events = tuple([_serialise_event(event, change) for event in change.events])
    if change.table.options.spectator_delay:
        return Entry(change.table.revision, events, change.table.updated_at)
    return Entry(change.table.revision, events)


def serialise_entry(entry: Entry, change: Change) -> bytes:
    """Return the StoredEntry that a store keeps: the entry, and the moves or the undo that made the change."""
    events = [_ENTRY.events(event) for event in entry.events]
    moves = [_ENTRY.moves(_SEAT_MOVE.seat(change.seat) + _SEAT_MOVE.move(move_bytes(move))) for move in change.moves]
    if entry.created_at:
        moves.append(_ENTRY.created_at(to_timestamp(entry.created_at).SerializeToString()))
    return b"".join([*events, *moves, _ENTRY.undo(change.undo)])


def parse_entry(revision: int, payload: bytes) -> Entry:
    """Return the entry of a StoredEntry.

    Raise TABLE_TOO_NEW if it has fields that this version does not know, nor from whom they are to be hidden.
    """
    entry = parse_whole(payload)
    events = tuple([event.SerializeToString() for event in entry.events])
    return Entry(revision, events, from_timestamp(entry.created_at) if entry.HasField("created_at") else 0.0)


def parse_whole(payload: bytes) -> table_pb2.StoredEntry:
    """Return a StoredEntry. Raise TABLE_TOO_NEW as `parse_entry`."""
    return _check_known(table_pb2.StoredEntry.FromString(payload))


def parse_moves(payload: bytes) -> table_pb2.StoredEntry:
    """Return a StoredEntry without its events. Raise TABLE_TOO_NEW if what is left has fields not known here."""
    entry = table_pb2.StoredEntry.FromString(payload)
    entry.ClearField("events")
    return _check_known(entry)


def serialise_events(revision: int, events: Iterable[bytes]) -> bytes:
    """Return Events of redacted events. A PlayAccepted has the same fields."""
    return _EVENTS.revision(revision) + b"".join([_EVENTS.events(event) for event in events])


def _serialise_event(event: TableEvent, change: Change) -> bytes:
    if isinstance(event, OwnEvent):
        message = event_pb2.Event()
        content = getattr(event_pb2, type(event).__name__)(**asdict(event))
        getattr(message, _OWN_KINDS[type(event)]).CopyFrom(content)
        return message.SerializeToString()
    serialised = event_bytes(event)
    if not isinstance(event, (Dealt, DealEnded, MatchEnded)):
        return serialised
    # What the rules do not know: commitment and seed of the deal, and where the stakes go.
    message = event_pb2.Event.FromString(serialised)
    if isinstance(event, Dealt):
        message.dealt.commitment = commitment(change.table.server_seed(event.deal_number))
    elif isinstance(event, MatchEnded):
        ended = message.match_ended
        ended.payouts.extend(change.table.payouts)
        ended.how = event_pb2.MatchEnd.ValueType(change.table.how)
        if change.table.resigned_side is not None:
            ended.resigned_side = change.table.resigned_side
    elif change.ended is not None:
        message.deal_ended.seed = change.table.server_seed(change.ended.match.deal_number)
    return message.SerializeToString()


def _check_known(entry: table_pb2.StoredEntry) -> table_pb2.StoredEntry:
    if has_unknown_fields(entry):
        raise errors.table_too_new()
    return entry
