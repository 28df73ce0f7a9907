"""Cards that a position does not name: `?11` stands for eleven of them, `?` for all that are left."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from buraco_notation.cards import CARD_BY_TEXT
from buraco_notation.melds import Named
from buraco_notation.reading import Cursor, Faults, Token
from buraco_rules.cards import CARD_TEXT, JOKER, deck

NONE: Final = "-"
"""Stands for no cards."""

_UNNAMED: Final = re.compile(r"\?([0-9]{1,3})?\Z")
_TOLD: Final = 12


class Unnamed(NamedTuple):
    """Cards left unnamed: how many, None for all that are left; and where that is written."""

    size: int | None
    token: Token


Cards = list[Named | Unnamed]
"""A hand, a pot, the pile or the stock as it is written."""


def read_cards(cursor: Cursor, faults: Faults, stops: Collection[str] = ("", ",")) -> Cards:
    """The cards that stand next, up to one of the words to stop at. What is no card is passed and a fault."""
    cards: Cards = []
    if cursor.peek().text == NONE and cursor.peek(1).text in stops:
        cursor.take()
        return cards
    if cursor.peek().text in stops:
        faults.expected(cursor.peek(), f"cards, '?', or {NONE!r} for none")
    while cursor.peek().text not in stops:
        token = cursor.take()
        unnamed = _UNNAMED.match(token.text)
        if unnamed:
            cards.append(Unnamed(None if unnamed[1] is None else int(unnamed[1]), token))
        elif token.text in CARD_BY_TEXT:
            cards.append(Named(CARD_BY_TEXT[token.text], token))
        else:
            faults.expected(token, "a card")
    return cards


def deal_out(
    jokers: int, lists: Sequence[Cards], elsewhere: Sequence[Named], end: Token, faults: Faults
) -> list[tuple[int, ...]]:
    """The lists with their unnamed cards filled in: those of the deck that neither the lists nor `elsewhere` name.

    They go in the order of the deck to the lists in their order, first to those that say how many they take; what is
    left then goes to the one `?`. Too many of a face, too few cards or cards left over are faults; `end` is the place
    where something is missing.
    """
    left = left_over(jokers, [*elsewhere, *named_in(lists)], faults)
    unnamed = [entry for cards in lists for entry in cards if isinstance(entry, Unnamed)]
    filled: dict[int, list[int]] = {}
    for entry in unnamed:
        if entry.size is not None:
            if entry.size > len(left):
                faults.add(entry.token, f"only {len(left)} cards are not named anywhere")
            filled[id(entry)], left = left[: entry.size], left[entry.size :]
    takers = [entry for entry in unnamed if entry.size is None]
    for entry in takers[:1]:
        filled[id(entry)], left = left, []
    for entry in takers[1:]:
        faults.add(entry.token, "only one '?' can take all that is left: say how many cards, as in ?11")
    if left:
        faults.add(end, f"{len(left)} cards are missing, and no '?' takes them: {_listed(left)}")
    return [
        tuple(
            [
                card
                for entry in cards
                for card in ((entry.card,) if isinstance(entry, Named) else filled.get(id(entry), ()))
            ]
        )
        for cards in lists
    ]


def named_in(lists: Iterable[Cards]) -> list[Named]:
    """The cards that the lists name."""
    return [entry for cards in lists for entry in cards if isinstance(entry, Named)]


def left_over(jokers: int, named: Sequence[Named], faults: Faults) -> list[int]:
    """The cards of the deck that nobody names. A card named too often is a fault where it is named last."""
    counts = Counter(deck(jokers))
    for name in sorted(named, key=lambda name: name.token.start):
        if counts[name.card]:
            counts[name.card] -= 1
        elif name.card == JOKER and not jokers:
            faults.add(name.token, "this rule set has no jokers (R1.1)")
        else:
            copies = 4 if name.card == JOKER else 2
            faults.add(name.token, f"{CARD_TEXT[name.card]} is named too often: there are {copies} (R1.1)")
    left = []
    for card in deck(jokers):
        if counts[card] > 0:
            counts[card] -= 1
            left.append(card)
    return left


def _listed(cards: list[int]) -> str:
    text = " ".join([CARD_TEXT[card] for card in cards[:_TOLD]])
    return f"{text} …" if len(cards) > _TOLD else text
