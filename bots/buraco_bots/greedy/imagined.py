"""A deal with blanks for the cards that a seat cannot see, in which the rules can try the seat's own moves."""

from __future__ import annotations

from typing import Final

from buraco_rules import Deal, Move, Side, Turn, View, apply

BLANK: Final = 0
"""An unknown card. It counts nothing, and the hand of the seat that moves never holds one."""


def imagine(view: View, pile: tuple[int, ...] | None = None) -> Deal:
    """Return the deal of a seat's own view, in which the seat's moves can be tried.

    `pile` has the whole pile as far as it is known, if more of it is known than the view shows. What the rules say of a
    move is true until a hidden card comes up. In a public view all hands are blanks.
    """
    seats = len(view.hand_counts)
    hands = [(BLANK,) * count for count in view.hand_counts]
    if view.seat is not None:
        hands[view.seat] = view.hand
    if pile is None:
        pile = (*[BLANK] * (view.pile_count - len(view.pile)), *view.pile)
    first, second = (
        Side(side.melds, side.pots_taken, (), side.opening_required, side.opening_penalties) for side in view.sides
    )
    return Deal(
        rules=view.rules,
        seats=seats,
        match=view.match,
        stock=(BLANK,) * view.stock_count,
        pile=pile,
        pots=tuple([(BLANK,) * count for count in view.pot_counts]),
        hands=tuple(hands),
        sides=(first, second),
        seat_to_move=view.seat_to_move,
        phase=view.phase,
        turn=Turn(view.turn_number, view.locked_card, view.must_meld, view.opening_attempt),
    )


def play(deal: Deal, move: Move) -> Deal:
    """Return the deal after a legal move; hidden cards that come up are left out of the hand."""
    seat = deal.seat_to_move
    after = apply(deal, move)[0]
    if BLANK not in after.hands[seat]:
        return after
    known = tuple([card for card in after.hands[seat] if card != BLANK])
    return after._replace(hands=(*after.hands[:seat], known, *after.hands[seat + 1 :]))
