"""What playing the last card of a hand means: a pot, the close of the deal, or an illegal move (R6, R7)."""

from enum import Enum

from buraco_rules.cards import WILDS
from buraco_rules.deal import Deal, Side
from buraco_rules.meld import BURACO_SIZE
from buraco_rules.rule_sets import CloseBy, PotBy
from buraco_rules.violations import Violation


class LastCard(Enum):
    """What follows when the last card of a hand is legally played."""

    POT = "pot"
    """The seat takes the next pot (R6.1)."""
    CLOSE = "close"
    """The deal ends, closed by the seat (R7.1)."""


def has_pot_left(deal: Deal, side: Side) -> bool:
    """Return True if a pot is left and the side has not taken its share; other conditions are not checked (R6.1).

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["open"], 2, bytes(32))
    >>> has_pot_left(deal, deal.side), has_pot_left(deal, deal.side._replace(pots_taken=1))
    (True, False)
    """
    return deal.pots != () and side.pots_taken < deal.rules.pots_per_side


def is_pot_certain(deal: Deal) -> bool:
    """Return True if a pot follows whichever card empties the hand of the seat to move, discarded or not."""
    rules, side = deal.rules, deal.side
    return (
        deal.pots != ()
        and not side.pots_taken
        and not side.opening_required
        and rules.pot_by is PotBy.ANY
        and not rules.pot_needs_buraco
    )


def can_hand_be_emptied(deal: Deal) -> bool:
    """Return False if no lay-off of a single last card is legal for the seat to move; True if one may be.

    A quick look ahead of `judge_last_card`.
    """
    side = deal.side
    if not deal.rules.pot_needs_buraco and has_pot_left(deal, side):
        return True
    return any([len(meld.cards) >= BURACO_SIZE - 1 for meld in side.melds])


def judge_last_card(deal: Deal, side: Side, *, discard: int = 0) -> LastCard | Violation:
    """Return what follows when the seat to move plays its last card, or the rule that forbids it (R6, R7).

    `side` is the side as the last card leaves it; `discard` is the card if it is discarded, 0 if it is melded.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["burraco"], 2, bytes(32))
    >>> judge_last_card(deal, deal.side)
    <LastCard.POT: 'pot'>
    >>> judge_last_card(deal, deal.side._replace(pots_taken=1))
    <Violation.CLOSE_NEEDS_BURACO: 33>
    """
    rules = deal.rules
    if side.opening_required:
        return Violation.BELOW_OPENING_MINIMUM
    has_buraco = any([meld.is_buraco for meld in side.melds])
    if has_pot_left(deal, side):
        if discard and (side.pots_taken or rules.pot_by is PotBy.FLIGHT):
            no_pot = Violation.POT_ONLY_IN_FLIGHT
        elif rules.pot_needs_buraco and not has_buraco:
            no_pot = Violation.POT_NEEDS_BURACO
        else:
            return LastCard.POT
        if not side.pots_taken:
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
    return LastCard.CLOSE


def last_card_violation(deal: Deal, side: Side, *, discard: int = 0) -> Violation | None:
    """Return the rule that forbids to play the last card, as `judge_last_card` does; None if it is legal."""
    judged = judge_last_card(deal, side, discard=discard)
    return judged if isinstance(judged, Violation) else None
