from __future__ import annotations

from collections.abc import Callable

import pytest

from buraco_rules import PRESETS_BY_ID, Deal, Discard, LayMeld, MeldKind, MoveWild, Phase, Turn, make_meld
from buraco_rules.cards import JOKER
from buraco_service.errors import ApiError
from buraco_service.tables import changes
from buraco_service.tables.changes import FREE_REVERSALS, MAX_REVERSALS, REVERSALS_A_TURN
from buraco_service.tables.state import TableValue
from buraco_service.tables.stored import parse_table, serialise_table
from tests.service.tables.test_tables_values import NOW, begun

BURRACO = PRESETS_BY_ID["burraco"]
HAND = (22, 23, 24, 26, 30)


def table_with_a_free_wild(turn: int = 1) -> TableValue:
    """Seat 0 has a run with a joker at its end, which it may move to and fro, and has drawn."""
    table = begun(rules=BURRACO)
    assert table.deal is not None
    run = make_meld(BURRACO, MeldKind.RUN, (5, 6, 7, JOKER), 5, 3)
    side = table.deal.side._replace(melds=(run,))
    deal = table.deal._replace(
        hands=(HAND, table.deal.hands[1]),
        sides=(side, table.deal.sides[1]),
        seat_to_move=0,
        phase=Phase.MELD,
        turn=Turn(turn),
    )
    return table._replace(deal=deal)


def to_and_fro(deal: Deal) -> MoveWild:
    """The joker's move to the other end."""
    return MoveWild(0, 4 if deal.side.melds[0].wild_index else 8)


def often(table: TableValue, times: int, change: Callable[[TableValue], TableValue]) -> TableValue:
    """The table after so many changes."""
    for _ in range(times):
        table = change(table)
    return table


def moved(table: TableValue) -> TableValue:
    """The table after the joker moved."""
    assert table.deal is not None
    return changes.submit(table, 0, [to_and_fro(table.deal)], NOW).table


def laid_and_taken_back(table: TableValue) -> TableValue:
    """The table after a meld was laid and taken back."""
    laid = changes.submit(table, 0, [LayMeld(HAND[:3])], NOW).table
    return changes.undo_move(laid, 0, NOW).table


@pytest.mark.parametrize("change", [moved, laid_and_taken_back])
@pytest.mark.parametrize("turn", [1, 7])
def test_bound_of_reversals(change: Callable[[TableValue], TableValue], turn: int) -> None:
    """A deal takes 256 moved wilds and undone plays, and 16 more a turn; then it has to be played on, which it can."""
    table = often(table_with_a_free_wild(turn), FREE_REVERSALS + REVERSALS_A_TURN * turn, change)
    with pytest.raises(ApiError) as refused:
        change(table)
    assert refused.value.reason == "TOO_MANY_REVERSALS"
    for move in (LayMeld(HAND[:3]), Discard(HAND[0])):
        changes.submit(table, 0, [move], NOW)
    played_on = changes.submit(table, 0, [Discard(HAND[0])], NOW).table
    assert played_on.reversals == table.reversals


def test_bound_holds_within_one_call() -> None:
    """Many moves in one call count one by one, and a call that would pass the bound changes nothing."""
    table = table_with_a_free_wild()
    assert table.deal is not None
    pair = [MoveWild(0, 4), MoveWild(0, 8)]
    table = changes.submit(table, 0, pair * 128, NOW).table
    assert table.reversals == FREE_REVERSALS
    with pytest.raises(ApiError, match="moved to and fro"):
        changes.submit(table, 0, pair * 9, NOW)
    assert changes.submit(table, 0, pair * 8, NOW).table.reversals == FREE_REVERSALS + REVERSALS_A_TURN


def test_bound_of_a_long_deal() -> None:
    """However many turns a deal has, its record stays small enough for every store."""
    table = table_with_a_free_wild(turn=100_000)._replace(reversals=MAX_REVERSALS)
    with pytest.raises(ApiError, match="moved to and fro"):
        moved(table)


def test_wild_come_home_is_not_counted() -> None:
    """A 2 that comes home does not move again, and the last card may wait for it (R3.6)."""
    table = table_with_a_free_wild()
    assert table.deal is not None
    run = make_meld(BURRACO, MeldKind.RUN, (3, 4, 5, 2), 3, 3)
    deal = table.deal._replace(sides=(table.deal.side._replace(melds=(run,)), table.deal.sides[1]))
    table = table._replace(deal=deal, reversals=MAX_REVERSALS)
    assert changes.submit(table, 0, [MoveWild(0, 2)], NOW).table.reversals == MAX_REVERSALS


def test_reversals_are_stored_and_start_anew() -> None:
    """The count is part of the stored table, and a deal begins with none."""
    table = moved(table_with_a_free_wild())
    assert parse_table(serialise_table(table), table.revision).reversals == 1
    assert begun(rules=BURRACO).reversals == 0
