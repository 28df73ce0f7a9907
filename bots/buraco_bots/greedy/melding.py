"""Laying cards: what a meld or lay-off gains, and the line of them that a turn should play."""

from __future__ import annotations

from collections.abc import Iterable

from buraco_bots.greedy.imagined import play
from buraco_bots.greedy.situation import Situation
from buraco_bots.greedy.worth import meld_after, meld_worth
from buraco_rules import Deal, LayMeld, LayOff, Move, Phase, card_points, legal_lays


def lay_gain(deal: Deal, move: LayMeld | LayOff, now: Situation) -> float:
    """Points that a legal lay gains in expectation, the emptied hand left out."""
    rules = deal.rules
    base, meld = meld_after(deal, move)
    gain = meld_worth(rules, meld) + card_points(rules, move.cards) * now.risk + now.haste * len(move.cards)
    if base is not None:
        gain -= meld_worth(rules, base)
    if meld.is_buraco and (base is None or not base.is_buraco):
        gain += now.first_buraco
    if meld.is_clean_buraco and (base is None or not base.is_clean_buraco):
        gain += now.first_clean
    if meld.wild_index is not None and (base is None or base.wild_index is None):
        gain -= now.kept(meld.cards[meld.wild_index]) * (1.0 - now.risk)
    return gain


def best_lay(deal: Deal, lays: Iterable[Move], now: Situation) -> tuple[float, LayMeld | LayOff | None]:
    """The lay that gains most, and its gain."""
    best, chosen = 0.0, None
    for move in lays:
        if isinstance(move, (LayMeld, LayOff)):
            gain = lay_gain(deal, move, now)
            if chosen is None or gain > best:
                best, chosen = gain, move
    return best, chosen


def line_gain(deal: Deal, now: Situation) -> tuple[float, Deal]:
    """What the lays of the turn gain when the best is played as long as one gains, and the deal then."""
    total = 0.0
    seat = deal.seat_to_move
    pots = deal.side.pots_taken
    forced = deal.turn.must_meld > 0
    while deal.phase is Phase.MELD:
        gain, move = best_lay(deal, legal_lays(deal), now)
        if move is None or (gain <= 0 and not forced):
            break
        forced = False
        total += gain
        deal = play(deal, move)
        if deal.sides[seat & 1].pots_taken > pots:
            return total + now.pot, deal
    if deal.phase is Phase.OVER:
        total += now.close
    return total, deal
