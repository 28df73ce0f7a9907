import random
from collections.abc import Sequence
from itertools import pairwise
from typing import cast, get_args

import pytest

from buraco.v1.card_pb2 import Card
from buraco_client import HandOrder, sorted_hand
from buraco_notation import format_cards, parse_cards

ORDERS: tuple[HandOrder, ...] = get_args(HandOrder)


def shown(hand: str, order: HandOrder, *, sets: bool = True) -> str:
    """A hand in an order, as text. Jokers are `Jo`."""
    cards = cast("Sequence[Card.ValueType]", parse_cards(hand))
    return format_cards(sorted_hand(cards, order, sets=sets))


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_is_of_the_cards_alone(order: HandOrder) -> None:
    """A hand keeps its cards, and its order does not depend on how they came."""
    rng = random.Random(order)
    for size in range(40):
        hand = cast("list[Card.ValueType]", rng.choices(range(1, 54), k=size))
        ordered = sorted_hand(hand, order)
        assert sorted(ordered) == sorted(hand)
        assert sorted_hand(rng.sample(hand, size), order) == ordered
        assert sorted_hand(ordered, order) == ordered


@pytest.mark.parametrize("order", ORDERS)
def test_wilds_are_last(order: HandOrder) -> None:
    """2s are behind all other cards, by suit, and jokers behind them."""
    assert shown("Jo 2c Ks 2s Jo 2h 3c As", order).endswith(" 2s 2h 2c Jo Jo")


@pytest.mark.parametrize(
    ("hand", "expected"),
    [
        ("3c 3d 3h 3s", "3s 3h 3c 3d"),
        ("3c 3d 3h", "3h 3c 3d"),
        ("3c 3d 3s", "3c 3d 3s"),
        ("3d 3h 3s", "3d 3s 3h"),
        ("3c 3h 3s", "3s 3h 3c"),
        ("3d 3h", "3h 3d"),
        ("As Ks 3s Ts 3s", "3s 3s Ts Ks As"),
    ],
)
def test_by_suit(hand: str, expected: str) -> None:
    """Suits alternate their colours as long as they can, each goes from 3 to ace."""
    assert shown(hand, "suit") == expected
    colours = [card[1] in "hd" for card in expected.split()]
    suits = [card[1] for card in expected.split()]
    changes = [one != other for (a, b), (one, other) in zip(pairwise(suits), pairwise(colours), strict=True) if a != b]
    assert all(changes) or len(set(suits)) == 2


def test_by_rank() -> None:
    """Ranks go from 3 to ace, the suits of each alternate their colours."""
    assert shown("Ad 3c 3h Kd 3d 3s 2h Kd", "rank") == "3s 3h 3c 3d Kd Kd Ad 2h"


@pytest.mark.parametrize(
    ("hand", "expected"),
    [
        # The longest meld is first, of equally long ones the run, then the first by suit, then the lowest.
        ("3h 4h 5h 9s 9c 9d 9h", "9s 9h 9c 9d 3h 4h 5h"),
        ("Ks Kc Kd 4c 3c 5c 8s 7s 6s", "6s 7s 8s 3c 4c 5c Ks Kc Kd"),
        ("9h Jh Th 3h 5h 4h", "3h 4h 5h 9h Th Jh"),
        # A card is in one meld.
        ("3h 4h 5h 5s 5d", "3h 4h 5h 5s 5d"),
        ("3h 4h 5h 3h 4h 5h", "3h 4h 5h 3h 4h 5h"),
        # The ace is low and high, but not both.
        ("Ah Kh Qh 3h", "Qh Kh Ah 3h"),
        ("Ac 4c 3c 7d Td", "Ac 3c 4c 7d Td"),
        # What lacks one card comes after what is complete, then the rest by suit.
        ("Ks Kc 5h 7h 3d 4d 5d Ts", "3d 4d 5d 5h 7h Ks Kc Ts"),
        ("5h 6h 8h 9h Js", "5h 6h 8h 9h Js"),
        ("5h 6h 8h Th", "5h 6h 8h Th"),
        ("3s 6h 9c Qd", "3s 6h 9c Qd"),
        # Wilds are not in melds.
        ("Ah 2h 3h 4h 5h", "3h 4h 5h Ah 2h"),
    ],
)
def test_by_melds(hand: str, expected: str) -> None:
    """Melds come first, then what lacks one card, then the rest, then wilds."""
    assert shown(hand, "melds") == expected


def test_without_sets() -> None:
    """Where there are no sets, cards of a rank do not belong together."""
    assert shown("9s 9h 9c Ts Kd Kc", "melds") == "9s 9h 9c Kc Kd Ts"
    assert shown("9s 9h 9c Ts Kd Kc", "melds", sets=False) == "9s Ts 9h 9c Kc Kd"
