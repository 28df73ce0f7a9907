"""Looking at a deal from a seat: what leaves the server goes through here."""

from collections.abc import Sequence

from buraco_rules.deal import Deal
from buraco_rules.legal import legal_moves, next_actions
from buraco_rules.moves import Move
from buraco_rules.scoring import table_points
from buraco_rules.view import NextAction, SideView, View


def view_of(deal: Deal, seat: int | None, moves: Sequence[Move] | None = None) -> View:
    """What `seat` may know of the deal; the public view for None. Raises ValueError for a seat that is none.

    `moves`: the deal's legal moves, where they are at hand.
    """
    if seat is not None and not 0 <= seat < deal.seats:
        raise ValueError(f"a seat is 0 to {deal.seats - 1}, not {seat}")
    turn, pile = deal.turn, deal.pile
    actions: tuple[NextAction, ...] = ()
    if seat == deal.seat_to_move:
        actions = next_actions(deal, legal_moves(deal) if moves is None else moves)
    if not deal.rules.closed_pile:
        visible = pile
    elif turn.must_meld:
        visible = ()  # what lies under the card taken stays hidden until it joins the hand (R3.4)
    else:
        visible = pile[-1:]
    return View(
        seat=seat,
        hand=() if seat is None else deal.hands[seat],
        hand_counts=tuple(map(len, deal.hands)),
        sides=(_side_view(deal, 0), _side_view(deal, 1)),
        stock_count=len(deal.stock),
        pile_count=len(pile),
        pile=visible,
        pot_counts=tuple(map(len, deal.pots)),
        seat_to_move=deal.seat_to_move,
        phase=deal.phase,
        next_actions=actions,
        turn_number=turn.number,
        locked_card=turn.locked_card,
        must_meld=turn.must_meld,
        opening_attempt=turn.opening_attempt,
        ending=deal.ending,
        match=deal.match,
        rules=deal.rules,
        starter=deal.starter,
    )


def _side_view(deal: Deal, side: int) -> SideView:
    own = deal.sides[side]
    return SideView(
        own.melds,
        own.pots_taken,
        own.opening_required,
        own.opening_penalties,
        deal.match.scores[side],
        table_points(deal, side),
    )
