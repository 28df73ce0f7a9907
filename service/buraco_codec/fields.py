"""What is wrong with a message, field by field; and the numbers that both sides of the codec share."""

from enum import IntEnum
from typing import Any, TypeAlias, TypeVar

from google.protobuf.message import Message

from buraco_rules import Problems

_E = TypeVar("_E", bound=IntEnum)

Untyped: TypeAlias = Any
"""A message, or a field of one, whose enum numbers are set from enums of the rules.

The stubs have a type of its own for every enum, which no value of the rules has; their numbers are the same, though.
Writing through this type is the only place where the codec says so.
"""


def check_known(message: Message, problems: Problems) -> None:
    """Add a problem if the message says more than this version knows: to pass it over might be a mistake."""
    if says_more(message):
        problems.add("", "says what this version does not know: ask a later one")


def says_more(message: Message) -> bool:
    """Whether the message says more than this version knows. What it is, is lost to it."""
    size = message.ByteSize()
    message.DiscardUnknownFields()
    return message.ByteSize() != size


def by_number(kind: type[_E]) -> dict[int, _E]:
    """An enum of the rules by the numbers of its protobuf twin: quick to ask, and silent about unknown numbers."""
    return {member.value: member for member in kind}
