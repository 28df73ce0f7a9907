"""The melds and lay-offs that are legal now: every offer of the hand that the turn may go on with."""

from buraco_rules.deal import Deal
from buraco_rules.emptying import is_pot_sure
from buraco_rules.laying import lay_violation, outcome_of
from buraco_rules.moves import LayMeld, LayOff
from buraco_rules.offers import offers


def legal_lays(deal: Deal) -> list[LayMeld | LayOff]:
    """Every legal meld and lay-off of the seat to move, which has drawn. Each once, its wild's place given if one
    acts.
    """
    hand, must = deal.hand, deal.turn.must_meld
    moves = offers(deal.rules, hand, deal.side.melds, must)
    if must:
        moves = [move for move in moves if must in move.cards]
    if is_pot_sure(deal) and not deal.turn.locked_card:
        return moves
    # With two cards left a turn can always be finished (R3.6).
    safe = len(hand) - 2 + (len(deal.pile) if must else 0)
    return [move for move in moves if len(move.cards) <= safe or _can_go_on(deal, move)]


def _can_go_on(deal: Deal, move: LayMeld | LayOff) -> bool:
    outcome = outcome_of(deal, move)
    index = move.meld if isinstance(move, LayOff) else None
    return outcome is not None and lay_violation(deal, index, outcome) is None
