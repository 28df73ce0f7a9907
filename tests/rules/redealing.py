"""Deals that differ only in what is hidden from a seat."""

import random
from typing import Final, NamedTuple

from buraco_rules import Deal


class Kept(NamedTuple):
    """What stays as it is when hidden cards are dealt anew."""

    cards: tuple[int, ...] = ()
    """Of the hand of the seat to move: those that its next move names."""
    hands: bool = False
    stock_top: bool = False
    first_pot: bool = False
    pile: bool = False


NOTHING_KEPT: Final = Kept()


def redealt(deal: Deal, seat: int | None, rng: random.Random, kept: Kept = NOTHING_KEPT) -> Deal:
    """The deal with all that is hidden from a seat (None: from everybody) dealt anew, as many cards to each place."""
    hands = [list(hand) for hand in deal.hands]
    stays: list[list[int]] = [[] for _ in hands]
    for other in range(deal.seats):
        if other == seat or kept.hands:
            stays[other], hands[other] = hands[other], []
    if deal.seat_to_move != seat and not kept.hands:
        for card in kept.cards:
            hands[deal.seat_to_move].remove(card)
            stays[deal.seat_to_move].append(card)
    stock, top = list(deal.stock), []
    if kept.stock_top:
        stock, top = stock[:-1], stock[-1:]
    pots = [list(pot) for pot in deal.pots]
    first_pot = [pots.pop(0)] if pots and kept.first_pot else []
    covered: list[int] = []
    if deal.rules.closed_pile and not kept.pile:
        covered = list(deal.pile if deal.turn.must_meld else deal.pile[:-1])
    places = [*hands, stock, *pots, covered]
    pool = [card for place in places for card in place]
    rng.shuffle(pool)
    for place in places:
        place[:] = [pool.pop() for _ in place]
    return deal._replace(
        hands=tuple([tuple(sorted(hand + stay)) for hand, stay in zip(hands, stays, strict=True)]),
        stock=tuple(stock + top),
        pots=tuple([tuple(pot) for pot in first_pot + pots]),
        pile=(*covered, *deal.pile[len(covered) :]),
    )
