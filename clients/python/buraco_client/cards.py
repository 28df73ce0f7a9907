"""What the number of a card means (`buraco.v1.Card`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from buraco.v1 import card_pb2

if TYPE_CHECKING:
    from buraco.v1.card_pb2 import Card

JOKER: Final = card_pb2.CARD_JOKER
SUITS: Final = (0, 1, 3, 2)
"""Spades, hearts, clubs, diamonds: black and red by turns."""


def suit_of(card: Card.ValueType) -> int:
    """Return the suit of a card that is not a joker: spades 0, hearts 1, diamonds 2, clubs 3.

    >>> suit_of(card_pb2.CARD_KING_OF_HEARTS)
    1
    """
    return (card - 1) // 13


def rank_of(card: Card.ValueType) -> int:
    """Return the rank of a card, from 1 for the ace to 13 for the king; 0 for a joker.

    >>> rank_of(card_pb2.CARD_KING_OF_HEARTS), rank_of(card_pb2.CARD_JOKER)
    (13, 0)
    """
    return 0 if card == JOKER else (card - 1) % 13 + 1


def is_wild(card: Card.ValueType) -> bool:
    """Return whether a card is a wild: a joker or a 2.

    >>> is_wild(card_pb2.CARD_TWO_OF_CLUBS), is_wild(card_pb2.CARD_THREE_OF_CLUBS)
    (True, False)
    """
    return rank_of(card) in (0, 2)
