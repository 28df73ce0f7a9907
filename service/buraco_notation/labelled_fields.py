"""A text of labelled fields, apart by `|` or line ends: where each stands, and keywords with values inside of them."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from buraco_notation.reading import Cursor, Faults, Token, is_integer, read_integer, tokens_of

NUMBER: Final = ""
"""In place of a keyword: a number that stands alone."""

Keywords = Mapping[str, tuple[str, Callable[[Cursor], Any]]]
"""By keyword: the name of what it tells, and how its value is read."""

_STEP: Final = re.compile(r"\.[^.\[\]]*\Z|\[[0-9]*\]\Z")


class _Field(NamedTuple):
    label: Token
    tokens: tuple[Token, ...]
    end: int


class LabelledFields:
    """The fields of a text, and where its parts stand, so that a fault found late is told at its place."""

    def __init__(self, text: str, pattern: re.Pattern[str], labels: Collection[str], faults: Faults) -> None:
        """Split a text. A field without one of the labels, or given twice, is a fault."""
        self.end = Token("", len(text.rstrip()))
        self._faults = faults
        self._fields: dict[str, _Field] = {}
        self._places: dict[str, Token] = {}
        tokens: list[Token] = []
        for token in (*tokens_of(pattern, text), Token("\n", len(text))):
            if token.text not in ("|", "\n"):
                tokens.append(token)
            elif tokens:
                self._add(tokens, labels)
                tokens = []

    def _add(self, tokens: list[Token], labels: Collection[str]) -> None:
        colon = next((index for index, token in enumerate(tokens) if token.text == ":"), 0)
        name = " ".join([token.text for token in tokens[:colon]])
        if name not in labels:
            self._faults.add(tokens[0], f"expected a label and ':'; labels are {', '.join(labels)}")
        elif name in self._fields:
            self._faults.add(tokens[0], f"{name!r} is given twice")
        else:
            last = tokens[-1]
            self._fields[name] = _Field(tokens[0], tuple(tokens[colon + 1 :]), last.start + len(last.text))

    def label(self, label: str) -> Token | None:
        """Where a field stands; None where it is left out."""
        return self._fields[label].label if label in self._fields else None

    def open(self, label: str, path: str) -> Cursor | None:
        """The value of a field, which `path` names from now on; None where the field is left out."""
        field = self._fields.get(label)
        if field is None:
            return None
        self._places[path] = field.label
        return Cursor(field.tokens, field.end)

    def close(self, cursor: Cursor) -> None:
        """Nothing more may stand in the field."""
        if not cursor.at_end:
            self._faults.expected(cursor.peek(), "the end of the field")

    def place(self, path: str, at: Token) -> None:
        """Remember where something stands: `sides[0].melds[2]`."""
        self._places[path] = at

    def where(self, path: str) -> Token:
        """Where something stands; the end of the text where that is not known."""
        return self._places.get(path, self.end)

    def fault(self, path: str, problem: str) -> None:
        """Something is wrong with what `path` names: told where it stands, or else where the whole stands it is of."""
        known = path
        while known and known not in self._places:
            shorter = _STEP.sub("", known)
            known = shorter if shorter != known else ""
        self._faults.add(self._places.get(known, self.end), problem if known == path else f"{path}: {problem}")

    def keywords(self, cursor: Cursor, path: str, keywords: Keywords) -> dict[str, Any]:
        """The values that a field gives in any order, each at most once, by name. Their places become `path.name`."""
        values: dict[str, Any] = {}
        while not cursor.at_end:
            token = cursor.peek()
            keyword = NUMBER if is_integer(token) and NUMBER in keywords else token.text
            if keyword not in keywords:
                self._faults.expected(token, " or ".join([word or "a number" for word in keywords]))
                cursor.take()
                continue
            name, read = keywords[keyword]
            if name in values:
                self._faults.add(token, "given twice")
            self._places[f"{path}.{name}"] = token
            if keyword:
                cursor.take()
            values[name] = read(cursor)
        return values

    def number(self, cursor: Cursor) -> int:
        """The number from 0 on that stands next; 0, and a fault, where there is none."""
        token = cursor.peek()
        number = read_integer(cursor, self._faults, "a number")
        if number is not None and number < 0:
            self._faults.expected(token, "a number from 0 on")
        return max(number or 0, 0)

    def numbers(self, cursor: Cursor) -> tuple[int, ...]:
        """All the numbers that stand next, at least one, sorted."""
        found = [self.number(cursor)]
        while is_integer(cursor.peek()):
            found.append(self.number(cursor))
        return tuple(sorted(found))
