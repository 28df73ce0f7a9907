import pytest

from buraco_notation import parse_cards
from buraco_rules import PRESETS, Ending, Phase, PotBy, RuleSet, Violation
from buraco_rules.events import Discarded, LaidOff, Melded, PotTaken
from tests.rules.positions import (
    CLASSIC,
    CLEAN_BURACO,
    CLOSED_DIRTY,
    DIRECT,
    DIRTY_BURACO,
    INDIRECT,
    discard,
    events_of,
    hand,
    house,
    lay,
    lay_off,
    play,
    position,
    reason,
    reasons,
)

FIRST_POT = "As 2s 3s 4s 5s 6s 7s 8s 9s Ts Js"
SECOND_POT = "Ac 2c 3c 4c 5c 6c 7c 8c 9c Tc Jc"
POTS = [FIRST_POT, SECOND_POT]


# ---- R6.1 in flight and by discard -----------------------------------------------------------------


def test_pot_in_flight() -> None:
    """R6.1: melding the last card picks up a pot at once, and the same player goes on with the same turn."""
    deal = position(CLASSIC, hand="3h 4h 5h", pots=POTS)
    melded, taken = events_of(deal, lay("3h 4h 5h"))
    assert isinstance(melded, Melded)
    assert taken == PotTaken(0, True, parse_cards(FIRST_POT), 11)
    after = play(deal, lay("3h 4h 5h"))
    assert (after.seat_to_move, after.phase, after.turn.number) == (0, Phase.MELD, deal.turn.number)
    assert (hand(after), after.pots, after.sides[0].pots_taken) == (FIRST_POT, (parse_cards(SECOND_POT),), 1)
    assert play(after, lay("3s 4s 5s"), discard("As")).seat_to_move == 1


def test_pot_in_flight_by_a_lay_off() -> None:
    """R6.1: laying off the last card picks up a pot in flight as well."""
    laid, taken = events_of(position(CLASSIC, hand="6h", melds=["3h 4h 5h"], pots=POTS), lay_off(0, "6h"))
    assert isinstance(laid, LaidOff)
    assert taken == PotTaken(0, True, parse_cards(FIRST_POT), 11)


def test_pot_by_discard() -> None:
    """R6.1: discarding the last card picks up a pot at once and ends the turn."""
    deal = position(CLASSIC, seats=4, seat=1, hand="Kd", pots=POTS)
    assert events_of(deal, discard("Kd")) == [
        Discarded(1, parse_cards("Kd")[0]),
        PotTaken(1, False, parse_cards(FIRST_POT), 11),
    ]
    after = play(deal, discard("Kd"))
    assert (after.seat_to_move, after.phase, hand(after, 1)) == (2, Phase.DRAW, FIRST_POT)
    assert after.sides[1].pots_taken == 1


def test_no_pot_while_a_card_is_left() -> None:
    """R6.1: nobody picks up a pot with a card in hand."""
    after = play(position(CLASSIC, hand="3h 4h 5h Kd Qd", pots=POTS), lay("3h 4h 5h"), discard("Qd"))
    assert (hand(after), len(after.pots), after.sides[0].pots_taken) == ("Kd", 2, 0)


# ---- R6.2 how many, and how ------------------------------------------------------------------------


def test_one_pot_a_side() -> None:
    """R6.2: with `pots_per_side` 1 a side takes no second pot, though one is left."""
    deal = position(CLOSED_DIRTY, hand="6h", melds=["3h 4h 5h"], taken=1, pots=1)
    assert reasons(deal, lay_off(0, "6h")) == (Violation.CLOSE_NEEDS_BURACO,)
    closed = play(position(CLOSED_DIRTY, hand="Ts", melds=[CLEAN_BURACO], taken=1, pots=1), lay_off(0, "Ts"))
    assert (closed.ending, len(closed.pots)) == (Ending.CLOSED, 1)


def test_two_pots_a_side() -> None:
    """R6.2: with `pots_per_side` 2 a side takes the second pot in flight."""
    after = play(position(INDIRECT, hand="Ts", melds=[CLEAN_BURACO], taken=1, pots=[SECOND_POT]), lay_off(0, "Ts"))
    assert (hand(after), after.pots, after.sides[0].pots_taken, after.ending) == (SECOND_POT, (), 2, Ending.NONE)


def test_second_pot_only_if_one_is_left() -> None:
    """R6.2: there is no second pot where the opponents have the other."""
    deal = position(INDIRECT, hand="Ts", melds=[CLEAN_BURACO], taken=1, they_took=1)
    assert reasons(deal, lay_off(0, "Ts")) == (Violation.CLOSE_ONLY_BY_DISCARD,)


def test_second_pot_only_in_flight() -> None:
    """R6.2, R7.1: discarding the last card takes no second pot; with one pot taken it closes."""
    after = play(position(INDIRECT, hand="Kd", melds=[CLEAN_BURACO], taken=1, pots=1), discard("Kd"))
    assert (after.ending, len(after.pots)) == (Ending.CLOSED, 1)


def test_no_third_pot() -> None:
    """R6.2: whoever has both pots takes none any more."""
    deal = position(DIRECT, hand="Ts", melds=[CLEAN_BURACO], taken=2)
    assert play(deal, lay_off(0, "Ts")).ending is Ending.CLOSED


@pytest.mark.parametrize("pot_by", PotBy)
def test_how_the_first_pot_may_be_taken(pot_by: PotBy) -> None:
    """R6.2: `pot_by = any` takes the first pot in flight and by discard, `flight` in flight only."""
    rules = house(CLASSIC, pot_by=pot_by)
    assert reason(position(rules, hand="3h 4h 5h"), lay("3h 4h 5h")) is None
    expected = None if pot_by is PotBy.ANY else Violation.POT_ONLY_IN_FLIGHT
    assert reason(position(rules, hand="Kd"), discard("Kd")) is expected


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_first_pot_of_the_presets(rules: RuleSet) -> None:
    """R6.2: a side that has a buraco takes its first pot in flight in every preset, by discard in all but Direct."""
    assert isinstance(events_of(position(rules, hand="Ts", melds=[CLEAN_BURACO]), lay_off(0, "Ts"))[-1], PotTaken)
    by_discard = position(rules, hand="Kd", melds=[CLEAN_BURACO])
    if rules is DIRECT:
        assert reasons(by_discard, discard("Kd")) == (Violation.POT_ONLY_IN_FLIGHT,)
    else:
        assert isinstance(events_of(by_discard, discard("Kd"))[-1], PotTaken)


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_pot_without_a_buraco(rules: RuleSet) -> None:
    """R6.2: with `pot_needs_buraco` no pot is picked up before the side has a buraco, elsewhere it is."""
    in_flight = position(rules, hand="6h", melds=["3h 4h 5h"])
    by_discard = position(rules, hand="Kd", melds=["3h 4h 5h"])
    if rules in (INDIRECT, DIRECT):
        assert reasons(in_flight, lay_off(0, "6h")) == (Violation.POT_NEEDS_BURACO,)
        assert reason(by_discard, discard("Kd")) in (Violation.POT_NEEDS_BURACO, Violation.POT_ONLY_IN_FLIGHT)
    else:
        assert isinstance(events_of(in_flight, lay_off(0, "6h"))[-1], PotTaken)
        assert isinstance(events_of(by_discard, discard("Kd"))[-1], PotTaken)


def test_buraco_of_the_same_turn() -> None:
    """R6.2: a buraco made in the same turn, or by the very play that empties the hand, opens the way to the pot."""
    deal = position(INDIRECT, hand="9s Kd", melds=["3s 4s 5s 6s 7s 8s"])
    assert isinstance(events_of(deal, lay_off(0, "9s"), discard("Kd"))[-1], PotTaken)
    at_once = position(INDIRECT, hand="9s", melds=["3s 4s 5s 6s 7s 8s"])
    assert isinstance(events_of(at_once, lay_off(0, "9s"))[-1], PotTaken)


def test_a_dirty_buraco_is_enough_for_a_pot() -> None:
    """R6.2: any buraco of one's side serves for a pot; one of the opponents does not."""
    assert reason(position(INDIRECT, hand="Kd", melds=[DIRTY_BURACO]), discard("Kd")) is None
    theirs = position(INDIRECT, hand="Kd", melds=["3h 4h 5h"], their_melds=[CLEAN_BURACO])
    assert reasons(theirs, discard("Kd")) == (Violation.POT_NEEDS_BURACO,)


def test_a_pot_needs_no_clean_buraco() -> None:
    """R6.2, R7.1: what closing needs does not bind a pot."""
    assert reason(position(house(CLASSIC, close_needs_clean=True), hand="Kd"), discard("Kd")) is None


# ---- R6.3 a pot comes before the close -------------------------------------------------------------


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_pot_before_close(rules: RuleSet) -> None:
    """R6.3: a side entitled to a pot by the play that empties the hand takes it and does not close."""
    after = play(position(rules, hand="Ts", melds=[CLEAN_BURACO]), lay_off(0, "Ts"))
    assert (after.ending, len(after.hand)) == (Ending.NONE, 11)


def test_second_pot_before_close() -> None:
    """R6.3: in Direct a side in flight takes the second pot while it is there, though closing is by flight."""
    after = play(position(DIRECT, hand="Ts", melds=[CLEAN_BURACO], taken=1), lay_off(0, "Ts"))
    assert (after.ending, after.sides[0].pots_taken) == (Ending.NONE, 2)
