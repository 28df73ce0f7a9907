"""What melds are worth, in points, with what may still become of them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from buraco_rules import (
    BURACO_SIZE,
    Deal,
    LayMeld,
    LayOff,
    Meld,
    MeldKind,
    RuleSet,
    buraco_points,
    card_points,
    choose_outcome,
)
from buraco_rules.cards import RANK, SUIT

PROGRESS: Final = (0.0, 0.0, 0.0, 0.08, 0.18, 0.32, 0.55)
"""The chance that a meld of so many cards becomes a buraco."""
LONG_RUN: Final = (0.02, 0.04, 0.08, 0.14, 0.25, 0.45)
"""The chance that a clean run of 7 to 12 cards becomes a royal."""


@lru_cache(4096)
def meld_worth(rules: RuleSet, meld: Meld) -> float:
    """Card values, and the bonus of the buraco or the part of it that the meld may hope for."""
    size = len(meld.cards)
    points = card_points(rules, meld.cards)
    clean = meld.wild_index is None and not meld.stays_dirty
    if size < BURACO_SIZE:
        return points + PROGRESS[size] * (rules.clean if clean else rules.dirty)
    bonus = float(buraco_points(rules, meld.buraco))
    if clean and rules.royal and meld.kind is MeldKind.RUN and size < 13:
        bonus += LONG_RUN[size - BURACO_SIZE] * (rules.royal - bonus)
    return points + bonus


def meld_after(deal: Deal, move: LayMeld | LayOff) -> tuple[Meld | None, Meld]:
    """The meld that a legal move lays on, if any, and what it becomes."""
    outcome = choose_outcome(deal, move)
    if outcome is None:
        raise ValueError("not a legal lay")
    return deal.side.melds[move.meld] if isinstance(move, LayOff) else None, outcome.meld


def fits(meld: Meld, card: int) -> bool:
    """Whether a natural card extends the meld as it lies, or takes the place of its wild."""
    if meld.kind is MeldKind.SET:
        return RANK[card] == RANK[meld.natural]
    if SUIT[card] != SUIT[meld.natural]:
        return False
    low, high = meld.low_position, meld.low_position + len(meld.cards) - 1
    places = (1, 14) if RANK[card] == 1 else (RANK[card],)
    return any([place in (low - 1, high + 1) or place == meld.wild_position for place in places])
