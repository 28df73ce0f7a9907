from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from buraco.v1 import event_pb2
from buraco_rules import events
from buraco_rules.deal import Deal
from buraco_rules.melds import Meld
from buraco_rules.scores import DealScore
from buraco_service.codec.events import ends_match, event_bytes, redacted_event, seat_change
from buraco_service.codec.melds import meld_to_pb
from buraco_service.codec.scores import score_to_pb
from tests.rules.playouts import played
from tests.service.rules_server import cards_in, event_to_pb, redacted

# Fields whose names differ, since a named tuple has methods of these names.
NAMES = {"meld_index": "index", "size": "count"}


SEAT_CHANGED = event_pb2.Event(seat_changed=event_pb2.SeatChanged(seat=1, player_name="Ada")).SerializeToString()


def happened() -> Iterator[tuple[Deal, events.Event]]:
    """What happened in random deals, with the position after it."""
    for deal, seen in played(2):
        for event in seen:
            yield deal, event


def as_wire(value: Any) -> Any:
    """A field of an event of the rules as its message should show it."""
    if isinstance(value, Meld):
        return meld_to_pb(value)
    if isinstance(value, DealScore):
        return score_to_pb(value)
    if isinstance(value, tuple):
        return [as_wire(part) if not isinstance(part, tuple) else list(part) for part in value]
    return value


def test_every_event_crosses() -> None:
    """Every kind of event crosses with every field it has, hidden cards included."""
    kinds = set()
    for _, event in happened():
        message = event_to_pb(event)
        which = message.WhichOneof("event")
        assert which is not None
        assert which.replace("_", "") == type(event).__name__.lower()
        content = getattr(message, which)
        for name in (field.name for field in fields(event)):
            value = getattr(event, name)
            field = NAMES.get(name, name)
            if value is None:
                assert not content.HasField(field)
            elif name == "hands":
                assert [list(hand.cards) for hand in content.hands] == as_wire(value)
            else:
                assert getattr(content, field) == as_wire(value)
        assert event_pb2.Event.FromString(message.SerializeToString()) == message
        kinds.add(type(event))
    assert kinds == {
        events.Dealt,
        events.Drew,
        events.TookPile,
        events.TookRest,
        events.Melded,
        events.LaidOff,
        events.WildMoved,
        events.Discarded,
        events.PotTaken,
        events.PotsJoined,
        events.Opened,
        events.OpeningFailed,
        events.Undone,
        events.DealEnded,
        events.MatchEnded,
    }


def test_what_the_rules_do_not_know_is_empty() -> None:
    """Commitment, seed and payouts are left for whoever knows them; the receiver's own hand too."""
    for _, event in happened():
        message = event_to_pb(event)
        assert not message.dealt.commitment
        assert not message.dealt.hand
        assert not message.deal_ended.seed
        assert not message.match_ended.payouts


def test_a_seat_sees_its_own_cards() -> None:
    """The player a hidden card came to sees the event whole."""
    for _, event in happened():
        if isinstance(event, events.Drew | events.TookRest | events.PotTaken):
            whole = event_bytes(event)
            assert redacted_event(whole, event.seat) is whole


@pytest.mark.parametrize("receiver", ["another seat", "the partner", "everybody"])
def test_others_see_no_hidden_card(receiver: str) -> None:
    """A card drawn, the rest of a closed pile and a pot are for one player: nobody else's event has a card of them."""
    seen = set()
    for deal, event in happened():
        if not isinstance(event, events.Drew | events.TookRest | events.PotTaken):
            continue
        steps = {"another seat": 1, "the partner": 2}.get(receiver)
        seat = None if steps is None else (event.seat + steps) % deal.seats
        if seat == event.seat:
            continue
        message = event_to_pb(event)
        shown = redacted(message, seat)
        assert not cards_in(shown)
        which = message.WhichOneof("event")
        assert shown.WhichOneof("event") == which
        assert getattr(shown, str(which)).seat == event.seat
        if isinstance(event, events.Drew):
            assert shown.drew.stock_count == event.stock_count
        else:
            assert getattr(shown, str(which)).count == event.size
        seen.add(type(event))
    assert seen == {events.Drew, events.TookRest, events.PotTaken}


def test_a_dealt_hand_is_for_its_seat() -> None:
    """Of the hands dealt a player sees the own, and nobody else any."""
    for _, event in happened():
        if not isinstance(event, events.Dealt):
            continue
        message = event_to_pb(event)
        message.dealt.commitment = b"c" * 32
        for seat, hand in enumerate(event.hands):
            shown = redacted(message, seat)
            assert tuple(shown.dealt.hand) == hand
            assert not shown.dealt.hands
            assert shown.dealt.commitment == b"c" * 32
            assert shown.dealt.upcard == event.upcard
        public = redacted(message, None)
        assert cards_in(public).total() == bool(event.upcard)
        # Once more changes nothing: a redacted event is safe to pass on.
        assert redacted(public, None) == public


def test_what_all_see_is_passed_on_as_it_is() -> None:
    """An event without hidden cards is the same for everybody."""
    hidden = (events.Dealt, events.Drew, events.TookRest, events.PotTaken)
    for _, event in happened():
        if not isinstance(event, hidden):
            whole = event_bytes(event)
            assert all(redacted_event(whole, seat) is whole for seat in (None, 0, 1, 2, 3))
    assert redacted_event(SEAT_CHANGED, 0) is SEAT_CHANGED


def test_what_hides_cards_is_known_by_its_first_byte() -> None:
    """No kind of event is taken for one that hides cards, nor such a one for another."""
    for kind in event_pb2.Event.DESCRIPTOR.fields:
        message = event_pb2.Event()
        getattr(message, kind.name).SetInParent()
        whole = message.SerializeToString()
        hides = kind.name in ("dealt", "drew", "took_rest", "pot_taken")
        assert (redacted_event(whole, None) is not whole) == hides


def test_what_streams_look_for() -> None:
    """The end of a match and a seat taken or left are told from all other events."""
    seen = set()
    for _, event in happened():
        whole = event_bytes(event)
        assert ends_match(whole) == isinstance(event, events.MatchEnded)
        assert seat_change(whole) is None
        seen.add(type(event))
    assert events.MatchEnded in seen
    assert not ends_match(SEAT_CHANGED)
    assert seat_change(SEAT_CHANGED) == event_pb2.SeatChanged(seat=1, player_name="Ada")
