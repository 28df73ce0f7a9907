"""Which card to discard: the least useful one for the own side and for the opponents."""

from __future__ import annotations

from collections.abc import Sequence

from buraco_bots.greedy.situation import Situation
from buraco_bots.greedy.waiting import cards_that_fit, distance, neighbours, places_of
from buraco_rules import Discard, Meld, MeldKind, View
from buraco_rules.cards import RANK, SUIT, WILDS


def discard_costs(view: View, discards: Sequence[Discard], situation: Situation) -> list[tuple[float, Discard]]:
    """Return the cost in points of each discard, in the given order."""
    seat = view.seat_to_move
    own, theirs = view.sides[seat & 1].melds, view.sides[1 - (seat & 1)].melds
    known = [card for side in view.sides for meld in side.melds for card in meld.cards] + list(view.hand)
    costs = []
    for move in discards:
        card = move.card
        use = _use(view, own, card) * (1.0 - situation.risk)
        danger = _danger(view, theirs, known, card)
        caught = view.rules.values[card] * situation.risk
        costs.append((use + danger - caught, move))
    return costs


def _use(view: View, own: tuple[Meld, ...], card: int) -> float:
    """Return what the card may still gain for the own side, in points."""
    if card in WILDS:
        return 40.0
    use = 0.0
    twin = False
    for other in view.hand:
        if other == card and not twin:
            twin = True  # the card itself
        elif view.rules.sets and RANK[other] == RANK[card]:
            use += 6.0
        elif SUIT[other] == SUIT[card] and other != card:
            use += (0.0, 7.0, 4.0)[apart] if (apart := distance(other, card)) <= 2 else 0.0
    for meld in own:
        if card in cards_that_fit(meld):
            use += 12.0
        elif meld.kind is MeldKind.RUN and SUIT[meld.natural] == SUIT[card]:
            low, high = meld.low_position, meld.low_position + len(meld.cards) - 1
            if min(abs(place - end) for place in places_of(card) for end in (low, high)) == 2:
                use += 6.0
    return use


def _danger(view: View, theirs: tuple[Meld, ...], known: list[int], card: int) -> float:
    """Return what the card, and the pile with it, may gain for the opponents, in points."""
    lure = 3.0 * min(view.pile_count, 12)
    if card in WILDS or any([card in cards_that_fit(meld) for meld in theirs]):
        return 20.0 + lure
    unseen = 0
    for other in neighbours(card):
        unseen += max(0, 2 - known.count(other))
    if view.rules.sets:
        unseen += max(0, 8 - sum([RANK[other] == RANK[card] for other in known]))
    return 0.3 * unseen * (1.0 + lure / 12.0)
