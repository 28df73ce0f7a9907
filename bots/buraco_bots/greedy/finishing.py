"""How to empty the hand within the turn: for a pot, or to close."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from buraco_bots.greedy.imagined import play
from buraco_bots.greedy.situation import can_finish
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

MAX_NODES: Final = 60
"""Positions that a search looks at."""
MAX_HAND: Final = 12
"""Cards of the largest hand that is searched."""
FLIGHT_BONUS: Final = 30.0
"""Points for going on in the same turn with the pot."""
MATCH_WON: Final = 1000.0
"""Points for a buraco of 2s that wins the match."""


class Gains(Protocol):
    """What a search for the end of a hand values."""

    @property
    def pot(self) -> float:
        """Return the points for picking up a pot."""
        ...

    @property
    def close(self) -> float:
        """Return the points for closing; below 0 if it does not pay."""
        ...

    def gain_of(self, deal: Deal, move: LayMeld | LayOff) -> float:
        """Return the points for a legal meld or lay-off, without what an emptied hand gains."""
        ...


class Line(NamedTuple):
    """A way to empty the hand."""

    gain: float
    """In points, with what the pot or the close gains."""
    first: Move
    """The move to make now."""


def best_finish(deal: Deal, candidates: list[LayMeld | LayOff], gains: Gains) -> Line | None:
    """Return the line of the highest gain found that empties the hand in this turn; None if none is found.

    `candidates` are all legal melds and lay-offs. The search stops after MAX_NODES; a hand over MAX_HAND has none.
    """
    if len(deal.hand) > MAX_HAND or deal.turn.must_meld or not can_finish(deal):
        return None
    if _count_stuck_cards(deal.hand, candidates) > 1:
        return None
    search = _Search(gains)
    search.visit(deal, candidates, 0.0, None)
    return search.best


class _Search:
    def __init__(self, gains: Gains) -> None:
        self._gains = gains
        self._nodes_left = MAX_NODES
        self._visited: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
        self.best: Line | None = None

    def visit(self, deal: Deal, candidates: list[LayMeld | LayOff], gain: float, first: Move | None) -> None:
        """Try every line of melds and lay-offs from here, the largest first, until no nodes are left."""
        hand = deal.hand
        if len(hand) == 1 and discard_violation(deal, hand[0]) is None:
            follows = judge_last_card(deal, deal.side, discard=hand[0])
            if isinstance(follows, LastCard):
                worth = self._gains.pot if follows is LastCard.POT else self._gains.close
                self._add_line(gain + worth, first or Discard(hand[0]))
        is_stuck = _count_stuck_cards(hand, candidates) > 1
        for move in sorted(candidates, key=lambda candidate: -len(candidate.cards)):
            if not self._nodes_left:
                return
            if is_stuck and len(hand) - len(move.cards) > 1:
                continue
            self._nodes_left -= 1
            total = gain + self._gains.gain_of(deal, move)
            after = play(deal, move)
            if after.phase is Phase.OVER:
                is_closed = after.ending is Ending.CLOSED
                self._add_line(total + (self._gains.close if is_closed else MATCH_WON), first or move)
            elif after.side.pots_taken > deal.side.pots_taken:
                self._add_line(total + self._gains.pot + FLIGHT_BONUS, first or move)
            else:
                key = (after.hand, tuple(sorted(map(hash, after.side.melds))))
                if key not in self._visited:
                    self._visited.add(key)
                    self.visit(after, legal_lays(after), total, first or move)

    def _add_line(self, gain: float, first: Move) -> None:
        if self.best is None or gain > self.best.gain:
            self.best = Line(gain, first)


def _count_stuck_cards(hand: tuple[int, ...], candidates: list[LayMeld | LayOff]) -> int:
    """Return how many cards of the hand no candidate plays."""
    playable = {card for candidate in candidates for card in candidate.cards}
    return sum([card not in playable for card in hand])
