from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from buraco.v1 import card_pb2, event_pb2
from buraco_codec.events import (
    VISIBLE,
    UnlistedEvent,
    Visible,
    ends_match,
    event_bytes,
    redacted_event,
    seat_change,
)
from buraco_codec.fields import Untyped
from buraco_codec.melds import meld_to_pb
from buraco_codec.scores import score_to_pb
from buraco_rules import Deal, DealScore, Meld, events
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


def field(number: int, content: bytes) -> bytes:
    """A field that holds bytes or a message, shorter than 128 bytes, by its number."""
    tag = number << 3 | 2
    return bytes((tag,) if tag < 128 else (tag & 127 | 128, tag >> 7)) + bytes((len(content),)) + content


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
            assert redacted_event(whole, event.seat) == whole


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
            assert all(redacted_event(whole, seat) == whole for seat in (None, 0, 1, 2, 3))
    assert redacted_event(SEAT_CHANGED, 0) == SEAT_CHANGED


def test_every_field_of_every_kind_is_listed() -> None:
    """Who may see a field of an event is decided for each: only the hands dealt are nobody's to see."""
    kinds: Untyped = event_pb2.Event.DESCRIPTOR.fields
    assert {kind.name for kind in kinds} == set(VISIBLE)
    for kind in kinds:
        unlisted = {field.name for field in kind.message_type.fields} - VISIBLE[kind.name].to_owner
        assert unlisted == ({"hands"} if kind.name == "dealt" else set())
        assert VISIBLE[kind.name].to_all <= VISIBLE[kind.name].to_owner


def test_what_is_shown_has_no_parts_that_nobody_decided_on() -> None:
    """The messages within events are shown whole: whoever adds a field to one decides here that all may see it."""
    parts = {}
    kinds: Untyped = event_pb2.Event.DESCRIPTOR.fields
    found = [field for kind in kinds for field in kind.message_type.fields]
    while found:
        message = found.pop().message_type
        if message is not None and message.name not in parts:
            parts[message.name] = {field.name for field in message.fields}
            found += message.fields
    assert parts == {
        "Cards": {"cards"},
        "DealScore": {"sides", "final"},
        "Meld": {"kind", "cards", "low_position", "wild_index", "stays_dirty", "buraco"},
        "ScoreLine": {"kind", "points", "meld", "buraco", "seat"},
        "SideScore": {"side", "lines", "total", "match_total", "melds"},
    }


@pytest.mark.parametrize("number", [max(event_pb2.Event.DESCRIPTOR.fields_by_number) + 1, 1000])
def test_an_unlisted_kind_raises(number: int) -> None:
    """Nothing of an event of a kind that this version does not know is shown, whatever its number."""
    unlisted = field(number, field(2, b"\x05"))
    for seat in (None, 0, 1):
        for event in (unlisted, unlisted + SEAT_CHANGED, SEAT_CHANGED + unlisted, b""):
            with pytest.raises(UnlistedEvent):
                redacted_event(event, seat)


def test_a_known_kind_that_is_not_listed_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind that was added to the contract and not to the list is refused too."""
    event = event_pb2.Event(pots_joined=event_pb2.PotsJoined(stock_count=10_000)).SerializeToString()
    monkeypatch.delitem(VISIBLE, "pots_joined")
    with pytest.raises(UnlistedEvent, match="pots_joined"):
        redacted_event(event, None)


def test_an_unlisted_field_is_not_shown() -> None:
    """A field that this version does not know is refused, in an event and in what an event holds."""
    later = field(1000, b"later")
    meld = event_pb2.Melded.MELD_FIELD_NUMBER
    for kind, content in (("drew", later), ("seat_changed", later), ("melded", field(meld, later))):
        event = field(event_pb2.Event.DESCRIPTOR.fields_by_name[kind].number, content)
        with pytest.raises(UnlistedEvent):
            redacted_event(event, 0)


def test_a_known_field_that_is_not_listed_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that was added to the contract and not to the list is left out for everybody."""
    event = event_pb2.Event(
        discarded=event_pb2.Discarded(seat=10_000, card=card_pb2.CARD_ACE_OF_CLUBS)
    ).SerializeToString()
    monkeypatch.setitem(VISIBLE, "discarded", Visible(frozenset({"seat"}), frozenset({"seat"})))
    shown = event_pb2.Event(discarded=event_pb2.Discarded(seat=10_000)).SerializeToString()
    assert all(redacted_event(event, seat) == shown for seat in (None, 0, 10_000))


def test_an_event_in_pieces_shows_one_kind() -> None:
    """Of bytes that hold two kinds only the last is the event: nothing of the other passes with it."""
    drawn = event_pb2.Event(drew=event_pb2.Drew(seat=1, card=card_pb2.CARD_ACE_OF_CLUBS)).SerializeToString()
    assert redacted_event(drawn + SEAT_CHANGED, 0) == SEAT_CHANGED


def test_what_streams_look_for() -> None:
    """The end of a match and a seat taken or left are recognised among all events."""
    seen = set()
    for _, event in happened():
        whole = event_bytes(event)
        assert ends_match(whole) == isinstance(event, events.MatchEnded)
        assert seat_change(whole) is None
        seen.add(type(event))
    assert events.MatchEnded in seen
    assert not ends_match(SEAT_CHANGED)
    assert seat_change(SEAT_CHANGED) == event_pb2.SeatChanged(seat=1, player_name="Ada")
