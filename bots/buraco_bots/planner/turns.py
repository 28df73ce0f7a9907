"""The best way to finish a turn: which cards to lay, which to keep back, which one to discard."""

from __future__ import annotations

from typing import Final, NamedTuple

from buraco_bots.greedy.imagined import play
from buraco_bots.planner.evaluation import Evaluation
from buraco_bots.planner.features import Knowledge
from buraco_rules import (
    Deal,
    Discard,
    Move,
    Phase,
    discard_violation,
    legal_lays,
)

WIDTH: Final = 5
DEPTH: Final = 9
NODES: Final = 90
FINISHED: Final = 5
"""Positions whose discards are looked at."""


class Plan(NamedTuple):
    """A way to go on with a turn, and what it is worth."""

    value: float
    moves: tuple[Move, ...]


class _Node(NamedTuple):
    value: float
    deal: Deal
    moves: tuple[Move, ...]


def best_turn(deal: Deal, seat: int, knowledge: Knowledge, nodes: int = NODES, finished: int = FINISHED) -> Plan | None:
    """Return the best plan found for the rest of a turn that has drawn; None if none is legal as far as was searched."""
    pots = deal.side.pots_taken
    evaluation = Evaluation(deal, seat, knowledge)
    best: Plan | None = None
    start = _Node(evaluation.value(deal, deal.hand, 0), deal, ())
    front = [start]
    ends: list[_Node] = list(front)
    seen: set[tuple[object, ...]] = set()
    left = nodes
    for _ in range(DEPTH):
        reached: list[_Node] = []
        for node in front:
            if node.deal.phase is not Phase.MELD:
                continue
            for move in legal_lays(node.deal):
                if left <= 0:
                    break
                after = play(node.deal, move)
                side = after.sides[seat & 1]
                key = (after.hands[seat], tuple(sorted(map(hash, side.melds))), after.phase)
                if key in seen:
                    continue
                seen.add(key)
                left -= 1
                moves = (*node.moves, move)
                if after.phase is Phase.OVER:
                    plan = Plan(evaluation.value_of_end(after), moves)
                elif side.pots_taken > pots:
                    plan = Plan(evaluation.value(after, (), 11), moves)
                else:
                    reached.append(_Node(evaluation.value(after, after.hand, 0), after, moves))
                    continue
                if best is None or plan.value > best.value:
                    best = plan
        if not reached:
            break
        reached.sort(key=lambda node: -node.value)
        front = reached[:WIDTH]
        ends += front
    ends.sort(key=lambda node: -node.value)
    looked = 0
    for node in ends:
        if node.deal.turn.must_meld or (node.deal.turn.opening_attempt):
            continue
        found = best_discard(node, seat, evaluation)
        if found is not None and (best is None or found.value > best.value):
            best = found
        looked += 1
        if looked >= finished and best is not None:
            break
    return best


def best_discard(node: _Node, seat: int, evaluation: Evaluation) -> Plan | None:
    """Return the best discard of a position as a plan."""
    deal = node.deal
    hand = deal.hand
    pots = deal.side.pots_taken
    best: Plan | None = None
    last = 0
    ordinary = len(hand) > 1 and not deal.turn.opening_attempt and len(deal.stock) > 2
    table = evaluation.public_value(deal, hand, len(hand) - 1) if ordinary else 0.0
    for number, card in enumerate(hand):
        if card == last:
            continue
        last = card
        if discard_violation(deal, card) is not None:
            continue
        move = Discard(card)
        if ordinary:
            rest = hand[:number] + hand[number + 1 :]
            value = table + evaluation.hand_value(deal, rest) + evaluation.pile_value(deal, (*deal.pile, card))
            if best is None or value > best.value:
                best = Plan(value, (*node.moves, move))
            continue
        after = play(deal, move)
        if after.phase is Phase.OVER:
            value = evaluation.value_of_end(after)
        elif after.sides[seat & 1].pots_taken > pots:
            value = evaluation.value(after, (), 11)
        else:
            value = evaluation.value(after, after.hands[seat], 0)
        if best is None or value > best.value:
            best = Plan(value, (*node.moves, move))
    return best
