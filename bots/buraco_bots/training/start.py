"""Where a training begins: weights set by hand, close to how `greedy` values things."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from buraco_bots.planner.weights import TRAITS, Coefficients, Weights

FIRST: Final = Weights(
    dirty_3=0.08, dirty_4=0.18, dirty_5=0.32, dirty_6=0.55, clean_3=0.08, clean_4=0.18, clean_5=0.32, clean_6=0.55,
    royal=0.45, first_buraco=40, first_clean=40, two=35, joker=8, card=3, same_rank=6, next_to=7, near_to=4, twin=0,
    live=0, fits=6, fits_gain=0.2, near_own=4, keep=0.3, risk=0.1, risk_close=0.9, risk_card=0.1, risk_stock=0.9,
    risk_turn=0.12, haste=3, haste_few=6, haste_close=2, haste_lead=0, pot=140, pot_risk=60, second_pot=60, flight=30,
    close=0, close_card=8, unknown=14, hidden=6, pile_left=0, pile_left_fit=0, gives=20, gives_gain=0, gives_near=0,
    gives_live=0.3, gives_wild=20, pile_gives=3, pile_gives_live=0.075, pile_gives_wild=3, gives_known=2,
    pile_gives_known=0.2,
)  # fmt: skip
"""For any game."""

MORE: Final[Mapping[str, Mapping[str, float]]] = {
    "two": {"hard_close": 55, "pot_needs_buraco": -15},
    "card": {"hard_close_open_pile": 12},
    "haste": {"hard_close_open_pile": -3},
    "haste_few": {"hard_close_open_pile": -6},
}
"""What is added for traits: where deals are long, wilds and full hands are worth more."""


def first_coefficients() -> Coefficients:
    """Return the coefficients that a training begins with."""
    return {
        name: [value if trait == "always" else MORE.get(name, {}).get(trait, 0.0) for trait in TRAITS]
        for name, value in zip(Weights._fields, FIRST, strict=True)
    }
