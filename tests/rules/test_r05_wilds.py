import pytest

from buraco_notation import parse_cards
from buraco_rules import MoveWild, RuleSet, Violation, WildEnd, meld_book
from buraco_rules.events import LaidOff, Melded, WildMoved
from tests.rules.positions import (
    CLASSIC,
    CLOSED,
    DIRECT,
    DIRTY_OPEN,
    INDIRECT,
    OPEN,
    events_of,
    house,
    laid_off,
    lay,
    lay_off,
    meld_of,
    melded,
    play,
    position,
    reasons,
    show,
    table,
)

FREE_LOW = CLASSIC
FREE_HIGH = house(CLASSIC, wild_end=WildEnd.HIGH)
KEPT_HIGH = DIRTY_OPEN
KEPT_LOW = house(DIRTY_OPEN, wild_end=WildEnd.LOW)
ALL = [FREE_LOW, FREE_HIGH, KEPT_HIGH, KEPT_LOW]
NAMES = ["free low", "free high", "kept high", "kept low"]


def moved(rules: RuleSet, meld: str, place: int) -> str:
    """What comes of moving the wild of a meld to a place: the meld, or the reason why not."""
    deal = position(rules, hand="Kd Qd", melds=[meld])
    refused = reasons(deal, MoveWild(0, place))
    return refused[0].name if refused else table(play(deal, MoveWild(0, place)))[0]


# ---- R5.1 the whole is judged ----------------------------------------------------------------------


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
@pytest.mark.parametrize("wild", ["Jo", "2s", "2h"])
def test_the_whole_is_judged(rules: RuleSet, wild: str) -> None:
    """R5.1: `6 W 8` with a 10 is illegal, with a 7 and a 10 it is legal and becomes `6 7 8 W 10`."""
    base = f"6h {wild}@7 8h"
    assert laid_off(rules, base, "Th") == "GAP"
    assert laid_off(rules, base, "7h Th") == f"6h 7h 8h {wild}@9 Th"


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_naturals_are_fixed_by_their_ranks(rules: RuleSet) -> None:
    """R5.1: naturals stand where their ranks say, and an ace that lies low stays low."""
    assert laid_off(rules, "Ah 2h 3h", "Kh") == "WRAP"
    assert laid_off(rules, "Qh Kh Ah", "2h") == "2h@11 Qh Kh Ah"
    assert laid_off(rules, "2h 3h 4h", "7h") == "GAP"


# ---- R5.2 how wilds move ---------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [FREE_LOW, FREE_HIGH], ids=["low", "high"])
def test_free_end_is_placed_anew(rules: RuleSet) -> None:
    """R5.2: with `free_end` a wild at an end is placed anew whenever cards are laid off."""
    assert laid_off(rules, "Jo@6 7h 8h 9h", "Jh") == "7h 8h 9h Jo@10 Jh"
    assert laid_off(rules, "7h 8h 9h Jo@10", "5h") == "5h Jo@6 7h 8h 9h"
    assert laid_off(rules, "Jo@6 7h 8h 9h", "Th", at=11) == "7h 8h 9h Th Jo@11"


@pytest.mark.parametrize("rules", [KEPT_HIGH, KEPT_LOW], ids=["high", "low"])
def test_kept_wild_at_an_end(rules: RuleSet) -> None:
    """R5.2: with `when_replaced` a wild at an end keeps its place until the card it stands for arrives."""
    assert laid_off(rules, "Jo@6 7h 8h 9h", "Jh") == "WILD_STAYS"
    assert laid_off(rules, "7h 8h 9h Jo@10", "5h") == "WILD_STAYS"
    assert laid_off(rules, "Jo@6 7h 8h 9h", "Th") == "Jo@6 7h 8h 9h Th"
    assert laid_off(rules, "Jo@6 7h 8h 9h", "Th", at=11) == "WILD_POSITION"
    assert laid_off(rules, "Jo@6 7h 8h 9h", "5h") == "5h Jo@6 7h 8h 9h"


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_wild_between_cards(rules: RuleSet) -> None:
    """R5.2: a wild between cards moves only when its own card arrives."""
    assert laid_off(rules, "6h Jo@7 8h", "9h") == "6h Jo@7 8h 9h"
    assert laid_off(rules, "6h Jo@7 8h", "9h", at=10) == "WILD_POSITION"
    assert laid_off(rules, "6h Jo@7 8h", "7h") in ("Jo@5 6h 7h 8h", "6h 7h 8h Jo@9")


@pytest.mark.parametrize("rules", [FREE_LOW, FREE_HIGH], ids=["low", "high"])
def test_move_of_its_own(rules: RuleSet) -> None:
    """R5.2: with `free_end` a wild moves to the other end by a move of its own, and then other cards fit."""
    assert moved(rules, "Jo@6 7h 8h 9h", 10) == "7h 8h 9h Jo@10"
    assert moved(rules, "7h 8h 9h Jo@10", 6) == "Jo@6 7h 8h 9h"
    deal = position(rules, hand="Jh Kd Qd", melds=["Jo@6 7h 8h 9h"])
    assert table(play(deal, MoveWild(0, 10), lay_off(0, "Jh"))) == ["7h 8h 9h Jo@10 Jh"]
    assert events_of(deal, MoveWild(0, 10)) == [WildMoved(0, 0, meld_of(rules, "7h 8h 9h Jo@10"))]


def test_move_home() -> None:
    """R5.2, R5.3: a 2 of the suit moved to the place of the 2 stops acting as a wild; another 2 goes on acting."""
    assert moved(CLASSIC, "3h 4h 5h 2h@6", 2) == "2h 3h 4h 5h"
    assert moved(CLASSIC, "3h 4h 5h 2s@6", 2) == "2s@2 3h 4h 5h"


@pytest.mark.parametrize(
    ("rules", "meld", "place", "why"),
    [
        (CLASSIC, "Jo@6 7h 8h 9h", 5, "WILD_POSITION"),
        (CLASSIC, "Jo@6 7h 8h 9h", 6, "WILD_POSITION"),
        (CLASSIC, "Jo@6 7h 8h 9h", 11, "WILD_POSITION"),
        (CLASSIC, "Jo@6 7h 8h 9h", 0, "WILD_POSITION"),
        (CLASSIC, "6h Jo@7 8h 9h", 10, "WILD_STAYS"),
        (CLASSIC, "6h Jo@7 8h 9h", 5, "WILD_STAYS"),
        (CLASSIC, "6h 7h 8h", 9, "NO_WILD_TO_MOVE"),
        (CLASSIC, "2h 3h 4h", 5, "NO_WILD_TO_MOVE"),
        (CLASSIC, "7h 7s Jo*", 1, "NO_WILD_TO_MOVE"),
        (CLASSIC, "Jo@11 Qh Kh Ah", 15, "NO_PLACE_FOR_WILD"),
        (CLASSIC, "Ah 2h 3h Jo@4", 0, "NO_PLACE_FOR_WILD"),
        (DIRTY_OPEN, "Jo@6 7h 8h 9h", 10, "WILD_STAYS"),
        (DIRTY_OPEN, "7h 8h 9h Jo@10", 6, "WILD_STAYS"),
        (DIRTY_OPEN, "6h Jo@7 8h 9h", 5, "WILD_STAYS"),
    ],
)
def test_moves_that_are_none(rules: RuleSet, meld: str, place: int, why: str) -> None:
    """R5.2: wilds move just beyond the other end only, not from between cards, and not with `when_replaced`."""
    assert moved(rules, meld, place) == why


def test_moving_a_wild_of_no_meld() -> None:
    """R5.2, R4.6: the wild of a meld that the side does not have cannot be moved."""
    deal = position(CLASSIC, hand="Kd Qd", melds=["Jo@6 7h 8h 9h"], their_melds=["Jo@3 4s 5s", "Jo@3 4d 5d"])
    for index in (-1, 1):
        assert reasons(deal, MoveWild(index, 10)) == (Violation.NO_SUCH_MELD,)


# ---- R5.3 where a replaced wild goes ---------------------------------------------------------------


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_replaced_wild_fills_the_gap(rules: RuleSet) -> None:
    """R5.3: a replaced wild fills the one gap that the naturals leave, those just laid included."""
    assert laid_off(rules, "3h 4h Jo@5", "5h 7h") == "3h 4h 5h Jo@6 7h"
    assert laid_off(rules, "7h Jo@8 9h", "8h 5h") == "5h Jo@6 7h 8h 9h"


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_gap_before_the_natural_place(rules: RuleSet) -> None:
    """R5.3: the gap comes before the own place of a 2."""
    assert laid_off(rules, "3h 4h 2h@5", "5h 7h") == "3h 4h 5h 2h@6 7h"


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_replaced_two_goes_home(rules: RuleSet) -> None:
    """R5.3: a replaced 2 of the suit goes to its own place next to the 3 and stops acting as a wild."""
    assert laid_off(rules, "3h 4h 2h@5 6h", "5h") == "2h 3h 4h 5h 6h"
    assert laid_off(rules, "2h@3 4h 5h", "3h") == "2h 3h 4h 5h"
    assert laid_off(rules, "3h 2h@4 5h", "4h Ah") == "Ah 2h 3h 4h 5h"


@pytest.mark.parametrize(
    ("rules", "replaced", "not_home"),
    [
        (FREE_LOW, "Jo@5 6h 7h 8h", "2h@5 6h 7h 8h"),
        (FREE_HIGH, "6h 7h 8h Jo@9", "6h 7h 8h 2h@9"),
        (KEPT_HIGH, "6h 7h 8h Jo@9", "6h 7h 8h 2h@9"),
        (KEPT_LOW, "Jo@5 6h 7h 8h", "2h@5 6h 7h 8h"),
    ],
    ids=NAMES,
)
def test_first_end(rules: RuleSet, replaced: str, not_home: str) -> None:
    """R5.3: without a gap and away from its own place a replaced wild goes to the end that the rule set names first."""
    assert laid_off(rules, "6h Jo@7 8h", "7h") == replaced
    assert laid_off(rules, "6h 2h@7 8h", "7h") == not_home


def test_source_example_low_end() -> None:
    """R5.3: in Burraco a 5 laid off on `3 4 W 6 7` sends the joker to the low end."""
    assert laid_off(CLASSIC, "3h 4h Jo@5 6h 7h", "5h") == "Jo@2 3h 4h 5h 6h 7h"


def test_other_end() -> None:
    """R5.3: where the end named first is taken up the replaced wild goes to the other end."""
    assert laid_off(KEPT_HIGH, "Qh Jo@13 Ah", "Kh") == "Jo@11 Qh Kh Ah"
    assert laid_off(KEPT_LOW, "Ah Jo@2 3h", "2h") == "Ah 2h 3h Jo@4"
    assert laid_off(FREE_LOW, "Ah Jo@2 3h", "2h") == "Ah 2h 3h Jo@4"
    assert laid_off(KEPT_HIGH, "Qh Kh Jo@14", "Ah") == "Jo@11 Qh Kh Ah"


FULL = "Ah 2h 3h 4h 5h 6h {}@7 8h 9h Th Jh Qh Kh Ah"


@pytest.mark.parametrize("rules", [OPEN, CLOSED], ids=lambda rules: rules.id)
def test_no_end_is_free(rules: RuleSet) -> None:
    """R5.3: from ace to ace no end is free, so the wild cannot be replaced; with one end free it can."""
    assert laid_off(rules, FULL.format("2s"), "7h") == "NO_PLACE_FOR_WILD"
    assert (
        laid_off(rules, FULL.format("2s").removesuffix(" Ah"), "7h")
        == FULL.format("7h").replace("@7", "").removesuffix("Ah") + "2s@14"
    )


@pytest.mark.parametrize("rules", [KEPT_HIGH, KEPT_LOW], ids=["high", "low"])
def test_replaced_wild_has_no_choice(rules: RuleSet) -> None:
    """R5.3: with `when_replaced` a replaced wild goes where the rule sends it; another place is refused."""
    place, other = (9, 5) if rules is KEPT_HIGH else (5, 9)
    assert laid_off(rules, "6h Jo@7 8h", "7h", at=other) == "WILD_POSITION"
    assert laid_off(rules, "6h Jo@7 8h", "7h", at=place) == laid_off(rules, "6h Jo@7 8h", "7h")
    assert laid_off(rules, "3h 4h 2h@5", "5h", at=6) == "WILD_POSITION"
    assert laid_off(rules, "3h 4h 2h@5", "5h", at=2) == "2h 3h 4h 5h"


@pytest.mark.parametrize("rules", [FREE_LOW, FREE_HIGH], ids=["low", "high"])
def test_replaced_wild_may_choose(rules: RuleSet) -> None:
    """R5.3, R5.4: with `free_end` a replaced wild goes where the player says, if that is legal."""
    assert laid_off(rules, "6h Jo@7 8h", "7h", at=5) == "Jo@5 6h 7h 8h"
    assert laid_off(rules, "6h Jo@7 8h", "7h", at=9) == "6h 7h 8h Jo@9"
    assert laid_off(rules, "3h 4h 2h@5", "5h", at=6) == "3h 4h 5h 2h@6"
    assert laid_off(rules, "6h Jo@7 8h", "7h", at=10) == "WILD_POSITION"


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_replaced_wild_stays_in_the_meld(rules: RuleSet) -> None:
    """R5.3: a replaced wild stays in the meld and comes to no hand."""
    deal = position(rules, hand="7h Kd Qd", melds=["6h Jo@7 8h"])
    after = play(deal, lay_off(0, "7h"))
    assert after.hands[0] == parse_cards("Qd Kd")
    assert parse_cards("Jo")[0] in after.sides[0].melds[0].cards


# ---- R5.4 which arrangement is taken ---------------------------------------------------------------


@pytest.mark.parametrize("order", ["3h 4h 5h Jo 6h", "Jo 6h 3h 5h 4h", "4h Jo 3h 6h 5h"])
def test_cards_in_any_order(order: str) -> None:
    """R5.4: cards come in any order."""
    assert melded(CLASSIC, order) == "Jo@2 3h 4h 5h 6h"
    assert laid_off(CLASSIC, "7h 8h 9h", order) == "Jo@2 3h 4h 5h 6h 7h 8h 9h"


def test_the_player_says_the_place() -> None:
    """R5.4: the player may say at which place the wild stands, and gets it if that is legal."""
    assert melded(CLASSIC, "3h 4h Jo", at=2) == "Jo@2 3h 4h"
    assert melded(CLASSIC, "3h 4h Jo", at=5) == "3h 4h Jo@5"
    assert melded(CLASSIC, "Qh Kh Jo", at=14) == "Qh Kh Jo@14"
    assert laid_off(KEPT_HIGH, "3h 4h 5h", "Jo", at=2) == "Jo@2 3h 4h 5h"
    assert laid_off(KEPT_HIGH, "3h 4h 5h", "Jo", at=6) == "3h 4h 5h Jo@6"
    assert melded(CLASSIC, "2h 3h 4h 2h", at=1) == "2h@1 2h 3h 4h"


@pytest.mark.parametrize(
    ("cards", "place"),
    [
        ("3h 4h Jo", 3),
        ("3h 4h Jo", 6),
        ("3h 4h Jo", 1),
        ("3h 4h Jo", 0),
        ("3h 4h Jo", 15),
        ("3h 4h Jo", -1),
        ("3h 5h Jo", 6),
        ("3h 4h 5h", 4),
        ("7h 7s Jo", 1),
    ],
)
def test_place_that_is_not_legal(cards: str, place: int) -> None:
    """R5.4: a place at which the wild cannot stand is refused, in a set, which has no places, any place."""
    assert melded(CLASSIC, cards, at=place) == "WILD_POSITION"


def test_place_of_a_natural_two() -> None:
    """R5.4: the place 2 asked for means a natural 2 where no card acts, and the acting card where one does."""
    assert melded(CLASSIC, "2h 3h 4h", at=2) == "2h 3h 4h"
    assert melded(CLASSIC, "3h 4h 2s", at=2) == "2s@2 3h 4h"
    assert melded(CLASSIC, "3h 4h 2h", at=5) == "3h 4h 2h@5"
    assert melded(CLASSIC, "2h 3h 4h Jo", at=2) == "WILD_POSITION"


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_fewest_acting_wilds(rules: RuleSet) -> None:
    """R5.4: a 2 of the suit that can be a natural is one, unless the player says otherwise."""
    assert melded(rules, "3h 4h 2h") == "2h 3h 4h"
    assert melded(rules, "Ah 2h 3h") == "Ah 2h 3h"
    assert laid_off(rules, "3h 4h 5h", "2h") == "2h 3h 4h 5h"


def test_free_two_comes_home_for_the_three() -> None:
    """R5.4: a 2 at an end comes home as soon as it can, for that leaves no acting wild."""
    assert laid_off(CLASSIC, "4h 5h 6h 2h@7", "3h") == "2h 3h 4h 5h 6h"
    assert laid_off(CLASSIC, "4h 5h 6h 2h@7", "3h", at=7) == "3h 4h 5h 6h 2h@7"
    assert laid_off(DIRTY_OPEN, "4h 5h 6h 2h@7", "3h") == "3h 4h 5h 6h 2h@7"


@pytest.mark.parametrize("rules", [FREE_LOW, FREE_HIGH], ids=["low", "high"])
def test_wild_that_need_not_move_stays(rules: RuleSet) -> None:
    """R5.4: in a lay-off a wild that need not move stays, whichever end comes first."""
    assert laid_off(rules, "Jo@6 7h 8h 9h", "Th") == "Jo@6 7h 8h 9h Th"
    assert laid_off(rules, "7h 8h 9h Jo@10", "6h") == "6h 7h 8h 9h Jo@10"
    assert laid_off(rules, "7h 8h 9h Jo@10", "Jh") == "7h 8h 9h Jo@10 Jh"


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_new_wild_goes_to_the_first_end(rules: RuleSet) -> None:
    """R5.4, R5.3: a fresh wild fills the gap, or goes to the first end, or to the other."""
    low = rules.wild_end is WildEnd.LOW
    assert melded(rules, "6h 7h 9h Jo") == "6h 7h Jo@8 9h"
    assert melded(rules, "6h 7h 8h Jo") == ("Jo@5 6h 7h 8h" if low else "6h 7h 8h Jo@9")
    assert laid_off(rules, "6h 7h 8h", "Jo") == ("Jo@5 6h 7h 8h" if low else "6h 7h 8h Jo@9")
    assert melded(rules, "Qh Kh Ah Jo") == "Jo@11 Qh Kh Ah"
    assert melded(rules, "Ah 2h 3h Jo") == "Ah 2h 3h Jo@4"


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_ace_that_fits_both_ends(rules: RuleSet) -> None:
    """R5.4: an ace that fits both ends of a run goes behind the king."""
    two_to_king = "2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh"
    assert laid_off(rules, two_to_king, "Ah") == f"{two_to_king} Ah"
    assert melded(rules, f"Ah {two_to_king}") == f"{two_to_king} Ah"
    assert melded(rules, "Ah Kh Jo") == "Jo@12 Kh Ah"


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_wild_at_the_end_stays_where_the_ace_fits_elsewhere(rules: RuleSet) -> None:
    """R5.4: an ace takes no place of a wild that need not move."""
    two_to_king = "2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh"
    assert laid_off(rules, f"{two_to_king} Jo@14", "Ah") == f"Ah {two_to_king} Jo@14"
    assert laid_off(rules, f"Jo@1 {two_to_king}", "Ah") == f"Jo@1 {two_to_king} Ah"


def test_choice_is_reported() -> None:
    """R5.4: the arrangement chosen is reported with the place of its wild."""
    deal = position(CLASSIC, hand="3h 4h Jo 6h Kd Qd", melds=["6s Jo@7 8s"])
    (laid,) = events_of(deal, lay("3h 4h Jo"))
    assert isinstance(laid, Melded)
    assert (show(laid.meld), laid.meld.wild_position, laid.meld_index) == ("Jo@2 3h 4h", 2, 1)
    (added,) = events_of(position(CLASSIC, hand="7s Kd Qd", melds=["6s Jo@7 8s"]), lay_off(0, "7s"))
    assert isinstance(added, LaidOff)
    assert (show(added.meld), added.meld.wild_position, added.cards) == ("Jo@5 6s 7s 8s", 5, parse_cards("7s"))


def test_all_arrangements_are_told() -> None:
    """R5.4: all legal arrangements of some cards can be asked for, the one taken by default first."""
    book = meld_book(CLASSIC)
    assert [show(o.meld) for o in book.arrange(None, parse_cards("3h 4h 5h Jo"))] == ["Jo@2 3h 4h 5h", "3h 4h 5h Jo@6"]
    assert [show(o.meld) for o in book.arrange(None, parse_cards("3h 4h 2h"))] == ["2h 3h 4h", "3h 4h 2h@5"]
    assert book.arrange(None, parse_cards("3h 4h 6s")) == ()


@pytest.mark.parametrize(
    ("rules", "base", "cards", "end"),
    [
        (CLASSIC, "6h Jo@7 8h", "7h 9h", "Jo@5 6h 7h 8h 9h"),
        (DIRTY_OPEN, "6h Jo@7 8h", "7h 9h", "6h 7h 8h 9h Jo@10"),
        (INDIRECT, "4c 5c 6c", "2c 3c 7c 8c", "2c 3c 4c 5c 6c 7c 8c"),
        (CLASSIC, "3s 4s 5s 6s 7s 8s 9s Ts Js Qs", "Jo As", "As Jo@2 3s 4s 5s 6s 7s 8s 9s Ts Js Qs"),
        (DIRTY_OPEN, "3s 4s 5s 6s 7s 8s 9s Ts Js Qs", "Jo As", "3s 4s 5s 6s 7s 8s 9s Ts Js Qs Jo@13 As"),
        (KEPT_LOW, "2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh", "Jo Ah", "Ah 2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Jo@13"),
        (DIRECT, "3h 4h 5h 2s@6 7h 8h 9h Th Jh Qh", "6h Ah", "Ah 2s@2 3h 4h 5h 6h 7h 8h 9h Th Jh Qh"),
        (CLASSIC, "4d 5d 6d 2d@7", "3d 2d", "2d@1 2d 3d 4d 5d 6d"),
    ],
)
def test_together_as_one_by_one(rules: RuleSet, base: str, cards: str, end: str) -> None:
    """R5.4: several cards laid off together end as they would one by one."""
    assert laid_off(rules, base, cards) == end


def test_together_where_a_two_goes_home() -> None:
    """R5.4, R5.3: where a fresh wild fills the gap the replaced 2 goes home, as it would one by one."""
    assert laid_off(CLOSED, "3h 4h 2h@5", "5h Jo 7h") == "2h 3h 4h 5h Jo@6 7h"
    deal = position(CLOSED, hand="5h Jo 7h Kd Qd", melds=["3h 4h 2h@5"])
    assert table(play(deal, lay_off(0, "5h"), lay_off(0, "Jo", at=6), lay_off(0, "7h"))) == ["2h 3h 4h 5h Jo@6 7h"]
