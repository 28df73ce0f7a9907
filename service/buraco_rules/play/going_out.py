"""What an empty hand means: a pot, the close of the deal, or an illegal move (R6, R7)."""

from enum import Enum

from buraco_rules.cards import WILDS
from buraco_rules.deal import Deal, Side
from buraco_rules.meld import BURACO_SIZE
from buraco_rules.rule_sets import CloseBy, PotBy
from buraco_rules.violations import Violation


class Emptied(Enum):
    """What follows when a hand was legally emptied."""

    POT = "pot"
    CLOSE = "close"


def has_pot_left(deal: Deal, side: Side) -> bool:
    """Whether there is a pot that the side may still take, whatever else that needs (R6.1)."""
    return deal.pots != () and side.pots_taken < deal.rules.pots_per_side


def is_pot_sure(deal: Deal) -> bool:
    """Whether a pot follows whichever card empties the hand of the seat to move, discarded or not."""
    rules, side = deal.rules, deal.side
    return (
        deal.pots != ()
        and not side.pots_taken
        and not side.opening_required
        and rules.pot_by is PotBy.ANY
        and not rules.pot_needs_buraco
    )


def may_be_emptied(deal: Deal) -> bool:
    """Whether one card more, laid off on whichever meld, could empty the hand of the seat to move.

    A quick look ahead: the last word has `emptied`.
    """
    side = deal.side
    if not deal.rules.pot_needs_buraco and has_pot_left(deal, side):
        return True
    return any([len(meld.cards) >= BURACO_SIZE - 1 for meld in side.melds])


def emptied(deal: Deal, side: Side, *, discard: int = 0) -> Emptied | Violation:
    """What follows when the seat to move of `side` empties its hand in flight, or by discarding `discard`.

    `side` is the side as the last card leaves it. A violation is the reason why the last card cannot be played so.
    """
    rules = deal.rules
    if side.opening_required:
        return Violation.BELOW_OPENING_MINIMUM
    has_buraco = any([meld.is_buraco for meld in side.melds])
    no_pot: Violation | None = None
    if has_pot_left(deal, side):
        if discard and (side.pots_taken or rules.pot_by is PotBy.FLIGHT):
            no_pot = Violation.POT_ONLY_IN_FLIGHT
        elif rules.pot_needs_buraco and not has_buraco:
            no_pot = Violation.POT_NEEDS_BURACO
        else:
            return Emptied.POT
    if no_pot is not None and not side.pots_taken:
        return no_pot
    if not has_buraco:
        return Violation.CLOSE_NEEDS_BURACO
    if rules.close_needs_clean and not any([meld.is_clean_buraco for meld in side.melds]):
        return Violation.CLOSE_NEEDS_CLEAN
    if discard:
        if rules.close_by is CloseBy.FLIGHT:
            return Violation.CLOSE_ONLY_IN_FLIGHT
        if discard in WILDS and not rules.close_discard_wild:
            return Violation.CLOSE_DISCARD_WILD
    elif rules.close_by is CloseBy.DISCARD:
        return Violation.CLOSE_ONLY_BY_DISCARD
    return Emptied.CLOSE
