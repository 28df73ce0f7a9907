"""Events: whole as the rules tell them, and as one receiver may see them.

They are serialised when they happen: store, answers and streams put in what stands here. What every turn brings is put
together as bytes, what is seldom by way of its message.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from buraco.v1 import event_pb2
from buraco_rules import events
from buraco_rules.cards import JOKER
from buraco_service.codec.cards import MAX_CARDS
from buraco_service.codec.fields import Untyped
from buraco_service.codec.melds import meld_bytes, put_meld
from buraco_service.codec.scores import score_to_pb
from buraco_service.codec.wire import field, list_heads, number, number_tag, numbers, tag

_Event = event_pb2.Event

_DREW: Final = tag(_Event.DREW_FIELD_NUMBER)
_DREW_SEAT: Final = numbers(event_pb2.Drew.SEAT_FIELD_NUMBER, 3)
_DREW_CARD: Final = numbers(event_pb2.Drew.CARD_FIELD_NUMBER, JOKER)
_DREW_STOCK_COUNT: Final = numbers(event_pb2.Drew.STOCK_COUNT_FIELD_NUMBER, MAX_CARDS)

_MELDED: Final = tag(_Event.MELDED_FIELD_NUMBER)
_MELDED_SEAT: Final = numbers(event_pb2.Melded.SEAT_FIELD_NUMBER, 3)
_MELDED_INDEX: Final = number_tag(event_pb2.Melded.INDEX_FIELD_NUMBER)
_MELDED_MELD: Final = tag(event_pb2.Melded.MELD_FIELD_NUMBER)

_LAID_OFF: Final = tag(_Event.LAID_OFF_FIELD_NUMBER)
_LAID_OFF_SEAT: Final = numbers(event_pb2.LaidOff.SEAT_FIELD_NUMBER, 3)
_LAID_OFF_INDEX: Final = number_tag(event_pb2.LaidOff.INDEX_FIELD_NUMBER)
_LAID_OFF_CARDS: Final = list_heads(event_pb2.LaidOff.CARDS_FIELD_NUMBER)
_LAID_OFF_MELD: Final = tag(event_pb2.LaidOff.MELD_FIELD_NUMBER)

_DISCARDED: Final = tag(_Event.DISCARDED_FIELD_NUMBER)
_DISCARDED_SEAT: Final = numbers(event_pb2.Discarded.SEAT_FIELD_NUMBER, 3)
_DISCARDED_CARD: Final = numbers(event_pb2.Discarded.CARD_FIELD_NUMBER, JOKER)

_MATCH_ENDED: Final = tag(_Event.MATCH_ENDED_FIELD_NUMBER)
_SEAT_CHANGED: Final = tag(_Event.SEAT_CHANGED_FIELD_NUMBER)


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


def redacted_event(event: bytes, seat: int | None) -> bytes:
    """A serialised event as the player at `seat` may see it, or everybody (None).

    The same bytes where it holds nothing that is hidden from the receiver.
    """
    # Its bytes begin with the tag of what it is.
    hide = _HIDE.get(event[:1])
    return event if hide is None else hide(event, seat)


def ends_match(event: bytes) -> bool:
    """Whether a serialised event ends the match."""
    return event.startswith(_MATCH_ENDED)


def seat_change(event: bytes) -> event_pb2.SeatChanged | None:
    """What a serialised event says of a seat that was taken or left; None if it is about something else."""
    return _Event.FromString(event).seat_changed if event.startswith(_SEAT_CHANGED) else None


def _hide_dealt(event: bytes, seat: int | None) -> bytes:
    """Of the hands the receiver sees the own."""
    message = _Event.FromString(event)
    dealt = message.dealt
    own = dealt.hands[seat].cards[:] if seat is not None and seat < len(dealt.hands) else ()
    dealt.ClearField("hands")
    dealt.ClearField("hand")
    dealt.hand.extend(own)
    return message.SerializeToString()


def _hiding(kind: str, hidden: str) -> Callable[[bytes, int | None], bytes]:
    """For an event whose `hidden` field is for the seat that it names alone."""

    def hide(event: bytes, seat: int | None) -> bytes:
        message = _Event.FromString(event)
        content = getattr(message, kind)
        if content.seat == seat:
            return event
        content.ClearField(hidden)
        return message.SerializeToString()

    return hide


def _drew(event: events.Drew) -> bytes:
    return field(_DREW, _DREW_SEAT[event.seat] + _DREW_CARD[event.card] + _DREW_STOCK_COUNT[event.stock_count])


def _melded(event: events.Melded) -> bytes:
    meld = field(_MELDED_MELD, meld_bytes(event.meld))
    return field(_MELDED, _MELDED_SEAT[event.seat] + number(_MELDED_INDEX, event.meld_index) + meld)


def _laid_off(event: events.LaidOff) -> bytes:
    cards = _LAID_OFF_CARDS[len(event.cards)] + bytes(event.cards)
    meld = field(_LAID_OFF_MELD, meld_bytes(event.meld))
    return field(_LAID_OFF, _LAID_OFF_SEAT[event.seat] + number(_LAID_OFF_INDEX, event.meld_index) + cards + meld)


def _discarded(event: events.Discarded) -> bytes:
    return field(_DISCARDED, _DISCARDED_SEAT[event.seat] + _DISCARDED_CARD[event.card])


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
_HIDE: Final[dict[bytes, Callable[[bytes, int | None], bytes]]] = {
    tag(_Event.DEALT_FIELD_NUMBER): _hide_dealt,
    _DREW: _hiding("drew", "card"),
    tag(_Event.TOOK_REST_FIELD_NUMBER): _hiding("took_rest", "cards"),
    tag(_Event.POT_TAKEN_FIELD_NUMBER): _hiding("pot_taken", "cards"),
}
