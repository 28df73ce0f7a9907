"""Emptying the hand within the turn: for a pot, or to close."""

from __future__ import annotations

from typing import Final, NamedTuple

from buraco_bots.greedy.imagined import play
from buraco_bots.greedy.melding import lay_gain
from buraco_bots.greedy.situation import Situation, may_finish
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

NODES: Final = 60
"""Positions that a search looks at."""
LARGEST_HAND: Final = 12
FLIGHT: Final = 30.0
"""Points for going on in the same turn with the pot."""


class Line(NamedTuple):
    """A way to empty the hand."""

    gain: float
    first: Move


def best_finish(deal: Deal, moves: list[LayMeld | LayOff], now: Situation) -> Line | None:
    """The best way found to empty the hand in this turn; None where there is none. `moves` are the legal lays."""
    hand = deal.hand
    if len(hand) > LARGEST_HAND or deal.turn.must_meld or not may_finish(deal):
        return None
    playable = {card for move in moves for card in move.cards}
    if sum([card not in playable for card in hand]) > 1:
        return None
    search = _Search(now)
    search.visit(deal, moves, 0.0, None)
    return search.best


class _Search:
    def __init__(self, now: Situation) -> None:
        self._now = now
        self._nodes = NODES
        self._seen: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
        self.best: Line | None = None

    def visit(self, deal: Deal, lays: list[LayMeld | LayOff], gain: float, first: Move | None) -> None:
        """Tries every line of lays from here, the ones with most cards first, as far as the nodes last."""
        hand = deal.hand
        if len(hand) == 1 and discard_violation(deal, hand[0]) is None:
            follows = judge_last_card(deal, deal.side, discard=hand[0])
            if isinstance(follows, LastCard):
                worth = self._now.pot if follows is LastCard.POT else self._now.close
                self._offer(gain + worth, first or Discard(hand[0]))
        for move in sorted(lays, key=_most_cards):
            if not self._nodes:
                return
            if len(hand) - len(move.cards) > 1 and not self._worth_a_look(hand, lays):
                continue
            self._nodes -= 1
            total = gain + lay_gain(deal, move, self._now)
            after = play(deal, move)
            if after.phase is Phase.OVER:
                self._offer(total + (self._now.close if after.ending is Ending.CLOSED else 1000.0), first or move)
            elif after.side.pots_taken > deal.side.pots_taken:
                self._offer(total + self._now.pot + FLIGHT, first or move)
            else:
                key = (after.hand, tuple(sorted(map(hash, after.side.melds))))
                if key not in self._seen:
                    self._seen.add(key)
                    self.visit(after, legal_lays(after), total, first or move)

    def _worth_a_look(self, hand: tuple[int, ...], lays: list[LayMeld | LayOff]) -> bool:
        playable = {card for move in lays for card in move.cards}
        return sum([card not in playable for card in hand]) <= 1

    def _offer(self, gain: float, first: Move) -> None:
        if self.best is None or gain > self.best.gain:
            self.best = Line(gain, first)


def _most_cards(move: LayMeld | LayOff) -> int:
    return -len(move.cards)
