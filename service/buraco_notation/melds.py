"""Melds as text: cards in order of place, brackets around the card that acts as a wild: `3h 4h [Jo] 6h`, `7s 7h [2c]`.

Whether a meld is a run or a set, and at which place it begins, follows from its cards. A ` !` at the end says that the
meld stays dirty (R9.3).
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from buraco_notation.cards import CARD_BY_TEXT
from buraco_notation.reading import Cursor, Faults, Token
from buraco_rules import Meld, MeldKind, RuleSet, make_meld
from buraco_rules.cards import ACE, ACE_HIGH, CARD_TEXT, RANK, SUIT, TWO, WILDS, card_at

DIRTY_MARK: Final = "!"


class Named(NamedTuple):
    """A card and where it is named."""

    card: int
    token: Token


def format_meld(meld: Meld) -> str:
    """A meld as text.

    >>> from buraco_rules.presets import PRESETS
    >>> format_meld(make_meld(PRESETS[0], MeldKind.RUN, (16, 17, 53, 19), 3, 2))
    '3h 4h [Jo] 6h'
    """
    text = format_laid(meld.cards, meld.wild_index)
    return f"{text} {DIRTY_MARK}" if meld.stays_dirty else text


def format_laid(cards: Sequence[int], wild_index: int | None) -> str:
    """Cards in order of place, the one that acts as a wild in brackets."""
    words = [CARD_TEXT[card] for card in cards]
    if wild_index is not None:
        words[wild_index] = f"[{words[wild_index]}]"
    return " ".join(words)


def read_meld(
    cursor: Cursor, rules: RuleSet, faults: Faults, stops: Collection[str] = ()
) -> tuple[Meld | None, list[Named]]:
    """The meld that stands next, up to the end, a comma or one of the words to stop at; and the cards it names.

    None, and a fault, where it is no meld.
    """
    first = cursor.peek()
    named, wild_index, sound = _read_cards(cursor, faults, ("", ",", DIRTY_MARK, *stops))
    stays_dirty = cursor.takes(DIRTY_MARK)
    if not sound:
        return None, named
    if len(named) < 3:
        faults.add(first if named else cursor.peek(), "a meld has at least three cards (R4.1, R4.2)")
        return None, named
    kind = _kind(named, wild_index, faults)
    if kind is None:
        return None, named
    if kind is MeldKind.SET:
        naturals = sorted([name.card for index, name in enumerate(named) if index != wild_index])
        wild = () if wild_index is None else (named[wild_index].card,)
        at = None if wild_index is None else len(naturals)
        return make_meld(rules, kind, (*naturals, *wild), 0, at, stays_dirty=stays_dirty), named
    low = _low_place(named, wild_index, faults)
    if low is None:
        return None, named
    cards = tuple([name.card for name in named])
    return make_meld(rules, kind, cards, low, wild_index, stays_dirty=stays_dirty), named


def _read_cards(cursor: Cursor, faults: Faults, stops: Collection[str]) -> tuple[list[Named], int | None, bool]:
    named: list[Named] = []
    wild_index: int | None = None
    sound = True
    while cursor.peek().text not in stops:
        name, acts = read_card_of_meld(cursor, faults)
        if name is None:
            sound = False
            continue
        if acts and wild_index is not None:
            faults.add(name.token, "at most one card acts as a wild in a meld (R4.4)")
            sound = False
        if acts:
            wild_index = len(named)
        named.append(name)
    return named, wild_index, sound


def read_card_of_meld(cursor: Cursor, faults: Faults) -> tuple[Named | None, bool]:
    """The card that stands next, and whether brackets say that it acts as a wild. None, and a fault, for no card."""
    acts = cursor.takes("[")
    token = cursor.peek()
    card = CARD_BY_TEXT.get(token.text, 0)
    if not card:
        faults.expected(token, "a card")
        cursor.take()
        return None, acts
    cursor.take()
    if acts and card not in WILDS:
        faults.add(token, "only a joker or a 2 acts as a wild (R4.4)")
        acts = False
    elif acts and cursor.peek().text != "]":
        faults.expected(cursor.peek(), "']' after the card that acts as a wild")
        return Named(card, token), acts
    if acts or cursor.peek().text == "]":
        cursor.take()
    return Named(card, token), acts


def _kind(named: list[Named], wild_index: int | None, faults: Faults) -> MeldKind | None:
    naturals = [name for index, name in enumerate(named) if index != wild_index]
    ranks = {RANK[name.card] for name in naturals}
    if len(ranks) > 1 or 0 in ranks:
        return MeldKind.RUN
    if wild_index is not None and RANK[named[wild_index].card] in ranks:
        faults.add(named[wild_index].token, "a 2 is a natural in a set of 2s: no brackets (R4.3)")
        return None
    return MeldKind.SET


def _low_place(named: list[Named], wild_index: int | None, faults: Faults) -> int | None:
    """The place of a run's first card; None, and a fault at each card that does not stand where it must."""
    naturals = [(index, name) for index, name in enumerate(named) if index != wild_index]
    # The place of an ace is open, and a 2 may want brackets: the others tell more.
    index, anchor = min(naturals, key=lambda natural: max(0, TWO + 1 - RANK[natural[1].card]))
    if not RANK[anchor.card]:
        faults.add(anchor.token, "a joker acts as a wild: it stands in brackets (R4.4)")
        return None
    suit, low = SUIT[anchor.card], RANK[anchor.card] - index
    if RANK[anchor.card] == ACE and index:
        low = ACE_HIGH - index
    sound = True
    for at, name in enumerate(named):
        place = low + at
        due = card_at(suit, place) if ACE <= place <= ACE_HIGH else 0
        if not due:
            faults.add(name.token, "a run has no place here: it goes from the low ace to the high ace (R4.1)")
        elif at == wild_index and name.card == due:
            faults.add(name.token, "a 2 at its natural place does not act as a wild: no brackets (R4.4)")
        elif at != wild_index and name.card != due:
            or_wild = " or a wild in brackets" if wild_index is None else ""
            faults.expected(name.token, f"{CARD_TEXT[due]}{or_wild} at this place of the run")
        else:
            continue
        sound = False
    return low if sound else None
