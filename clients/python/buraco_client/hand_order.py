"""The cards of a hand in the order in which a player wants to see them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from buraco_client.cards import JOKER, SUITS, is_wild, rank_of, suit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from buraco.v1.card_pb2 import Card

HandOrder: TypeAlias = Literal["suit", "rank", "melds"]

_ACE_HIGH: Final = 14


def sorted_hand(cards: Iterable[Card.ValueType], order: HandOrder, *, sets: bool = True) -> list[Card.ValueType]:
    """Return the cards of a hand in an order for people, wilds last: 2s by suit, then jokers.

    - `suit`: spades, hearts, clubs, diamonds, each from 3 to ace. If one suit is missing, the order begins with the one
      after it, so that colours still alternate.
    - `rank`: from 3 to ace, each rank by suit.
    - `melds`: melds without a wild, then what one wild would make a meld, then the rest by suit. A meld is a run of
      three cards or more (the ace is low or high), or a set of three or more unless `sets` is false. The longest is
      taken out of the hand, then the longest of what is left, until there is none; of equally long ones first runs, by
      suit, the lowest first, then sets, from 3 to ace. What one wild would make a meld is taken likewise: two cards or
      more of a rank, or of a run that lacks one card at most.

    >>> from buraco_client import Texts
    >>> hand = [53, 20, 2, 8, 19, 13, 29, 18, 47]
    >>> Texts("en").cards(sorted_hand(hand, "suit"))
    '8♠ K♠ 5♥ 6♥ 7♥ 8♣ 3♦ 2♠ Joker'
    >>> Texts("en").cards(sorted_hand(hand, "rank"))
    '3♦ 5♥ 6♥ 7♥ 8♠ 8♣ K♠ 2♠ Joker'
    >>> Texts("en").cards(sorted_hand(hand, "melds"))
    '5♥ 6♥ 7♥ 8♠ 8♣ K♠ 3♦ 2♠ Joker'
    """
    hand = list(cards)
    naturals = [card for card in hand if not is_wild(card)]
    twos = [card for card in hand if is_wild(card) and card != JOKER]
    jokers = [card for card in hand if card == JOKER]
    if order == "suit":
        ordered = _by_suit(naturals)
    elif order == "rank":
        ordered = _by_rank(naturals)
    else:
        ordered = _by_melds(naturals, sets=sets)
    return [*ordered, *_by_rank(twos), *jokers]


def _by_suit(naturals: list[Card.ValueType]) -> list[Card.ValueType]:
    held = {suit_of(card) for card in naturals}
    missing = [place for place, suit in enumerate(SUITS) if suit not in held]
    first = missing[0] + 1 if len(missing) == 1 else 0
    suits = SUITS[first:] + SUITS[:first]
    return sorted(naturals, key=lambda card: (suits.index(suit_of(card)), _height(card)))


def _by_rank(cards: list[Card.ValueType]) -> list[Card.ValueType]:
    return sorted(cards, key=lambda card: (_height(card), SUITS.index(suit_of(card))))


def _height(card: Card.ValueType) -> int:
    return _ACE_HIGH if rank_of(card) == 1 else rank_of(card)


def _by_melds(naturals: list[Card.ValueType], *, sets: bool) -> list[Card.ValueType]:
    ordered: list[Card.ValueType] = []
    left = Counter(naturals)
    for gaps, size in ((0, 3), (1, 2)):
        while len(longest := max(_groups(left, gaps, sets=sets), key=len)) >= size:
            ordered += longest
            left -= Counter(longest)
    return ordered + _by_suit(list(left.elements()))


def _groups(left: Counter[Card.ValueType], gaps: int, *, sets: bool) -> Iterator[list[Card.ValueType]]:
    """Yield what the cards form, short groups too: runs with so many missing cards, then sets."""
    for suit in SUITS:
        for low in range(1, _ACE_HIGH + 1):
            yield _run(left, suit, low, gaps)
    if sets:
        for rank in range(3, _ACE_HIGH + 1):
            yield [card for suit in SUITS for card in [_card(suit, rank)] * left[_card(suit, rank)]]


def _run(left: Counter[Card.ValueType], suit: int, low: int, gaps: int) -> list[Card.ValueType]:
    """Return the longest run from a place on, from 1 (ace low) to 14 (ace high), but not with one ace at both ends."""
    run: list[Card.ValueType] = []
    for place in range(low, min(low + 12, _ACE_HIGH) + 1):
        card = _card(suit, place)
        if left[card]:
            run.append(card)
        elif run and gaps:
            gaps -= 1
        else:
            break
    return run


def _card(suit: int, place: int) -> Card.ValueType:
    return cast("Card.ValueType", 13 * suit + (place - 1) % 13 + 1)
