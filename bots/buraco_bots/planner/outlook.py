"""What a turn should care for: the worth of cards, the danger of discards and the race, computed from a view once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from buraco_bots.greedy.situation import EndRisk, closing_gain
from buraco_bots.greedy.waiting import cards_nearby, cards_that_fit, distance, neighbours
from buraco_bots.greedy.worth import meld_after
from buraco_bots.planner.melds import MeldWorth
from buraco_bots.planner.weights import Weights
from buraco_rules import Deal, LayMeld, LayOff, RuleSet, SideView, View
from buraco_rules.cards import JOKER, RANK, SUIT, WILDS

LARGE_PILE: Final = 12
"""Cards of a pile beyond which it counts no more."""


class Known(NamedTuple):
    """What is known of hidden cards."""

    hands: tuple[tuple[int, ...], ...]
    """By seat: cards known to be in its hand."""
    unseen: tuple[int, ...]
    """The cards whose place is not known."""


class Outlook:
    """The worths of one turn, for the seat that is to move."""

    def __init__(self, view: View, known: Known, weights: Weights, worth: MeldWorth, pairs: Pairs) -> None:
        seat = view.seat_to_move
        own, other = view.sides[seat & 1], view.sides[1 - (seat & 1)]
        rules = view.rules
        self._rules = rules
        self.weights = weights
        self._worth = worth
        self._pairs = pairs
        self.risk = EndRisk(
            weights.risk, weights.risk_close, weights.risk_card, weights.risk_stock, weights.risk_turn
        ).of(view)
        has_buraco = any([meld.is_buraco for meld in own.melds])
        has_clean = any([meld.is_clean_buraco for meld in own.melds])
        is_pot_left = bool(view.pot_counts) and own.pots_taken < rules.pots_per_side
        self.pot = 0.0
        self.haste = 0.0
        if is_pot_left:
            self.pot = weights.second_pot if own.pots_taken else weights.pot + weights.pot_risk * self.risk
            self.haste = weights.haste_few if len(view.hand) <= 6 or self.risk > 0.5 else weights.haste
        elif has_clean if rules.close_needs_clean else has_buraco:
            lead = max(-3.0, min(3.0, (own.table_points - other.table_points) / 100))
            self.haste = weights.haste_close + weights.haste_lead * lead
        self._first_buraco = 0.0
        if not has_buraco:
            needs_buraco = own.pots_taken > 0 or rules.pot_needs_buraco
            self._first_buraco = weights.first_buraco if needs_buraco else 0.25 * weights.first_buraco
        needs_clean = rules.close_needs_clean and not has_clean and own.pots_taken > 0
        self._first_clean = weights.first_clean if needs_clean else 0.0
        self.close = closing_gain(view, 100.0 + weights.close, weights.close_card)
        self._helpers = _count_helpers(rules, known.unseen)
        self._uses = self._value_uses(own)
        next_seat = (seat + 1) % len(view.hand_counts)
        self._dangers = self._value_dangers(other, known.hands[next_seat])

    def gain_of(self, deal: Deal, move: LayMeld | LayOff) -> float:
        """Return the points that a legal meld or lay-off gains on the table, without what it costs the hand."""
        base, meld = meld_after(deal, move)
        gain = self._worth.of(meld)
        if base is not None:
            gain -= self._worth.of(base)
        if meld.is_buraco and (base is None or not base.is_buraco):
            gain += self._first_buraco
        if meld.is_clean_buraco and (base is None or not base.is_clean_buraco):
            gain += self._first_clean
        return gain

    def hand_worth(self, hand: tuple[int, ...]) -> float:
        """Return what the cards of a hand are worth together."""
        pairs = self._pairs
        worth = 0.0
        for index, card in enumerate(hand):
            row = pairs[card]
            worth += self._uses[card]
            for other in hand[index + 1 :]:
                worth += row[other]
        return worth * (1.0 - self.risk) - self._burden(hand)

    def loss_of_laying(self, hand: tuple[int, ...], cards: tuple[int, ...]) -> float:
        """Return what the hand loses by laying some of its cards; below 0 if it is better without them."""
        pairs = self._pairs
        loss = wilds = 0.0
        for index, card in enumerate(cards):
            if card in WILDS:
                wilds += self._uses[card]
                continue
            row = pairs[card]
            loss += self._uses[card] + sum([row[other] for other in hand]) - row[card]
            for other in cards[index + 1 :]:
                loss -= row[other]
        return (loss * self.weights.keep + wilds) * (1.0 - self.risk) - self._burden(cards)

    def loss_of_discarding(self, hand: tuple[int, ...], card: int) -> float:
        """Return what the hand loses by discarding a card of it; below 0 if it is better without it."""
        row = self._pairs[card]
        loss = self._uses[card] + sum([row[other] for other in hand]) - row[card]
        return loss * (1.0 - self.risk) - self._burden((card,))

    def danger_of(self, card: int, pile: int) -> float:
        """Return what a discard gives the opponents, with a pile of so many cards under it."""
        base, for_each = self._dangers[card]
        return base + for_each * min(pile, LARGE_PILE)

    def pile_left(self, pile: tuple[int, ...]) -> float:
        """Return what a pile is worth that is left to the next player."""
        weights = self.weights
        fitting = sum([card in self._given for card in pile])
        return weights.pile_left * min(len(pile), 2 * LARGE_PILE) + weights.pile_left_fit * fitting

    def _burden(self, cards: Iterable[int]) -> float:
        values, risk, haste = self._rules.values, self.risk, self.haste
        return sum([values[card] * risk + haste for card in cards])

    def _value_uses(self, own: SideView) -> list[float]:
        weights = self.weights
        uses = [weights.card + weights.live * helpers for helpers in self._helpers]
        for meld in own.melds:
            gain = weights.fits + weights.fits_gain * self._worth.growth(meld)
            for card in cards_that_fit(meld):
                uses[card] = max(uses[card], weights.card + gain)
            for card in cards_nearby(meld):
                uses[card] += weights.near_own
        for wild in WILDS:
            uses[wild] = weights.two
        uses[JOKER] += weights.joker
        return uses

    def _value_dangers(self, other: SideView, next_hand: tuple[int, ...]) -> list[tuple[float, float]]:
        weights = self.weights
        dangers = [
            (weights.gives_live * self._helpers[face], weights.pile_gives_live * self._helpers[face])
            for face in range(54)
        ]
        given: dict[int, float] = {}
        for meld in other.melds:
            gain = weights.gives + weights.gives_gain * self._worth.growth(meld)
            for card in cards_that_fit(meld):
                given[card] = max(given.get(card, gain), gain)
            for card in cards_nearby(meld):
                dangers[card] = dangers[card][0] + weights.gives_near, dangers[card][1]
        for card, gain in given.items():
            dangers[card] = gain, weights.pile_gives
        for held in next_hand:
            if held in WILDS:
                continue
            alike = range(RANK[held], JOKER, 13) if self._rules.sets else ()
            for card in (*neighbours(held), *alike):
                base, for_each = dangers[card]
                dangers[card] = base + weights.gives_known, for_each + weights.pile_gives_known
        for wild in WILDS:
            dangers[wild] = weights.gives_wild, weights.pile_gives_wild
        self._given = given.keys() | WILDS
        return dangers


Pairs = tuple[tuple[float, ...], ...]
"""By two cards: what they are worth beside each other in a hand."""


@lru_cache(256)
def pairs_for(rules: RuleSet, weights: Weights) -> Pairs:
    """Return what two cards are worth beside each other in a hand; nothing with a wild."""
    return tuple([tuple([_pair(rules, weights, first, second) for second in range(54)]) for first in range(54)])


def _pair(rules: RuleSet, weights: Weights, first: int, second: int) -> float:
    if first in WILDS or second in WILDS or not (first and second):
        return 0.0
    worth = weights.twin if first == second else 0.0
    if rules.sets and RANK[first] == RANK[second]:
        worth += weights.same_rank
    if SUIT[first] == SUIT[second] and first != second:
        apart = distance(first, second)
        worth += weights.next_to if apart == 1 else weights.near_to if apart == 2 else 0.0
    return worth


def _count_helpers(rules: RuleSet, unseen: tuple[int, ...]) -> list[int]:
    """Return by card how many unseen cards would help it to a meld."""
    counts = [0] * 54
    ranks = [0] * 14
    for card in unseen:
        counts[card] += 1
        ranks[RANK[card]] += 1
    helpers = [0] * 54
    for card in range(1, JOKER):
        helpers[card] = sum([counts[other] for other in neighbours(card)]) + (ranks[RANK[card]] if rules.sets else 0)
    return helpers
