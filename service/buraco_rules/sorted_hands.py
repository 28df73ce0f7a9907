"""A hand sorted by what melds are made of."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from buraco_rules.cards import ACE, KING, RANK, SUIT, TWO, TWOS
from buraco_rules.runs import PLACE_BITS, SECOND_ACE

_SECOND_TWO: Final = 1 << 16
_SECOND: Final = tuple(SECOND_ACE if rank == ACE else _SECOND_TWO if rank == TWO else 0 for rank in RANK)
"""By card: the bit that tells of a second copy where one matters."""


class SortedHand(NamedTuple):
    """What a hand holds."""

    places: Sequence[int]
    """By suit, the places of a run that the cards can fill, as bits; see `naturals`."""
    by_rank: Sequence[tuple[int, ...]]
    """By rank, its cards, ascending; jokers are rank 0."""
    acting: tuple[int, ...]
    """What can act as a wild, 0 (nothing) first."""


def sort_hand(hand: tuple[int, ...]) -> SortedHand:
    """Sort a hand given in ascending order."""
    places = [0, 0, 0, 0, 0]
    by_rank: list[tuple[int, ...]] = [()] * (KING + 1)
    for card in hand:
        suit, rank, bits = SUIT[card], RANK[card], PLACE_BITS[card]
        places[suit] |= _SECOND[card] if places[suit] & bits else bits
        by_rank[rank] += (card,)
    acting = (0, *dict.fromkeys(by_rank[TWO]), *by_rank[0][:1])
    return SortedHand(places, by_rank, acting)


def naturals(places: int, suit: int, acting: int) -> int:
    """The naturals of a suit beside the acting wild, as `MeldBook.runs` takes them, of a sorted hand's `places`."""
    if acting == TWOS[suit] and not places & _SECOND_TWO:
        return places & ~(1 << TWO)
    return places & ~_SECOND_TWO
