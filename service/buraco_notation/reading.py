"""Read text token by token and collect its problems with their places: what all notations share."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from buraco_rules import MAX_PROBLEMS, Ending

T = TypeVar("T")

WORDS: Final = re.compile(r"(\S+)")
"""Tokens that only white space separates."""

_ENDINGS: Final = {ending.name.lower(): ending for ending in Ending if ending}
_INTEGER: Final = re.compile(r"-?[0-9]{1,10}\Z")
_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-f]{4}|U000[0-9a-f]{5}|U0010[0-9a-f]{4}|[^uU\n])")
_MAX_SHOWN: Final = 24
"""Characters of a token that a message shows."""
_MAX_LINE: Final = 96
"""Columns of a line that is pointed into."""


class TextProblem(NamedTuple):
    """One thing that is wrong with a text."""

    line: int
    """From 1."""
    column: int
    """In characters, from 1."""
    width: int
    """How many characters are at fault; 0 where something is missing."""
    problem: str


class NotationError(ValueError):
    """A text cannot be read; `problems` lists what is wrong with it, in the order of the text.

    >>> str(NotationError([TextProblem(1, 4, 2, "expected a card, not '3x'")]))
    "1:4: expected a card, not '3x'"
    """

    def __init__(self, problems: Sequence[TextProblem]) -> None:
        super().__init__("; ".join(f"{problem.line}:{problem.column}: {problem.problem}" for problem in problems))
        self.problems = tuple(problems)


class Token(NamedTuple):
    """A word or sign of a text and its index; without text at the end of the text or field."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The index behind its last character."""
        return self.start + len(self.text)


class TextProblems:
    """Collects what is wrong with a text while it is read, so that all of it is reported at once.

    It is not the rules' collector: problems of a text are found in any order, some by two readers, and each is reported
    once, in the order of the text, the first MAX_PROBLEMS of them.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[tuple[int, int, str], None] = {}

    def __len__(self) -> int:
        """Return how many there are so far."""
        return len(self._found)

    def add(self, at: Token, problem: str) -> None:
        """Add a problem of a token. The same one again counts once."""
        self._found[at.start, len(at.text), problem] = None

    def add_unexpected(self, at: Token, expected: str) -> None:
        """Add that a token is not what belongs there."""
        text = at.text if len(at.text) <= _MAX_SHOWN else at.text[: _MAX_SHOWN - 1] + "…"
        self.add(at, f"expected {expected}, not {text!r}" if text.strip() else f"expected {expected}")

    def error(self) -> NotationError:
        """Return the error that reports the problems in the order of the text, for the caller to raise."""
        return NotationError([self._placed(*found) for found in sorted(self._found)[:MAX_PROBLEMS]])

    def raise_if_any(self) -> None:
        """Raise NotationError if there is any problem."""
        if self._found:
            raise self.error()

    def _placed(self, start: int, width: int, problem: str) -> TextProblem:
        line_start = self._text.rfind("\n", 0, start) + 1
        return TextProblem(self._text.count("\n", 0, start) + 1, start - line_start + 1, width, problem)


class Cursor:
    """Goes through tokens one after another; after the last there are only empty ones."""

    def __init__(self, tokens: Sequence[Token], end: int) -> None:
        """Start before the first token of a text that ends at the index `end`."""
        self._tokens = tokens
        self._next = 0
        self._end = Token("", end)

    @property
    def is_at_end(self) -> bool:
        """Whether no token is left."""
        return self._next >= len(self._tokens)

    @property
    def taken_to(self) -> int:
        """The index behind the token taken last; 0 before the first."""
        last = min(self._next, len(self._tokens)) - 1
        return 0 if last < 0 else self._tokens[last].end

    def peek(self, ahead: int = 0) -> Token:
        """Return the next token, or one further on."""
        index = self._next + ahead
        return self._tokens[index] if index < len(self._tokens) else self._end

    def take(self) -> Token:
        """Return the next token and go on behind it."""
        token = self.peek()
        self._next += 1
        return token

    def take_if(self, text: str) -> bool:
        """Take the next token if it is `text`; return whether it is."""
        if self.peek().text != text:
            return False
        self._next += 1
        return True


def compile_tokens(signs: str, quote: str) -> re.Pattern[str]:
    r"""Return the pattern of tokens: signs, quotations and words; comments and white space (but signs) are no tokens.

    >>> [token.text for token in split_tokens(compile_tokens("=,", "'"), "name='A b', points=5  # comment")]
    ['name', '=', "'A b'", ',', 'points', '=', '5']
    """
    space = r"[^\S\n]" if "\n" in signs else r"\s"
    signs = re.escape(signs)
    quotation = rf"{quote}(?:[^{quote}\\\n]|\\[^\n])*{quote}"
    return re.compile(rf"(?:{space}|\#[^\n]*)+|([{signs}]|{quotation}|[^\s#{quote}{signs}]+|{quote})")


def split_tokens(pattern: re.Pattern[str], text: str) -> Iterator[Token]:
    """Yield the tokens of a text: the matches of the pattern's first group. What else the pattern matches is left out.

    >>> list(split_tokens(WORDS, "3h  4h"))
    [Token(text='3h', start=0), Token(text='4h', start=4)]
    """
    for match in pattern.finditer(text):
        token = match[1]
        if token:
            yield Token(token, match.start(1))


def parse(text: str, tokens: re.Pattern[str], read: Callable[[Cursor, TextProblems], T | None]) -> T:
    """Return what `read` makes of all tokens of a text.

    Raise NotationError if there is any problem, `read` returns None or leaves tokens.
    """
    problems = TextProblems(text)
    cursor = Cursor(list(split_tokens(tokens, text)), len(text.rstrip()))
    value = read(cursor, problems)
    if value is not None and not cursor.is_at_end:
        problems.add_unexpected(cursor.peek(), "nothing more")
    if value is None or problems:
        raise problems.error()
    return value


def check_reads_back(text: str, value: T, parse_again: Callable[[str], T]) -> str:
    """Return a text that was written of a value. Raise ValueError if the value is not read back from it.

    >>> check_reads_back("5", 5, int)
    '5'
    """
    try:
        found = parse_again(text)
    except NotationError as error:
        raise ValueError(f"this {type(value).__name__} has no text form: {error}") from error
    if found != value:
        raise ValueError(f"this {type(value).__name__} has no text form: its parts are not in order")
    return text


def take_required(cursor: Cursor, problems: TextProblems, text: str, expected: str) -> bool:
    """Take the next token if it is `text`, else add a problem; return whether it is."""
    if cursor.take_if(text):
        return True
    problems.add_unexpected(cursor.peek(), expected)
    return False


def is_integer(token: Token) -> bool:
    """Return True if the token is a whole number of at most ten digits, also one below 0."""
    return _INTEGER.match(token.text) is not None


def read_integer(cursor: Cursor, problems: TextProblems, expected: str) -> int | None:
    """Take the next token and return its number, also one below 0; None, and a problem, if it is not one."""
    token = cursor.take()
    if not is_integer(token):
        problems.add_unexpected(token, expected)
        return None
    return int(token.text)


def read_ending(token: Token, problems: TextProblems) -> Ending:
    """Return the ending of a deal that a token names; NONE, and a problem, if it names none."""
    ending = _ENDINGS.get(token.text)
    if ending is None:
        problems.add_unexpected(token, f"how the deal ended: {', '.join(_ENDINGS)}")
    return ending or Ending.NONE


def quote(text: str, mark: str) -> str:
    r"""Return a text between quotation marks; marks, backslashes and unprintable characters are escaped.

    >>> print(quote('"Ann"\n', '"'))
    "\"Ann\"\u000a"
    """
    return mark + "".join([_escape(character, mark) for character in text]) + mark


def _escape(character: str, mark: str) -> str:
    if character in (mark, "\\"):
        return "\\" + character
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def unquote(token: Token, problems: TextProblems) -> tuple[str, list[int]]:
    """Return the text of a quotation, and the index of each of its characters and of its end in the whole text.

    A backslash that begins no escape sequence is a problem, and stays in the text.

    >>> unquote(Token("'Ann'", 10), TextProblems("…"))
    ('Ann', [11, 12, 13, 14])
    """
    characters: list[str] = []
    places: list[int] = []
    inner, index = token.text[1:-1], 0
    while index < len(inner):
        character, size = inner[index], 1
        if character == "\\":
            escape = _ESCAPE.match(inner, index)
            if escape is None:
                problems.add(Token(inner[index : index + 2], token.start + 1 + index), "this is no escape sequence")
            else:
                size = len(escape[0])
                character = chr(int(inner[index + 2 : index + size], 16)) if size > 2 else escape[0][1]
        characters.append(character)
        places.append(token.start + 1 + index)
        index += size
    return "".join(characters), [*places, token.start + 1 + len(inner)]


def point_out(text: str, problems: Sequence[TextProblem]) -> str:
    """Return the problems of this text for people: each with its line and carets under its place, 100 columns at most.

    >>> print(point_out("3h 3x", [TextProblem(1, 4, 2, "expected a card, not '3x'")]))
    1:4: expected a card, not '3x'
      3h 3x
         ^^
    """
    lines = text.split("\n")
    parts = []
    for number, column, width, problem in problems:
        line = "".join([character if character.isprintable() else " " for character in lines[number - 1]])
        at = column - 1
        first = 0 if len(line) <= _MAX_LINE else max(0, min(at - _MAX_LINE // 2, len(line) - _MAX_LINE))
        carets = "^" * max(1, min(width, first + _MAX_LINE - at, len(line) - at))
        shown = line[first : first + _MAX_LINE].rstrip()
        parts.append(f"{number}:{column}: {problem}\n  {shown}\n  {' ' * (at - first)}{carets}")
    return "\n".join(parts)
