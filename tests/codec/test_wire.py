import pytest
from google.protobuf.message import Message

from buraco.v1 import deal_pb2, event_pb2, table_service_pb2, view_pb2
from buraco_codec.cards import MAX_CARDS
from buraco_codec.wire import Fields
from buraco_rules.cards import FACES

EVENT, VIEW = Fields(event_pb2.Event), Fields(view_pb2.View)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 2047, 2048, 16_383, 16_384, 300_000])
def test_texts_and_messages_of_any_size(size: int) -> None:
    """A text or a message comes out as the library writes it, whatever its size and the number of its field."""
    seat_changed, dealt = Fields(event_pb2.SeatChanged), Fields(event_pb2.Dealt)
    name, seed = "ü" * (size // 2), bytes(size)
    if size:
        assert dealt.commitment(seed) == event_pb2.Dealt(commitment=seed).SerializeToString()
    changed = event_pb2.SeatChanged(player_name=name)
    message = EVENT.seat_changed(seat_changed.player_name(name.encode()) if name else b"")
    assert message == event_pb2.Event(seat_changed=changed).SerializeToString()
    kept = EVENT.dealt(dealt.commitment(seed))
    assert event_pb2.Event.FromString(kept).dealt.commitment == seed


@pytest.mark.parametrize("value", [0, 1, 3, 127, 128, 2047, 2048, 300_000, 2**32 - 1])
def test_numbers_of_any_size(value: int) -> None:
    """A number comes out as the library writes it; 0 is left out, but in a field that may be absent."""
    for _ in range(2):  # made, and kept
        assert VIEW.turn_number(value) == view_pb2.View(turn_number=value).SerializeToString()
        assert VIEW.starter(value) == view_pb2.View(starter=value).SerializeToString()
        assert VIEW.seat(value) == view_pb2.View(seat=value).SerializeToString()


def test_bools_and_lists() -> None:
    """A bool and a list of small numbers come out as the library writes them."""
    assert VIEW.opening_attempt(True) == view_pb2.View(opening_attempt=True).SerializeToString()
    assert VIEW.opening_attempt(False) == b""
    assert VIEW.pot_counts((11, 0, 108)) == view_pb2.View(pot_counts=(11, 0, 108)).SerializeToString()
    assert VIEW.pot_counts(()) == b""


def test_a_number_below_0_is_refused() -> None:
    """Other numbers than those from 0 on are serialised otherwise; an unknown field is none."""
    with pytest.raises(ValueError, match="-1 is below 0"):
        VIEW.turn_number(-1)
    with pytest.raises(AttributeError):
        VIEW.no_such_field(1)


def test_cards_are_put_in_as_bytes() -> None:
    """A list of any length reads as itself, in its order; a message that holds it is there without cards, too."""
    cards, deal = Fields(deal_pb2.Cards), Fields(deal_pb2.Deal)
    deck = (*FACES, *FACES, *FACES)[:MAX_CARDS]
    for count in range(MAX_CARDS + 1):
        message = deal_pb2.Cards(cards=deck[:count])
        assert cards.cards(deck[:count]) == message.SerializeToString()
        assert deal.hands(cards.cards(deck[:count])) == deal_pb2.Deal(hands=[message]).SerializeToString()


def test_streams_number_their_updates_alike() -> None:
    """Updates have the same numbers and types on streams that watch and that play, so that they are serialised once."""

    def updates(response: type[Message]) -> set[tuple[str, int, object]]:
        return {(one.name, one.number, one.message_type) for one in response.DESCRIPTOR.fields}

    assert updates(table_service_pb2.WatchTableResponse) < updates(table_service_pb2.PlayTableResponse)
