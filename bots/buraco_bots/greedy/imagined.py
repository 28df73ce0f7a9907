"""A deal as one seat may imagine it, with blanks for what it cannot see, so that the rules can be asked "what if"."""

from __future__ import annotations

from typing import Final

from buraco_rules import Deal, Move, Side, Turn, View, apply

BLANK: Final = 0
"""A card that is not known. It counts nothing, and stands in no hand that the rules are asked about."""


def imagine(view: View) -> Deal:
    """The deal of a seat's own view, in which the seat's own moves can be tried.

    What the rules say of a move is true until a hidden card would come up.
    """
    seats = len(view.hand_counts)
    hands = [(BLANK,) * count for count in view.hand_counts]
    if view.seat is not None:
        hands[view.seat] = view.hand
    hidden = (BLANK,) * (view.pile_count - len(view.pile))
    first, second = (
        Side(side.melds, side.pots_taken, (), side.opening_required, side.opening_penalties) for side in view.sides
    )
    return Deal(
        rules=view.rules,
        seats=seats,
        match=view.match,
        stock=(BLANK,) * view.stock_count,
        pile=(*hidden, *view.pile),
        pots=tuple([(BLANK,) * count for count in view.pot_counts]),
        hands=tuple(hands),
        sides=(first, second),
        seat_to_move=view.seat_to_move,
        phase=view.phase,
        turn=Turn(view.turn_number, view.locked_card, view.must_meld, view.opening_attempt),
    )


def play(deal: Deal, move: Move) -> Deal:
    """The deal after a move that is legal in it; hidden cards that come up are left out of the hand."""
    seat = deal.seat_to_move
    after = apply(deal, move)[0]
    if BLANK not in after.hands[seat]:
        return after
    seen = tuple([card for card in after.hands[seat] if card != BLANK])
    return after._replace(hands=(*after.hands[:seat], seen, *after.hands[seat + 1 :]))
