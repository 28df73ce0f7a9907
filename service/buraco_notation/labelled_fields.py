"""A text of labelled fields, separated by `|` or line ends: read them, and find where their parts are."""

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
    tokens: tuple[Token, ...]


class LabelledFields:
    """The fields of a text, and where their parts are, so that a problem found late is reported at its place."""

    def __init__(self, text: str, tokens: re.Pattern[str], labels: Collection[str], problems: TextProblems) -> None:
        """Split a text. A field without one of the labels, or given twice, is a problem."""
        self.end = Token("", len(text.rstrip()))
        self._problems = problems
        self._fields: dict[str, _Field] = {}
        self._places: dict[str, Token] = {}
        field: list[Token] = []
        for token in (*split_tokens(tokens, text), Token("\n", len(text))):
            if token.text not in ("|", "\n"):
                field.append(token)
            elif field:
                self._add(field, labels)
                field = []

    def _add(self, field: list[Token], labels: Collection[str]) -> None:
        colon = next((index for index, token in enumerate(field) if token.text == ":"), 0)
        name = " ".join([token.text for token in field[:colon]])
        if name not in labels:
            self._problems.add(field[0], f"expected a label and ':'; labels are {', '.join(labels)}")
        elif name in self._fields:
            self._problems.add(field[0], f"{name!r} is given twice")
        else:
            self._fields[name] = _Field(field[0], tuple(field[colon:]))

    # ---- places ------------------------------------------------------------------------------------------

    def label(self, label: str) -> Token | None:
        """Return the place of a field; None if it is left out."""
        return self._fields[label].label if label in self._fields else None

    def set_place(self, path: str, at: Token) -> None:
        """Keep the place of a part: `sides[0].melds[2]`."""
        self._places[path] = at

    def place_of(self, path: str) -> Token:
        """Return the place of a part; the end of the text if it is left out."""
        return self._places.get(path, self.end)

    def add_problem(self, path: str, problem: str) -> None:
        """Add a problem at the place of the part that `path` names, or else of the whole it belongs to."""
        known = path
        while known and known not in self._places:
            known = known[: max(known.rfind("."), known.rfind("["), 0)]
        self._problems.add(self.place_of(known), problem if known == path else f"{path}: {problem}")

    # ---- values ------------------------------------------------------------------------------------------

    def read(self, label: str, path: str, read: Callable[[Cursor], T], default: D) -> T | D:
        """Return what `read` makes of all of a field, whose path is `path`; `default` if the field is left out."""
        if label not in self._fields:
            return default
        at, (colon, *tokens) = self._fields[label]
        self._places[path] = at
        cursor = Cursor(tokens, tokens[-1].end if tokens else colon.end)
        value = read(cursor)
        if not cursor.is_at_end:
            self._problems.add_unexpected(cursor.peek(), "the end of the field")
        return value

    def read_items(self, label: str, path: str, read_item: Callable[[Cursor], T]) -> list[T] | None:
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

        return self.read(label, path, read, None)

    def read_keywords(self, label: str, path: str, keywords: Keywords) -> dict[str, Any]:
        """Return by name the values that a field gives in any order, each at most once; their paths are `path.name`."""

        def read(cursor: Cursor) -> dict[str, Any]:
            values: dict[str, Any] = {}
            while not cursor.is_at_end:
                token = cursor.peek()
                keyword = NUMBER if is_integer(token) and NUMBER in keywords else token.text
                if keyword not in keywords:
                    self._problems.add_unexpected(token, " or ".join([word or "a number" for word in keywords]))
                    cursor.take()
                    continue
                name, read_value = keywords[keyword]
                if name in values:
                    self._problems.add(token, "given twice")
                self._places[f"{path}.{name}"] = token
                if keyword:
                    cursor.take()
                values[name] = read_value(cursor)
            return values

        return self.read(label, path, read, {})

    def read_number(self, cursor: Cursor) -> int:
        """Read a number from 0 on; 0, and a problem, if there is none."""
        token = cursor.peek()
        number = read_integer(cursor, self._problems, "a number")
        if number is not None and number < 0:
            self._problems.add_unexpected(token, "a number from 0 on")
        return max(number or 0, 0)

    def read_numbers(self, cursor: Cursor) -> tuple[int, ...]:
        """Read numbers, at least one; return them sorted."""
        numbers = [self.read_number(cursor)]
        while is_integer(cursor.peek()):
            numbers.append(self.read_number(cursor))
        return tuple(sorted(numbers))
