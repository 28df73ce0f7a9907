"""What a meld or lay-off gains, and the line of them that a turn should play."""

from __future__ import annotations

from collections.abc import Iterable

from buraco_bots.greedy.imagined import play
from buraco_bots.greedy.situation import Situation
from buraco_bots.greedy.worth import meld_after, meld_worth
from buraco_rules import Deal, LayMeld, LayOff, Move, Phase, card_points, legal_lays


def gain_of(deal: Deal, move: LayMeld | LayOff, situation: Situation) -> float:
    """Return the expected gain of a legal meld or lay-off in points, without what an emptied hand gains."""
    rules = deal.rules
    base, meld = meld_after(deal, move)
    gain = meld_worth(rules, meld) + card_points(rules, move.cards) * situation.risk + situation.haste * len(move.cards)
    if base is not None:
        gain -= meld_worth(rules, base)
    if meld.is_buraco and (base is None or not base.is_buraco):
        gain += situation.first_buraco
    if meld.is_clean_buraco and (base is None or not base.is_clean_buraco):
        gain += situation.first_clean
    if meld.wild_index is not None and (base is None or base.wild_index is None):
        gain -= situation.value_of_wild(meld.cards[meld.wild_index]) * (1.0 - situation.risk)
    return gain


def best_candidate(deal: Deal, moves: Iterable[Move], situation: Situation) -> tuple[float, LayMeld | LayOff | None]:
    """Return the highest gain, maybe below 0, of the melds and lay-offs in `moves`, and its move; else 0 and None."""
    best, chosen = 0.0, None
    for move in moves:
        if isinstance(move, (LayMeld, LayOff)):
            gain = gain_of(deal, move, situation)
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
