"""`PlannerBot`, which plans its turn, and draws what promises the better one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from buraco.v1 import event_pb2
from buraco_bots.greedy.finishing import best_finish
from buraco_bots.greedy.imagined import BLANK, imagine, play
from buraco_bots.greedy.melding import find_better_wild_place
from buraco_bots.greedy.opening import opening_candidate
from buraco_bots.memory import Memory
from buraco_bots.planner.melds import MeldWorth
from buraco_bots.planner.outlook import Known, Outlook, Pairs, pairs_for
from buraco_bots.planner.standstill import Standstill
from buraco_bots.planner.turns import Plan, TurnSearch
from buraco_bots.planner.weights import Game, Weights, read_coefficients, weights_for
from buraco_rules import (
    Deal,
    Discard,
    DrawStock,
    LayMeld,
    LayOff,
    Move,
    MoveWild,
    Phase,
    TakePile,
    View,
    draw_violation,
    legal_lays,
)


class PlannerBot:
    """Plans whole turns: what to meld and what to keep, what the pile is worth, the race for pots, safe discards."""

    def __init__(self, random: Random, weights: str = "") -> None:
        """`weights`: a file of weights; empty for those it was trained to."""
        self._weights_for: Callable[[Game], Weights] = partial(weights_for, read_coefficients(weights))
        self._memory = Memory()
        self._standstill = Standstill()
        self._game: Game | None = None
        self._weights: Weights
        self._worth: MeldWorth
        self._pairs: Pairs

    @classmethod
    def with_weights(cls, random: Random, weights: Weights) -> PlannerBot:
        """Return a planner that plays by these weights in any game: for training."""
        bot = cls(random)
        bot._weights_for = lambda game: weights
        return bot

    def observe(self, event: event_pb2.Event) -> None:
        """Remember the cards that are seen, and whether the deal goes on."""
        self._memory.note(event)
        self._standstill.note(event)

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        """Return the first move of the plan."""
        return self.plan(view, moves)[0]

    def plan(self, view: View, moves: Sequence[Move]) -> Sequence[Move]:
        """Return the turn, as far as no hidden card comes up in it."""
        if len(moves) == 1:
            return moves
        self._prepare(view)
        memory = self._memory
        known = Known(memory.known_hands(view), memory.unseen_cards(view))
        outlook = Outlook(view, known, self._weights, self._worth, self._pairs)
        deal = imagine(view, memory.known_pile(view))
        if view.phase is Phase.DRAW:
            if self._standstill.has_to_end(view) and draw_violation(deal, DrawStock()) is None:
                return [DrawStock()]
            return self._draw(deal, outlook)
        return self._play(deal, moves, outlook)

    def _prepare(self, view: View) -> None:
        game = Game(view.rules, len(view.hand_counts), not view.match.target_score)
        if game != self._game:
            self._game = game
            self._weights = self._weights_for(game)
            self._worth = MeldWorth(view.rules, self._weights)
            self._pairs = pairs_for(view.rules, self._weights)

    def _draw(self, deal: Deal, outlook: Outlook) -> Sequence[Move]:
        if draw_violation(deal, TakePile()) is not None:
            return [DrawStock()]  # nothing to take, or not legal without the hidden cards of the pile
        if draw_violation(deal, DrawStock()) is not None:
            return [TakePile()]
        weights, rest = outlook.weights, 1.0 - outlook.risk
        search = TurnSearch(outlook)
        taken = _best_plan(search, play(deal, TakePile()), outlook)
        take = taken.value + weights.hidden * deal.pile.count(BLANK) * rest
        stock = _value_of_stock(search, play(deal, DrawStock()), outlook)
        stock += weights.unknown * rest - outlook.pile_left(deal.pile)
        return (TakePile(), *taken.moves) if take > stock else [DrawStock()]

    def _play(self, deal: Deal, moves: Sequence[Move], outlook: Outlook) -> Sequence[Move]:
        if deal.side.opening_required:
            opening = opening_candidate(deal)
            if opening is not None:
                return [opening]
            discards = [move for move in moves if isinstance(move, Discard)]
            if not discards:
                return moves[:1]
            hand, pile = deal.hand, len(deal.pile)

            def cost(discard: Discard) -> float:
                return outlook.loss_of_discarding(hand, discard.card) + outlook.danger_of(discard.card, pile)

            return [min(discards, key=cost)]
        cleaning = find_better_wild_place(deal, moves, self._worth.of)
        if cleaning is not None:
            return [cleaning]
        planned = _best_plan(TurnSearch(outlook), deal, outlook).moves
        return planned or [next((move for move in moves if not isinstance(move, MoveWild)), moves[0])]


def _value_of_stock(search: TurnSearch, drawn: Deal, outlook: Outlook) -> float:
    """Return the value of a turn with a card of the stock, which is not known yet and not in the imagined hand."""
    plan = _best_plan(search, drawn, outlook)
    if len(drawn.hand) == 1 and not any([isinstance(move, (LayMeld, LayOff)) for move in plan.moves]):
        return outlook.hand_worth(drawn.hand)  # there are two cards in truth: discarding one leaves the other
    return plan.value


def _best_plan(search: TurnSearch, deal: Deal, outlook: Outlook) -> Plan:
    """Return the best plan of a seat that has drawn, with those that empty its hand looked for more thoroughly."""
    if deal.phase is not Phase.MELD:
        return Plan(0.0, ())
    lays = legal_lays(deal)
    plan = search.search(deal, lays)
    line = best_finish(deal, lays, outlook)
    if line is not None and line.gain > plan.value:
        return Plan(line.gain, (line.first,))
    return plan
