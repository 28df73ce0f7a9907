"""Reading text with exact faults: tokens, places, quotations. What the notations have in common."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from buraco_notation.cards import CARD_BY_TEXT
from buraco_rules import MAX_PROBLEMS

_INTEGER: Final = re.compile(r"-?[0-9]{1,10}\Z")
_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-f]{4}|U000[0-9a-f]{5}|U0010[0-9a-f]{4}|[^uU\n])")
_SHOWN: Final = 24
_WINDOW: Final = 96


class Fault(NamedTuple):
    """One thing that is wrong with a text."""

    line: int
    """From 1."""
    column: int
    """In characters, from 1."""
    width: int
    """How many characters are at fault; 0 where something is missing."""
    problem: str


class NotationFaults(ValueError):
    """A text that cannot be read; `faults` tells what is wrong with it, in the order of the text."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(f"{fault.line}:{fault.column}: {fault.problem}" for fault in faults))
        self.faults = tuple(faults)


class Token(NamedTuple):
    """A word or sign of a text, and the index at which it stands; without text where the text or field ends."""

    text: str
    start: int


class Faults:
    """Collects what is wrong with a text while it is read, so that all of it is reported at once.

    It is not the rules' collector: problems of a text are found in any order, some by two readers, and each is reported
    once, in the order of the text, the first MAX_PROBLEMS of them.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[tuple[int, int, str], None] = {}

    def __len__(self) -> int:
        """How many there are so far."""
        return len(self._found)

    def add(self, at: Token, problem: str) -> None:
        """Something is wrong with a token."""
        self._found[at.start, len(at.text), problem] = None

    def expected(self, at: Token, what: str) -> None:
        """A token is not what should stand there."""
        self.add(at, f"expected {what}, not {shown(at.text)}" if at.text.strip() else f"expected {what}")

    def error(self) -> NotationFaults:
        """Return the error that reports all problems."""
        return NotationFaults([self._placed(*found) for found in sorted(self._found)[:MAX_PROBLEMS]])

    def raise_if_any(self) -> None:
        """Raise NotationFaults if there is any problem."""
        if self._found:
            raise self.error()

    def _placed(self, start: int, width: int, problem: str) -> Fault:
        line_start = self._text.rfind("\n", 0, start) + 1
        return Fault(self._text.count("\n", 0, start) + 1, start - line_start + 1, width, problem)


class Cursor:
    """Goes through tokens one after another; after the last there are only empty ones."""

    def __init__(self, tokens: Sequence[Token], end: int) -> None:
        """`end` is the index at which the text that the tokens are of ends."""
        self._tokens = tokens
        self._next = 0
        self._end = Token("", end)

    @property
    def at_end(self) -> bool:
        """Whether no token is left."""
        return self._next >= len(self._tokens)

    def peek(self, ahead: int = 0) -> Token:
        """The next token, or one further on."""
        index = self._next + ahead
        return self._tokens[index] if index < len(self._tokens) else self._end

    def take(self) -> Token:
        """The next token, which is passed."""
        token = self.peek()
        self._next += 1
        return token

    @property
    def passed(self) -> int:
        """The index at which the last token that was passed ends; 0 before the first."""
        index = min(self._next, len(self._tokens)) - 1
        return 0 if index < 0 else self._tokens[index].start + len(self._tokens[index].text)

    def takes(self, text: str) -> bool:
        """Whether the next token is this one, which then is passed."""
        if self.peek().text != text:
            return False
        self._next += 1
        return True


def tokens_of(pattern: re.Pattern[str], text: str) -> Iterator[Token]:
    """The tokens of a text: the matches of the pattern's first group. What else the pattern matches is passed over."""
    for match in pattern.finditer(text):
        token = match[1]
        if token:
            yield Token(token, match.start(1))


def read_integer(cursor: Cursor, faults: Faults, what: str) -> int | None:
    """The number that stands next. A token that is none is passed and a fault."""
    token = cursor.take()
    if not _INTEGER.match(token.text):
        faults.expected(token, what)
        return None
    return int(token.text)


def is_integer(token: Token) -> bool:
    """Whether the token is a whole number of at most ten digits."""
    return _INTEGER.match(token.text) is not None


def read_card(cursor: Cursor, faults: Faults, what: str = "a card") -> int:
    """The card that stands next; 0, and a fault, where there is none. The token is passed."""
    token = cursor.take()
    card = CARD_BY_TEXT.get(token.text, 0)
    if not card:
        faults.expected(token, what)
    return card


def shown(text: str) -> str:
    """A token as messages show it: quoted, and not at any length."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def quoted(text: str, quote: str) -> str:
    """A text between quotes; the quote, the backslash and whatever is not printable are escaped."""
    return quote + "".join([_escaped(character, quote) for character in text]) + quote


def _escaped(character: str, quote: str) -> str:
    if character in (quote, "\\"):
        return "\\" + character
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def unquoted(token: Token, faults: Faults) -> tuple[str, list[int]]:
    """The text of a quotation, and where in the whole text each of its characters stands, its end included."""
    characters: list[str] = []
    places: list[int] = []
    inner, index = token.text[1:-1], 0
    while index < len(inner):
        character, size = inner[index], 1
        if character == "\\":
            escape = _ESCAPE.match(inner, index)
            if escape is None:
                faults.add(Token(inner[index : index + 2], token.start + 1 + index), "this is no escape sequence")
            else:
                size = len(escape[0])
                character = chr(int(inner[index + 2 : index + size], 16)) if size > 2 else escape[0][1]
        characters.append(character)
        places.append(token.start + 1 + index)
        index += size
    return "".join(characters), [*places, token.start + 1 + len(inner)]


def pointed_out(text: str, faults: Sequence[Fault]) -> str:
    """The faults with the lines at fault and a caret under each place, for people; at most 100 columns wide."""
    lines = text.split("\n")
    told = []
    for fault in faults:
        line = "".join([character if character.isprintable() else " " for character in lines[fault.line - 1]])
        at = fault.column - 1
        first = 0 if len(line) <= _WINDOW else max(0, min(at - _WINDOW // 2, len(line) - _WINDOW))
        part = line[first : first + _WINDOW]
        carets = "^" * max(1, min(fault.width, first + _WINDOW - at, len(line) - at))
        told.append(f"{fault.line}:{fault.column}: {fault.problem}\n  {part.rstrip()}\n  {' ' * (at - first)}{carets}")
    return "\n".join(told)
