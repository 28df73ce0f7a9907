"""Which melds and lay-offs a turn should play."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from buraco_bots.greedy.imagined import play
from buraco_bots.greedy.situation import Situation
from buraco_rules import Deal, LayMeld, LayOff, Meld, Move, MoveWild, Phase, legal_lays, meld_book


def best_candidate(deal: Deal, moves: Iterable[Move], situation: Situation) -> tuple[float, LayMeld | LayOff | None]:
    """Return the highest gain, maybe below 0, of the melds and lay-offs in `moves`, and its move; else 0 and None."""
    best, chosen = 0.0, None
    for move in moves:
        if isinstance(move, (LayMeld, LayOff)):
            gain = situation.gain_of(deal, move)
            if chosen is None or gain > best:
                best, chosen = gain, move
    return best, chosen


def line_gain(deal: Deal, situation: Situation) -> tuple[float, Deal]:
    """Return the gain of playing the best meld or lay-off as long as one gains, and the deal after that."""
    total = 0.0
    seat = deal.seat_to_move
    pots = deal.side.pots_taken
    forced = deal.turn.must_meld > 0
    while deal.phase is Phase.MELD:
        gain, move = best_candidate(deal, legal_lays(deal), situation)
        if move is None or (gain <= 0 and not forced):
            break
        forced = False
        total += gain
        deal = play(deal, move)
        if deal.sides[seat & 1].pots_taken > pots:
            return total + situation.pot, deal
    if deal.phase is Phase.OVER:
        total += situation.close
    return total, deal


def find_better_wild_place(deal: Deal, moves: Iterable[Move], worth: Callable[[Meld], float]) -> MoveWild | None:
    """Return the move of a wild that makes its meld worth more, if any: so none is ever reversed."""
    for move in moves:
        if isinstance(move, MoveWild):
            base = deal.side.melds[move.meld]
            moved = meld_book(deal.rules).move_wild(base)
            if moved is not None and worth(moved[0]) > worth(base):
                return move
    return None
