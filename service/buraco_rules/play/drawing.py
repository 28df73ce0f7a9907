"""The draw that begins a turn (R3.1 to R3.5)."""

from buraco_rules.deal import DRAW, Deal, Turn
from buraco_rules.melds.candidates import candidate_moves
from buraco_rules.moves import DrawStock, TakePile
from buraco_rules.play.laying import legal_lays, spare_cards
from buraco_rules.violations import Violation


def draw_violation(deal: Deal, move: DrawStock | TakePile) -> Violation | None:
    """Return why the turn may not begin with this draw; None if it may. Once the deal is over it is ALREADY_DRAWN.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> deal, _ = deal_first(PRESETS_BY_ID["open"], 2, bytes(32))
    >>> draw_violation(deal, TakePile())
    <Violation.PILE_EMPTY: 6>
    """
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
    """Return True if the top card of a closed pile can be melded at once (R3.4)."""
    top, spare = deal.pile[-1], spare_cards(deal) + len(deal.pile)
    moves = candidate_moves(deal.rules, (*deal.hand, top), deal.side.melds, top)
    if not moves or any([len(move.cards) <= spare for move in moves]):
        return bool(moves)
    return bool(legal_lays(take_pile(deal)))


def take_pile(deal: Deal) -> Deal:
    """Return the deal after the pile was taken: of a closed pile only the top card joins the hand yet (R3.4).

    Checks nothing: `draw_violation` does.
    """
    rules, pile = deal.rules, deal.pile
    taken = pile[-1:] if rules.closed_pile else pile
    locked = pile[0] if rules.single_card_lock and len(pile) == 1 else 0
    turn = Turn(deal.turn.number, locked, pile[-1] if rules.closed_pile else 0)
    hand = tuple(sorted(deal.hand + taken))
    return deal.continue_turn(
        stock=deal.stock, pile=pile[: len(pile) - len(taken)], hand=hand, side=deal.side, turn=turn
    )
