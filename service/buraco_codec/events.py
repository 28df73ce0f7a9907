"""Events: whole, as the rules give them, and redacted for a receiver.

They are serialised once, when they happen. Those of every turn are assembled from serialised fields, which is faster;
the others are written into a message.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from google.protobuf.message import Message

from buraco.v1 import event_pb2
from buraco_codec.fields import Untyped, has_unknown_fields
from buraco_codec.melds import meld_bytes, put_meld
from buraco_codec.scores import score_to_pb
from buraco_codec.wire import Fields
from buraco_rules.events import Discarded, Drew, Event, LaidOff, Melded

_EVENT: Final = Fields(event_pb2.Event)
_DREW: Final = Fields(event_pb2.Drew)
_MELDED: Final = Fields(event_pb2.Melded)
_LAID_OFF: Final = Fields(event_pb2.LaidOff)
_DISCARDED: Final = Fields(event_pb2.Discarded)

_KINDS: Final = {kind.message_type.name: kind.name for kind in event_pb2.Event.DESCRIPTOR.fields if kind.message_type}
"""By name of an event's class: the field of the message that holds it."""
_RENAMED: Final = {"meld_index": "index", "size": "count"}

_MATCH_ENDED: Final = _EVENT.match_ended(b"")[:-1]
_SEAT_CHANGED: Final = _EVENT.seat_changed(b"")[:-1]
"""What a serialised event of these kinds begins with: all but its size, 0 here."""
_CACHED: Final = 4096


def event_bytes(event: Event) -> bytes:
    """Return an event, serialised, hidden cards included.

    What the rules do not know is left out: commitment and seed of the deal, payouts of the match and how it ended.
    """
    if isinstance(event, Drew):
        return _EVENT.drew(_DREW.seat(event.seat) + _DREW.card(event.card) + _DREW.stock_count(event.stock_count))
    if isinstance(event, Discarded):
        return _EVENT.discarded(_DISCARDED.seat(event.seat) + _DISCARDED.card(event.card))
    if isinstance(event, Melded):
        placed = _MELDED.seat(event.seat) + _MELDED.index(event.meld_index)
        return _EVENT.melded(placed + _MELDED.meld(meld_bytes(event.meld)))
    if isinstance(event, LaidOff):
        placed = _LAID_OFF.seat(event.seat) + _LAID_OFF.index(event.meld_index)
        return _EVENT.laid_off(placed + _LAID_OFF.cards(event.cards) + _LAID_OFF.meld(meld_bytes(event.meld)))
    message = event_pb2.Event()
    _put(getattr(message, _KINDS[type(event).__name__]), event)
    return message.SerializeToString()


def _put(content: Untyped, event: Event) -> None:
    """Write an event into the message of its kind. Fields that are None stay absent."""
    for name in event.__match_args__:
        value = getattr(event, name)
        if value is None:
            continue
        if name == "meld":
            put_meld(content.meld, value)
        elif name == "score":
            content.score.CopyFrom(score_to_pb(value))
        elif name == "hands":
            for hand in value:
                content.hands.add().cards.extend(hand)
        elif isinstance(value, tuple):
            getattr(content, name).extend(value)
        else:
            setattr(content, _RENAMED.get(name, name), value)


class UnlistedEvent(Exception):
    """`VISIBLE` does not list the kind of an event, or the event has fields not known here: nobody sees any of it."""


def redacted_event(event: bytes, seat: int | None) -> bytes:
    """Return a serialised event as the player at `seat`, or everybody (None), may see it: what `VISIBLE` lists.

    Raise UnlistedEvent if it does not list the event, or the event has fields that this version does not know;
    DecodeError for bytes that are no event.
    """
    to_all, to_owners = _redacted(event)
    return to_owners.get(seat, to_all)


def ends_match(event: bytes) -> bool:
    """Return True if a serialised event is the end of the match."""
    return event.startswith(_MATCH_ENDED)


def seat_change(event: bytes) -> event_pb2.SeatChanged | None:
    """Return the content of a serialised event if a seat was taken or left with it, else None."""
    return event_pb2.Event.FromString(event).seat_changed if event.startswith(_SEAT_CHANGED) else None


@lru_cache(_CACHED)
def _redacted(event: bytes) -> tuple[bytes, dict[int | None, bytes]]:
    """Return an event as everybody may see it, and by seat as its owners, who may see more, may see it."""
    message = event_pb2.Event.FromString(event)
    kind = message.WhichOneof("event") or ""
    visible = VISIBLE.get(kind)
    if visible is None or has_unknown_fields(message):
        raise UnlistedEvent(f"it is not listed who may see what of an event ({kind or 'unknown'})")
    content: Untyped = getattr(message, kind)
    to_owners: dict[int | None, bytes] = {}
    if kind == "dealt":
        hands = [hand.cards[:] for hand in content.hands]
        _clear_others(content, visible.to_owner)
        for seat, hand in enumerate(hands):
            content.hand[:] = hand
            to_owners[seat] = message.SerializeToString()
    elif visible.to_owner != visible.to_all:
        _clear_others(content, visible.to_owner)
        to_owners[content.seat] = message.SerializeToString()
    _clear_others(content, visible.to_all)
    return message.SerializeToString(), to_owners


def _clear_others(content: Message, visible: frozenset[str]) -> None:
    """Clear all fields that are not visible."""
    for present, _ in content.ListFields():
        if present.name not in visible:
            content.ClearField(present.name)


class Visible(NamedTuple):
    """The fields of a kind of event that are shown: whatever is not listed stays hidden."""

    to_all: frozenset[str]
    to_owner: frozenset[str]
    """To the player at the seat that the event names; of Dealt to each player, `hand` being that player's."""


def _visible(to_all: str, *, to_owner: str = "") -> Visible:
    return Visible(frozenset(to_all.split()), frozenset(f"{to_all} {to_owner}".split()))


VISIBLE: Final[dict[str, Visible]] = {
    "dealt": _visible("deal_number starter commitment upcard stock_count", to_owner="hand"),
    "drew": _visible("seat stock_count", to_owner="card"),
    "took_pile": _visible("seat cards count"),
    "took_rest": _visible("seat count", to_owner="cards"),
    "melded": _visible("seat index meld"),
    "laid_off": _visible("seat index cards meld"),
    "wild_moved": _visible("seat index meld"),
    "discarded": _visible("seat card"),
    "pot_taken": _visible("seat in_flight count", to_owner="cards"),
    "pots_joined": _visible("stock_count"),
    "opened": _visible("seat points"),
    "opening_failed": _visible("seat cards penalty next_required"),
    "undone": _visible("seat index cards meld"),
    "deal_ended": _visible("ending seat score hands seed"),
    "match_ended": _visible("winner scores payouts how resigned_side"),
    "seat_changed": _visible("seat player_name player_id removed"),
    "resigned": _visible("seat pending"),
    "draw_offered": _visible("seat"),
    "offer_withdrawn": _visible("seat kind"),
    "aborted": _visible("seat"),
    "turn_timed_out": _visible("seat absent"),
    "confirmation_awaited": _visible("deal_number"),
    "score_confirmed": _visible("seat"),
    "seat_returned": _visible("seat"),
}
