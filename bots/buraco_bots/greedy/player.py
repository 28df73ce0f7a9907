"""`GreedyBot`, which chooses each move by asking the other modules in turn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

from buraco_bots.greedy.discarding import discard_costs
from buraco_bots.greedy.drawing import should_take_pile
from buraco_bots.greedy.finishing import best_finish
from buraco_bots.greedy.imagined import imagine
from buraco_bots.greedy.melding import best_candidate, find_better_wild_place
from buraco_bots.greedy.opening import opening_candidate
from buraco_bots.greedy.situation import Situation, situation_of
from buraco_bots.greedy.worth import meld_worth
from buraco_rules import (
    Deal,
    Discard,
    DrawStock,
    LastCard,
    LayMeld,
    LayOff,
    Move,
    MoveWild,
    Phase,
    TakePile,
    View,
    has_pot_left,
    judge_last_card,
)


class GreedyBot:
    """Plays what gains most in its own turn: melds, keeps wilds for buracos, hurries for the pot, closes if that pays.

    It keeps nothing between choices; chance decides only between discards of equal cost.
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        """Return the move with the highest expected gain."""
        if len(moves) == 1:
            return moves[0]
        situation = situation_of(view)
        deal = imagine(view)
        if view.phase is Phase.DRAW:
            return TakePile() if should_take_pile(deal, situation) else DrawStock()
        return self._choose_play(view, deal, moves, situation)

    def _choose_play(self, view: View, deal: Deal, moves: Sequence[Move], situation: Situation) -> Move:
        candidates = [move for move in moves if isinstance(move, (LayMeld, LayOff))]
        discards = [move for move in moves if isinstance(move, Discard)]
        move: Move | None
        if deal.side.opening_required:
            move = opening_candidate(deal)
            if move is not None:
                return move
        else:
            line = best_finish(deal, candidates, situation)
            if line is not None and line.gain > 0:
                return line.first
            move = find_better_wild_place(deal, moves, partial(meld_worth, deal.rules))
            if move is not None:
                return move
            if situation.close < 0:
                candidates = [candidate for candidate in candidates if not _would_close(deal, candidate)]
            gain, move = best_candidate(deal, candidates, situation)
            if move is not None and (gain > 0 or not discards):
                return move
        if situation.close < 0:
            discards = [discard for discard in discards if not _would_close(deal, discard)] or discards
        if not discards:
            return next((move for move in moves if not isinstance(move, MoveWild)), moves[0])
        costs = discard_costs(view, discards, situation)
        least = min([cost for cost, _ in costs])
        return self._random.choice([discard for cost, discard in costs if cost == least])


def _would_close(deal: Deal, move: Move) -> bool:
    """Return True if the move empties the hand without a pot to follow."""
    hand = deal.hand
    if isinstance(move, Discard):
        return len(hand) == 1 and judge_last_card(deal, deal.side, discard=move.card) is LastCard.CLOSE
    if isinstance(move, (LayMeld, LayOff)) and len(move.cards) == len(hand):
        return not has_pot_left(deal, deal.side)
    return False
