"""Events: whole as the rules tell them, and as one receiver may see them."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from buraco.v1 import event_pb2
from buraco_rules import events
from buraco_service.codec.fields import Untyped
from buraco_service.codec.melds import put_meld
from buraco_service.codec.scores import score_to_pb


def put_event(pb: event_pb2.Event, event: events.Event) -> None:
    """Write what happened into an empty message, hidden cards included.

    What the rules do not know is left empty: commitment, seed, payouts.
    """
    _PUT[type(event)](pb, event)


def redacted_event(event: event_pb2.Event, seat: int | None) -> event_pb2.Event:
    """The event as the player at `seat` may see it, or everybody (None).

    The same object where it holds nothing that is hidden from the receiver, else a changed copy.
    """
    hide = _HIDE.get(event.WhichOneof("event") or "")
    return event if hide is None else hide(event, seat)


def _copy(event: event_pb2.Event) -> event_pb2.Event:
    copy = event_pb2.Event()
    copy.CopyFrom(event)
    return copy


def _hide_dealt(event: event_pb2.Event, seat: int | None) -> event_pb2.Event:
    """Of the hands the receiver sees the own."""
    hands = event.dealt.hands
    redacted = _copy(event)
    redacted.dealt.ClearField("hands")
    redacted.dealt.ClearField("hand")
    if seat is not None and seat < len(hands):
        redacted.dealt.hand.extend(hands[seat].cards[:])
    return redacted


def _hide_drew(event: event_pb2.Event, seat: int | None) -> event_pb2.Event:
    if event.drew.seat == seat:
        return event
    redacted = _copy(event)
    redacted.drew.ClearField("card")
    return redacted


def _hide_took_rest(event: event_pb2.Event, seat: int | None) -> event_pb2.Event:
    if event.took_rest.seat == seat:
        return event
    redacted = _copy(event)
    redacted.took_rest.ClearField("cards")
    return redacted


def _hide_pot_taken(event: event_pb2.Event, seat: int | None) -> event_pb2.Event:
    if event.pot_taken.seat == seat:
        return event
    redacted = _copy(event)
    redacted.pot_taken.ClearField("cards")
    return redacted


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


def _put_drew(pb: Untyped, event: events.Drew) -> None:
    drew = pb.drew
    drew.seat = event.seat
    drew.card = event.card
    drew.stock_count = event.stock_count


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


def _put_melded(pb: Untyped, event: events.Melded) -> None:
    melded = pb.melded
    melded.seat = event.seat
    melded.index = event.meld_index
    put_meld(melded.meld, event.meld)


def _put_laid_off(pb: Untyped, event: events.LaidOff) -> None:
    laid = pb.laid_off
    laid.seat = event.seat
    laid.index = event.meld_index
    laid.cards.extend(event.cards)
    put_meld(laid.meld, event.meld)


def _put_wild_moved(pb: Untyped, event: events.WildMoved) -> None:
    moved = pb.wild_moved
    moved.seat = event.seat
    moved.index = event.meld_index
    put_meld(moved.meld, event.meld)


def _put_discarded(pb: Untyped, event: events.Discarded) -> None:
    discarded = pb.discarded
    discarded.seat = event.seat
    discarded.card = event.card


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


_PUT: Final[dict[type, Callable[[Untyped, Any], None]]] = {
    events.Dealt: _put_dealt,
    events.Drew: _put_drew,
    events.TookPile: _put_took_pile,
    events.TookRest: _put_took_rest,
    events.Melded: _put_melded,
    events.LaidOff: _put_laid_off,
    events.WildMoved: _put_wild_moved,
    events.Discarded: _put_discarded,
    events.PotTaken: _put_pot_taken,
    events.PotsJoined: _put_pots_joined,
    events.Opened: _put_opened,
    events.OpeningFailed: _put_opening_failed,
    events.Undone: _put_undone,
    events.DealEnded: _put_deal_ended,
    events.MatchEnded: _put_match_ended,
}
_HIDE: Final[dict[str, Callable[[event_pb2.Event, int | None], event_pb2.Event]]] = {
    "dealt": _hide_dealt,
    "drew": _hide_drew,
    "took_rest": _hide_took_rest,
    "pot_taken": _hide_pot_taken,
}
