import pytest
from google.protobuf import empty_pb2
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from buraco.v1 import deal_pb2, table_service_pb2
from buraco_rules.cards import FACES
from buraco_service.codec.wire import cards_field, field, tag


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


def test_cards_are_put_in_as_bytes() -> None:
    """A list of cards reads as itself, in its order, and an empty one is absent."""
    cards = tuple(reversed(FACES))
    assert deal_pb2.Cards.FromString(cards_field(tag(1), cards)) == deal_pb2.Cards(cards=cards)  # type: ignore[arg-type]
    assert cards_field(tag(1), ()) == b""


def test_streams_number_their_updates_alike() -> None:
    """What a stream that watches may be told has the same number and type on one that plays: it is serialised once."""

    def updates(response: type[Message]) -> set[tuple[str, int, object]]:
        return {(one.name, one.number, one.message_type) for one in response.DESCRIPTOR.fields}

    assert updates(table_service_pb2.WatchTableResponse) < updates(table_service_pb2.PlayTableResponse)
