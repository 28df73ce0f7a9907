"""Moves as short text: `+` draws from the stock, `^` takes the pile, `=3h 4h [Jo]` is a new meld, `&2:5h` lays off on
meld 2, `~2@9` moves the wild of meld 2 to place 9, `-Kd` discards.

In a new meld brackets show the acting wild; in a run they ask for the place at which it then stands, the cards being in
order of place. ` @9` after the cards asks for a place of the wild where brackets cannot: in a lay-off, and for a 2 that
is to stand at its natural place. Without either R5.4 decides. Melds count from 0, places of a run from 1 to 14 as
everywhere.

A text stands for exactly one `Move`, and a move has exactly one canonical text.
"""

from collections.abc import Sequence
from typing import Final, cast

from buraco_notation.cards import CARD_BY_TEXT, read_card
from buraco_notation.melds import (
    MeldCards,
    find_run,
    format_meld_cards,
    is_of_one_rank,
    natural_at,
    read_meld_cards,
)
from buraco_notation.reading import Cursor, TextProblems, compile_tokens, parse, read_integer, take_required
from buraco_rules import Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile
from buraco_rules.cards import ACE, ACE_HIGH, FACES, RANK, WILDS

TOKENS: Final = compile_tokens("+^=&~-@:.[]", '"')
"""The tokens of moves and records."""

MOVE_SIGNS: Final = frozenset("+^=&~-")
"""What a move begins with."""

MAX_MELD_INDEX: Final = 99
"""Of a meld in a text; no side has so many."""


def format_move(move: Move) -> str:
    """Return a move as text, in its canonical form.

    Raise ValueError for no cards, and for numbers that are not a card, a place, or a meld up to MAX_MELD_INDEX.

    >>> format_move(LayMeld((16, 17, 53), 5)), format_move(LayOff(2, (18,))), format_move(Discard(39))
    ('=3h 4h [Jo]', '&2:5h', '-Kd')
    """
    match move:
        case DrawStock():
            return "+"
        case TakePile():
            return "^"
        case LayMeld(cards, place):
            _check_cards(cards)
            index = _find_bracketed(cards, place)
            return f"={format_meld_cards(cards, index)}{_format_place(place) if index is None else ''}"
        case LayOff(meld, cards, place):
            _check_cards(cards)
            return f"&{_format_index(meld)}:{format_meld_cards(cards, None)}{_format_place(place)}"
        case MoveWild(meld, place):
            return f"~{_format_index(meld)}{_format_place(place).strip()}"
        case Discard(card):
            _check_cards([card])
            return f"-{format_meld_cards([card], None)}"


def parse_move(text: str) -> Move:
    """Return the move of a text. Raise NotationError for what is not a move.

    >>> parse_move("=3h 4h [Jo]"), parse_move("~2@9")
    (LayMeld(cards=(16, 17, 53), wild_position=5), MoveWild(meld=2, wild_position=9))
    """
    return cast("Move", parse(text, TOKENS, read_move))


def read_move(cursor: Cursor, problems: TextProblems) -> Move | None:
    """Read a move, which may have problems; None, and a problem, if there is none. What follows the move is left."""
    sign = cursor.peek()
    if sign.text not in MOVE_SIGNS:
        problems.add_unexpected(sign, "a move: + ^ = & ~ or -")
        return None
    cursor.take()
    match sign.text:
        case "+":
            return DrawStock()
        case "^":
            return TakePile()
        case "=":
            return _read_lay(cursor, problems)
        case "&":
            return _read_lay_off(cursor, problems)
        case "~":
            meld = _read_index(cursor, problems)
            place = _read_place(cursor, problems) if take_required(cursor, problems, "@", "'@'") else None
            return None if meld is None or place is None else MoveWild(meld, place)
    card = read_card(cursor, problems, "the card discarded")
    return Discard(card) if card else None


# ---- writing -----------------------------------------------------------------------------------------


def _check_cards(cards: Sequence[int]) -> None:
    if not cards or not all([card in FACES for card in cards]):
        raise ValueError(f"a move with the cards {tuple(cards)} has no text form")


def _format_index(meld: int) -> str:
    if not 0 <= meld <= MAX_MELD_INDEX:
        raise ValueError(f"a move with a meld {meld} has no text form")
    return str(meld)


def _format_place(place: int | None) -> str:
    if place is None:
        return ""
    if not ACE <= place <= ACE_HIGH:
        raise ValueError(f"a move with a place {place} has no text form")
    return f" @{place}"


def _find_bracketed(cards: Sequence[int], place: int | None) -> int | None:
    """Return the index of the card to put in brackets: the wild of a set, or the one that a run shows at `place`."""
    for index, card in enumerate(cards):
        if card not in WILDS:
            continue
        others = [*cards[:index], *cards[index + 1 :]]
        if place is None:
            if is_of_one_rank(others) and RANK[others[0]] != RANK[card]:
                return index
        elif _find_place(cards, index) == place:
            return index
    return None


def _find_place(cards: Sequence[int], wild_index: int) -> int | None:
    """Return the place of the wild if the other cards, in this order, make a run around it."""
    run = find_run(cards, wild_index)
    if run is None:
        return None
    suit, low = run
    fits = all([(card == natural_at(suit, low + at)) is (at != wild_index) for at, card in enumerate(cards)])
    return low + wild_index if fits and ACE <= low + wild_index <= ACE_HIGH else None


# ---- reading -----------------------------------------------------------------------------------------


def _read_lay(cursor: Cursor, problems: TextProblems) -> Move | None:
    found = _read_cards(cursor, problems)
    cards, wild_index, sign = found.cards, found.wild_index, cursor.peek()
    place = _read_place(cursor, problems) if cursor.take_if("@") else None
    if wild_index is None:
        return LayMeld(cards, place)
    wild = found.named[wild_index]
    if sign.text == "@":
        problems.add(sign, "the place of the wild is given twice: by brackets and by '@'")
        return None
    if is_of_one_rank(found.naturals):
        if RANK[found.naturals[0]] == RANK[wild.card]:
            problems.add(wild.token, "a 2 is a natural in a set of 2s: no brackets (R4.3)")
        return LayMeld(cards)
    place = _find_place(cards, wild_index)
    if place is None:
        problems.add(
            wild.token,
            "brackets want the cards in order of place around one that acts as a wild; '@' and a place do without",
        )
    return LayMeld(cards, place)


def _read_lay_off(cursor: Cursor, problems: TextProblems) -> Move | None:
    meld = _read_index(cursor, problems)
    if not take_required(cursor, problems, ":", "':'"):
        return None
    found = _read_cards(cursor, problems)
    if found.wild_index is not None:
        wild = found.named[found.wild_index]
        problems.add(wild.token, "no brackets in a lay-off: '@' and a place ask where the wild shall stand")
    place = _read_place(cursor, problems) if cursor.take_if("@") else None
    return None if meld is None else LayOff(meld, found.cards, place)


def _read_cards(cursor: Cursor, problems: TextProblems) -> MeldCards:
    """Read cards up to what is not one."""
    found = read_meld_cards(
        cursor, problems, lambda: cursor.peek(1 if cursor.peek().text == "[" else 0).text in CARD_BY_TEXT
    )
    if not found.named:
        problems.add_unexpected(cursor.peek(), "a card")
    return found


def _read_place(cursor: Cursor, problems: TextProblems) -> int | None:
    return _read_number(cursor, problems, range(ACE, ACE_HIGH + 1), f"a place of a run, {ACE} to {ACE_HIGH}")


def _read_index(cursor: Cursor, problems: TextProblems) -> int | None:
    return _read_number(cursor, problems, range(MAX_MELD_INDEX + 1), "the number of a meld")


def _read_number(cursor: Cursor, problems: TextProblems, numbers: range, expected: str) -> int | None:
    token = cursor.peek()
    if token.text in MOVE_SIGNS:  # the next move begins where a number is missing
        problems.add_unexpected(token, expected)
        return None
    number = read_integer(cursor, problems, expected)
    if number is None or number in numbers:
        return number
    problems.add_unexpected(token, expected)
    return None
