"""Reading a record: headers and turns in their order, then what they say, then whether it plays to its result.

What a record looks like stands in `record_notation`.
"""

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from buraco_notation.cards import CARD_BY_TEXT
from buraco_notation.moves import MOVE_SIGNS, TOKEN, read_move
from buraco_notation.reading import Cursor, Faults, Token, is_integer, tokens_of, unquoted
from buraco_notation.rule_sets import TOKEN as RULE_SET_TOKEN
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
from buraco_rules.cards import ACE

MATCH_HEADERS: Final = ("RuleSet", "Seats", "Target", "Starter", "Players")
DEAL_HEADERS: Final = ("Deal", "Scores", "Seed", "Commitment", "ServerSeed", "Entropies", "Result")

_FIELDS: Final = {
    "deal_number": "Deal",
    "scores": "Scores",
    "starter": "Starter",
    "target_score": "Target",
    "seed": "Seed",
    "commitment": "Commitment",
    "ending": "Result",
    "points": "Result",
}
"""By field of a record or match: the header that tells it."""

_ENDINGS: Final = {ending.name.lower(): ending for ending in Ending if ending}
_WORD: Final = re.compile(r"(\S+)")
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
    """Reads one record; every part leaves its faults in the same place."""

    def __init__(self, text: str) -> None:
        """Headers and turns are split here; what they say is read by `record`."""
        self._text = text
        self._faults = Faults(text)
        self._cursor = Cursor(list(tokens_of(TOKEN, text)), len(text.rstrip()))
        self._match = _Section(Token("", 0))
        self._deals: list[_Section] = []
        while not self._cursor.at_end:
            if self._at_header():
                self._split_header()
            elif self._at_turn():
                self._split_turn()
            else:
                self._skip("a header or a turn")

    def record(self, *, verify: bool) -> MatchRecord:
        """The record. Raises NotationFaults."""
        faults, match = self._faults, self._match
        rules = self._rules()
        seats = self._seats()
        starter = self._number(match, "Starter")
        target = self._number(match, "Target")
        players = tuple([self._text_of(value) for value in self._values(match, "Players", seats)])
        if not self._deals:
            faults.add(self._cursor.peek(), "a record has a deal at least: the header 'Deal' is missing")
        deals = []
        for section in self._deals:
            deal = self._deal(section, seats)
            deals.append(deal)
            for path, problem in match_problems(Match(deal.deal_number, deal.scores, starter, target), seats):
                self._fault(section, path, problem)
            for index, seat in enumerate(section.turns):
                due = (starter + deal.deal_number - 1 + index) % seats
                if seat.text != str(due):
                    faults.expected(seat, f"seat {due}, whose turn it is")
        if rules is None or faults:
            raise faults.error()
        record = MatchRecord(rules, seats, target, starter, tuple(deals), players)
        for path, problem in record_problems(record) if verify else ():
            deal_index, _, field = path.removeprefix("deals[").partition("].")
            self._fault(self._deals[int(deal_index)], field, problem)
        faults.raise_if_any()
        return record

    # ---- headers and turns -------------------------------------------------------------------------------

    def _at_header(self) -> bool:
        name = self._cursor.peek(1).text
        return self._cursor.peek().text == "[" and name[:1].isalpha() and name not in CARD_BY_TEXT

    def _at_turn(self) -> bool:
        return is_integer(self._cursor.peek()) and self._cursor.peek(1).text == "."

    def _skip(self, expected: str) -> None:
        """Go on at the next header, turn or move. What is skipped is a fault."""
        cursor = self._cursor
        self._faults.expected(cursor.take(), expected)
        while not (cursor.at_end or self._at_header() or self._at_turn() or cursor.peek().text in MOVE_SIGNS):
            cursor.take()

    def _split_header(self) -> None:
        cursor = self._cursor
        start = cursor.take()
        header = _Header(cursor.take(), [])
        while len(cursor.peek().text) > 1 and cursor.peek().text.startswith('"'):
            header.values.append(cursor.take())
        if not cursor.takes("]"):
            self._faults.expected(cursor.peek(), "']' at the end of the header")
            while not (cursor.at_end or self._at_header() or self._at_turn()):
                if cursor.take().text == "]":
                    break
        name = header.name
        if name.text == "Deal":
            self._deals.append(_Section(start))
        section = self._deals[-1] if self._deals else self._match
        known = DEAL_HEADERS if self._deals else MATCH_HEADERS
        if name.text not in known:
            self._faults.expected(name, f"one of {', '.join(known)}" + ("" if self._deals else ", or Deal"))
        elif name.text in section.headers:
            self._faults.add(name, "given twice")
        elif section.turns:
            self._faults.add(name, "the headers of a deal come before its turns")
        section.headers.setdefault(name.text, header)

    def _split_turn(self) -> None:
        cursor = self._cursor
        number = cursor.take()
        cursor.take()
        if not self._deals:
            self._faults.add(number, "the header 'Deal' comes before the turns of a deal")
            self._deals.append(_Section(number))
        section = self._deals[-1]
        if int(number.text) != len(section.turns) + 1:
            self._faults.expected(number, f"turn {len(section.turns) + 1}")
        section.turns.append(cursor.peek())
        if not is_integer(cursor.peek()):
            self._faults.expected(cursor.peek(), "the seat that moves")
        else:
            cursor.take()
        if not cursor.takes(":"):
            self._faults.expected(cursor.peek(), "':' after the seat")
        first = True
        while not (cursor.at_end or self._at_header() or self._at_turn()):
            if cursor.peek().text in MOVE_SIGNS:
                self._split_move(section, first=first)
                first = False
            else:
                self._skip("a move: + ^ = & ~ or -")
        if first:
            self._faults.expected(cursor.peek(), "the moves of the turn")

    def _split_move(self, section: _Section, *, first: bool) -> None:
        sign = self._cursor.peek()
        move = read_move(self._cursor, self._faults)
        section.end = self._cursor.passed
        if move is None:
            return
        if isinstance(move, DrawStock | TakePile) is not first:
            self._faults.add(sign, "a turn begins with its one draw, + or ^ (R3.1, R3.2)")
        section.moves.append((move, Token(self._text[sign.start : section.end], sign.start)))

    # ---- what they say -----------------------------------------------------------------------------------

    def _deal(self, section: _Section, seats: int) -> DealRecord:
        """A deal; where it is faulty, with something in place of what is missing."""
        for name in ("Seed", "Result"):
            if name not in section.headers:
                self._faults.add(section.start, f"the header {name!r} of the deal is missing")
        seed = self._bytes(section, "Seed")
        server_seed = self._bytes(section, "ServerSeed") if "ServerSeed" in section.headers else None
        if "Commitment" not in section.headers:
            self._faults.add(section.start, "the header 'Commitment' of the deal is missing")
        ending, points = self._result(section)
        return DealRecord(
            deal_number=self._number(section, "Deal", ACE),
            scores=self._pair(self._words(section, "Scores"), section.start) if "Scores" in section.headers else (0, 0),
            seed=seed,
            commitment=self._bytes(section, "Commitment"),
            moves=tuple([move for move, _ in section.moves]),
            ending=ending,
            points=points,
            server_seed=server_seed,
            entropies=tuple([self._hex(value) for value in self._values(section, "Entropies", seats)]),
        )

    def _rules(self) -> RuleSet | None:
        values = self._values(self._match, "RuleSet", 1)
        if not values:
            if "RuleSet" not in self._match.headers:
                self._faults.add(self._match.start, "the header 'RuleSet' is missing")
            return None
        text, places = unquoted(values[0], self._faults)
        tokens = [Token(token.text, places[token.start]) for token in tokens_of(RULE_SET_TOKEN, text)]
        cursor = Cursor(tokens, places[-1])
        rules = read_rule_set(cursor, self._faults)
        if rules is not None and not cursor.at_end:
            self._faults.expected(cursor.peek(), "the end of the rule set")
        return rules

    def _seats(self) -> int:
        words = self._words(self._match, "Seats")
        if "Seats" not in self._match.headers:
            self._faults.add(self._match.start, "the header 'Seats' is missing")
        elif len(words) != 1 or words[0].text not in ("2", "4"):
            self._faults.expected(words[0] if words else self._match.headers["Seats"].name, "2 or 4 seats (R2.1)")
        else:
            return int(words[0].text)
        return 2

    def _result(self, section: _Section) -> tuple[Ending, tuple[int, int]]:
        words = self._words(section, "Result")
        if not words:
            return Ending.NONE, (0, 0)
        ending = _ENDINGS.get(words[0].text)
        if ending is None:
            self._faults.expected(words[0], f"how the deal ended: {', '.join(_ENDINGS)}")
        return ending or Ending.NONE, self._pair(words[1:], words[0])

    def _values(self, section: _Section, name: str, size: int) -> list[Token]:
        """The quotations of a header; none where it is left out, or has another number of them, which is a fault."""
        header = section.headers.get(name)
        if header is None:
            return []
        if len(header.values) != size:
            what = "one text in quotes" if size == 1 else f"{size} texts in quotes, one a seat"
            self._faults.add(header.name, f"expected {what} after it, not {len(header.values)}")
            return []
        return header.values

    def _text_of(self, value: Token) -> str:
        return unquoted(value, self._faults)[0]

    def _words(self, section: _Section, name: str) -> list[Token]:
        """The words of a header's one quotation, a fault where there are none."""
        words: list[Token] = []
        for value in self._values(section, name, 1):
            text, places = unquoted(value, self._faults)
            words = [Token(word.text, places[word.start]) for word in tokens_of(_WORD, text)]
            if not words:
                self._faults.expected(value, "something between the quotes")
        return words

    def _number(self, section: _Section, name: str, default: int = 0) -> int:
        words = self._words(section, name)
        if not words:
            return default
        if len(words) > 1 or not is_integer(words[0]):
            self._faults.expected(words[-1], "a number")
            return default
        return int(words[0].text)

    def _pair(self, words: list[Token], at: Token) -> tuple[int, int]:
        if len(words) != 2 or not all(map(is_integer, words)):
            self._faults.expected(words[-1] if words else at, "two numbers, one a side")
            return 0, 0
        return int(words[0].text), int(words[1].text)

    def _bytes(self, section: _Section, name: str) -> bytes:
        for value in self._values(section, name, 1):
            found = self._hex(value)
            if len(found) != SEED_BYTES:
                self._faults.expected(value, f"{2 * SEED_BYTES} hexadecimal digits in lower case")
            return found
        return bytes(SEED_BYTES)

    def _hex(self, value: Token) -> bytes:
        text = value.text[1:-1]
        if not _HEX.match(text):
            self._faults.expected(value, "pairs of hexadecimal digits in lower case")
            return b""
        return bytes.fromhex(text)

    # ---- where something stands --------------------------------------------------------------------------

    def _fault(self, section: _Section, field: str, problem: str) -> None:
        """Add what is wrong with a move, or with another field of a record or match at the header that gives it."""
        name, _, index = field.partition("[")
        if name == "moves":
            self._faults.add(self._place_of(section, int(index.removesuffix("]"))), problem)
            return
        header = section.headers.get(_FIELDS[name]) or self._match.headers.get(_FIELDS[name])
        at = section.start if header is None else header.values[0] if header.values else header.name
        self._faults.add(at, problem)

    def _place_of(self, section: _Section, move: int) -> Token:
        """Where a move stands; the end of the deal's moves for the one after the last."""
        if move < len(section.moves):
            return section.moves[move][1]
        return Token("", section.end or section.start.start)
