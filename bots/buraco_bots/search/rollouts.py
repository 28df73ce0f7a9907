"""Deals played on by a policy, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from buraco_bots.bot import Bot
from buraco_bots.search.evaluation import value_of
from buraco_bots.search.policy import RolloutPolicy, ask_policy
from buraco_rules import Deal, Move, Phase, apply, legal_moves, match_result, score_deal, view_of

MATCH: Final = 1000.0
"""Points that a match counts for who wins it, and against who loses it."""


def rollout(deal: Deal, turn: Sequence[Move], seed: int, turns: int) -> float:
    """Return by how many points the side to move leads after these moves of it and so many more turns of all seats.

    The policy plays those, seeded. If the deal ends before, its score counts, and MATCH if a match to a target score is
    decided with it; else an estimate of the score.
    """
    side = deal.seat_to_move & 1
    end = play_on(deal, turn, [RolloutPolicy(Random(seed + seat)) for seat in range(deal.seats)], turns)
    if end.phase is not Phase.OVER:
        return value_of(end, side)
    totals = [score.total for score in score_deal(end).sides]
    lead = float(totals[side] - totals[1 - side])
    result = match_result(end) if end.match.target_score else None
    if result is None or result.winner is None:
        return lead
    return lead + MATCH if result.winner == side else lead - MATCH


def play_on(deal: Deal, turn: Sequence[Move], policies: Sequence[Bot], turns: int) -> Deal:
    """Return the deal after these moves, the rest of the turn, and so many turns more, or at its end.

    `turn` has to be legal; the policies, one a seat, play what follows.
    """
    last = deal.turn.number + turns
    for move in turn:
        deal = apply(deal, move)[0]
    while deal.phase is not Phase.OVER and deal.turn.number <= last:
        deal = play_next(deal, policies[deal.seat_to_move])
    return deal


def play_next(deal: Deal, policy: Bot) -> Deal:
    """Return the deal after the next moves of the policy of the seat to move."""
    moves = legal_moves(deal)
    for move in ask_policy(policy, view_of(deal, deal.seat_to_move, moves), moves):
        deal = apply(deal, move)[0]
    return deal
