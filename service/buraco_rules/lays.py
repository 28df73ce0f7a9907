"""The melds and lay-offs that are legal now: every offer of the hand that the turn may go on with."""

from buraco_rules.deal import Deal
from buraco_rules.laying import lay_violation
from buraco_rules.moves import LayMeld, LayOff
from buraco_rules.offers import Offer, offers


def legal_lays(deal: Deal) -> list[LayMeld | LayOff]:
    """Every legal meld and lay-off of the seat to move, which has drawn. Each once, its wild's place given if one
    acts.
    """
    moves: list[LayMeld | LayOff] = []
    judge_all = deal.turn.must_meld > 0 or deal.rules.one_set_per_rank
    safe = len(deal.hand) - 2  # with two cards left a turn can always be finished (R3.6)
    for index, outcomes in offers(deal):
        for outcome in outcomes:
            if (judge_all or len(outcome.cards) > safe) and lay_violation(deal, index, outcome) is not None:
                continue
            if index is None:
                moves.append(outcome.move)
            else:
                moves.append(LayOff(index, outcome.cards, outcome.wild_position))
    return moves


def can_lay(deal: Deal) -> bool:
    """Whether any meld or lay-off is legal."""
    return any(_is_open(deal, offer) for offer in offers(deal))


def can_meld_or_lay_off(deal: Deal) -> tuple[bool, bool]:
    """Whether any new meld, and whether any lay-off is legal."""
    found = [False, False]
    for offer in offers(deal):
        is_lay_off = offer[0] is not None
        found[is_lay_off] = found[is_lay_off] or _is_open(deal, offer)
    return found[False], found[True]


def _is_open(deal: Deal, offer: Offer) -> bool:
    index, outcomes = offer
    return any(lay_violation(deal, index, outcome) is None for outcome in outcomes)
