"""What melds are worth in points, with what they may still become, by trained weights."""

from __future__ import annotations

from typing import Final

from buraco_bots.planner.weights import Weights
from buraco_rules import BURACO_SIZE, Meld, MeldKind, RuleSet, buraco_points, card_points

ROYAL_GROWTH: Final = (0.05, 0.1, 0.2, 0.35, 0.6, 1.0)
"""The share of `Weights.royal` that a clean run has, by its number of cards from 7 to 12."""


class MeldWorth:
    """Values melds in one game."""

    def __init__(self, rules: RuleSet, weights: Weights) -> None:
        self._rules = rules
        self._chances = (
            (0.0, 0.0, 0.0, weights.dirty_3, weights.dirty_4, weights.dirty_5, weights.dirty_6),
            (0.0, 0.0, 0.0, weights.clean_3, weights.clean_4, weights.clean_5, weights.clean_6),
        )
        self._royal = weights.royal
        self._known: dict[Meld, float] = {}

    def of(self, meld: Meld) -> float:
        """Return the card values, and the bonus of the buraco or its expected part."""
        worth = self._known.get(meld)
        if worth is None:
            worth = self._known[meld] = self._compute(meld)
        return worth

    def growth(self, meld: Meld) -> float:
        """Return about what one natural card more would add to a meld."""
        size = len(meld.cards)
        if size >= BURACO_SIZE:
            return 8.0
        chances = (*self._chances[_is_clean(meld)], 1.0)
        return 8.0 + (chances[size + 1] - chances[size]) * self._bonus(meld)

    def _compute(self, meld: Meld) -> float:
        rules = self._rules
        size = len(meld.cards)
        points = float(card_points(rules, meld.cards))
        if size < BURACO_SIZE:
            return points + self._chances[_is_clean(meld)][size] * self._bonus(meld)
        bonus = float(buraco_points(rules, meld.buraco))
        if rules.royal and meld.kind is MeldKind.RUN and size < 13 and _is_clean(meld):
            bonus += self._royal * ROYAL_GROWTH[size - BURACO_SIZE] * (rules.royal - bonus)
        return points + bonus

    def _bonus(self, meld: Meld) -> int:
        return self._rules.clean if _is_clean(meld) else self._rules.dirty


def _is_clean(meld: Meld) -> bool:
    return meld.wild_index is None and not meld.stays_dirty
