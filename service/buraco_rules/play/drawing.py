"""The draw that begins a turn (R3.1 to R3.5)."""

from buraco_rules.deal import DRAW, Deal, Turn
from buraco_rules.melds.candidates import size_with
from buraco_rules.moves import DrawStock, TakePile
from buraco_rules.play.laying import legal_lays
from buraco_rules.violations import Violation


def draw_violation(deal: Deal, move: DrawStock | TakePile) -> Violation | None:
    """Why the turn may not begin with this draw; None if it may."""
    if deal.phase is not DRAW:
        return Violation.ALREADY_DRAWN
    if isinstance(move, DrawStock):
        return None if deal.stock else Violation.STOCK_EMPTY
    rules, pile = deal.rules, deal.pile
    if not pile:
        return Violation.PILE_EMPTY
    if rules.makart and len(pile) == 1 and len(deal.hand) == 1 and deal.stock:
        return Violation.MAKART
    if rules.closed_pile and not _is_top_card_usable(deal):
        return Violation.TOP_CARD_UNUSABLE
    return None


def _is_top_card_usable(deal: Deal) -> bool:
    """Whether the top card of a closed pile can be melded at once (R3.4)."""
    hand, top = deal.hand, deal.pile[-1]
    # So many cards can be laid whatever they are, since two are left then (R3.6).
    sure = len(hand) + len(deal.pile) - 2
    size = size_with(deal.rules, (*hand, top), deal.side.melds, top)
    if size <= sure:
        return size > 0
    return bool(legal_lays(with_pile(deal)))


def with_pile(deal: Deal) -> Deal:
    """The deal after the pile was taken: of a closed pile only the top card joins the hand yet (R3.4)."""
    rules, pile = deal.rules, deal.pile
    taken = pile[-1:] if rules.closed_pile else pile
    locked = pile[0] if rules.single_card_lock and len(pile) == 1 else 0
    turn = Turn(deal.turn.number, locked, pile[-1] if rules.closed_pile else 0)
    hand = tuple(sorted(deal.hand + taken))
    return deal.played(stock=deal.stock, pile=pile[: len(pile) - len(taken)], hand=hand, side=deal.side, turn=turn)
