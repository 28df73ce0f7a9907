"""Pieces of serialised messages.

Fields may stand in any order, and a message in pieces. So what was serialised before is put in as bytes, and so are
lists of cards, which cost a message object far more than they cost here.
"""

from collections.abc import Sequence
from typing import Final

_SIZED: Final = 2
"""The wire type of what has its size before it: messages, texts, packed lists."""


def tag(number: int) -> bytes:
    """What a field with this number begins with, if it is one that has its size before it."""
    return _varint(number << 3 | _SIZED)


def field(tag: bytes, data: bytes) -> bytes:
    """A field: the serialised message, or packed list, under its tag."""
    size = len(data)
    return tag + (_SIZES[size] if size < len(_SIZES) else _varint(size)) + data


def cards_field(tag: bytes, cards: Sequence[int]) -> bytes:
    """A packed list of cards, each of which is a byte on the wire; nothing for no cards."""
    return field(tag, bytes(cards)) if cards else b""


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes((low | 0x80,)) + _varint(rest) if rest else bytes((low,))


_SIZES: Final = tuple(map(_varint, range(2048)))
