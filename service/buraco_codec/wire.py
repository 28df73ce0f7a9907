"""Serialised fields, of which messages are assembled.

A message, serialised, is its fields one after another. So one that was serialised before becomes a field of another as
it is, and numbers and lists of cards need no message object, which costs far more.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor as Descriptor
from google.protobuf.message import Message

_NUMBER: Final = 0
_SIZED: Final = 2
"""Wire types: of numbers; of what follows its size: messages, texts, packed lists."""


class Fields:
    """The fields of a message by name, each a function that serialises a value of it.

    A number from 0 on, a bool or an enum is left out if it is 0, unless the field is `optional`. A text or a message is
    given as bytes. A list of cards, or of other numbers below 128, is given whole, a list of messages one by one.

    >>> from buraco.v1 import event_pb2
    >>> drew = Fields(event_pb2.Drew)
    >>> event_pb2.Drew.FromString(drew.seat(1) + drew.stock_count(40)).stock_count
    40
    """

    def __init__(self, message: type[Message]) -> None:
        for field in message.DESCRIPTOR.fields:
            setattr(self, field.name, _serialiser(field))

    if TYPE_CHECKING:  # when it runs, this would make every access to a field slower

        def __getattr__(self, name: str) -> Callable[[Any], bytes]: ...


class _Tagged(dict[int, bytes]):
    """By number: the tag of a field and the number. Those below 2048 are kept."""

    def __init__(self, tag: bytes, *, optional: bool) -> None:
        self._tag = tag
        if not optional:
            self[0] = b""

    def __missing__(self, number: int) -> bytes:
        tagged = self._tag + _varint(number)
        if number < len(_VARINTS):
            self[number] = tagged
        return tagged


def _serialiser(field: Any) -> Callable[[Any], bytes]:
    if field.is_packed:  # numbers below 128 take one byte each
        counts = _Tagged(_tag(field.number, _SIZED), optional=False)
        return lambda items: counts[len(items)] + bytes(items)
    if field.type in (Descriptor.TYPE_MESSAGE, Descriptor.TYPE_STRING, Descriptor.TYPE_BYTES):
        sizes = _Tagged(_tag(field.number, _SIZED), optional=True)
        return lambda data: sizes[len(data)] + data
    return _Tagged(_tag(field.number, _NUMBER), optional=field.has_presence).__getitem__


def _tag(field_number: int, wire_type: int) -> bytes:
    return _varint(field_number << 3 | wire_type)


def _varint(number: int) -> bytes:
    if number < 0:
        raise ValueError(f"{number} is below 0")
    low, rest = number & 0x7F, number >> 7
    return bytes((low | 0x80,)) + _varint(rest) if rest else bytes((low,))


_VARINTS: Final = tuple(map(_varint, range(2048)))
