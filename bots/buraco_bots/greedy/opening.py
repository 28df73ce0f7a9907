"""Meeting an opening minimum (R11.2): no card is shown before the hand holds enough for it."""

from __future__ import annotations

from typing import Final

from buraco_bots.greedy.imagined import play
from buraco_rules import Deal, LayMeld, LayOff, Phase, card_points, legal_lays
from buraco_rules.cards import WILDS

WILD_COSTS: Final = (25, 0)
"""Points that a wild costs: the first attempt saves wilds, the second reaches the highest sum."""


def opening_candidate(deal: Deal) -> LayMeld | LayOff | None:
    """Return the first move of a line that meets the opening minimum within this turn; None if none is found."""
    shown = sum([card_points(deal.rules, meld.cards) for meld in deal.side.melds])
    if shown + card_points(deal.rules, deal.hand) < deal.side.opening_required:
        return None
    for cost in WILD_COSTS:
        first = None
        after = deal
        while after.phase is Phase.MELD:
            candidates = legal_lays(after)
            if not candidates:
                break
            move = max(candidates, key=lambda candidate: _points(deal, candidate, cost))
            after = play(after, move)
            first = first or move
            if not after.sides[deal.seat_to_move & 1].opening_required:
                return first
    return None


def _points(deal: Deal, move: LayMeld | LayOff, wild_cost: int) -> int:
    return card_points(deal.rules, move.cards) - wild_cost * sum([card in WILDS for card in move.cards])
