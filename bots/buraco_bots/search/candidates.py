"""The few turns that are worth to be tried: the policy's own, and turns that differ from it in one respect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from buraco_bots.bot import MAX_PLAN, Bot
from buraco_bots.greedy.discarding import discard_costs
from buraco_bots.greedy.imagined import imagine, play
from buraco_bots.greedy.situation import situation_of
from buraco_bots.search.policy import ask_policy
from buraco_rules import Deal, Discard, LayMeld, LayOff, Move, Phase, View, legal_moves, view_of

DISCARDS: Final = 4
"""Other discards after the policy's melds."""
MORE_LAYS: Final = 2
"""Melds and lay-offs that the policy does not make."""

Turn = tuple[Move, ...]
"""The next moves of a turn, to its end or until a hidden card comes up."""


class _Step(NamedTuple):
    """A move of a turn, with what it was chosen from."""

    deal: Deal
    moves: Sequence[Move]
    move: Move


def candidate_turns(view: View, moves: Sequence[Move], policy: Bot, limit: int) -> list[Turn]:
    """Return at most `limit` turns, the policy's own first; `moves` are the legal ones of the seat to move.

    The others draw otherwise, discard another card, keep back what the policy lays, or lay more.
    """
    if view.phase is Phase.DRAW:
        own, *_ = ask_policy(policy, view, moves)
        return [(own,), *[(move,) for move in moves if type(move) is not type(own)]]
    steps = _own_turn(view, moves, policy)
    own_turn = tuple([step.move for step in steps])
    last = steps[-1]
    turns = [own_turn]
    if isinstance(last.move, Discard):
        turns += [(*own_turn[:-1], move) for move in _discards(last.deal, last.moves, last.move)[:DISCARDS]]
    for kept, step in enumerate(steps[:-1]):
        turns += [(*own_turn[:kept], move) for move in _discards(step.deal, step.moves)[:1]]
    if isinstance(last.move, Discard):
        lays = [move for move in last.moves if isinstance(move, (LayMeld, LayOff))]
        turns += [(*own_turn[:-1], *_lay_and_discard(last.deal, move)) for move in lays[:MORE_LAYS]]
    return turns[:limit]


def _own_turn(view: View, moves: Sequence[Move], policy: Bot) -> list[_Step]:
    """Return the policy's moves, as far as no hidden card comes up."""
    deal = imagine(view)
    steps: list[_Step] = []
    while len(steps) < MAX_PLAN:
        for move in ask_policy(policy, view_of(deal, view.seat, moves), moves):
            steps.append(_Step(deal, moves, move))
            after = play(deal, move)
            if not _goes_on(deal, after):
                return steps
            deal, moves = after, legal_moves(after)
    return steps


def _goes_on(deal: Deal, after: Deal) -> bool:
    """Return True if the turn is not over after a move, and no hidden card came up."""
    return (
        after.phase is Phase.MELD
        and after.seat_to_move == deal.seat_to_move
        and after.side.pots_taken == deal.side.pots_taken
        and not deal.turn.must_meld
    )


def _discards(deal: Deal, moves: Sequence[Move], but: Move | None = None) -> list[Discard]:
    """Return the legal discards, the least costly first."""
    discards = [move for move in moves if isinstance(move, Discard) and move != but]
    view = view_of(deal, deal.seat_to_move, moves)
    costs = discard_costs(view, discards, situation_of(view))
    return [discard for _, discard in sorted(costs, key=lambda cost: cost[0])]


def _lay_and_discard(deal: Deal, move: Move) -> Turn:
    after = play(deal, move)
    if not _goes_on(deal, after):
        return (move,)
    return (move, *_discards(after, legal_moves(after))[:1])
