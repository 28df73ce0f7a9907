"""Views of a deal: hidden cards leave the service through here alone."""

from collections.abc import Sequence

from buraco_rules.deal import Deal
from buraco_rules.match.scoring import table_points
from buraco_rules.moves import Move
from buraco_rules.play.legal_moves import legal_moves, next_actions
from buraco_rules.view import NextAction, SideView, View


def view_of(deal: Deal, seat: int | None, moves: Sequence[Move] | None = None) -> View:
    """Return what `seat` may know of the deal; the public view for None. Raise ValueError if there is no such seat.

    `moves` are the deal's legal moves if the caller has them already. Only the seat to move gets next actions.

    >>> from buraco_rules import PRESETS_BY_ID, deal_first
    >>> view = view_of(deal_first(PRESETS_BY_ID["open"], 2, bytes(32), starter=1)[0], seat=0)
    >>> len(view.hand), view.hand_counts, view.next_actions
    (11, (11, 11), ())
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
        visible = ()  # the rest of the pile stays hidden until it joins the hand (R3.4)
    else:
        visible = pile[-1:]
    # Positional arguments: by name this takes half as long again.
    return View(
        seat,
        () if seat is None else deal.hands[seat],
        tuple(map(len, deal.hands)),
        (_side_view(deal, 0), _side_view(deal, 1)),
        len(deal.stock),
        len(pile),
        visible,
        tuple(map(len, deal.pots)),
        deal.seat_to_move,
        deal.phase,
        actions,
        turn.number,
        turn.locked_card,
        turn.must_meld,
        turn.opening_attempt,
        deal.ending,
        deal.match,
        deal.rules,
        deal.starter,
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
