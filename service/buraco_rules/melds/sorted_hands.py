"""A hand sorted by what melds are made of.

The hand is counted in one number: a byte a rank, two bits a face in it, the jokers in the lowest byte. So it takes one
addition a card, and what the cards of one suit can make is cached by their part of the number.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from buraco_rules.cards import ACE, JOKER, KING, RANK, SUIT, TWO, TWOS
from buraco_rules.melds.runs import FOREIGN, OWN_TWO, PLACE_BITS, SECOND_ACE, new_run_parts
from buraco_rules.melds.sets import POOL_BITS

_count_one: Final = [0, *(1 << 8 * RANK[card] + POOL_BITS * SUIT[card] for card in range(1, JOKER)), 1].__getitem__
"""What a card adds to the number of a hand."""
_ALL_FACES: Final = sum([0b01010101 << 8 * rank for rank in range(ACE, KING + 1)])
_SECOND_COPIES: Final = 0b10101010 << 8 * ACE | 0b10101010 << 8 * TWO
"""Where a second copy matters to a run: aces and 2s."""
_SPADES: Final = sum([3 << 8 * rank for rank in range(ACE, KING + 1)])


@dataclass(frozen=True, slots=True, eq=False)
class SuitCards:
    """What a hand holds of a suit, by the kind of wild beside it: none, `OWN_TWO`, `FOREIGN`."""

    held: tuple[int, int, int]
    """The naturals, as `run_ways` takes them."""
    for_new_run: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    """Those of them that can take part in a new run, in parts that no run joins."""


Suits = tuple[SuitCards, SuitCards, SuitCards, SuitCards]
Pools = bytes
"""By rank, how many cards there are of each suit; see `sets.POOL_BITS`."""
Acting = tuple[int, ...]
"""What can act as a wild: 0 (nothing) first, then each such card once."""
SortedHand = tuple[Suits, Pools, Acting]
"""What a hand holds. A bare tuple, because one is made for every list of moves."""


def sort_hand(hand: tuple[int, ...]) -> SortedHand:
    """Return what a hand holds of each suit and of each rank, and what in it can act as a wild.

    >>> _, pools, acting = sort_hand((9, 9, 22, 53))
    >>> bin(pools[9]), acting
    ('0b110', (0, 53))
    """
    number = sum(map(_count_one, hand))
    # The lower bit of a face says that the hand holds it, the upper one that it holds a second copy that matters.
    faces = (number | number >> 1) & _ALL_FACES | number & _SECOND_COPIES
    spades, hearts = _suit_cards(faces & _SPADES), _suit_cards(faces >> POOL_BITS & _SPADES)
    diamonds, clubs = _suit_cards(faces >> 2 * POOL_BITS & _SPADES), _suit_cards(faces >> 3 * POOL_BITS & _SPADES)
    pools = number.to_bytes(KING + 1, "little")
    return (spades, hearts, diamonds, clubs), pools, _acting(pools[TWO], pools[0] > 0)


@lru_cache(1 << 13)  # 6 MiB at most
def _suit_cards(spades: int) -> SuitCards:
    """Return what cards of one suit can make, counted in a number as if they were spades."""
    held = SECOND_ACE if spades >> 8 * ACE & 2 else 0
    left = spades & _ALL_FACES
    while left:
        one = left & -left
        held |= PLACE_BITS[one.bit_length() >> 3]
        left ^= one
    beside_two = held if spades >> 8 * TWO & 2 else held & ~(1 << TWO)
    return SuitCards(
        (held, beside_two, held),
        (
            new_run_parts(held, 0),
            new_run_parts(beside_two, OWN_TWO),
            new_run_parts(held, FOREIGN),
        ),
    )


@lru_cache(1 << 9)
def _acting(twos: int, joker: bool) -> Acting:
    of_suits = [two for suit, two in enumerate(TWOS) if twos >> POOL_BITS * suit & 3]
    return (0, *of_suits, JOKER) if joker else (0, *of_suits)
