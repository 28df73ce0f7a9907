"""What is wrong with a message, field by field; and the numbers that both sides of the codec share."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from google.protobuf.message import Message

_E = TypeVar("_E", bound=IntEnum)

Untyped: TypeAlias = Any
"""A message, or a field of one, whose enum numbers are set from enums of the rules.

The stubs have a type of its own for every enum, which no value of the rules has; their numbers are the same, though.
Writing through this type is the only place where the codec says so.
"""

Path: TypeAlias = tuple[str | int, ...]
"""Where a field stands: names, and indices of repeated fields. Joined only when there is something to tell."""

MAX_FAULTS: Final = 100
"""Faults told of one message; those after them are left out."""


class FieldError(NamedTuple):
    """A field at fault: its path within the message (`deal.hands[1].cards[3]`; "" is the message itself) and why."""

    field: str
    problem: str


class FieldErrors(ValueError):
    """A message that cannot be read; `errors` names the fields at fault, in the order of the message."""

    def __init__(self, errors: Iterable[tuple[str, str]]) -> None:
        self.errors = tuple(FieldError(*error) for error in errors)
        super().__init__("; ".join(f"{field}: {problem}" for field, problem in self.errors))

    def under(self, *path: str | int) -> "FieldErrors":
        """The same faults as seen from the message that holds this one at `path`."""
        return FieldErrors((joined((*path, field)), problem) for field, problem in self.errors)


class Faults:
    """Collects the faults of a message while it is read, so that all are told at once."""

    def __init__(self) -> None:
        self._found: list[tuple[str, str]] = []

    def add(self, path: Path, problem: str) -> None:
        """One field and what is wrong with it."""
        if len(self._found) < MAX_FAULTS:
            self._found.append((joined(path), problem))

    def add_all(self, path: Path, errors: FieldErrors) -> None:
        """The faults of the message that stands at `path`."""
        for field, problem in errors.errors:
            self.add((*path, field), problem)

    def add_unknown(self, path: Path, message: Message) -> None:
        """A fault if the message at `path` says more than this version knows: to pass it over might be a mistake."""
        if says_more(message):
            self.add(path, "says what this version does not know: ask a later one")

    def refuse(self) -> None:
        """Raise FieldErrors if there is any fault."""
        if self._found:
            raise FieldErrors(self._found)


def joined(path: Path) -> str:
    """A path as text: `("deal.hands", 1, "cards", 3)` is `deal.hands[1].cards[3]`. Empty names are passed over."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step:
            text += f".{step}" if text and not step.startswith("[") else step
    return text


def says_more(message: Message) -> bool:
    """Whether the message says more than this version knows. What it is, is lost to it."""
    size = message.ByteSize()
    message.DiscardUnknownFields()
    return message.ByteSize() != size


def by_number(kind: type[_E]) -> dict[int, _E]:
    """An enum of the rules by the numbers of its protobuf twin: quick to ask, and silent about unknown numbers."""
    return {member.value: member for member in kind}
