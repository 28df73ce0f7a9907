"""Read a record: split headers and turns, then read what they hold, then play it to its result.

`records` describes the form of the text.
"""

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from buraco_notation.cards import CARD_BY_TEXT
from buraco_notation.moves import MOVE_SIGNS, TOKENS, read_move
from buraco_notation.reading import (
    WORDS,
    Cursor,
    TextProblems,
    Token,
    is_integer,
    read_ending,
    split_tokens,
    take_required,
    unquote,
)
from buraco_notation.rule_sets import TOKENS as RULE_SET_TOKENS
from buraco_notation.rule_sets import read_rule_set
from buraco_rules import (
    SEED_BYTES,
    DealRecord,
    DrawStock,
    Ending,
    Match,
    MatchRecord,
    Move,
    RuleSet,
    TakePile,
    match_problems,
    record_problems,
)

MATCH_HEADERS: Final = ("RuleSet", "Seats", "Target", "Starter", "Players")
DEAL_HEADERS: Final = ("Deal", "Scores", "Seed", "Commitment", "ServerSeed", "Entropies", "Result")

_HEADERS_OF_FIELDS: Final = {
    "deal_number": "Deal",
    "scores": "Scores",
    "starter": "Starter",
    "target_score": "Target",
    "seed": "Seed",
    "commitment": "Commitment",
    "ending": "Result",
    "points": "Result",
}
"""By field of a record or match: the header that gives it."""

_HEX: Final = re.compile(r"(?:[0-9a-f]{2})*\Z")


class _Header(NamedTuple):
    name: Token
    values: list[Token]


@dataclass(slots=True)
class _Section:
    """The headers of the match, or headers and moves of a deal."""

    start: Token
    headers: dict[str, _Header] = field(default_factory=dict)
    moves: list[tuple[Move, Token]] = field(default_factory=list)
    turns: list[Token] = field(default_factory=list)
    """Where the seat of every turn is named."""
    end: int = 0


class RecordReader:
    """Reads one record; every part adds its problems to the same collector."""

    def __init__(self, text: str) -> None:
        """Split the text into headers and turns; `read` reads them."""
        self._text = text
        self._problems = TextProblems(text)
        self._cursor = Cursor(list(split_tokens(TOKENS, text)), len(text.rstrip()))
        self._match = _Section(Token("", 0))
        self._deals: list[_Section] = []
        while not self._cursor.is_at_end:
            if self._is_at_header():
                self._split_header()
            elif self._is_at_turn():
                self._split_turn()
            else:
                self._skip("a header or a turn")

    def read(self, *, verify: bool) -> MatchRecord:
        """Return the record; with `verify` only one that plays to its result. Raise NotationError."""
        problems, match = self._problems, self._match
        rules = self._read_rules()
        seats = self._read_seats()
        starter = self._read_number(match, "Starter")
        target = self._read_number(match, "Target")
        players = tuple([unquote(value, problems)[0] for value in self._values(match, "Players", seats)])
        if not self._deals:
            problems.add(self._cursor.peek(), "a record has a deal at least: the header 'Deal' is missing")
        deals = []
        for section in self._deals:
            deal = self._read_deal(section, seats)
            deals.append(deal)
            for path, problem in match_problems(Match(deal.deal_number, deal.scores, starter, target), seats):
                self._add_problem(section, path, problem)
            for index, seat in enumerate(section.turns):
                due = (starter + deal.deal_number - 1 + index) % seats
                if seat.text != str(due):
                    problems.add_unexpected(seat, f"seat {due}, whose turn it is")
        if rules is None or problems:
            raise problems.error()
        record = MatchRecord(rules, seats, target, starter, tuple(deals), players)
        for path, problem in record_problems(record) if verify else ():
            deal_index, _, part = path.removeprefix("deals[").partition("].")
            self._add_problem(self._deals[int(deal_index)], part, problem)
        problems.raise_if_any()
        return record

    # ---- headers and turns -------------------------------------------------------------------------------

    def _is_at_header(self) -> bool:
        name = self._cursor.peek(1).text
        return self._cursor.peek().text == "[" and name[:1].isalpha() and name not in CARD_BY_TEXT

    def _is_at_turn(self) -> bool:
        return is_integer(self._cursor.peek()) and self._cursor.peek(1).text == "."

    def _is_at_part(self) -> bool:
        return self._cursor.is_at_end or self._is_at_header() or self._is_at_turn()

    def _skip(self, expected: str) -> None:
        """Add the next token as a problem and go on at the next header, turn or move."""
        self._problems.add_unexpected(self._cursor.take(), expected)
        while not (self._is_at_part() or self._cursor.peek().text in MOVE_SIGNS):
            self._cursor.take()

    def _split_header(self) -> None:
        cursor, problems = self._cursor, self._problems
        start, name = cursor.take(), cursor.take()
        header = _Header(name, [])
        while len(cursor.peek().text) > 1 and cursor.peek().text.startswith('"'):
            header.values.append(cursor.take())
        if not take_required(cursor, problems, "]", "']' at the end of the header"):
            while not self._is_at_part():
                if cursor.take().text == "]":
                    break
        if name.text == "Deal":
            self._deals.append(_Section(start))
        section = self._deals[-1] if self._deals else self._match
        known = DEAL_HEADERS if self._deals else MATCH_HEADERS
        if name.text not in known:
            problems.add_unexpected(name, f"one of {', '.join(known)}" + ("" if self._deals else ", or Deal"))
        elif name.text in section.headers:
            problems.add(name, "given twice")
        elif section.turns:
            problems.add(name, "the headers of a deal come before its turns")
        section.headers.setdefault(name.text, header)

    def _split_turn(self) -> None:
        cursor, problems = self._cursor, self._problems
        number, _ = cursor.take(), cursor.take()
        if not self._deals:
            problems.add(number, "the header 'Deal' comes before the turns of a deal")
            self._deals.append(_Section(number))
        section = self._deals[-1]
        if int(number.text) != len(section.turns) + 1:
            problems.add_unexpected(number, f"turn {len(section.turns) + 1}")
        section.turns.append(cursor.peek())
        if is_integer(cursor.peek()):
            cursor.take()
        else:
            problems.add_unexpected(cursor.peek(), "the seat that moves")
        take_required(cursor, problems, ":", "':' after the seat")
        is_first = True
        while not self._is_at_part():
            if cursor.peek().text in MOVE_SIGNS:
                self._split_move(section, is_first=is_first)
                is_first = False
            else:
                self._skip("a move: + ^ = & ~ or -")
        if is_first:
            problems.add_unexpected(cursor.peek(), "the moves of the turn")

    def _split_move(self, section: _Section, *, is_first: bool) -> None:
        sign = self._cursor.peek()
        move = read_move(self._cursor, self._problems)
        section.end = self._cursor.taken_to
        if move is None:
            return
        if isinstance(move, DrawStock | TakePile) is not is_first:
            self._problems.add(sign, "a turn begins with its one draw, + or ^ (R3.1, R3.2)")
        section.moves.append((move, Token(self._text[sign.start : section.end], sign.start)))

    # ---- values of headers -------------------------------------------------------------------------------

    def _read_deal(self, section: _Section, seats: int) -> DealRecord:
        """Read a deal; where it is faulty, with something in place of what is missing."""
        ending, points = self._read_result(section)
        return DealRecord(
            deal_number=self._read_number(section, "Deal", 1),
            scores=self._read_pair(self._words(section, "Scores")),
            seed=self._read_seed(section, "Seed") or bytes(SEED_BYTES),
            commitment=self._read_seed(section, "Commitment") or bytes(SEED_BYTES),
            moves=tuple([move for move, _ in section.moves]),
            ending=ending,
            points=points,
            server_seed=self._read_seed(section, "ServerSeed", is_required=False),
            entropies=tuple([self._read_hex(value) for value in self._values(section, "Entropies", seats)]),
        )

    def _read_rules(self) -> RuleSet | None:
        rules = None
        for value in self._values(self._match, "RuleSet", 1, is_required=True):
            text, places = unquote(value, self._problems)
            tokens = [Token(token.text, places[token.start]) for token in split_tokens(RULE_SET_TOKENS, text)]
            cursor = Cursor(tokens, places[-1])
            rules = read_rule_set(cursor, self._problems)
            if rules is not None and not cursor.is_at_end:
                self._problems.add_unexpected(cursor.peek(), "the end of the rule set")
        return rules

    def _read_seats(self) -> int:
        words = self._words(self._match, "Seats", is_required=True)
        if len(words) == 1 and words[0].text in ("2", "4"):
            return int(words[0].text)
        if words:
            self._problems.add_unexpected(words[0], "2 or 4 seats (R2.1)")
        return 2

    def _read_result(self, section: _Section) -> tuple[Ending, tuple[int, int]]:
        words = self._words(section, "Result", is_required=True)
        if not words:
            return Ending.NONE, (0, 0)
        ending = read_ending(words[0], self._problems)
        if len(words) == 1:
            self._problems.add(words[0], "expected two numbers after it, one a side")
        return ending, self._read_pair(words[1:])

    def _read_number(self, section: _Section, name: str, default: int = 0) -> int:
        words = self._words(section, name)
        if not words:
            return default
        if len(words) > 1 or not is_integer(words[0]):
            self._problems.add_unexpected(words[-1], "a number")
            return default
        return int(words[0].text)

    def _read_pair(self, words: list[Token]) -> tuple[int, int]:
        """Read one number a side; zeros if there is nothing to read."""
        if len(words) == 2 and all(map(is_integer, words)):
            return int(words[0].text), int(words[1].text)
        if words:
            self._problems.add_unexpected(words[-1], "two numbers, one a side")
        return 0, 0

    def _read_seed(self, section: _Section, name: str, *, is_required: bool = True) -> bytes | None:
        """Read a seed or commitment; None if it is left out."""
        for value in self._values(section, name, 1, is_required=is_required):
            seed = self._read_hex(value)
            if len(seed) != SEED_BYTES:
                self._problems.add_unexpected(value, f"{2 * SEED_BYTES} hexadecimal digits in lower case")
            return seed
        return None

    def _read_hex(self, value: Token) -> bytes:
        text = value.text[1:-1]
        if _HEX.match(text):
            return bytes.fromhex(text)
        self._problems.add_unexpected(value, "pairs of hexadecimal digits in lower case")
        return b""

    def _values(self, section: _Section, name: str, size: int, *, is_required: bool = False) -> list[Token]:
        """Return the quotations of a header; none, and a problem, if it has another number of them or is missing."""
        header = section.headers.get(name)
        if header is None:
            if is_required:
                self._problems.add(section.start, f"the header {name!r} is missing")
            return []
        if len(header.values) == size:
            return header.values
        expected = "one text in quotes" if size == 1 else f"{size} texts in quotes, one a seat"
        self._problems.add(header.name, f"expected {expected} after it, not {len(header.values)}")
        return []

    def _words(self, section: _Section, name: str, *, is_required: bool = False) -> list[Token]:
        """Return the words of a header's one quotation; none, and a problem, if it is empty."""
        words: list[Token] = []
        for value in self._values(section, name, 1, is_required=is_required):
            text, places = unquote(value, self._problems)
            words = [Token(word.text, places[word.start]) for word in split_tokens(WORDS, text)]
            if not words:
                self._problems.add_unexpected(value, "something between the quotes")
        return words

    # ---- places ------------------------------------------------------------------------------------------

    def _add_problem(self, section: _Section, path: str, problem: str) -> None:
        """Add a problem of a move at its place, of another field of a record or match at the header that gives it."""
        name, _, index = path.partition("[")
        if name == "moves":
            # The one after the last is missing at the end of the moves.
            at = [*[token for _, token in section.moves], Token("", section.end or section.start.start)]
            self._problems.add(at[int(index.removesuffix("]"))], problem)
            return
        header = section.headers.get(_HEADERS_OF_FIELDS[name]) or self._match.headers.get(_HEADERS_OF_FIELDS[name])
        value = None if header is None else header.values[0] if header.values else header.name
        self._problems.add(value or section.start, problem)
