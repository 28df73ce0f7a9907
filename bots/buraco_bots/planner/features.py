"""What a position is made of, as numbers: the features that `evaluation` weighs.

A position is looked at from the side that has just finished a turn, or has just emptied a hand into a pot whose cards
it has not seen. Features are in hundreds of points or small counts, so that one set of weights can serve all rule sets:
a rule set only changes the points, and which features can be other than 0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from buraco_rules import Deal, Meld, MeldKind, RuleSet, Side, View, has_pot_left
from buraco_rules.cards import ACE, ACE_HIGH, JOKER, RANK, RUN_CARDS, SUIT, WILDS

RUN: Final = MeldKind.RUN
_FACES: Final = 54


class Knowledge(NamedTuple):
    """What a seat knows beyond the position it looks at: the cards that it has not seen, wherever they are."""

    unseen: tuple[int, ...]
    """How many cards of each face, by its number."""
    mean_value: float
    """The points of an unseen card on average."""


def knowledge_of(view: View) -> Knowledge:
    """Return what the seat of a view knows from that view alone."""
    unseen = [2] * _FACES
    unseen[0], unseen[JOKER] = 0, view.rules.jokers
    for card in view.hand:
        unseen[card] -= 1
    for card in view.pile:
        unseen[card] -= 1
    for side in view.sides:
        for meld in side.melds:
            for card in meld.cards:
                unseen[card] -= 1
    values, count = view.rules.values, max(1, sum(unseen))
    return Knowledge(tuple(unseen), sum([n * value for n, value in zip(unseen, values, strict=True)]) / count)


_MELD_CELLS: Final = 24
"""Of each side: clean or with a wild, 1 to 4 cards short of a buraco, and three classes of how many cards could come."""
_ROYAL_CELLS: Final = 6
"""Of each side: clean runs beyond a buraco, by how many cards they are short of thirteen."""
_SIDE: Final = _MELD_CELLS + _ROYAL_CELLS + 9
_PILE: Final = 10
_NO_PILE: Final = [0.0] * _PILE
PUBLIC_FEATURES: Final = 1 + 2 * _SIDE
HAND_FEATURES: Final = 16
FEATURES: Final = 2 * (PUBLIC_FEATURES + HAND_FEATURES + 2 * _PILE)
"""How many there are: each once, and once more times the share of the stock that is left."""


def features_of(deal: Deal, seat: int, hand: tuple[int, ...], unknown: int, knowledge: Knowledge) -> list[float]:
    """Return the features of a position for the side of a seat, which holds `hand` and `unknown` cards not seen yet."""
    row = public_features(deal, seat, hand, len(hand) + unknown, knowledge)
    in_flight = unknown > 0 and deal.seat_to_move == seat
    row += hand_features(deal.rules, deal.sides[seat & 1], hand, unknown, in_flight=in_flight)
    row += pile_features(deal, seat, deal.pile, knowledge)
    left = share_left(deal)
    return row + [left * feature for feature in row]


def share_left(deal: Deal) -> float:
    """Return how much of the stock is left, 1 for 40 cards."""
    return len(deal.stock) / 40.0


def public_features(deal: Deal, seat: int, hand: tuple[int, ...], held: int, knowledge: Knowledge) -> list[float]:
    """Return the features of what both sides have on the table and how many cards they hold (`held`: the seat)."""
    side = seat & 1
    unseen = knowledge.unseen
    available = list(unseen)
    for card in hand:
        available[card] += 1
    counts = [len(cards) for cards in deal.hands]
    counts[seat] = held
    row = [1.0]
    row += _side_features(deal, deal.sides[side], counts[side::2], available)
    row += _side_features(deal, deal.sides[1 - side], counts[1 - side :: 2], unseen)
    return row


def _side_features(deal: Deal, side: Side, counts: list[int], available: list[int] | tuple[int, ...]) -> list[float]:
    rules = deal.rules
    row = [0.0] * _SIDE
    points = 0
    values = rules.values
    buracos = clean_buracos = 0
    bonuses = (0, rules.dirty, rules.semi_clean, rules.clean, rules.royal, rules.ace_to_ace)
    for meld in side.melds:
        size = len(meld.cards)
        for card in meld.cards:
            points += values[card]
        clean = meld.wild_index is None and not meld.stays_dirty
        if size >= 7:
            points += bonuses[meld.buraco]
            buracos += 1
            clean_buracos += clean
            if clean and rules.royal and meld.kind is RUN and size < 13:
                row[_MELD_CELLS + 12 - size] += (
                    (rules.royal - rules.clean) / 100.0 * (_live(meld, 13 - size, available) >= 13 - size)
                )
            continue
        need = 7 - size
        live = _live(meld, need + 2, available)
        cell = (0 if live < need else 1 if live < need + 2 else 2) + 3 * (need - 1) + (0 if clean else 12)
        row[cell] += (rules.clean if clean else rules.dirty) / 100.0
    at = _MELD_CELLS + _ROYAL_CELLS
    row[at] = points / 100.0
    pot = has_pot_left(deal, side)
    row[at + 1] = 1.0 if side.pots_taken else 0.0
    row[at + 2] = 1.0 if pot else 0.0
    may_close = not pot and (clean_buracos if rules.close_needs_clean else buracos)
    fewest = min(counts)
    row[at + 3] = 1.0 if may_close else 0.0
    row[at + 4] = (1.0 if fewest <= 2 else 0.5 if fewest <= 4 else 0.0) if may_close else 0.0
    row[at + 5] = 1.0 / (1 + fewest) if pot else 0.0
    row[at + 6] = sum(counts) / 10.0
    row[at + 7] = 0.0 if buracos else 1.0
    row[at + 8] = side.opening_required / 100.0
    return row


def _live(meld: Meld, most: int, available: list[int] | tuple[int, ...]) -> int:
    """Return how many cards could still extend a meld, one after the other: up to `most`."""
    if meld.kind is not RUN:
        rank = RANK[meld.natural]
        return min(most, available[rank] + available[rank + 13] + available[rank + 26] + available[rank + 39])
    cards = RUN_CARDS[SUIT[meld.natural]]
    low = meld.low_position
    high = low + len(meld.cards) - 1
    found = 0
    wild = meld.wild_index
    if wild is not None and 0 < wild < len(meld.cards) - 1 and available[cards[low + wild]]:
        found = 1
    place = high + 1
    while found < most and place <= ACE_HIGH and available[cards[place]]:
        found += 1
        place += 1
    place = low - 1
    while found < most and place >= 1 and available[cards[place]]:
        found += 1
        place -= 1
    return found


@lru_cache(8192)
def fitting(melds: tuple[Meld, ...]) -> bytes:
    """Return by card 1 if it is a natural that extends one of the melds at an end, or takes the place of its wild."""
    found = bytearray(_FACES)
    for meld in melds:
        if meld.kind is not RUN:
            rank = RANK[meld.natural]
            for card in (rank, rank + 13, rank + 26, rank + 39):
                found[card] = 1
            continue
        cards, low = RUN_CARDS[SUIT[meld.natural]], meld.low_position
        high = low + len(meld.cards)
        if low > 1:
            found[cards[low - 1]] = 1
        if high <= ACE_HIGH:
            found[cards[high]] = 1
        if meld.wild_index is not None:
            found[cards[low + meld.wild_index]] = 1
    for wild in WILDS:
        found[wild] = 0
    return bytes(found)


def hand_features(rules: RuleSet, own: Side, hand: tuple[int, ...], unknown: int, *, in_flight: bool) -> list[float]:
    counts = [0] * (_FACES + 15)
    ranks = [0] * 14
    points = jokers = twos = 0
    values = rules.values
    for card in hand:
        counts[card] += 1
        points += values[card]
        if card == JOKER:
            jokers += 1
        elif card in WILDS:
            twos += 1
            ranks[2] += 1
        else:
            ranks[RANK[card]] += 1
    fits = near = next_to = apart = twins = alone = triples = 0
    melds = own.melds
    fit = fitting(melds)
    for card in hand:
        if card in WILDS:
            continue
        if fit[card]:
            fits += 1
            continue
        suit = SUIT[card]
        rank = RANK[card]
        cards = RUN_CARDS[suit]
        beside = beyond = 0
        for place in (rank, ACE_HIGH) if rank == ACE else (rank,):
            if place > 1 and counts[cards[place - 1]] and place != 3:
                beside += 1
            if place < ACE_HIGH and counts[cards[place + 1]] and place != 1:
                beside += 1
            if place > 2 and counts[cards[place - 2]] and place != 4:
                beyond += 1
            if place < 13 and counts[cards[place + 2]]:
                beyond += 1
        if beside > 1:
            triples += 1
        elif beside:
            next_to += 1
        elif beyond:
            apart += 1
        same = rules.sets and ranks[rank] > 1
        if not beside and not beyond and not same:
            alone += 1
            for meld in melds:
                if meld.kind is RUN and SUIT[meld.natural] == suit:
                    low = meld.low_position
                    if rank in (low - 2, low + len(meld.cards) + 1):
                        near += 1
                        break
        if counts[card] > 1:
            twins += 1
    pairs = trios = 0
    if rules.sets:
        for rank in (1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13):
            count = ranks[rank]
            if count == 2:
                pairs += 1
            elif count > 2:
                trios += count - 2
    wild_bonus = rules.dirty / 100.0
    return [
        points / 100.0,
        float(jokers),
        float(twos),
        (jokers + twos) * wild_bonus if not any([meld.is_buraco for meld in melds]) else 0.0,
        fits / 4.0,
        near / 4.0,
        next_to / 4.0,
        triples / 4.0,
        apart / 4.0,
        twins / 4.0,
        alone / 4.0,
        pairs / 2.0,
        trios / 2.0,
        unknown / 10.0,
        unknown / 10.0 * (1.0 if own.pots_taken else 0.0),
        1.0 if in_flight else 0.0,
    ]


def pile_features(deal: Deal, seat: int, pile: tuple[int, ...], knowledge: Knowledge) -> list[float]:
    """Return the features of a pile, in other places for open and closed piles."""
    found = _pile_features(deal, seat, pile, knowledge.unseen) if pile else _NO_PILE
    return [*_NO_PILE, *found] if deal.rules.closed_pile else [*found, *_NO_PILE]


def _pile_features(deal: Deal, seat: int, pile: tuple[int, ...], unseen: tuple[int, ...]) -> list[float]:
    own, other = deal.sides[seat & 1], deal.sides[1 - (seat & 1)]
    top = pile[-1]
    size = len(pile)
    theirs = ours = wilds = 0
    points = 0
    values = deal.rules.values
    fit_theirs, fit_ours = fitting(other.melds), fitting(own.melds)
    for card in pile:
        points += values[card]
        wilds += card in WILDS
        theirs += fit_theirs[card]
        ours += fit_ours[card]
    top_wild = top in WILDS
    top_fits = fit_theirs[top]
    danger = 0
    if top and not top_wild and not top_fits:
        suit, rank = SUIT[top], RANK[top]
        cards = RUN_CARDS[suit]
        for place in (rank, ACE_HIGH) if rank == ACE else (rank,):
            for here in (place - 2, place - 1, place + 1, place + 2):
                if 1 <= here <= ACE_HIGH:
                    danger += unseen[cards[here]]
        if deal.rules.sets:
            danger += unseen[rank] + unseen[rank + 13] + unseen[rank + 26] + unseen[rank + 39]
    return [
        size / 10.0,
        float(theirs),
        float(ours),
        float(wilds),
        1.0 if top_wild else 0.0,
        1.0 if top_fits else 0.0,
        size / 10.0 if top_fits or top_wild else 0.0,
        danger / 10.0,
        danger * size / 100.0,
        points / 100.0,
    ]
