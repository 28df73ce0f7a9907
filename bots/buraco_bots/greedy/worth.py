"""What melds are worth in points, with what they may still become."""

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

BURACO_CHANCES: Final = (0.0, 0.0, 0.0, 0.08, 0.18, 0.32, 0.55)
"""The chance that a meld becomes a buraco, by its number of cards."""
ROYAL_CHANCES: Final = (0.02, 0.04, 0.08, 0.14, 0.25, 0.45)
"""The chance that a clean run becomes a royal, by its number of cards from 7 to 12."""


@lru_cache(4096)
def meld_worth(rules: RuleSet, meld: Meld) -> float:
    """Return the card values, and the bonus of the buraco or its expected part."""
    size = len(meld.cards)
    points = card_points(rules, meld.cards)
    clean = meld.wild_index is None and not meld.stays_dirty
    if size < BURACO_SIZE:
        return points + BURACO_CHANCES[size] * (rules.clean if clean else rules.dirty)
    bonus = float(buraco_points(rules, meld.buraco))
    if clean and rules.royal and meld.kind is MeldKind.RUN and size < 13:
        bonus += ROYAL_CHANCES[size - BURACO_SIZE] * (rules.royal - bonus)
    return points + bonus


def meld_after(deal: Deal, move: LayMeld | LayOff) -> tuple[Meld | None, Meld]:
    """Return the meld that a move lays off to (None: a new meld), and what it becomes. Raise ValueError if illegal."""
    outcome = choose_outcome(deal, move)
    if outcome is None:
        raise ValueError("not a legal meld or lay-off")
    return deal.side.melds[move.meld] if isinstance(move, LayOff) else None, outcome.meld
