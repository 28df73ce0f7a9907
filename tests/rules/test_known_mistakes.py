"""Cases that other programs got wrong: the last section of the rules, one test a case."""

import pytest

from buraco_notation import parse_cards
from buraco_rules import (
    BuracoKind,
    Deal,
    Discard,
    DrawStock,
    Ending,
    LayMeld,
    LayOff,
    Move,
    MoveWild,
    Phase,
    RuleSet,
    ScoreLineKind,
    TakePile,
    Violation,
    score_deal,
)
from buraco_rules.events import MatchEnded
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
    hand,
    laid_off,
    lay,
    lay_off,
    meld_of,
    melded,
    play,
    position,
    reasons,
    table,
)

LINES = (ScoreLineKind.NO_POT, ScoreLineKind.UNUSED_POT, ScoreLineKind.HAND)


@pytest.mark.parametrize("rules", FROM_SOURCES, ids=lambda rules: rules.id)
def test_king_ace_two_is_no_wrap(rules: RuleSet) -> None:
    """R4.1: `KH AH 2H` is a run with the 2 as the queen, never one that goes round the ace."""
    assert melded(rules, "Kh Ah 2h") == "2h@12 Kh Ah"


def test_three_twos() -> None:
    """R4.3: `2H 2D 2S` is refused in Classic and legal in Professional."""
    assert melded(CLASSIC, "2h 2d 2s") == "NO_SET_OF_TWOS"
    assert melded(INDIRECT, "2h 2d 2s") == "2s 2h 2d"
    assert melded(DIRECT, "2h 2d 2s") == "2s 2h 2d"


def test_one_natural_and_two_wilds() -> None:
    """R4.4: `5D Jo 2C` is refused."""
    refused = reasons(position(CLASSIC, hand="5d Jo 2c Kd Qd"), lay("5d Jo 2c"))
    assert set(refused) == {Violation.TOO_MANY_WILDS, Violation.TOO_FEW_NATURALS}


def test_every_other_card() -> None:
    """R4.1, R4.4: `4S 6S 8S Jo` is refused: one wild fills one gap."""
    assert melded(CLASSIC, "4s 6s 8s Jo") == "GAP"


def test_natural_two_leaves_room_for_a_wild() -> None:
    """R4.4: a 2C laid off on `3C 4C 5C` is a natural, and a joker is legal after it."""
    deal = position(CLASSIC, hand="2c Jo 6c 7c 8c Kd Qd", melds=["3c 4c 5c"])
    with_two = play(deal, lay_off(0, "2c"))
    assert (table(with_two), with_two.sides[0].melds[0].wild_index) == (["2c 3c 4c 5c"], None)
    assert play(with_two, lay_off(0, "6c 7c 8c")).sides[0].melds[0].buraco is BuracoKind.CLEAN
    assert table(play(with_two, lay_off(0, "Jo"))) == ["Jo@1 2c 3c 4c 5c"]


def test_six_naturals_and_a_wild() -> None:
    """R9.2: six naturals and a wild at the end are dirty, not semi-clean; seven and a wild are semi-clean."""
    for wild in ("Jo", "2d"):
        assert meld_of(CLASSIC, f"4s 5s 6s 7s 8s 9s {wild}@10").buraco is BuracoKind.DIRTY
        assert meld_of(CLASSIC, f"{wild}@3 4s 5s 6s 7s 8s 9s").buraco is BuracoKind.DIRTY
        assert meld_of(CLASSIC, f"4s 5s 6s 7s 8s 9s Ts {wild}@11").buraco is BuracoKind.SEMI_CLEAN


@pytest.mark.parametrize("rules", FROM_SOURCES, ids=lambda rules: rules.id)
def test_second_ace_on_ace_to_king(rules: RuleSet) -> None:
    """R4.5: a second ace on `A…K` is refused unless `two_aces`."""
    ace_to_king = "Ah 2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh"
    assert laid_off(rules, ace_to_king, "Ah") == (f"{ace_to_king} Ah" if rules.two_aces else "TWO_ACES")
    assert rules.two_aces is (rules.id in ("open", "closed", "closed-wtcc", "closed-dirty"))


@pytest.mark.parametrize("rules", [INDIRECT, DIRECT], ids=lambda rules: rules.id)
def test_two_becomes_natural_on_the_way(rules: RuleSet) -> None:
    """R5.4, R9.3: in Professional `4 5 6` of clubs with 2C, 3C, 7C, 8C is clean, together and one by one."""
    deal = position(rules, hand="2c 3c 7c 8c Kd Qd", melds=["4c 5c 6c"])
    together = play(deal, lay_off(0, "2c 3c 7c 8c"))
    one_by_one = play(deal, *(lay_off(0, card) for card in ("2c", "3c", "7c", "8c")))
    for after in (together, one_by_one):
        assert table(after) == ["2c 3c 4c 5c 6c 7c 8c"]
        assert after.sides[0].melds[0].buraco is BuracoKind.CLEAN


@pytest.mark.parametrize("rules", [INDIRECT, DIRECT], ids=lambda rules: rules.id)
def test_seven_cards_with_the_two_as_six(rules: RuleSet) -> None:
    """R9.3: in Professional a seven-card run with the 2 as 6 stays dirty when the 6 arrives."""
    after = play(position(rules, hand="6c Kd Qd", melds=["3c 4c 5c 2c@6 7c 8c 9c"]), lay_off(0, "6c"))
    assert table(after) == ["2c 3c 4c 5c 6c 7c 8c 9c"]
    assert after.sides[0].melds[0].buraco is BuracoKind.DIRTY


@pytest.mark.parametrize("rules", [CLASSIC, OPEN, DIRTY_OPEN, CLOSED, CLOSED_DIRTY], ids=lambda rules: rules.id)
def test_melding_the_last_three_cards(rules: RuleSet) -> None:
    """R3.6: with `4 5 6` in hand, the pot taken and no buraco, melding all three is refused."""
    deal = position(rules, hand="4h 5h 6h", taken=1)
    assert reasons(deal, lay("4h 5h 6h")) == (Violation.CLOSE_NEEDS_BURACO,)
    assert reasons(position(rules, hand="4h 5h 6h Kd Qd", taken=1), lay("4h 5h 6h")) == ()


def test_closed_pile_on_its_way() -> None:
    """R3.4: the hand is not empty while the rest of a closed pile is on its way: no pot, no close, no dead end."""
    for taken in (0, 1):
        deal = position(CLOSED, phase=Phase.DRAW, hand="4h 5h", pile="9c 8c 6h", taken=taken)
        after = play(deal, TakePile(), lay("4h 5h 6h"))
        assert (hand(after), after.sides[0].pots_taken, after.phase) == ("8c 9c", taken, Phase.MELD)
        assert play(after, discard("9c")).seat_to_move == 1


@pytest.mark.parametrize("rules", [rules for rules in FROM_SOURCES if rules is not DIRECT], ids=lambda rules: rules.id)
def test_pot_by_discard_then_the_opponents_close(rules: RuleSet) -> None:
    """R9.1: pot by discard, then the opponents close: 100 once a side, plus the hand, in the modes that say so."""
    pot = "3s 3h 3d 3c 4s 4h 4d 4c 5s 5h 5d"
    deal = position(
        rules,
        seats=4,
        hand="Kd",
        melds=[CLEAN_BURACO],
        others={1: "Qd", 2: "7d 7c", 3: "8d"},
        their_melds=["6c 7c 8c 9c Tc Jc Qc"],
        they_took=1,
        next_cards="Kc",
        pots=[pot],
    )
    closed = play(deal, discard("Kd"), DrawStock(), LayOff(0, parse_cards("Kc")), discard("Qd"))
    assert closed.ending is Ending.CLOSED
    lines = [(line.kind, line.points) for line in score_deal(closed).sides[0].lines if line.kind in LINES]
    hands = [(ScoreLineKind.HAND, -55), (ScoreLineKind.HAND, -10)]
    says_so = rules.id in ("open", "closed", "closed-wtcc", "closed-dirty")
    assert lines == [*hands, *([(ScoreLineKind.UNUSED_POT, -100)] if says_so else [])]


def test_stock_at_two() -> None:
    """R8.1: at two cards in the stock the last drawer still finishes the turn, and may close with the bonus."""
    deal = position(CLASSIC, phase=Phase.DRAW, hand="Ts", next_cards="Js", stock=3, melds=[DIRTY_BURACO], taken=1)
    drawn = play(deal, DrawStock())
    finished = play(drawn, discard("Js"))
    assert (finished.ending, finished.phase) == (Ending.STOCK, Phase.OVER)
    closed = play(drawn, lay_off(0, "Ts"), discard("Js"))
    assert closed.ending is Ending.CLOSED
    assert [line.points for line in score_deal(closed).sides[0].lines if line.kind is ScoreLineKind.CLOSING] == [100]


@pytest.mark.parametrize(("rules", "winner"), [(CLASSIC, None), (CLOSED_DIRTY, 1)], ids=["draw", "starter"])
def test_both_over_the_target_with_equal_totals(rules: RuleSet, winner: int | None) -> None:
    """R10.2: both sides over the target with equal totals: a draw, or the side that started the first deal."""

    def end(scores: tuple[int, int]) -> MatchEnded:
        deal = position(rules, hand="Kd", melds=[DIRTY_BURACO], taken=1, scores=scores, target=2005, starter=1)
        ended = events_of(deal, discard("Kd"))[-1]
        assert isinstance(ended, MatchEnded)
        return ended

    ours, theirs = end((10_000, 10_000)).scores
    assert end((13_000 - ours, 13_000 - theirs)) == MatchEnded(winner, (3_000, 3_000))


FOREIGN: list[Move] = [
    LayMeld(parse_cards("9s 9d 9c")),
    LayMeld(parse_cards("3h 4h 5h 6h 7h")),
    LayMeld(parse_cards("3h 3h 4h 5h")),
    LayMeld(parse_cards("Ks Kh Kc")),
    LayOff(0, parse_cards("9s")),
    LayOff(0, parse_cards("Ts Ts")),
    LayOff(0, parse_cards("Jo")),
    LayOff(2, parse_cards("3h")),
    LayOff(-1, parse_cards("Ts")),
    MoveWild(1, 10),
    MoveWild(2, 10),
    MoveWild(-1, 10),
    Discard(parse_cards("9s")[0]),
    Discard(parse_cards("Jo")[0]),
    Discard(0),
    Discard(99),
]


@pytest.mark.parametrize("move", FOREIGN, ids=str)
def test_what_is_not_ones_own(move: Move) -> None:
    """R3.1, R4.6: another seat's cards, another side's meld, a card twice: refused, and the state is unchanged."""

    def fresh() -> Deal:
        return position(
            CLASSIC,
            seats=4,
            hand="3h 4h 5h Ts Kd Qd",
            others={1: "9s 9d 9c Jo 6h", 2: "7h Ks Kh Kc"},
            melds=["7s 8s 9s", "3d 4d 5d"],
            their_melds=["4c 5c 6c", "3s 4s 5s", "Jo@6 7c 8c 9c"],
        )

    deal = fresh()
    refused = reasons(deal, move)
    assert set(refused) & {
        Violation.CARD_NOT_IN_HAND,
        Violation.NO_SUCH_MELD,
        Violation.NO_WILD_TO_MOVE,
    }
    assert deal == fresh()
    assert all_cards(deal) == all_cards(fresh())
