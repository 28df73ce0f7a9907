"""Events: whole as the rules tell them, and as one receiver may see them.

They are serialised when they happen: store, answers and streams put in what stands here. What every turn brings is put
together as bytes, what is seldom by way of its message. They are redacted by a list of what each receiver may see.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from google.protobuf.message import Message

from buraco.v1 import event_pb2
from buraco_codec.fields import Untyped, has_unknown_fields
from buraco_codec.melds import meld_bytes, put_meld
from buraco_codec.scores import score_to_pb
from buraco_codec.wire import Fields, tag
from buraco_rules import events

_Event = event_pb2.Event

_EVENT: Final = Fields(event_pb2.Event)
_DREW: Final = Fields(event_pb2.Drew)
_MELDED: Final = Fields(event_pb2.Melded)
_LAID_OFF: Final = Fields(event_pb2.LaidOff)
_DISCARDED: Final = Fields(event_pb2.Discarded)

_MATCH_ENDED: Final = tag(_Event.MATCH_ENDED_FIELD_NUMBER)
_SEAT_CHANGED: Final = tag(_Event.SEAT_CHANGED_FIELD_NUMBER)
_CACHED: Final = 4096


def event_bytes(event: events.Event) -> bytes:
    """What happened, serialised, hidden cards included. What the rules do not know is left out: commitment, seed,
    payouts.
    """
    kind = type(event)
    put_together = _BYTES.get(kind)
    if put_together is not None:
        return put_together(event)
    message = _Event()
    _PUT[kind](message, event)
    return message.SerializeToString()


class UnlistedEvent(Exception):
    """An event for which it is not listed who may see what: nobody sees any of it."""


def redacted_event(event: bytes, seat: int | None) -> bytes:
    """Return a serialised event as the player at `seat`, or everybody (None), may see it.

    It holds what `VISIBLE` lists and nothing else. Raise UnlistedEvent where the event is of a kind that is not listed
    there, or says more than this version knows.
    """
    to_all, to_owners = _shown(event)
    return to_owners.get(seat, to_all)


def ends_match(event: bytes) -> bool:
    """Whether a serialised event ends the match."""
    return event.startswith(_MATCH_ENDED)


def seat_change(event: bytes) -> event_pb2.SeatChanged | None:
    """What a serialised event says of a seat that was taken or left; None if it is about something else."""
    return _Event.FromString(event).seat_changed if event.startswith(_SEAT_CHANGED) else None


@lru_cache(_CACHED)
def _shown(event: bytes) -> tuple[bytes, dict[int | None, bytes]]:
    """Return what everybody may see of an event, and by seat what its owners, who may see more, see of it."""
    message = _Event.FromString(event)
    kind = message.WhichOneof("event") or ""
    visible = VISIBLE.get(kind)
    if visible is None or has_unknown_fields(message):
        raise UnlistedEvent(f"it is not listed who may see what of an event ({kind or 'unknown'})")
    content: Untyped = getattr(message, kind)
    to_owners: dict[int | None, bytes] = {}
    if kind == "dealt":
        hands = [hand.cards[:] for hand in content.hands]
        _keep(content, visible.to_owner)
        for seat, hand in enumerate(hands):
            content.hand[:] = hand
            to_owners[seat] = message.SerializeToString()
    elif visible.to_owner != visible.to_all:
        _keep(content, visible.to_owner)
        to_owners[content.seat] = message.SerializeToString()
    _keep(content, visible.to_all)
    return message.SerializeToString(), to_owners


def _keep(content: Message, visible: frozenset[str]) -> None:
    """Clear every other field."""
    for present, _ in content.ListFields():
        if present.name not in visible:
            content.ClearField(present.name)


def _drew(event: events.Drew) -> bytes:
    return _EVENT.drew(_DREW.seat(event.seat) + _DREW.card(event.card) + _DREW.stock_count(event.stock_count))


def _melded(event: events.Melded) -> bytes:
    return _EVENT.melded(
        _MELDED.seat(event.seat) + _MELDED.index(event.meld_index) + _MELDED.meld(meld_bytes(event.meld))
    )


def _laid_off(event: events.LaidOff) -> bytes:
    return _EVENT.laid_off(
        _LAID_OFF.seat(event.seat)
        + _LAID_OFF.index(event.meld_index)
        + _LAID_OFF.cards(event.cards)
        + _LAID_OFF.meld(meld_bytes(event.meld))
    )


def _discarded(event: events.Discarded) -> bytes:
    return _EVENT.discarded(_DISCARDED.seat(event.seat) + _DISCARDED.card(event.card))


def _put_hands(pb: Untyped, hands: Iterable[tuple[int, ...]]) -> None:
    for hand in hands:
        pb.add().cards.extend(hand)


def _put_dealt(pb: Untyped, event: events.Dealt) -> None:
    dealt = pb.dealt
    dealt.deal_number = event.deal_number
    dealt.starter = event.starter
    dealt.upcard = event.upcard
    dealt.stock_count = event.stock_count
    _put_hands(dealt.hands, event.hands)


def _put_took_pile(pb: Untyped, event: events.TookPile) -> None:
    took = pb.took_pile
    took.seat = event.seat
    took.cards.extend(event.cards)
    took.count = event.size


def _put_took_rest(pb: Untyped, event: events.TookRest) -> None:
    took = pb.took_rest
    took.seat = event.seat
    took.cards.extend(event.cards)
    took.count = event.size


def _put_wild_moved(pb: Untyped, event: events.WildMoved) -> None:
    moved = pb.wild_moved
    moved.seat = event.seat
    moved.index = event.meld_index
    put_meld(moved.meld, event.meld)


def _put_pot_taken(pb: Untyped, event: events.PotTaken) -> None:
    taken = pb.pot_taken
    taken.seat = event.seat
    taken.in_flight = event.in_flight
    taken.cards.extend(event.cards)
    taken.count = event.size


def _put_pots_joined(pb: Untyped, event: events.PotsJoined) -> None:
    pb.pots_joined.stock_count = event.stock_count


def _put_opened(pb: Untyped, event: events.Opened) -> None:
    opened = pb.opened
    opened.seat = event.seat
    opened.points = event.points


def _put_opening_failed(pb: Untyped, event: events.OpeningFailed) -> None:
    failed = pb.opening_failed
    failed.seat = event.seat
    failed.cards.extend(event.cards)
    failed.penalty = event.penalty
    failed.next_required = event.next_required


def _put_undone(pb: Untyped, event: events.Undone) -> None:
    undone = pb.undone
    undone.seat = event.seat
    undone.index = event.meld_index
    undone.cards.extend(event.cards)
    if event.meld is not None:
        put_meld(undone.meld, event.meld)


def _put_deal_ended(pb: Untyped, event: events.DealEnded) -> None:
    ended = pb.deal_ended
    ended.ending = event.ending
    if event.seat is not None:
        ended.seat = event.seat
    ended.score.CopyFrom(score_to_pb(event.score))
    _put_hands(ended.hands, event.hands)


def _put_match_ended(pb: Untyped, event: events.MatchEnded) -> None:
    ended = pb.match_ended
    if event.winner is not None:
        ended.winner = event.winner
    ended.scores.extend(event.scores)


_BYTES: Final[dict[type, Callable[[Any], bytes]]] = {
    events.Drew: _drew,
    events.Melded: _melded,
    events.LaidOff: _laid_off,
    events.Discarded: _discarded,
}
_PUT: Final[dict[type, Callable[[Untyped, Any], None]]] = {
    events.Dealt: _put_dealt,
    events.TookPile: _put_took_pile,
    events.TookRest: _put_took_rest,
    events.WildMoved: _put_wild_moved,
    events.PotTaken: _put_pot_taken,
    events.PotsJoined: _put_pots_joined,
    events.Opened: _put_opened,
    events.OpeningFailed: _put_opening_failed,
    events.Undone: _put_undone,
    events.DealEnded: _put_deal_ended,
    events.MatchEnded: _put_match_ended,
}


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
    "match_ended": _visible("winner scores payouts"),
    "seat_changed": _visible("seat player_name"),
}
