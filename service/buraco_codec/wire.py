"""Pieces of serialised messages.

Fields may stand in any order, and a message in pieces. So what was serialised before is put in as bytes, and so are
numbers and lists of cards, which cost a message object far more than they cost here.
"""

from typing import Final

from buraco_codec.cards import MAX_CARDS

_NUMBER: Final = 0
_SIZED: Final = 2
"""Wire types: of numbers; of what has its size before it: messages, texts, packed lists."""


def tag(field: int) -> bytes:
    """What a field with this number begins with, if it is one that has its size before it."""
    return _varint(field << 3 | _SIZED)


def number_tag(field: int) -> bytes:
    """What a field with this number begins with, if it holds a number."""
    return _varint(field << 3 | _NUMBER)


def field(tag: bytes, data: bytes) -> bytes:
    """A field: the serialised message, or packed list, under its tag."""
    size = len(data)
    return tag + (_VARINTS[size] if size < len(_VARINTS) else _varint(size)) + data


def number(tag: bytes, value: int) -> bytes:
    """A field that holds a number, 0 or more; nothing for 0, which is what an absent one says."""
    if not value:
        return b""
    return tag + (_VARINTS[value] if value < len(_VARINTS) else _varint(value))


def numbers(field: int, most: int, *, optional: bool = False) -> tuple[bytes, ...]:
    """By value up to `most`: the field that holds it. An `optional` one says 0, too."""
    tag = number_tag(field)
    return (tag + _varint(0) if optional else b"", *[tag + _varint(value) for value in range(1, most + 1)])


def list_heads(*path: int) -> tuple[bytes, ...]:
    """What stands before a packed list of cards, by how many there are; before none, nothing.

    Cards are numbers below 128, so that the list itself is their bytes. `path`: the number of its field, after that of
    the field of the message which holds nothing else, if it stands in one. That one is there without cards, too.
    """
    return tuple([_list_head(path, count) for count in range(MAX_CARDS + 1)])


def _list_head(path: tuple[int, ...], count: int) -> bytes:
    *outer, inner = path
    head = tag(inner) + _varint(count) if count else b""
    for number in reversed(outer):
        head = tag(number) + _varint(len(head) + count) + head
    return head


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes((low | 0x80,)) + _varint(rest) if rest else bytes((low,))


_VARINTS: Final = tuple(map(_varint, range(2048)))
