"""Read a record: split headers and turns, then read what they hold, then play it to its result.

`records` describes the form of the text.
"""

import re
from typing import Final

from buraco_notation.cards import CARD_BY_TEXT
from buraco_notation.fields import Fields
from buraco_notation.moves import MOVE_SIGNS, TOKENS, read_move
from buraco_notation.reading import (
    WORDS,
    Cursor,
    TextProblems,
    Token,
    is_integer,
    read_ending,
    read_integer,
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
    TakePile,
    match_problems,
    record_problems,
)

MATCH_HEADERS: Final = ("RuleSet", "Seats", "Target", "Starter", "Players")
DEAL_HEADERS: Final = ("Deal", "Scores", "Seed", "Commitment", "ServerSeed", "Entropies", "Result")

_TOKENS_IN_QUOTES: Final = {"RuleSet": RULE_SET_TOKENS, "Players": None, "Entropies": None}
"""By header: the tokens inside of its quotations, None for the quotations themselves; words in others."""

_HEX: Final = re.compile(r"(?:[0-9a-f]{2})*\Z")


class _Deal:
    """The headers and moves of a deal."""

    def __init__(self, start: Token, problems: TextProblems) -> None:
        self.headers = Fields(problems, start)
        self.moves: list[Move] = []
        self.turns: list[Token] = []
        """Where the seat of every turn is named."""


class RecordReader:
    """Reads one record; every part adds its problems to the same collector."""

    def __init__(self, text: str) -> None:
        """Split the text into headers and turns; `read` reads them."""
        self._text = text
        self._problems = TextProblems(text)
        self._cursor = Cursor(list(split_tokens(TOKENS, text)), len(text.rstrip()))
        self._match = Fields(self._problems, Token("", 0))
        self._deals: list[_Deal] = []
        while not self._cursor.is_at_end:
            if self._is_at_header():
                self._split_header()
            elif self._is_at_turn():
                self._split_turn()
            else:
                self._skip("a header or a turn")

    def read(self, *, verify: bool) -> MatchRecord:
        """Return the record; with `verify` only if it plays to its result. Raise NotationError. To be called once."""
        problems, match = self._problems, self._match
        rules = match.read("RuleSet", "rules", lambda cursor: read_rule_set(cursor, problems), None, is_required=True)
        seats = match.read("Seats", "seats", match.read_seats, 2, is_required=True) or 2
        starter = match.read("Starter", "starter", self._read_integer, 0)
        target = match.read("Target", "target_score", self._read_integer, 0)
        players = match.read("Players", "players", lambda cursor: self._read_players(cursor, seats), ())
        if not self._deals:
            problems.add(self._cursor.peek(), "a record has a deal at least: the header 'Deal' is missing")
        deals = []
        for section in self._deals:
            deal = self._read_deal(section, seats)
            deals.append(deal)
            for path, problem in match_problems(Match(deal.deal_number, deal.scores, starter, target), seats):
                (match if path in ("starter", "target_score") else section.headers).add_problem(path, problem)
            for index, seat in enumerate(section.turns):
                due = (starter + deal.deal_number - 1 + index) % seats
                if seat.text != str(due):
                    problems.add_unexpected(seat, f"seat {due}, whose turn it is")
        if rules is None or problems:
            raise problems.error()
        record = MatchRecord(rules, seats, target, starter, tuple(deals), players)
        for path, problem in record_problems(record) if verify else ():
            deal_index, _, part = path.removeprefix("deals[").partition("].")
            self._deals[int(deal_index)].headers.add_problem(part, problem)
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
        quotations = []
        while len(cursor.peek().text) > 1 and cursor.peek().text.startswith('"'):
            quotations.append(cursor.take())
        if not take_required(cursor, problems, "]", "']' at the end of the header"):
            while not self._is_at_part():
                if cursor.take().text == "]":
                    break
        if name.text == "Deal":
            self._deals.append(_Deal(start, problems))
        known = DEAL_HEADERS if self._deals else MATCH_HEADERS
        if name.text not in known:
            problems.add_unexpected(name, f"one of {', '.join(known)}" + ("" if self._deals else ", or Deal"))
        elif self._deals and self._deals[-1].turns:
            problems.add(name, "the headers of a deal come before its turns")
        else:
            headers = self._deals[-1].headers if self._deals else self._match
            headers.add(name.text, name, self._open(name, quotations), quotations[0] if quotations else name)

    def _open(self, name: Token, quotations: list[Token]) -> Cursor:
        """Return a cursor for the value of a header."""
        inner = _TOKENS_IN_QUOTES.get(name.text, WORDS)
        if inner is None or not quotations:
            return Cursor(quotations, (quotations or [name])[-1].end)
        tokens: list[Token] = []
        places: list[int] = []
        for quotation in quotations:
            text, places = unquote(quotation, self._problems)
            tokens += [Token(token.text, places[token.start]) for token in split_tokens(inner, text)]
        return Cursor(tokens, places[-1])

    def _split_turn(self) -> None:
        cursor, problems = self._cursor, self._problems
        number, _ = cursor.take(), cursor.take()
        if not self._deals:
            problems.add(number, "the header 'Deal' comes before the turns of a deal")
            self._deals.append(_Deal(number, problems))
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

    def _split_move(self, section: _Deal, *, is_first: bool) -> None:
        sign = self._cursor.peek()
        move = read_move(self._cursor, self._problems)
        end = self._cursor.taken_to
        if move is None:
            return
        if isinstance(move, DrawStock | TakePile) is not is_first:
            self._problems.add(sign, "a turn begins with its one draw, + or ^ (R3.1, R3.2)")
        path = f"moves[{len(section.moves)}]"
        section.headers.set_place(path, Token(self._text[sign.start : end], sign.start))
        section.moves.append(move)
        section.headers.set_place(f"moves[{len(section.moves)}]", Token("", end))  # where another is missing

    # ---- values of headers -------------------------------------------------------------------------------

    def _read_deal(self, section: _Deal, seats: int) -> DealRecord:
        """Read a deal; where it is faulty, with something in place of what is missing."""
        headers = section.headers
        ending, points = headers.read(
            "Result",
            "ending",
            lambda cursor: (read_ending(cursor.take(), self._problems), headers.read_pair(cursor)),
            (Ending.NONE, (0, 0)),
            is_required=True,
        )
        headers.set_place("points", headers.place_of("ending"))
        return DealRecord(
            deal_number=headers.read("Deal", "deal_number", self._read_integer, 1),
            scores=headers.read("Scores", "scores", headers.read_pair, (0, 0)),
            seed=headers.read("Seed", "seed", self._read_seed, b"", is_required=True),
            commitment=headers.read("Commitment", "commitment", self._read_seed, b"", is_required=True),
            moves=tuple(section.moves),
            ending=ending,
            points=points,
            server_seed=headers.read("ServerSeed", "server_seed", self._read_seed, None),
            entropies=headers.read("Entropies", "entropies", lambda cursor: self._read_entropies(cursor, seats), ()),
        )

    def _read_integer(self, cursor: Cursor) -> int:
        return read_integer(cursor, self._problems, "a number") or 0

    def _read_quotations(self, cursor: Cursor, seats: int) -> list[Token]:
        """Read a text in quotes for each seat."""
        quotations = []
        for _ in range(seats):
            if cursor.is_at_end:
                self._problems.add_unexpected(cursor.peek(), f"{seats} texts in quotes, one a seat")
            else:
                quotations.append(cursor.take())
        return quotations

    def _read_players(self, cursor: Cursor, seats: int) -> tuple[str, ...]:
        return tuple([unquote(quotation, self._problems)[0] for quotation in self._read_quotations(cursor, seats)])

    def _read_entropies(self, cursor: Cursor, seats: int) -> tuple[bytes, ...]:
        return tuple([self._read_hex(token, token.text[1:-1]) for token in self._read_quotations(cursor, seats)])

    def _read_seed(self, cursor: Cursor) -> bytes:
        token = cursor.take()
        seed = self._read_hex(token, token.text)
        if len(seed) != SEED_BYTES:
            self._problems.add_unexpected(token, f"{2 * SEED_BYTES} hexadecimal digits in lower case")
        return seed

    def _read_hex(self, token: Token, digits: str) -> bytes:
        if _HEX.match(digits):
            return bytes.fromhex(digits)
        self._problems.add_unexpected(token, "pairs of hexadecimal digits in lower case")
        return b""
