"""What a side should care for: weights of cards and moves, computed from a view once for each choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from buraco_bots.greedy.worth import meld_after, meld_worth
from buraco_rules import CloseBy, Deal, LayMeld, LayOff, RuleSet, View, card_points, has_pot_left
from buraco_rules.cards import JOKER

_LOST_MATCH: Final = -1000.0
"""The worth of a close that would lose the match."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Weights by which moves are compared."""

    card: float
    """Points for a further card in the hand that cannot be melded yet."""
    wild: float
    """Points for keeping a 2 for a buraco to come; a joker is worth a little more."""
    risk: float
    """The chance that the deal ends before a card held now can be played, 0 to 1."""
    haste: float
    """Points for each card that leaves the hand."""
    first_buraco: float
    """Points for the first buraco, beyond its bonus."""
    first_clean: float
    """Points for the first clean buraco, beyond its bonus."""
    pot: float
    """Points for picking up a pot."""
    close: float
    """Points for closing the deal now; below 0 if it does not pay."""

    def value_of_wild(self, wild: int) -> float:
        """Return the points for keeping a 2 or a joker in the hand."""
        return self.wild + 8.0 if wild == JOKER else self.wild

    def gain_of(self, deal: Deal, move: LayMeld | LayOff) -> float:
        """Return the expected gain of a legal meld or lay-off in points, without what an emptied hand gains."""
        rules = deal.rules
        base, meld = meld_after(deal, move)
        gain = meld_worth(rules, meld) + card_points(rules, move.cards) * self.risk + self.haste * len(move.cards)
        if base is not None:
            gain -= meld_worth(rules, base)
        if meld.is_buraco and (base is None or not base.is_buraco):
            gain += self.first_buraco
        if meld.is_clean_buraco and (base is None or not base.is_clean_buraco):
            gain += self.first_clean
        if meld.wild_index is not None and (base is None or base.wild_index is None):
            gain -= self.value_of_wild(meld.cards[meld.wild_index]) * (1.0 - self.risk)
        return gain


def situation_of(view: View) -> Situation:
    """Return the weights for the side that is to move."""
    seat = view.seat_to_move
    rules, own = view.rules, view.sides[seat & 1]
    # If closing is hard, deals are long: buracos count for more than an early close, and an open pile feeds them.
    slow = is_closing_hard(rules)
    hoards = slow and not rules.closed_pile
    risk = _END_RISK.of(view)
    pot_to_take = bool(view.pot_counts) and own.pots_taken < rules.pots_per_side
    has_buraco = any([meld.is_buraco for meld in own.melds])
    has_clean = any([meld.is_clean_buraco for meld in own.melds])
    pot = 0.0
    if pot_to_take:
        pot = 60.0 + (80.0 + 60.0 * risk if not own.pots_taken else 0.0)
    haste = 0.0
    if pot_to_take and not hoards:
        haste = 6.0 if len(view.hand) <= 6 or risk > 0.5 else 3.0
    needs_buraco = not has_buraco and (own.pots_taken > 0 or rules.pot_needs_buraco)
    needs_clean = rules.close_needs_clean and not has_clean and own.pots_taken > 0
    return Situation(
        15.0 if hoards else 3.0,
        90.0 if slow else 20.0 if rules.pot_needs_buraco else 35.0,
        risk,
        haste,
        40.0 if needs_buraco else 10.0 if not has_buraco else 0.0,
        40.0 if needs_clean else 0.0,
        pot,
        closing_gain(view, bonus=100.0, card=8.0),
    )


def is_closing_hard(rules: RuleSet) -> bool:
    """Return True if closing takes more than any buraco and a discard."""
    return rules.close_needs_clean or rules.close_by is CloseBy.FLIGHT


class EndRisk(NamedTuple):
    """How likely the end of a deal is, as chances."""

    base: float
    """When nothing hints at it."""
    close: float
    """When an opponent without cards could close."""
    card: float
    """What each card of that opponent takes off."""
    stock: float
    """When the stock is empty."""
    turn: float
    """What each turn that the stock has left for a seat takes off."""

    def of(self, view: View) -> float:
        """Return the chance that the deal ends before the seat to move plays the cards it holds."""
        seat = view.seat_to_move
        other = view.sides[1 - (seat & 1)]
        risk = self.base
        if (other.pots_taken or not view.pot_counts) and any([meld.is_buraco for meld in other.melds]):
            fewest = min([count for s, count in enumerate(view.hand_counts) if s & 1 != seat & 1])
            risk = max(risk, self.close - self.card * fewest)
        turns_left = view.stock_count / len(view.hand_counts)
        return max(0.0, min(1.0, max(risk, self.stock - self.turn * turns_left)))


_END_RISK: Final = EndRisk(base=0.1, close=0.9, card=0.1, stock=0.9, turn=0.12)


def closing_gain(view: View, bonus: float, card: float) -> float:
    """Return what closing now gains the seat to move: the bonus, and the points of the opponents' cards at `card` each.

    Those of the partner's are taken off. A close that would lose the match is far below 0.
    """
    side = view.seat_to_move & 1
    own, other = view.sides[side], view.sides[1 - side]
    their_cards = sum([count for s, count in enumerate(view.hand_counts) if s & 1 != side])
    partner = sum([count for s, count in enumerate(view.hand_counts) if s & 1 == side and s != view.seat_to_move])
    ours = own.match_score + own.table_points + 100 - 8 * partner
    theirs = other.match_score + other.table_points - 8 * their_cards
    target = view.match.target_score
    if ours < theirs and (not target or theirs >= target or ours >= target):
        return _LOST_MATCH
    return bonus + card * their_cards - 8.0 * partner


def can_finish(deal: Deal) -> bool:
    """Return True if the side to move has a pot left or a buraco, so that an empty hand may take a pot or close."""
    side = deal.side
    return has_pot_left(deal, side) or any([meld.is_buraco for meld in side.melds])
