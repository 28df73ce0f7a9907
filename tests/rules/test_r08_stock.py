import pytest

from buraco_notation import parse_cards
from buraco_rules import (
    Deal,
    Discard,
    DrawStock,
    Ending,
    Phase,
    RuleSet,
    ScoreLineKind,
    StockEnd,
    TakePile,
    score_deal,
)
from buraco_rules.events import DealEnded, PotsJoined
from buraco_rules.presets import FROM_SOURCES
from tests.rules.positions import (
    CLASSIC,
    CLEAN_BURACO,
    CLOSED,
    CLOSED_DIRTY,
    DIRECT,
    DIRTY_BURACO,
    DIRTY_OPEN,
    INDIRECT,
    OPEN,
    all_cards,
    discard,
    events_of,
    house,
    lay_off,
    play,
    position,
    reason,
)

AT_TWO = [
    rules
    for rules in FROM_SOURCES
    if rules.id in ("buraco-plus-classic", "professional-indirect", "professional-direct", "burraco")
]
JOINING = [rules for rules in FROM_SOURCES if rules not in AT_TWO]
POTS = ["As 2s 3s 4s 5s 6s 7s 8s 9s Ts Js", "Ac 2c 3c 4c 5c 6c 7c 8c 9c Tc Jc"]


def has_bonus(deal: Deal) -> bool:
    """Whether any side gets the closing bonus."""
    return any(line.kind is ScoreLineKind.CLOSING for side in score_deal(deal).sides for line in side.lines)


# ---- R8.1 at two -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", AT_TWO, ids=lambda rules: rules.id)
def test_stock_at_two(rules: RuleSet) -> None:
    """R8.1: the turn that leaves two cards in the stock is played to its end; then the deal ends without a bonus."""
    deal = position(rules, phase=Phase.DRAW, hand="3h Kd", next_cards="9c", stock=3, melds=[CLEAN_BURACO])
    drawn = play(deal, DrawStock())
    assert (len(drawn.stock), drawn.phase) == (2, Phase.MELD)
    after = play(drawn, discard("9c"))
    assert (after.phase, after.ending, len(after.stock)) == (Phase.OVER, Ending.STOCK, 2)
    assert not has_bonus(after)
    (ended,) = [event for event in events_of(drawn, discard("9c")) if isinstance(event, DealEnded)]
    assert (ended.ending, ended.seat, ended.score.final) == (Ending.STOCK, None, True)


def test_stock_at_three() -> None:
    """R8.1: with three cards left in the stock the deal goes on, and taking the pile does not bring it to an end."""
    four = position(CLASSIC, phase=Phase.DRAW, hand="3h Kd", next_cards="9c", stock=4)
    assert play(four, DrawStock(), discard("9c")).phase is Phase.DRAW
    three = position(CLASSIC, phase=Phase.DRAW, hand="3h Kd", pile="9c 8c", stock=3)
    assert play(three, TakePile(), discard("9c")).phase is Phase.DRAW


def test_last_drawer_may_close() -> None:
    """R8.1: the last turn may still close, with the bonus."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="Ts", next_cards="Kd", stock=3, melds=[DIRTY_BURACO], taken=1)
    after = play(deal, DrawStock(), lay_off(0, "Ts"), discard("Kd"))
    assert (after.ending, has_bonus(after)) == (Ending.CLOSED, True)


def test_last_drawer_may_take_a_pot() -> None:
    """R8.1, R6.1: in the last turn a pot may be picked up, which spares the penalty, before the deal ends."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="Ts", next_cards="Kd", stock=3, melds=[CLEAN_BURACO], pots=POTS)
    after = play(deal, DrawStock(), lay_off(0, "Ts"), discard("Kd"))
    assert (after.ending, after.sides[0].pots_taken, len(after.hands[0])) == (Ending.STOCK, 1, 11)
    assert ScoreLineKind.NO_POT not in [line.kind for line in score_deal(after).sides[0].lines]


def test_pots_do_not_join_at_two() -> None:
    """R8.1: pots left on the table are not drawn from; the deal ends with them there."""
    deal = position(INDIRECT, phase=Phase.DRAW, hand="3h Kd", next_cards="9c", stock=3)
    assert len(play(deal, DrawStock(), discard("9c")).pots) == 2


# ---- R8.2 the pots join ----------------------------------------------------------------------------


@pytest.mark.parametrize("rules", JOINING, ids=lambda rules: rules.id)
def test_pots_become_the_stock(rules: RuleSet) -> None:
    """R8.2: at the end of a turn that leaves the stock empty all pots become the stock, the first pot on top."""
    deal = position(rules, phase=Phase.DRAW, hand="3h Kd", next_cards="9h", stock=1, pots=POTS)
    drawn = play(deal, DrawStock())
    assert (drawn.stock, len(drawn.pots)) == ((), 2)
    after = play(drawn, discard("9h"))
    assert (after.phase, len(after.stock), after.pots) == (Phase.DRAW, 22, ())
    assert events_of(drawn, discard("9h"))[-1] == PotsJoined(22)
    assert sorted(after.stock[-11:]) == sorted(parse_cards(POTS[0]))
    assert all_cards(after) == all_cards(deal)


def test_one_pot_becomes_the_stock() -> None:
    """R8.2: one pot left becomes the stock as well."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="3h Kd", next_cards="9h", stock=1, they_took=1, pots=POTS[:1])
    assert len(play(deal, DrawStock(), discard("9h")).stock) == 11


def test_no_pot_left() -> None:
    """R8.2: where no pot is left the deal ends without a bonus once the stock is empty."""
    deal = position(DIRTY_OPEN, phase=Phase.DRAW, hand="3h Kd", next_cards="9h", stock=1, taken=1, they_took=1)
    after = play(deal, DrawStock(), discard("9h"))
    assert (after.ending, has_bonus(after)) == (Ending.STOCK, False)


def test_two_cards_left_do_not_matter() -> None:
    """R8.2: with `pots_join` the deal goes on at two cards and at one."""
    deal = position(OPEN, phase=Phase.DRAW, hand="3h Kd", next_cards="9h 8h", stock=3, taken=1, they_took=1)
    after = play(deal, DrawStock(), discard("9h"))
    assert (after.phase, len(after.stock)) == (Phase.DRAW, 2)


def test_pots_join_once() -> None:
    """R8.2: the stock that the pots became is played to its end, and the second time the deal ends."""
    deal = position(OPEN, phase=Phase.DRAW, hand="3h Kd", next_cards="9h", stock=1, pots=POTS)
    deal = play(deal, DrawStock(), discard("9h"))
    turns = 0
    while deal.phase is not Phase.OVER:
        deal = play(deal, DrawStock())
        deal = play(deal, Discard(deal.hand[0]))
        turns += 1
    assert (turns, deal.ending, deal.stock, deal.pots) == (22, Ending.STOCK, (), ())


def test_last_pot_taken_in_the_last_turn() -> None:
    """R8.2, R6.1: pots taken in the turn that empties the stock do not join; with none left the deal ends."""
    deal = position(
        CLOSED_DIRTY,
        phase=Phase.DRAW,
        hand="Ts",
        next_cards="Js",
        stock=1,
        melds=["7s 8s 9s"],
        they_took=1,
        pots=[POTS[1]],
    )
    after = play(deal, DrawStock(), lay_off(0, "Ts Js"), discard("Ac"))
    assert (after.ending, after.sides[0].pots_taken) == (Ending.STOCK, 1)


def test_stock_empty_without_a_draw() -> None:
    """R8.2: a turn that closes on an empty stock ends the deal by the close."""
    deal = position(CLOSED_DIRTY, phase=Phase.DRAW, hand="Ts", next_cards="Js", stock=1, melds=[CLEAN_BURACO], taken=1)
    assert play(deal, DrawStock(), lay_off(0, "Ts Js")).ending is Ending.CLOSED


def test_side_without_a_pot_may_close_after_they_joined() -> None:
    """R8.2, R7.1: once the pots are gone a side may close without one, but pays for having taken none."""
    deal = position(OPEN, hand="Kd", melds=[CLEAN_BURACO], pots=0)
    after = play(deal, discard("Kd"))
    assert (after.ending, has_bonus(after)) == (Ending.CLOSED, True)
    assert ScoreLineKind.NO_POT in [line.kind for line in score_deal(after).sides[0].lines]


# ---- R8.3 the limit of turns -----------------------------------------------------------------------


@pytest.mark.parametrize("stock_end", StockEnd)
def test_max_turns(stock_end: StockEnd) -> None:
    """R8.3: the deal ends without a bonus after `max_turns` turns, and not a turn before."""
    rules = house(CLASSIC, max_turns=40, stock_end=stock_end)
    last = position(rules, hand="3h Kd", turn=40)
    after = play(last, discard("3h"))
    assert (after.ending, has_bonus(after)) == (Ending.MAX_TURNS, False)
    before = play(position(rules, hand="3h Kd", turn=39), discard("3h"))
    assert (before.phase, before.turn.number) == (Phase.DRAW, 40)


def test_close_in_the_last_turn() -> None:
    """R8.3, R7.1: the last turn may close, with the bonus."""
    rules = house(CLASSIC, max_turns=40)
    after = play(position(rules, hand="Kd", turn=40, melds=[DIRTY_BURACO], taken=1), discard("Kd"))
    assert (after.ending, has_bonus(after)) == (Ending.CLOSED, True)


def test_default_limit() -> None:
    """R8.3: every preset ends a deal after 1000 turns, counted from 1 at the deal."""
    assert {rules.max_turns for rules in FROM_SOURCES} == {1000}
    assert reason(position(DIRECT, hand="3h Kd", turn=1000), discard("3h")) is None
    assert play(position(DIRECT, hand="3h Kd", turn=1000), discard("3h")).ending is Ending.MAX_TURNS
