import pytest
from google.protobuf import empty_pb2
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from buraco.v1 import deal_pb2, table_service_pb2, view_pb2
from buraco_codec.cards import MAX_CARDS
from buraco_codec.wire import Fields, field, number, number_tag, numbers, tag
from buraco_rules.cards import FACES


@pytest.mark.parametrize("size", [0, 1, 127, 128, 2047, 2048, 16_383, 16_384, 300_000])
@pytest.mark.parametrize("number", [1, 15, 16, 2000])
def test_fields_are_those_of_the_library(number: int, size: int) -> None:
    """A field of any number and size comes out as the library reads and writes it."""
    data = field(tag(number), bytes(size))
    fields = UnknownFieldSet(empty_pb2.Empty.FromString(data))
    found = fields[0]
    assert len(fields) == 1
    assert (found.field_number, found.wire_type, found.data) == (number, 2, bytes(size))
    assert empty_pb2.Empty.FromString(data).SerializeToString() == data


@pytest.mark.parametrize("value", [1, 127, 128, 2047, 2048, 2**32 - 1, 2**63])
@pytest.mark.parametrize("field_number", [1, 15, 16, 2000])
def test_numbers_are_those_of_the_library(field_number: int, value: int) -> None:
    """A number in a field of any number comes out as the library reads and writes it."""
    data = number(number_tag(field_number), value)
    fields = UnknownFieldSet(empty_pb2.Empty.FromString(data))
    found = fields[0]
    assert len(fields) == 1
    assert (found.field_number, found.wire_type, found.data) == (field_number, 0, value)
    assert empty_pb2.Empty.FromString(data).SerializeToString() == data


def test_a_number_is_left_out_where_the_library_does_so() -> None:
    """0 is left out, but in a field that may be absent."""
    assert number(number_tag(1), 0) == b""
    plain = numbers(view_pb2.View.TURN_NUMBER_FIELD_NUMBER, 300)
    optional = numbers(view_pb2.View.SEAT_FIELD_NUMBER, 3, optional=True)
    assert list(plain) == [view_pb2.View(turn_number=value).SerializeToString() for value in range(301)]
    assert list(optional) == [view_pb2.View(seat=value).SerializeToString() for value in range(4)]


def test_fields_by_name() -> None:
    """Numbers, texts, messages and lists of cards come out as the library writes them; what is absent is left out."""
    view, match, side = Fields(view_pb2.View), Fields(deal_pb2.Match), Fields(deal_pb2.Side)
    for value in (0, 1, 3, 2047, 2048, 300_000):
        assert view.turn_number(value) == view_pb2.View(turn_number=value).SerializeToString()
        assert view.seat(value) == view_pb2.View(seat=value).SerializeToString()
    assert view.opening_attempt(True) == view_pb2.View(opening_attempt=True).SerializeToString()
    assert view.opening_attempt(False) == b""
    assert view.match(match.deal_number(2)) == view_pb2.View(match=deal_pb2.Match(deal_number=2)).SerializeToString()
    assert view.match(b"") == view_pb2.View(match=deal_pb2.Match()).SerializeToString()
    assert side.unplayed_pots((1, 3)) == deal_pb2.Side(unplayed_pots=(1, 3)).SerializeToString()
    answer = Fields(table_service_pb2.PlayAnswer)
    for text in ("", "ü", "x" * 300, "x" * 5000):
        assert answer.request_id(text.encode()) == answer_with(text)
    with pytest.raises(AttributeError):
        view.no_such_field(1)


def answer_with(text: str) -> bytes:
    """An answer under a request id, which is absent only where it is not set."""
    return table_service_pb2.PlayAnswer(request_id=text).SerializeToString() or field(tag(1), b"")


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
