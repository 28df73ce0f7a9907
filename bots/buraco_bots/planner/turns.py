"""Searches whole turns: which melds and lay-offs to play, which to keep back, and what to discard after them."""

from __future__ import annotations

from typing import Final, NamedTuple

from buraco_bots.greedy.imagined import BLANK, play
from buraco_bots.planner.outlook import Outlook
from buraco_rules import (
    Deal,
    Discard,
    Ending,
    LastCard,
    LayMeld,
    LayOff,
    Move,
    Phase,
    discard_violation,
    judge_last_card,
    legal_lays,
)

WIDTH: Final = 3
"""Positions that are followed further after each meld or lay-off."""
_WORST: Final = -1e9
_MATCH_WON: Final = 2000.0
"""Points for a buraco of 2s that wins the match."""


class Plan(NamedTuple):
    """A turn, as far as it can be planned: to its end, or until hidden cards come up."""

    value: float
    """In points: what it gains, and what the hand is worth after it."""
    moves: tuple[Move, ...]
    """At least one, unless the turn has no legal move that is looked at."""


class _Node(NamedTuple):
    value: float
    """With what the hand is worth."""
    gain: float
    """Without it."""
    deal: Deal
    moves: tuple[Move, ...]


class TurnSearch:
    """Searches the rest of a turn in imagined deals."""

    def __init__(self, outlook: Outlook) -> None:
        self._outlook = outlook
        self._best = Plan(_WORST, ())

    def search(self, deal: Deal, lays: list[LayMeld | LayOff]) -> Plan:
        """Return the best plan found for a seat that has drawn; `lays` are its legal melds and lay-offs."""
        self._best = Plan(_WORST, ())
        nodes = [_Node(self._outlook.hand_worth(deal.hand), 0.0, deal, ())]
        visited = set()
        while nodes:
            grown: list[tuple[float, float, _Node, LayMeld | LayOff]] = []
            for node in nodes:
                self._end(node)
                grown += self._grow(node, legal_lays(node.deal) if node.moves else lays)
            grown.sort(key=lambda step: -step[0])
            nodes = []
            for value, gain, node, move in grown:
                if len(nodes) == WIDTH:
                    break
                after = play(node.deal, move)
                key = after.hand, frozenset(after.side.melds)
                if key in visited:
                    continue
                visited.add(key)
                self._go_on(_Node(value, gain, after, (*node.moves, move)), node.deal, nodes)
        return self._best

    def _go_on(self, node: _Node, before: Deal, nodes: list[_Node]) -> None:
        """Add a position after a lay to those that are followed, or the plan that ends with it."""
        outlook, deal = self._outlook, node.deal
        seat = before.seat_to_move
        if deal.phase is Phase.OVER:
            won = outlook.close if deal.ending is Ending.CLOSED else _MATCH_WON
            self._offer(node.gain + won, node.moves)
        elif deal.sides[seat & 1].pots_taken > before.sides[seat & 1].pots_taken:
            self._offer(node.gain + outlook.pot + outlook.weights.flight, node.moves)
        elif before.turn.must_meld and BLANK in before.pile:
            # The hidden cards come now: what follows is planned when they are seen.
            self._offer(node.value, node.moves)
        else:
            nodes.append(node)

    def _grow(self, node: _Node, lays: list[LayMeld | LayOff]) -> list[tuple[float, float, _Node, LayMeld | LayOff]]:
        outlook, deal = self._outlook, node.deal
        hand = deal.hand
        grown = []
        for move in lays:
            gain = outlook.gain_of(deal, move)
            value = node.value + gain - outlook.loss_of_laying(hand, move.cards)
            grown.append((value, node.gain + gain, node, move))
        return grown

    def _end(self, node: _Node) -> None:
        """Look at the best discard of a position."""
        outlook, deal = self._outlook, node.deal
        if deal.turn.must_meld or (deal.side.opening_required and deal.turn.opening_attempt):
            return
        hand, pile = deal.hand, len(deal.pile)
        if len(hand) == 1:
            follows = judge_last_card(deal, deal.side, discard=hand[0])
            if isinstance(follows, LastCard) and discard_violation(deal, hand[0]) is None:
                worth = outlook.pot if follows is LastCard.POT else outlook.close
                self._offer(
                    node.gain + worth - outlook.danger_of(hand[0], pile),
                    (*node.moves, Discard(hand[0])),
                )
            return
        values = [
            (node.value - outlook.loss_of_discarding(hand, card) - outlook.danger_of(card, pile), card)
            for card in set(hand)
        ]
        values.sort(reverse=True)
        for value, card in values:
            if value <= self._best.value:
                return
            if discard_violation(deal, card) is None:
                self._offer(value, (*node.moves, Discard(card)))
                return

    def _offer(self, value: float, moves: tuple[Move, ...]) -> None:
        if value > self._best.value:
            self._best = Plan(value, moves)
