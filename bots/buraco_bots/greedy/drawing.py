"""Whether to take the pile or to draw from the stock."""

from __future__ import annotations

from typing import Final

from buraco_bots.greedy.imagined import BLANK, play
from buraco_bots.greedy.melding import line_gain
from buraco_bots.greedy.situation import Situation
from buraco_rules import Deal, DrawStock, Move, TakePile, draw_violation

UNKNOWN_CARD: Final = 14.0
"""Points that an unknown card of the stock gains on average."""

HIDDEN_CARD: Final = 6.0
"""Points that a card under the top of a closed pile is worth."""


def should_take_pile(deal: Deal, situation: Situation) -> bool:
    """Return True if taking the pile gains more than drawing from the stock; False if it is not sure to be legal."""
    if draw_violation(deal, TakePile()) is not None:
        return False  # nothing to take, or not legal without the hidden cards of the pile
    return _pile_gain(deal, situation) > UNKNOWN_CARD * (1.0 - situation.risk)


def _pile_gain(deal: Deal, situation: Situation) -> float:
    """Return the points that the turn gains by taking the pile."""
    with_pile = _turn_value(deal, TakePile(), situation)
    without = _turn_value(deal, DrawStock(), situation)
    hidden = deal.pile.count(BLANK)
    return with_pile - without + HIDDEN_CARD * hidden * (1.0 - situation.risk)


def _turn_value(deal: Deal, draw: Move, situation: Situation) -> float:
    seat = deal.seat_to_move
    gain, after = line_gain(play(deal, draw), situation)
    if after.sides[seat & 1].pots_taken > deal.sides[seat & 1].pots_taken:
        return gain
    rules = deal.rules
    for card in after.hands[seat]:
        gain += situation.card * (1.0 - situation.risk) - rules.values[card] * situation.risk - situation.haste
    return gain
