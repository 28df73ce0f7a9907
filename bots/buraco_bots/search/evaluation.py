"""What a running deal is worth, for rollouts that stop before its end."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from operator import mul, sub
from typing import Final

from buraco_bots.greedy.situation import is_closing_hard
from buraco_bots.greedy.waiting import cards_that_fit, neighbours
from buraco_bots.greedy.worth import meld_worth
from buraco_rules import Deal, Meld, RuleSet, Side, buraco_points, card_points, has_pot_left, view_of
from buraco_rules.cards import RANK, WILDS

LATE: Final = 15.0
"""Cards in stock and pots with which the end of a deal presses less than half as much as without any."""

FEATURES: Final = (
    "table_points",
    "growth",
    "hand_points",
    "hand_cards",
    "wilds",
    "fits_own",
    "pairs",
    "fits_theirs",
    "pots",
    "buraco",
    "clean_buraco",
    "can_close",
    "can_close_hand_cards",
    "late_hand_points",
    "late_hand_cards",
    "late_pots",
    "late_can_close",
    "turn",
    "pile",
    "pile_fits",
    "pile_fits_pile",
)
"""What a value depends on: the lead of a side in each respect, all cards being known.

Beside the points of the table: what melds may still become; of hands the points, cards, wilds, cards that fit melds of
the own and the other side, and pairs that may become melds; pots, buracos, and whether the side may close, alone and
times the cards of its smallest hand; the same near the end of the stock; for the side to move its turn, the size of the
pile, the cards of it that fit its melds, and the product of both.
"""


def value_of(deal: Deal, side: int) -> float:
    """Return by how many points a side is expected to lead at the end of a running deal, all cards being known."""
    value: float = sum(map(mul, features_of(deal), weights_for(deal.rules, deal.seats)))
    return -value if side else value


def features_of(deal: Deal) -> list[float]:
    """Return the lead of side 0 in each of FEATURES."""
    leads = [*map(sub, _side_features(deal, 0), _side_features(deal, 1))]
    turn = -1.0 if deal.seat_to_move & 1 else 1.0
    fitting = _count_fitting(deal.pile, deal.side.melds)
    return [*leads, turn, turn * len(deal.pile), turn * fitting, turn * fitting * len(deal.pile)]


def _side_features(deal: Deal, side: int) -> list[float]:
    rules, own, other = deal.rules, deal.sides[side], deal.sides[1 - side]
    hands = deal.hands[side::2]
    points = float(sum([card_points(rules, hand) for hand in hands]))
    count = float(sum(map(len, hands)))
    late = math.exp(-(len(deal.stock) + sum(map(len, deal.pots))) / LATE)
    can_close = float(_can_close(deal, own))
    return [
        float(view_of(deal, None).sides[side].table_points),
        sum([_growth(rules, meld) for meld in own.melds]),
        points,
        count,
        float(sum([card in WILDS for hand in hands for card in hand])),
        float(sum([_count_fitting(hand, own.melds) for hand in hands])),
        sum([_connection(hand, rules.sets) for hand in hands]),
        float(sum([_count_fitting(hand, other.melds) for hand in hands])),
        float(own.pots_taken),
        float(any([meld.is_buraco for meld in own.melds])),
        float(any([meld.is_clean_buraco for meld in own.melds])),
        can_close,
        can_close * min(map(len, hands)),
        late * points,
        late * count,
        late * own.pots_taken,
        late * can_close,
    ]


@lru_cache(4096)
def _growth(rules: RuleSet, meld: Meld) -> float:
    """Return what a meld may still become, in points."""
    return meld_worth(rules, meld) - card_points(rules, meld.cards) - buraco_points(rules, meld.buraco)


def _can_close(deal: Deal, own: Side) -> bool:
    """Return True if the side may close as far as pots and buracos decide."""
    if has_pot_left(deal, own):
        return False
    return any([meld.is_clean_buraco if deal.rules.close_needs_clean else meld.is_buraco for meld in own.melds])


def _count_fitting(cards: tuple[int, ...], melds: tuple[Meld, ...]) -> int:
    """Return how many natural cards extend one of the melds."""
    return sum([card not in WILDS and any([card in cards_that_fit(meld) for meld in melds]) for card in cards])


def _connection(hand: tuple[int, ...], sets: bool) -> float:
    """Return how many pairs of natural cards may become a meld together: neighbours in a suit, or of a rank."""
    return float(sum([_is_pair(*pair, sets) for pair in _pairs(hand)]))


def _pairs(hand: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    naturals = [card for card in hand if card not in WILDS]
    return ((first, second) for index, first in enumerate(naturals) for second in naturals[index + 1 :])


@lru_cache(54 * 54 * 2)
def _is_pair(first: int, second: int, sets: bool) -> bool:
    return second in neighbours(first) or (sets and RANK[first] == RANK[second])


@lru_cache(256)
def weights_for(rules: RuleSet, seats: int) -> tuple[float, ...]:
    """Return the weights of the features in a game of these rules, as they were trained."""
    table: dict[str, dict[str, float]] = json.loads(files(__package__).joinpath("weights.json").read_text("utf-8"))
    weights = table[kind_of(rules, seats)]
    return tuple([weights[feature] for feature in FEATURES])


def kind_of(rules: RuleSet, seats: int) -> str:
    """Return the name of the weights of a game: what its pile, its close and its seats have in common with others."""
    pile = "closed pile" if rules.closed_pile else "open pile"
    close = "hard close" if is_closing_hard(rules) else "easy close"
    return f"{pile}, {close}, {seats} seats"
