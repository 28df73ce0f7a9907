"""A hand sorted by what melds are made of.

The hand is counted in one number, two bits a face, a byte a rank, the jokers in the lowest byte: one addition a card
instead of steps of Python. What the cards of one suit are good for is remembered by their part of the number.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from buraco_rules.cards import ACE, JOKER, KING, RANK, SUIT, TWO, TWOS
from buraco_rules.melds.runs import OWN_TWO, PLACE_BITS, SECOND_ACE, STRANGER, new_run_parts
from buraco_rules.melds.sets import POOL_BITS

_one_of: Final = [0, *(1 << 8 * RANK[card] + POOL_BITS * SUIT[card] for card in range(1, JOKER)), 1].__getitem__
"""What a card adds to the number of a hand."""
_ALL_FACES: Final = sum([0b01010101 << 8 * rank for rank in range(ACE, KING + 1)])
_SECONDS: Final = 0b10101010 << 8 * ACE | 0b10101010 << 8 * TWO
"""Where a second copy matters: of aces and 2s."""
_SPADES: Final = sum([3 << 8 * rank for rank in range(ACE, KING + 1)])


@dataclass(frozen=True, slots=True, eq=False)
class SuitCards:
    """What a hand holds of a suit. Both are by what acts as a wild beside it: nothing, its own 2, a stranger."""

    held: tuple[int, int, int]
    """The naturals, as `run_ways` takes them."""
    for_new_run: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    """Those of them that can take part in a new run, in parts that no run joins."""


Suits = tuple[SuitCards, SuitCards, SuitCards, SuitCards]
Pools = bytes
"""By rank, how many cards there are of each suit; see `sets.POOL_BITS`."""
Acting = tuple[int, ...]
"""What can act as a wild, 0 (nothing) first."""
SortedHand = tuple[Suits, Pools, Acting]
"""What a hand holds. A bare tuple, because one is made for every list."""


def sort_hand(hand: tuple[int, ...]) -> SortedHand:
    """Sort a hand."""
    number = sum(map(_one_of, hand))
    faces = _faces(number)
    spades, hearts = _suit_cards(faces & _SPADES), _suit_cards(faces >> POOL_BITS & _SPADES)
    diamonds, clubs = _suit_cards(faces >> 2 * POOL_BITS & _SPADES), _suit_cards(faces >> 3 * POOL_BITS & _SPADES)
    pools = number.to_bytes(KING + 1, "little")
    return (spades, hearts, diamonds, clubs), pools, _acting(pools[TWO], pools[0] > 0)


def sort_beside(hand: tuple[int, ...], card: int) -> tuple[SuitCards, int, Acting]:
    """What a hand holds of the suit and of the rank of a card, the latter as a pool, and what can act as a wild."""
    number = sum(map(_one_of, hand))
    of_suit = _suit_cards(_faces(number) >> POOL_BITS * SUIT[card] & _SPADES)
    return of_suit, number >> 8 * RANK[card] & 0xFF, _acting(number >> 8 * TWO & 0xFF, number & 0xFF > 0)


def _faces(number: int) -> int:
    """The faces that a hand holds, in the lower bit of each; in the upper one whether a second copy matters."""
    return (number | number >> 1) & _ALL_FACES | number & _SECONDS


@lru_cache(1 << 13)  # 6 MiB at most
def _suit_cards(spades: int) -> SuitCards:
    """What cards of one suit are good for, counted in a number as if they were spades."""
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
            new_run_parts(held, STRANGER),
        ),
    )


@lru_cache(1 << 9)
def _acting(twos: int, joker: bool) -> Acting:
    of_suits = [two for suit, two in enumerate(TWOS) if twos >> POOL_BITS * suit & 3]
    return (0, *of_suits, JOKER) if joker else (0, *of_suits)
