"""The pile or the stock."""

from __future__ import annotations

from typing import Final

from buraco_bots.greedy.imagined import BLANK, play
from buraco_bots.greedy.melding import line_gain
from buraco_bots.greedy.situation import Situation
from buraco_rules import Deal, DrawStock, Move, TakePile, draw_violation

UNKNOWN_CARD: Final = 14.0
"""What the unknown card of the stock gains on average."""

HIDDEN_CARD: Final = 6.0
"""What a card under the top of a closed pile is worth."""


def takes_pile(deal: Deal, now: Situation) -> bool:
    """Whether taking the pile promises more than drawing from the stock."""
    if draw_violation(deal, TakePile()) is not None:
        return False  # nothing to take, or not to be trusted with the hidden cards of the pile left out
    return pile_gain(deal, now) > UNKNOWN_CARD * (1.0 - now.risk)


def pile_gain(deal: Deal, now: Situation) -> float:
    """What the pile gains over the hand as it is."""
    with_pile = _turn_value(deal, TakePile(), now)
    without = _turn_value(deal, DrawStock(), now)
    hidden = deal.pile.count(BLANK)
    return with_pile - without + HIDDEN_CARD * hidden * (1.0 - now.risk)


def _turn_value(deal: Deal, draw: Move, now: Situation) -> float:
    seat = deal.seat_to_move
    gain, after = line_gain(play(deal, draw), now)
    if after.sides[seat & 1].pots_taken > deal.sides[seat & 1].pots_taken:
        return gain
    rules = deal.rules
    for card in after.hands[seat]:
        gain += now.card * (1.0 - now.risk) - rules.values[card] * now.risk - now.haste
    return gain
