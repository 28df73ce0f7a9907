from itertools import product

import pytest

from buraco_notation import parse_cards
from buraco_rules import CloseBy, Discard, Ending, LayOff, Phase, PotBy, RuleSet, Turn, Violation, legal_moves
from buraco_rules.events import DealEnded, MatchEnded, PotTaken
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
    WTCC,
    discard,
    events_of,
    house,
    lay,
    lay_off,
    play,
    position,
    reason,
    reasons,
)
from tests.rules.reference_turns import CLOSE, POT, what_follows

# ---- R7.1 who may close ----------------------------------------------------------------------------


def test_close() -> None:
    """R7.1: a player who empties the hand, whose side has a pot and a buraco, closes the deal."""
    deal = position(CLASSIC, seats=4, seat=2, hand="Kd", melds=[DIRTY_BURACO], taken=1)
    ended = next(event for event in events_of(deal, discard("Kd")) if isinstance(event, DealEnded))
    assert (ended.ending, ended.seat, ended.score.final) == (Ending.CLOSED, 2, True)
    after = play(deal, discard("Kd"))
    assert (after.phase, after.ending, after.pile) == (Phase.OVER, Ending.CLOSED, parse_cards("Kd"))


def test_nothing_binds_after_the_end() -> None:
    """R7.1, R11.4: once the deal is over nothing of its last turn can be taken back, and nothing binds."""
    deal = position(OPEN, hand="Kd 5h 6h 7h", melds=[CLEAN_BURACO], taken=1)
    over = play(deal, lay("5h 6h 7h"), discard("Kd"))
    assert over.ending is Ending.CLOSED
    assert over.turn == Turn(deal.turn.number)


def test_close_needs_a_pot() -> None:
    """R7.1: a side that has taken no pot, while one is left to it, does not close."""
    deal = position(DIRECT, hand="Kd", melds=[CLEAN_BURACO])
    assert reasons(deal, discard("Kd")) == (Violation.POT_ONLY_IN_FLIGHT,)


def test_close_where_no_pot_is_left() -> None:
    """R7.1: a side for which no pot is left to take may close without one."""
    deal = position(INDIRECT, hand="Kd", melds=[CLEAN_BURACO], they_took=2)
    assert play(deal, discard("Kd")).ending is Ending.CLOSED
    joined = position(CLOSED_DIRTY, hand="Kd", melds=[DIRTY_BURACO], pots=0)
    assert play(joined, discard("Kd")).ending is Ending.CLOSED


def test_close_needs_a_buraco() -> None:
    """R7.1: nobody closes without a buraco of the own side."""
    deal = position(CLASSIC, hand="Kd", melds=["3s 4s 5s 6s 7s 8s"], their_melds=["3h 4h 5h 6h 7h 8h 9h"], taken=1)
    assert reasons(deal, discard("Kd")) == (Violation.CLOSE_NEEDS_BURACO,)


@pytest.mark.parametrize("rules", FROM_SOURCES, ids=lambda rules: rules.id)
def test_close_with_a_dirty_buraco(rules: RuleSet) -> None:
    """R7.1: `close_needs_clean` refuses a close on a dirty buraco alone, other rule sets accept it."""
    if rules is DIRECT:
        deal, move = position(rules, hand="Tc", melds=[DIRTY_BURACO, "7c 8c 9c"], taken=2), lay_off(1, "Tc")
        assert play(deal, move).ending is Ending.CLOSED
        return
    deal = position(rules, hand="Kd", melds=[DIRTY_BURACO], taken=1)
    expected = (Violation.CLOSE_NEEDS_CLEAN,) if rules in (OPEN, CLOSED, WTCC) else ()
    assert reasons(deal, discard("Kd")) == expected


@pytest.mark.parametrize(
    "buraco",
    [
        CLEAN_BURACO,
        "2s 3s 4s 5s 6s 7s 8s",
        "As 2s 3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks",
        "2s 3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks As",
        "As 2s 3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks As",
        "7s 7s 7h 7h 7d 7d 7c",
    ],
)
def test_clean_enough(buraco: str) -> None:
    """R7.1: clean, royal and ace-to-ace buracos, of runs and sets, all serve as the clean one that closing needs."""
    deal = position(CLOSED, hand="Kd", melds=[DIRTY_BURACO.replace("s", "h"), buraco], taken=1)
    assert reason(deal, discard("Kd")) is None


@pytest.mark.parametrize(
    "buraco", ["3s 4s 5s 6s 7s 8s Jo@9", "Jo@2 3s 4s 5s 6s 7s 8s 9s", "7s 7s 7h 7h 7d 7d Jo*", "3s 4s 5s 6s 7s 8s 9s!"]
)
def test_not_clean_enough(buraco: str) -> None:
    """R7.1, R9.2: dirty and semi-clean buracos and those that stay dirty do not serve as a clean one."""
    rules = house(CLOSED, semi_clean=150)
    assert reasons(position(rules, hand="Kd", melds=[buraco], taken=1), discard("Kd")) == (Violation.CLOSE_NEEDS_CLEAN,)


def test_state_after_the_last_meld_counts() -> None:
    """R7.1: the state after the last meld counts: it may make the buraco clean, or spoil the clean one."""
    cleaned = position(CLOSED, hand="8s", melds=["3s 4s 5s 6s 7s 2s@8 9s"], taken=1)
    assert play(cleaned, lay_off(0, "8s")).ending is Ending.CLOSED
    spoiled = position(CLOSED, hand="Jo", melds=[CLEAN_BURACO], taken=1)
    assert reasons(spoiled, lay_off(0, "Jo")) == (Violation.CLOSE_NEEDS_CLEAN,)


def test_the_partner_may_have_done_it_all() -> None:
    """R7.1: pot and buraco are the side's: the partner may have taken the one and made the other."""
    deal = position(CLASSIC, seats=4, seat=3, hand="Kd", melds=[DIRTY_BURACO], taken=1, unplayed=[1])
    assert play(deal, discard("Kd")).ending is Ending.CLOSED


# ---- R7.2 what the last card must do ---------------------------------------------------------------

HOW = {
    CLASSIC: CloseBy.DISCARD,
    INDIRECT: CloseBy.DISCARD,
    DIRECT: CloseBy.FLIGHT,
    OPEN: CloseBy.ANY,
    DIRTY_OPEN: CloseBy.DISCARD,
    CLOSED: CloseBy.ANY,
    WTCC: CloseBy.ANY,
    CLOSED_DIRTY: CloseBy.ANY,
    FROM_SOURCES[-1]: CloseBy.DISCARD,
}


@pytest.mark.parametrize("rules", FROM_SOURCES, ids=lambda rules: rules.id)
def test_how_the_presets_close(rules: RuleSet) -> None:
    """R7.2: the last card is discarded, melded or either, as the rule set says."""
    by_discard = position(rules, hand="Kd", melds=[CLEAN_BURACO], they_took=1, taken=1)
    in_flight = position(rules, hand="Ts", melds=[CLEAN_BURACO], they_took=1, taken=1)
    assert reasons(by_discard, discard("Kd")) == (
        (Violation.CLOSE_ONLY_IN_FLIGHT,) if HOW[rules] is CloseBy.FLIGHT else ()
    )
    assert reasons(in_flight, lay_off(0, "Ts")) == (
        (Violation.CLOSE_ONLY_BY_DISCARD,) if HOW[rules] is CloseBy.DISCARD else ()
    )


@pytest.mark.parametrize("wild", ["Jo", "2h"])
def test_wild_as_the_closing_discard(wild: str) -> None:
    """R7.2: without `close_discard_wild` the closing discard is no joker and no 2; with it, it may be."""
    assert reasons(position(CLASSIC, hand=wild, melds=[DIRTY_BURACO], taken=1), discard(wild)) == (
        Violation.CLOSE_DISCARD_WILD,
    )
    deal = position(DIRTY_OPEN, hand=wild, melds=[DIRTY_BURACO], taken=1)
    assert play(deal, discard(wild)).ending is Ending.CLOSED


def test_wild_as_another_last_discard() -> None:
    """R7.2: a wild may be the discard that takes a pot, and any discard that leaves cards."""
    assert isinstance(events_of(position(CLASSIC, hand="Jo"), discard("Jo"))[-1], PotTaken)
    assert reason(position(CLASSIC, hand="Jo Kd", melds=[DIRTY_BURACO], taken=1), discard("Jo")) is None


def test_wild_as_the_last_card_melded() -> None:
    """R7.2: in flight a wild may be the last card."""
    deal = position(CLOSED_DIRTY, hand="Jo", melds=["3s 4s 5s 6s 7s 8s"], taken=1)
    assert play(deal, lay_off(0, "Jo")).ending is Ending.CLOSED


# ---- R7.3 seven 2s ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1, 2, 3])
@pytest.mark.parametrize("rules", [INDIRECT, DIRECT], ids=lambda rules: rules.id)
def test_seven_twos_win(rules: RuleSet, seat: int) -> None:
    """R7.3: a set of seven 2s ends the match at once, and its side wins it whatever the scores."""
    deal = position(
        rules,
        seats=4,
        seat=seat,
        hand="2s 2h 2h 2d 2d 2c 2c Kd Qd",
        scores=(5000, -300) if seat % 2 else (-300, 5000),
        target=2005,
        their_melds=[CLEAN_BURACO],
    )
    events = events_of(deal, lay("2s 2h 2h 2d 2d 2c 2c"))
    ended = next(event for event in events if isinstance(event, DealEnded))
    assert (ended.ending, ended.seat) == (Ending.TWOS_BURACO, seat)
    match_ended = events[-1]
    assert isinstance(match_ended, MatchEnded)
    assert match_ended.winner == seat % 2
    assert play(deal, lay("2s 2h 2h 2d 2d 2c 2c")).phase is Phase.OVER


def test_seventh_two_laid_off() -> None:
    """R7.3: the seventh 2 wins when it is laid off, too, and were it the last card without a pot."""
    for cards in ("2s Kd Qd", "2s"):
        deal = position(DIRECT, hand=cards, melds=["2h 2h 2d 2d 2c 2c"])
        assert play(deal, lay_off(0, "2s")).ending is Ending.TWOS_BURACO


def test_winning_twos_are_listed() -> None:
    """R7.3: what wins is a legal move, also with the last cards of a hand that may not be emptied so otherwise."""
    deal = position(INDIRECT, hand="2c 2c", melds=["2s 2s 2h 2h 2d 2d"], pots=0, taken=2)
    assert lay_off(0, "2c 2c") in legal_moves(deal)


def test_six_twos_do_not_win() -> None:
    """R7.3: six 2s win nothing."""
    deal = position(DIRECT, hand="2h 2h 2d 2d 2c 2c Kd Qd")
    assert play(deal, lay("2h 2h 2d 2d 2c 2c")).ending is Ending.NONE


def test_winning_twos_are_an_option() -> None:
    """R7.3: without `twos_buraco_wins` seven 2s are a buraco like any other."""
    deal = position(CLOSED, hand="2s 2h 2h 2d 2d 2c 2c Kd Qd")
    assert play(deal, lay("2s 2h 2h 2d 2d 2c 2c")).phase is Phase.MELD


def test_a_joker_is_no_two() -> None:
    """R7.3: six 2s and a joker are no set of seven 2s."""
    rules = house(CLOSED, twos_buraco_wins=True)
    deal = position(rules, hand="2h 2h 2d 2d 2c 2c Jo Kd Qd")
    assert play(deal, lay("2h 2h 2d 2d 2c 2c Jo")).ending is Ending.NONE


def test_a_run_with_a_two_wins_nothing() -> None:
    """R7.3: a run of seven cards that begins with a 2 wins no match."""
    deal = position(DIRECT, hand="2s 3s 4s 5s 6s 7s 8s Kd Qd")
    assert play(deal, lay("2s 3s 4s 5s 6s 7s 8s")).ending is Ending.NONE


def test_seven_twos_win_during_an_opening_attempt() -> None:
    """R7.3, R11.2: the win comes before the opening minimum."""
    deal = position(DIRECT, hand="2s 2h 2h 2d 2d 2c 2c", required=135)
    assert play(deal, lay("2s 2h 2h 2d 2d 2c 2c")).ending is Ending.TWOS_BURACO


# ---- the whole matrix ------------------------------------------------------------------------------

BURACOS = {"none": ["3s 4s 5s 6s 7s 8s"], "dirty": [DIRTY_BURACO], "clean": [CLEAN_BURACO]}
POTS = [(0, 2), (0, 1), (0, 0), (1, 1), (1, 0), (2, 0)]


@pytest.mark.parametrize("pot_by", PotBy)
@pytest.mark.parametrize("close_by", CloseBy)
def test_pot_and_close_matrix(pot_by: PotBy, close_by: CloseBy) -> None:
    """R6, R7: every mix of options, buraco, pots and last card gives a pot, the close, or the right refusal."""
    flags = list(product([False, True], repeat=3))
    for (needs_buraco, needs_clean, wild_may), pots_per_side in product(flags, [1, 2]):
        if wild_may and close_by is CloseBy.FLIGHT:
            continue
        rules = house(
            DIRTY_OPEN,
            pot_by=pot_by,
            close_by=close_by,
            pot_needs_buraco=needs_buraco,
            close_needs_clean=needs_clean,
            close_discard_wild=wild_may,
            pots_per_side=pots_per_side,
        )
        for buraco, (taken, left), last in product(BURACOS, POTS, ["Kc", "Kd", "2h"]):
            deal = position(
                rules,
                hand=last,
                melds=["Tc Jc Qc", *BURACOS[buraco]],
                taken=taken,
                pots=left,
                they_took=2 - taken - left,
            )
            in_flight = last == "Kc"
            card = parse_cards(last)[0]
            move = LayOff(0, (card,)) if in_flight else Discard(card)
            expected = what_follows(rules, deal.side, left, None if in_flight else card)
            case = f"{rules}, {buraco}, {taken} taken, {left} left, last {last}"
            refused = reasons(deal, move)
            if isinstance(expected, str):
                assert refused == (), case
                after = play(deal, move)
                assert (after.ending is Ending.CLOSED) is (expected == CLOSE), case
                assert (after.sides[0].pots_taken == taken + 1) is (expected == POT), case
            else:
                assert refused, case
                assert set(refused) <= expected, case


def test_matrix_by_hand() -> None:
    """R6, R7: some rows of the matrix, written out."""
    side = position(DIRECT, hand="Kc", melds=[CLEAN_BURACO], taken=1).side
    assert what_follows(DIRECT, side, 1, None) == POT
    assert what_follows(DIRECT, side, 1, 13) == frozenset({Violation.CLOSE_ONLY_IN_FLIGHT})
    assert what_follows(DIRECT, side, 0, None) == CLOSE
    assert what_follows(INDIRECT, side, 1, 13) == CLOSE
    assert what_follows(INDIRECT, side, 0, None) == frozenset({Violation.CLOSE_ONLY_BY_DISCARD})
    assert what_follows(CLASSIC, side, 1, 2) == frozenset({Violation.CLOSE_DISCARD_WILD})
    none = position(DIRECT, hand="Kc").side
    assert what_follows(DIRECT, none, 2, 13) == frozenset({Violation.POT_ONLY_IN_FLIGHT, Violation.POT_NEEDS_BURACO})
    assert what_follows(CLASSIC, none, 2, 2) == POT


def test_every_way_to_close_is_found_in_the_hand() -> None:
    """R7.1: a whole hand may be melded and its last card close, buraco and all, in one turn."""
    deal = position(CLASSIC, hand="3h 4h 5h 6h 7h 8h 9h Kd", taken=1)
    assert play(deal, lay("3h 4h 5h 6h 7h 8h 9h"), discard("Kd")).ending is Ending.CLOSED
