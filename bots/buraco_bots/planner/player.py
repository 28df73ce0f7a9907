"""`PlannerBot`, which plans a whole turn and plays it move by move."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from buraco_bots.greedy.imagined import BLANK, imagine, play
from buraco_bots.planner.features import Knowledge, knowledge_of
from buraco_bots.planner.turns import best_turn
from buraco_rules import (
    Deal,
    DrawStock,
    LayMeld,
    LayOff,
    Move,
    MoveWild,
    Phase,
    TakePile,
    View,
    meld_book,
)

SAMPLES: Final = 5
"""Cards of the stock, or hidden piles, that are tried before drawing."""
DRAW_NODES: Final = 30


class PlannerBot:
    """Plans whole turns."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._plan: tuple[Move, ...] = ()
        self._expected: tuple[object, ...] = ()

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        """Return the next move of the best plan found."""
        if len(moves) == 1:
            return moves[0]
        if view.phase is Phase.DRAW:
            return self._choose_draw(view)
        deal = imagine(view)
        assert view.seat is not None
        cleaning = _find_cleaning(deal, moves)
        if cleaning is not None:
            return cleaning
        if not self._plan or self._expected != _state(view):
            plan = best_turn(deal, view.seat, knowledge_of(view))
            self._plan = () if plan is None else plan.moves
        if not self._plan or self._plan[0] not in moves:
            self._plan = ()
            return moves[-1]
        move, self._plan = self._plan[0], self._plan[1:]
        if self._plan and isinstance(move, LayMeld | LayOff):
            after = play(deal, move)
            self._expected = (view.turn_number, after.hand, after.side.melds)
        return move

    def _choose_draw(self, view: View) -> Move:
        seat = view.seat
        assert seat is not None
        deal = imagine(view)
        knowledge = knowledge_of(view)
        unseen = [card for card, count in enumerate(knowledge.unseen) for _ in range(count)]
        hidden = deal.pile.count(BLANK)
        picks = self._random.sample(unseen, min(len(unseen), SAMPLES))
        stock = []
        for card in picks:
            if not deal.stock:
                break
            drawn = play(deal._replace(stock=(*deal.stock[:-1], card)), DrawStock())
            stock.append(_worth(drawn, seat, _without(knowledge, (card,))))
        piles = []
        for _ in range(SAMPLES if hidden else 1):
            cards = tuple(self._random.sample(unseen, hidden)) if hidden else ()
            taken = play(deal._replace(pile=(*cards, *deal.pile[hidden:])), TakePile())
            value = _worth(taken, seat, _without(knowledge, cards))
            if value is not None:
                piles.append(value)
        stocked = [value for value in stock if value is not None]
        if not piles or not stocked:
            return TakePile() if piles and not stocked else DrawStock()
        return TakePile() if sum(piles) / len(piles) > sum(stocked) / len(stocked) else DrawStock()


def _worth(deal: Deal, seat: int, knowledge: Knowledge) -> float | None:
    plan = best_turn(deal, seat, knowledge, DRAW_NODES, 2)
    return None if plan is None else plan.value


def _without(knowledge: Knowledge, cards: tuple[int, ...]) -> Knowledge:
    unseen = list(knowledge.unseen)
    for card in cards:
        unseen[card] -= 1
    return Knowledge(tuple(unseen), knowledge.mean_value)


def _state(view: View) -> tuple[object, ...]:
    assert view.seat is not None
    return (view.turn_number, view.hand, view.sides[view.seat & 1].melds)


def _find_cleaning(deal: Deal, moves: Sequence[Move]) -> MoveWild | None:
    """Return the move of a wild that makes it a natural, if any. Only such moves are made, so none is reversed."""
    for move in moves:
        if isinstance(move, MoveWild):
            moved = meld_book(deal.rules).move_wild(deal.side.melds[move.meld])
            if moved is not None and moved[0].wild_index is None:
                return move
    return None
