"""Fields by name, which positions and records consist of: read their values, and find where their parts are."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from buraco_notation.reading import Cursor, TextProblems, Token, is_integer, read_integer, split_tokens

T = TypeVar("T")
D = TypeVar("D")

NONE: Final = "-"
"""In place of cards, melds or other items: there are none."""

NUMBER: Final = ""
"""In place of a keyword: a number that stands alone."""

Keywords = Mapping[str, tuple[str, Callable[[Cursor], Any]]]
"""By keyword: the name of its value, and how that is read."""


class _Field(NamedTuple):
    label: Token
    place: Token
    """Where problems of its value are reported."""
    cursor: Cursor


class Fields:
    """The fields of a text, and where their parts are, so that a problem found late is reported at its place."""

    def __init__(self, problems: TextProblems, fallback: Token) -> None:
        """Start without fields. What is missing is reported at `fallback`."""
        self.fallback = fallback
        self._problems = problems
        self._fields: dict[str, _Field] = {}
        self._places: dict[str, Token] = {}

    def add(self, name: str, label: Token, cursor: Cursor, place: Token | None = None) -> None:
        """Add a field whose value `cursor` goes through. One given twice is a problem, and the first one counts.

        Problems of the whole value are reported at `place`, by default at the label.
        """
        if name in self._fields:
            self._problems.add(label, f"{name!r} is given twice")
        else:
            self._fields[name] = _Field(label, place or label, cursor)

    # ---- places ------------------------------------------------------------------------------------------

    def label(self, name: str) -> Token | None:
        """Return the label of a field; None if it is left out."""
        return self._fields[name].label if name in self._fields else None

    def set_place(self, path: str, at: Token) -> None:
        """Keep the place of a part: `sides[0].melds[2]`."""
        self._places[path] = at

    def place_of(self, path: str) -> Token:
        """Return the place of a part; the fallback if it is left out."""
        return self._places.get(path, self.fallback)

    def add_problem(self, path: str, problem: str) -> None:
        """Add a problem at the place of the part that `path` names, or else of the whole it belongs to."""
        known = path
        while known and known not in self._places:
            known = known[: max(known.rfind("."), known.rfind("["), 0)]
        self._problems.add(self.place_of(known), problem if known == path else f"{path}: {problem}")

    # ---- values ------------------------------------------------------------------------------------------

    def read(
        self, name: str, path: str, read: Callable[[Cursor], T], default: D, *, is_required: bool = False
    ) -> T | D:
        """Return what `read` makes of all of a field, whose path is `path`; `default` if the field is left out."""
        if name not in self._fields:
            if is_required:
                self._problems.add(self.fallback, f"{name!r} is missing")
            return default
        _, self._places[path], cursor = self._fields[name]
        value = read(cursor)
        if not cursor.is_at_end:
            self._problems.add_unexpected(cursor.peek(), "the end of the field")
        return value

    def read_items(self, name: str, path: str, read_item: Callable[[Cursor], T]) -> list[T] | None:
        """Return the items of a field, separated by commas, `-` for none; None if the field is left out."""

        def read(cursor: Cursor) -> list[T]:
            items: list[T] = []
            if cursor.peek().text == NONE and not cursor.peek(1).text:
                cursor.take()
                return items
            while not items or cursor.take_if(","):
                self._places[f"{path}[{len(items)}]"] = cursor.peek()
                items.append(read_item(cursor))
            return items

        return self.read(name, path, read, None)

    def read_keywords(self, name: str, path: str, keywords: Keywords) -> dict[str, Any]:
        """Return by name the values that a field gives in any order, {} if it is left out; their paths are `path.name`.

        A keyword given twice or unknown is a problem.
        """

        def read(cursor: Cursor) -> dict[str, Any]:
            values: dict[str, Any] = {}
            while not cursor.is_at_end:
                token = cursor.peek()
                keyword = NUMBER if is_integer(token) and NUMBER in keywords else token.text
                if keyword not in keywords:
                    self._problems.add_unexpected(token, " or ".join([word or "a number" for word in keywords]))
                    cursor.take()
                    continue
                value, read_value = keywords[keyword]
                if value in values:
                    self._problems.add(token, "given twice")
                self._places[f"{path}.{value}"] = token
                if keyword:
                    cursor.take()
                values[value] = read_value(cursor)
            return values

        return self.read(name, path, read, {})

    def read_seats(self, cursor: Cursor) -> int:
        """Read the number of seats, 2 or 4; 0, and a problem, if it is another."""
        token = cursor.take()
        if token.text in ("2", "4"):
            return int(token.text)
        self._problems.add_unexpected(token, "2 or 4 seats (R2.1)")
        return 0

    def read_pair(self, cursor: Cursor) -> tuple[int, int]:
        """Read the points of both sides, which may be negative; 0, and a problem, for one that is missing."""
        first = read_integer(cursor, self._problems, "two numbers, one a side")
        second = read_integer(cursor, self._problems, "two numbers, one a side")
        return first or 0, second or 0

    def read_number(self, cursor: Cursor) -> int:
        """Read a number from 0 on; 0, and a problem, if there is none."""
        token = cursor.peek()
        number = read_integer(cursor, self._problems, "a number")
        if number is not None and number < 0:
            self._problems.add_unexpected(token, "a number from 0 on")
        return max(number or 0, 0)

    def read_numbers(self, cursor: Cursor) -> tuple[int, ...]:
        """Read numbers; return them sorted, repeats included. Without any: (0,), and a problem."""
        numbers = [self.read_number(cursor)]
        while is_integer(cursor.peek()):
            numbers.append(self.read_number(cursor))
        return tuple(sorted(numbers))


def split_fields(text: str, tokens: re.Pattern[str], names: Collection[str], problems: TextProblems) -> Fields:
    """Return the fields `name: value` of a text, separated by `|` or line ends. One of another name is a problem."""
    fields = Fields(problems, Token("", len(text.rstrip())))
    field: list[Token] = []
    for token in (*split_tokens(tokens, text), Token("\n", len(text))):
        if token.text not in ("|", "\n"):
            field.append(token)
        elif field:
            colon = next((index for index, token in enumerate(field) if token.text == ":"), 0)
            name = " ".join([token.text for token in field[:colon]])
            if name in names:
                fields.add(name, field[0], Cursor(field[colon + 1 :], field[-1].end))
            else:
                problems.add(field[0], f"expected a label and ':'; labels are {', '.join(names)}")
            field = []
    return fields
