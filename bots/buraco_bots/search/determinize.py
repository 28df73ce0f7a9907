"""Whole deals that are possible for all that a seat knows."""

from __future__ import annotations

from random import Random

from buraco_bots.greedy.imagined import imagine
from buraco_bots.memory import UNKNOWN, Memory
from buraco_rules import Deal, View, view_of


def determinize(view: View, memory: Memory, random: Random) -> Deal:
    """Return a deal whose view is this one, with known cards in their places and all others dealt out at random.

    Every such deal is equally likely. Nothing of the turn can be undone in it, as a view does not show what. Raise
    ValueError for a view in which cards are missing or too many.
    """
    unseen = list(memory.unseen_cards(view))
    random.shuffle(unseen)
    hands = [
        _fill(known, count, unseen) for known, count in zip(memory.known_hands(view), view.hand_counts, strict=True)
    ]
    pile = [card if card != UNKNOWN else _pop(unseen) for card in memory.known_pile(view)]
    pots = [_fill((), count, unseen) for count in view.pot_counts]
    if len(unseen) != view.stock_count:
        raise ValueError(f"{len(unseen)} cards are left for a stock of {view.stock_count}")
    deal = imagine(view)._replace(
        stock=tuple(unseen), pile=tuple(pile), pots=tuple(pots), hands=tuple([tuple(sorted(hand)) for hand in hands])
    )
    return _with_unplayed_pots(deal, view)


def _fill(known: tuple[int, ...], count: int, unseen: list[int]) -> tuple[int, ...]:
    """Return known cards and as many unseen ones as are missing."""
    return (*known, *[_pop(unseen) for _ in range(count - len(known))])


def _pop(unseen: list[int]) -> int:
    if not unseen:
        raise ValueError("there are not enough cards for this view")
    return unseen.pop()


def _with_unplayed_pots(deal: Deal, view: View) -> Deal:
    """Return the deal with the pots of which no card was played, as the points of the table show them (R9.1)."""
    for side, seen in enumerate(view.sides):
        if seen.pots_taken and view_of(deal, None).sides[side].table_points != seen.table_points:
            seats = range(side, deal.seats, 2)
            seat = max(seats, key=lambda seat: view.hand_counts[seat])
            own = deal.sides[side]._replace(unplayed_pots=(seat,))
            deal = deal._replace(sides=(own, deal.sides[1]) if side == 0 else (deal.sides[0], own))
    return deal
