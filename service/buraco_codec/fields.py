"""What all readers of messages share: enums, which have the same numbers on both sides, and fields not known here."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, TypeAlias, TypeVar

from google.protobuf.message import Message

from buraco_rules import Path, Problems

_E = TypeVar("_E", bound=IntEnum)

Untyped: TypeAlias = Any
"""A message, or a field of one, whose enum fields are set from enums of the rules.

The stubs give every enum a type of its own, so that a checker refuses the rules' enums, although their numbers are the
same. Only code that writes through this type is not checked.
"""


def by_number(kind: type[_E]) -> dict[int, _E]:
    """Return the members of an enum by their numbers.

    >>> from buraco_rules import Phase
    >>> by_number(Phase)[2]
    <Phase.MELD: 2>
    """
    return {member.value: member for member in kind}


def enum_from_pb(members: Mapping[int, _E], number: int, name: str, path: Path, problems: Problems) -> _E | None:
    """Return the member with a number; add a problem and return None if there is none. `name` says what it is."""
    member = members.get(number)
    if member is None:
        problems.add(path, f"{number} is no {name}" if number else "must be given")
    return member


def check_known(message: Message, problems: Problems) -> None:
    """Add a problem if a message has fields that this version does not know, which might change what it means.

    They are discarded from the message.
    """
    if has_unknown_fields(message):
        problems.add("", "says what this version does not know: ask a later one")


def has_unknown_fields(message: Message) -> bool:
    """Return True if a message, or one within it, has fields that this version does not know, and discard these."""
    size = message.ByteSize()
    message.DiscardUnknownFields()
    return message.ByteSize() != size
