"""Cards as small integers: two cards of the same face are equal (R1.1).

Number of a suited card = 13 * suit + rank; suits spades 0, hearts 1, diamonds 2, clubs 3; ranks ace 1 to king 13;
joker 53. The numbers are those of `buraco.v1.Card`, so that cards cross the wire without being converted.
"""

from typing import Final

JOKER: Final = 53
FACES: Final = range(1, 54)
"""The numbers of all cards, the joker included."""
SUITS: Final = range(4)
ACE: Final = 1
TWO: Final = 2
KING: Final = 13
ACE_HIGH: Final = 14
"""The place of an ace after the king; an ace before the 2 stands at place 1 (R4.1)."""

SUIT: Final = (4, *((card - 1) // 13 for card in range(1, 53)), 4)
"""Suit of a card by its number; 4 for the joker."""

RANK: Final = (0, *((card - 1) % 13 + 1 for card in range(1, 53)), 0)
"""Rank of a card by its number, 1 to 13; 0 for the joker."""

TWOS: Final = tuple(13 * suit + TWO for suit in SUITS)
"""The 2s by suit."""

WILDS: Final = frozenset((*TWOS, JOKER))
"""Cards that can act as wilds: the 2s and the joker."""

CARD_TEXT: Final = ("", *("A23456789TJQK"[RANK[card] - 1] + "shdc"[SUIT[card]] for card in range(1, 53)), "Jo")
"""By card: rank and suit as two characters, `Th` for the ten of hearts."""

RUN_CARDS: Final = tuple((0, *(13 * suit + rank for rank in range(ACE, KING + 1)), 13 * suit + ACE) for suit in SUITS)
"""By suit: the natural card at each place of a run, 1 to 14; place 0 is none."""


def card_at(suit: int, position: int) -> int:
    """Return the natural card of a suit at a place of a run: 1 ace low, 2 to 13, 14 ace high (R4.1); 0 at place 0.

    >>> card_at(suit=1, position=10) == CARD_TEXT.index("Th")
    True
    """
    return RUN_CARDS[suit][position]


def deck(jokers: int) -> list[int]:
    """Return two decks of 52 one after the other, each in the order of its numbers, then so many jokers in all (R1.1).

    >>> len(deck(jokers=4)), deck(jokers=4)[-1]
    (108, 53)
    """
    return [*range(1, 53), *range(1, 53), *[JOKER] * jokers]
