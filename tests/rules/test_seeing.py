"""What a seat may see of a deal."""

import pytest

from buraco_notation import parse_cards
from buraco_rules import PRESETS, NextAction, Phase, RuleSet, TakePile, view_of
from tests.rules.positions import CLASSIC, CLEAN_BURACO, CLOSED, DIRECT, lay, play, position


@pytest.mark.parametrize("seat", [0, 1, 2, 3, None])
def test_own_hand_only(seat: int | None) -> None:
    """R3.1: a seat sees its own hand and counts of all others; the public view shows no hand."""
    deal = position(CLASSIC, seats=4, seat=2, hand="3h Kd", others={0: "As Ah", 1: "9c"})
    view = view_of(deal, seat)
    assert view.hand == (() if seat is None else deal.hands[seat])
    assert view.hand_counts == (2, 1, 2, 11)
    assert (view.stock_count, view.pot_counts) == (len(deal.stock), (11, 11))


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_pile(rules: RuleSet) -> None:
    """R3.4: an open pile is seen whole, of a closed one the top card only; its size is known."""
    deal = position(rules, phase=Phase.DRAW, hand="3h Kd", pile="9c 8c 7c")
    for seat in (0, 1, None):
        view = view_of(deal, seat)
        assert view.pile == parse_cards("7c" if rules.closed_pile else "9c 8c 7c")
        assert view.pile_count == 3


def test_rest_of_a_closed_pile_stays_hidden() -> None:
    """R3.4: between the taking and the melding of the top card nothing of the pile's rest is seen; the duty is."""
    deal = play(position(CLOSED, phase=Phase.DRAW, hand="3h 4h Kd", pile="9c 8c 5h"), TakePile())
    for seat in (0, 1, None):
        view = view_of(deal, seat)
        assert (view.pile, view.pile_count, view.must_meld) == ((), 2, parse_cards("5h")[0])
    assert view_of(deal, 0).next_actions == (NextAction.LAY_MELD,)
    assert view_of(play(deal, lay("3h 4h 5h")), 0).hand == parse_cards("Kd 8c 9c")


def test_next_actions_are_for_the_seat_to_move() -> None:
    """R3.2: what may be done next is told to the seat to move only."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="3h Kd", pile="9c")
    assert view_of(deal, 0).next_actions == (NextAction.DRAW_STOCK, NextAction.TAKE_PILE)
    assert view_of(deal, 1).next_actions == view_of(deal, None).next_actions == ()


def test_sides() -> None:
    """R9.1, R11.2: melds, pots, the opening minimum and the points on the table are seen by all, hands not counted."""
    deal = position(DIRECT, hand="3h Kd", melds=[CLEAN_BURACO], taken=1, they_require=95, scores=(300, 1200))
    first, second = view_of(deal, None).sides
    assert (first.melds, first.pots_taken, first.table_points, first.match_score) == (deal.sides[0].melds, 1, 245, 300)
    assert (second.opening_required, second.table_points, second.match_score) == (95, -100, 1200)


@pytest.mark.parametrize("seat", [-1, 2, 4])
def test_no_seat(seat: int) -> None:
    """R2.1: a seat that is none sees nothing."""
    with pytest.raises(ValueError, match="seat"):
        view_of(position(CLASSIC, hand="3h Kd"), seat)
