"""Cards that a position does not name: `?11` stands for eleven of them, `?` for all that are left."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from buraco_notation.cards import read_card
from buraco_notation.fields import NONE
from buraco_notation.melds import NamedCard
from buraco_notation.reading import Cursor, TextProblems, Token
from buraco_rules.cards import CARD_TEXT, JOKER, deck

_UNNAMED: Final = re.compile(r"\?([0-9]{1,3})?\Z")
_MAX_SHOWN: Final = 12
"""Cards that a problem lists."""


class UnnamedCards(NamedTuple):
    """Cards left unnamed."""

    size: int | None
    """How many; None for all that are left."""
    token: Token


Cards = list[NamedCard | UnnamedCards]
"""A hand, a pot, the pile or the stock: its named and unnamed cards in the order in which they are written."""


def read_cards(cursor: Cursor, problems: TextProblems) -> Cards:
    """Read named and unnamed cards up to a comma or the end; `-` alone stands for none, [].

    An empty field is a problem; so is what is not a card, which is left out.
    """
    cards: Cards = []
    stops = ("", ",")
    if cursor.peek().text == NONE and cursor.peek(1).text in stops:
        cursor.take()
        return cards
    if cursor.peek().text in stops:
        problems.add_unexpected(cursor.peek(), f"cards, '?', or {NONE!r} for none")
    while cursor.peek().text not in stops:
        token = cursor.peek()
        unnamed = _UNNAMED.match(token.text)
        if unnamed:
            cursor.take()
            cards.append(UnnamedCards(None if unnamed[1] is None else int(unnamed[1]), token))
        elif card := read_card(cursor, problems):
            cards.append(NamedCard(card, token))
    return cards


def deal_out(
    jokers: int, lists: Sequence[Cards], elsewhere: Sequence[NamedCard], end: Token, problems: TextProblems
) -> list[tuple[int, ...]]:
    """Return the lists with their unnamed cards filled in: those of the deck that neither they nor `elsewhere` name.
    The deck has `jokers` in all, 0 or 4.

    They go in the order of the deck to the lists in their order, first to those that say how many they take; what is
    left then goes to the one `?`. Too many of a face, too few cards or cards left over are problems; `end` is the place
    where something is missing.
    """
    left = left_over(jokers, [*elsewhere, *named_in(lists)], problems)
    unnamed = [entry for cards in lists for entry in cards if isinstance(entry, UnnamedCards)]
    filled: dict[int, list[int]] = {}
    for entry in unnamed:
        if entry.size is not None:
            if entry.size > len(left):
                problems.add(entry.token, f"only {len(left)} cards are not named anywhere")
            filled[id(entry)], left = left[: entry.size], left[entry.size :]
    takers = [entry for entry in unnamed if entry.size is None]
    for entry in takers[:1]:
        filled[id(entry)], left = left, []
    for entry in takers[1:]:
        problems.add(entry.token, "only one '?' can take all that is left: say how many cards, as in ?11")
    if left:
        shown = " ".join([CARD_TEXT[card] for card in left[:_MAX_SHOWN]]) + (" …" if len(left) > _MAX_SHOWN else "")
        problems.add(end, f"{len(left)} cards are missing, and no '?' takes them: {shown}")
    dealt = []
    for cards in lists:
        parts = [[entry.card] if isinstance(entry, NamedCard) else filled.get(id(entry), []) for entry in cards]
        dealt.append(tuple([card for part in parts for card in part]))
    return dealt


def named_in(lists: Iterable[Cards]) -> list[NamedCard]:
    """Return the cards that the lists name."""
    return [entry for cards in lists for entry in cards if isinstance(entry, NamedCard)]


def left_over(jokers: int, named: Sequence[NamedCard], problems: TextProblems) -> list[int]:
    """Return the cards that are not named, in the order of the deck, which has so many jokers in all (0 or 4).

    A card named too often is a problem where it is named last.
    """
    left = Counter(deck(jokers))
    for card, token in sorted(named, key=lambda name: name.token.start):
        if left[card]:
            left[card] -= 1
        elif card == JOKER and not jokers:
            problems.add(token, "this rule set has no jokers (R1.1)")
        else:
            copies = 4 if card == JOKER else 2
            problems.add(token, f"{CARD_TEXT[card]} is named too often: there are {copies} (R1.1)")
    cards = []
    for card in deck(jokers):
        if left[card]:
            left[card] -= 1
            cards.append(card)
    return cards
