"""Moves as short text: `+` draws from the stock, `^` takes the pile, `=3h 4h [Jo]` is a new meld, `&2:5h` lays off on
meld 2, `~2@9` moves the wild of meld 2 to place 9, `-Kd` discards.

In a new meld brackets show the card that acts as a wild; in a run they ask for the place at which it then stands, the
cards being in order of place. ` @9` after the cards asks for a place of the wild where brackets cannot say it: in a
lay-off, and for a 2 that is to stand at its natural place. Without either R5.4 decides. Melds count from 0, places of a
run from 1 to 14 as everywhere.

A text stands for exactly one `Move`, and a move has exactly one canonical text.
"""

import re
from collections.abc import Sequence
from typing import Final

from buraco_notation.cards import CARD_BY_TEXT
from buraco_notation.melds import format_laid, read_card_of_meld
from buraco_notation.reading import Cursor, Faults, Token, read_card, read_integer, tokens_of
from buraco_rules import Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile
from buraco_rules.cards import ACE, ACE_HIGH, FACES, JOKER, RANK, SUIT, WILDS, card_at

TOKEN: Final = re.compile(
    r'(?:\s|\#[^\n]*)+|([][+^=&~\-@:.]|"(?:[^"\\\n]|\\[^\n])*"|[^][\s+^=&~\-@:."#]+|")',
)
"""Words, signs and quotations of moves and records; white space and comments are passed over."""

MOVE_SIGNS: Final = frozenset("+^=&~-")
"""What a move begins with."""

MAX_MELD_INDEX: Final = 99


def format_move(move: Move) -> str:
    """A move as text, in its canonical form. Raises ValueError for numbers that are no card, meld or place.

    >>> format_move(LayMeld((16, 17, 53), 5)), format_move(LayOff(2, (18,))), format_move(Discard(39))
    ('=3h 4h [Jo]', '&2:5h', '-Kd')
    """
    match move:
        case DrawStock():
            return "+"
        case TakePile():
            return "^"
        case LayMeld(cards, place):
            index = _bracketed(_checked(cards), place)
            return f"={format_laid(cards, index)}{_asked(place) if index is None else ''}"
        case LayOff(meld, cards, place):
            return f"&{_index(meld)}:{format_laid(_checked(cards), None)}{_asked(place)}"
        case MoveWild(meld, place):
            return f"~{_index(meld)}{_asked(place).strip()}"
        case Discard(card):
            return f"-{format_laid(_checked((card,)), None)}"


def parse_move(text: str) -> Move:
    """A move from text. Raises NotationFaults.

    >>> parse_move("=3h 4h [Jo]"), parse_move("~2@9")
    (LayMeld(cards=(16, 17, 53), wild_position=5), MoveWild(meld=2, wild_position=9))
    """
    faults = Faults(text)
    cursor = Cursor(list(tokens_of(TOKEN, text)), len(text.rstrip()))
    move = read_move(cursor, faults)
    if move is not None and not cursor.at_end:
        faults.expected(cursor.peek(), "nothing after the move")
    if move is None or faults:
        raise faults.error()
    return move


def read_move(cursor: Cursor, faults: Faults) -> Move | None:
    """The move that stands next; None, and a fault, where there is none. What does not belong to it is not passed."""
    sign = cursor.peek()
    if sign.text not in MOVE_SIGNS:
        faults.expected(sign, "a move: + ^ = & ~ or -")
        return None
    cursor.take()
    match sign.text:
        case "+":
            return DrawStock()
        case "^":
            return TakePile()
        case "=":
            return _read_meld(cursor, faults)
        case "&":
            return _read_lay_off(cursor, faults)
        case "~":
            meld = _read_index(cursor, faults)
            place = _read_place(cursor, faults) if _passed(cursor, "@", faults) else None
            return None if meld is None or place is None else MoveWild(meld, place)
    card = read_card(cursor, faults, "the card discarded")
    return Discard(card) if card else None


# ---- writing -----------------------------------------------------------------------------------------


def _checked(cards: Sequence[int]) -> Sequence[int]:
    if not cards or not all([card in FACES for card in cards]):
        raise ValueError(f"no text stands for a move with the cards {tuple(cards)}")
    return cards


def _index(meld: int) -> int:
    if not 0 <= meld <= MAX_MELD_INDEX:
        raise ValueError(f"no text stands for a move with a meld {meld}")
    return meld


def _asked(place: int | None) -> str:
    if place is not None and not ACE <= place <= ACE_HIGH:
        raise ValueError(f"no text stands for a move with a place {place}")
    return "" if place is None else f" @{place}"


def _bracketed(cards: Sequence[int], place: int | None) -> int | None:
    """The index of the card that brackets are put around: the wild of a set, or that which a run shows at `place`."""
    for index, card in enumerate(cards):
        if card not in WILDS:
            continue
        others = [*cards[:index], *cards[index + 1 :]]
        if place is None:
            if _is_set(others) and RANK[others[0]] != RANK[card]:
                return index
        elif _place_in_run(cards, index) == place:
            return index
    return None


def _is_set(naturals: Sequence[int]) -> bool:
    return len(naturals) >= 2 and JOKER not in naturals and len({RANK[card] for card in naturals}) == 1


def _place_in_run(cards: Sequence[int], wild_index: int) -> int | None:
    """The place of the wild where the other cards, in this order, are those of a run around it; None otherwise."""
    anchor = next((at for at, card in enumerate(cards) if at != wild_index and RANK[card] > ACE), None)
    if anchor is None:
        return None
    suit, low = SUIT[cards[anchor]], RANK[cards[anchor]] - anchor
    if not ACE <= low <= low + len(cards) - 1 <= ACE_HIGH:
        return None
    fits = all([(card == card_at(suit, low + at)) is (at != wild_index) for at, card in enumerate(cards)])
    return low + wild_index if fits else None


# ---- reading -----------------------------------------------------------------------------------------


def _read_meld(cursor: Cursor, faults: Faults) -> Move | None:
    cards, wild = _read_cards(cursor, faults)
    at = cursor.peek()
    place = _read_asked_place(cursor, faults)
    if wild is None:
        return LayMeld(cards, place)
    wild_index, token = wild
    if at.text == "@":
        faults.add(at, "the place of the wild is given twice: by brackets and by '@'")
        return None
    others = (*cards[:wild_index], *cards[wild_index + 1 :])
    if _is_set(others):
        if RANK[others[0]] == RANK[cards[wild_index]]:
            faults.add(token, "a 2 is a natural in a set of 2s: no brackets (R4.3)")
        return LayMeld(cards)
    place = _place_in_run(cards, wild_index)
    if place is None:
        what = "brackets want the cards in order of place around one that acts as a wild; '@' and a place do without"
        faults.add(token, what)
    return LayMeld(cards, place)


def _read_lay_off(cursor: Cursor, faults: Faults) -> Move | None:
    meld = _read_index(cursor, faults)
    if not _passed(cursor, ":", faults):
        return None
    cards, wild = _read_cards(cursor, faults)
    if wild is not None:
        faults.add(wild[1], "no brackets in a lay-off: '@' and a place ask where the wild shall stand")
    place = _read_asked_place(cursor, faults)
    return None if meld is None else LayOff(meld, cards, place)


def _read_cards(cursor: Cursor, faults: Faults) -> tuple[tuple[int, ...], tuple[int, Token] | None]:
    """Cards up to what is none; the index of the one in brackets, and where it stands."""
    cards: list[int] = []
    wild: tuple[int, Token] | None = None
    while cursor.peek().text in CARD_BY_TEXT or (cursor.peek().text == "[" and cursor.peek(1).text in CARD_BY_TEXT):
        name, acts = read_card_of_meld(cursor, faults)
        assert name is not None, "a card stands there"
        if acts and wild is not None:
            faults.add(name.token, "at most one card acts as a wild in a meld (R4.4)")
        elif acts:
            wild = len(cards), name.token
        cards.append(name.card)
    if not cards:
        faults.expected(cursor.peek(), "a card")
    return tuple(cards), wild


def _read_asked_place(cursor: Cursor, faults: Faults) -> int | None:
    return _read_place(cursor, faults) if cursor.takes("@") else None


def _read_place(cursor: Cursor, faults: Faults) -> int | None:
    return _read_number(cursor, faults, ACE, ACE_HIGH, f"a place of a run, {ACE} to {ACE_HIGH}")


def _read_index(cursor: Cursor, faults: Faults) -> int | None:
    return _read_number(cursor, faults, 0, MAX_MELD_INDEX, "the number of a meld")


def _read_number(cursor: Cursor, faults: Faults, least: int, most: int, what: str) -> int | None:
    token: Token = cursor.peek()
    if token.text in MOVE_SIGNS:  # the next move begins where a number is missing
        faults.expected(token, what)
        return None
    number = read_integer(cursor, faults, what)
    if number is not None and not least <= number <= most:
        faults.expected(token, what)
        return None
    return number


def _passed(cursor: Cursor, sign: str, faults: Faults) -> bool:
    if cursor.takes(sign):
        return True
    faults.expected(cursor.peek(), repr(sign))
    return False
