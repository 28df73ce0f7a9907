import pytest

from buraco_notation import parse_cards
from buraco_rules import IllegalMove, LayMeld, LayOff, RuleSet, Violation, legal_moves, undo
from buraco_rules.melds.sets import set_size_violations
from tests.rules.positions import (
    CLASSIC,
    CLOSED,
    DIRTY_OPEN,
    FIBUR,
    INDIRECT,
    OPEN,
    WTCC,
    discard,
    house,
    laid_off,
    lay,
    lay_off,
    melded,
    play,
    position,
    reasons,
    table,
)

# ---- R4.1 runs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cards", "meld"),
    [
        ("3h 4h 5h", "3h 4h 5h"),
        ("5c 3c 4c", "3c 4c 5c"),
        ("Ah 2h 3h", "Ah 2h 3h"),
        ("Ks Qs As", "Qs Ks As"),
        ("2d 3d 4d", "2d 3d 4d"),
        ("Th Jh Qh Kh", "Th Jh Qh Kh"),
        ("3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks", "3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks"),
    ],
)
def test_runs(cards: str, meld: str) -> None:
    """R4.1: three or more consecutive cards of one suit are a run; the ace stands before the 2 or behind the king."""
    assert melded(CLASSIC, cards) == meld


@pytest.mark.parametrize(
    ("cards", "why"),
    [
        ("3h 4h", "TOO_FEW_CARDS"),
        ("3h", "TOO_FEW_CARDS"),
        ("", "TOO_FEW_CARDS"),
        ("3h 4h 6h", "GAP"),
        ("3h 4h 7h Jo 8h", "GAP"),
        ("3h 6h Jo", "GAP"),
        ("3h 4s 5h", "NO_MELD"),
        ("3h 4h 5h 6s", "NO_MELD"),
        ("3h 4h 5h 5h", "PLACE_TAKEN"),
        ("3h 4h 4h 5h 6h", "PLACE_TAKEN"),
    ],
)
def test_no_runs(cards: str, why: str) -> None:
    """R4.1: fewer than three cards, a gap, a second suit and a card twice make no run."""
    assert melded(CLASSIC, cards) == why


@pytest.mark.parametrize("cards", ["Kh Ah 2h 3h", "Qh Kh Ah 2h 3h", "Kh Ah 3h Jo", "Qh Kh Ah 3h 2d"])
def test_no_wrap(cards: str) -> None:
    """R4.1: the ace is low or high, never both ways round."""
    assert melded(CLASSIC, cards) == "WRAP"


def test_longest_run() -> None:
    """R4.1: a run has up to fourteen cards."""
    assert laid_off(OPEN, "Ah 2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh", "Ah").count(" ") == 13
    full = "Ah 2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh Ah"
    assert laid_off(OPEN, full, "2s") == "NO_PLACE_FOR_WILD"
    assert laid_off(OPEN, full, "5h") == "PLACE_TAKEN"


# ---- R4.2 sets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cards", "meld"),
    [
        ("7h 7s 7d", "7s 7h 7d"),
        ("7h 7h 7s", "7s 7h 7h"),
        ("Ah As Ac Ad", "As Ah Ad Ac"),
        ("Kh Ks 2d", "Ks Kh 2d*"),
        ("Kh Ks Kd Jo", "Ks Kh Kd Jo*"),
        ("7s 7s 7h 7h 7d 7d 7c 7c", "7s 7s 7h 7h 7d 7d 7c 7c"),
        ("7s 7s 7h 7h 7d 7d 7c 7c 2s", "7s 7s 7h 7h 7d 7d 7c 7c 2s*"),
    ],
)
def test_sets(cards: str, meld: str) -> None:
    """R4.2: three or more of a rank are a set, of any suits, duplicates included, up to eight naturals and one wild."""
    assert melded(CLASSIC, cards) == meld


@pytest.mark.parametrize(
    ("cards", "why"),
    [
        ("7h 7s", "TOO_FEW_CARDS"),
        ("7h 7s 8d", "NO_MELD"),
        ("7h 7s 7d 8d", "NO_MELD"),
        ("7s 7d 2h 2d", "TOO_MANY_WILDS"),
        ("7s 7d Jo 2d", "TOO_MANY_WILDS"),
    ],
)
def test_no_sets(cards: str, why: str) -> None:
    """R4.2: fewer than three cards, two ranks and two wilds make no set."""
    assert melded(CLASSIC, cards) == why


def test_larger_set_than_the_deck() -> None:
    """R4.2: a set of nine naturals is refused, whoever asks for it."""
    deal = position(CLASSIC, hand="7s 7s 7h 7h 7d 7d 7c 7c Kd Qd")
    nine = reasons(deal, lay("7s 7s 7h 7h 7d 7d 7c 7c 7c"))
    assert set(nine) == {Violation.CARD_NOT_IN_HAND, Violation.TOO_MANY_CARDS}


def test_lay_offs_on_sets() -> None:
    """R4.2: naturals of the rank and one wild are laid off on a set, other ranks and a second wild are not."""
    assert laid_off(CLASSIC, "7h 7s 7d", "7c 7h") == "7s 7h 7h 7d 7c"
    assert laid_off(CLASSIC, "7h 7s 7d", "Jo") == "7s 7h 7d Jo*"
    assert laid_off(CLASSIC, "7h 7s 7d", "8d") == "CARD_DOES_NOT_FIT"
    assert laid_off(CLASSIC, "7h 7s Jo*", "2d") == "TOO_MANY_WILDS"
    assert laid_off(CLASSIC, "7h 7s Jo*", "7d") == "7s 7h 7d Jo*"
    assert laid_off(CLASSIC, "7h 7s 7d", "") == "TOO_FEW_CARDS"


@pytest.mark.parametrize("rules", [CLASSIC, FIBUR], ids=lambda rules: rules.id)
def test_full_set_and_a_wild(rules: RuleSet) -> None:
    """R4.2: eight naturals and a wild are one set, unless `no_wild_on_full_set` keeps them apart."""
    full = "7s 7s 7h 7h 7d 7d 7c 7c"
    either = house(rules, no_wild_on_full_set=True)
    assert melded(rules, f"{full} Jo") == f"{full} Jo*"
    assert laid_off(rules, full, "Jo") == laid_off(rules, f"{full[:-3]} Jo*", "7c") == f"{full} Jo*"
    assert melded(either, full) == full
    assert melded(either, f"{full[:-3]} Jo") == f"{full[:-3]} Jo*"
    for refused in (
        melded(either, f"{full} Jo"),
        laid_off(either, full, "2h"),
        laid_off(either, f"{full[:-3]} Jo*", "7c"),
        laid_off(either, full[:-3], "7c Jo"),
    ):
        assert refused == "TOO_MANY_CARDS"


@pytest.mark.parametrize(
    ("hand", "table", "lays"),
    [
        ("7c Kd Qd", "7s 7s 7h 7h 7d 7d 7c Jo*", ["7c"]),
        ("Jo Kd Qd", "7s 7s 7h 7h 7d 7d 7c 7c", ["Jo"]),
        ("7c Jo Kd Qd", "7s 7s 7h 7h 7d 7d 7c", ["7c Jo"]),
    ],
)
def test_full_set_and_a_wild_are_listed_or_not(hand: str, table: str, lays: list[str]) -> None:
    """R4.2: what the option refuses is not among the legal moves, and nothing else is missing there."""
    refused = [LayOff(0, parse_cards(lay)) for lay in lays]
    without = legal_moves(position(CLASSIC, hand=hand, melds=[table]))
    assert all(lay in without for lay in refused)
    either = house(CLASSIC, no_wild_on_full_set=True)
    assert legal_moves(position(either, hand=hand, melds=[table])) == [move for move in without if move not in refused]


# ---- R4.3 whether sets are allowed -----------------------------------------------------------------


@pytest.mark.parametrize("rules", [OPEN, WTCC], ids=lambda rules: rules.id)
@pytest.mark.parametrize("cards", ["7h 7s 7d", "7h 7h 7s", "7h 7s 2d", "2h 2s 2d"])
def test_runs_only(rules: RuleSet, cards: str) -> None:
    """R4.3: without `sets` no set is legal, one of 2s neither."""
    assert melded(rules, cards) == "NO_SETS"


def test_sets_are_an_option() -> None:
    """R4.3: with `sets` the same cards are legal in otherwise the same rule set."""
    assert melded(house(OPEN, sets=True), "7h 7s 7d") == "7s 7h 7d"


@pytest.mark.parametrize("rules", [CLASSIC, DIRTY_OPEN], ids=lambda rules: rules.id)
def test_no_set_of_twos(rules: RuleSet) -> None:
    """R4.3: without `set_of_twos` 2s form no set."""
    for cards in ("2h 2s 2d", "2h 2h 2s", "2h 2s 2d 2c 2h", "2h 2s Jo"):
        assert melded(rules, cards) == "NO_SET_OF_TWOS"


@pytest.mark.parametrize("rules", [INDIRECT, CLOSED], ids=lambda rules: rules.id)
def test_set_of_twos(rules: RuleSet) -> None:
    """R4.3: with `set_of_twos` 2s form a set in which they are naturals."""
    assert melded(rules, "2h 2s 2d") == "2s 2h 2d"
    assert laid_off(rules, "2h 2s 2d", "2c 2c") == "2s 2h 2d 2c 2c"
    assert laid_off(rules, "2h 2s 2d", "7c") == "CARD_DOES_NOT_FIT"


def test_joker_in_a_set_of_twos() -> None:
    """R4.3, R4.4: one joker may act in a set of 2s, two may not."""
    assert melded(CLOSED, "2h 2s Jo") == "2s 2h Jo*"
    assert melded(CLOSED, "2h Jo Jo") in ("TOO_MANY_WILDS", "TOO_FEW_NATURALS")
    assert laid_off(CLOSED, "2h 2s Jo*", "Jo") == "TOO_MANY_WILDS"


# ---- R4.4 one acting wild --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cards", "meld"),
    [
        ("3h 5h Jo", "3h Jo@4 5h"),
        ("3h 5h 2s", "3h 2s@4 5h"),
        ("3h 5h 2h", "3h 2h@4 5h"),
        ("Ah 2h 3h Jo", "Ah 2h 3h Jo@4"),
        ("2h 3h 5h Jo", "2h 3h Jo@4 5h"),
        ("2h 3h 5h 2h", "2h 3h 2h@4 5h"),
        ("2h 3h 5h 2s", "2h 3h 2s@4 5h"),
        ("Ah 2h 2s", "Ah 2h 2s@3"),
        ("Ah 3h Jo", "Ah Jo@2 3h"),
        ("Ah 3h 2s", "Ah 2s@2 3h"),
    ],
)
def test_one_acting_wild(cards: str, meld: str) -> None:
    """R4.4: one card may act as a wild; a 2 of the suit at its own place is a natural beside it."""
    assert melded(CLASSIC, cards) == meld


@pytest.mark.parametrize("cards", ["3h 4h Jo Jo", "3h 4h 2s 2d", "3h 5h 7h Jo 2s", "2h 3h 4h Jo 2s"])
def test_two_acting_wilds(cards: str) -> None:
    """R4.4: two cards that would act as wilds are refused."""
    assert melded(CLASSIC, cards) == "TOO_MANY_WILDS"


def test_two_out_of_reach_of_its_place() -> None:
    """R4.4: a 2 of the suit whose own place is out of reach acts as a wild, and a second one is too many."""
    assert melded(CLASSIC, "7h 8h 2h") == "2h@6 7h 8h"
    assert melded(CLASSIC, "7h 8h 2h 2h") in ("TOO_MANY_WILDS", "GAP")


def test_two_naturals_at_least() -> None:
    """R4.4: a meld has two naturals at least, whatever its wilds."""
    deal = position(CLASSIC, hand="5d Jo 2c 2d Jo Kd Qd")
    assert set(reasons(deal, lay("5d Jo 2c"))) == {Violation.TOO_MANY_WILDS, Violation.TOO_FEW_NATURALS}
    assert set(reasons(deal, lay("5d Jo Jo"))) == {Violation.TOO_MANY_WILDS, Violation.TOO_FEW_NATURALS}
    assert reasons(deal, lay("2c Jo 2d"))
    assert melded(CLASSIC, "5d 4d Jo") == "Jo@3 4d 5d"


def test_second_wild_on_the_table() -> None:
    """R4.4: a meld with an acting wild takes no other, one with its 2 at home does."""
    assert laid_off(CLASSIC, "3h Jo@4 5h", "2s") == "TOO_MANY_WILDS"
    assert laid_off(CLASSIC, "2h 3h 4h", "Jo") == "Jo@1 2h 3h 4h"
    assert laid_off(CLASSIC, "3h Jo@4 5h", "2h") == "2h 3h Jo@4 5h"


# ---- R4.5 two aces ---------------------------------------------------------------------------------

ACE_TO_KING = "Ah 2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh"


@pytest.mark.parametrize("rules", [OPEN, CLOSED], ids=lambda rules: rules.id)
def test_two_aces(rules: RuleSet) -> None:
    """R4.5: with `two_aces` a run may hold a natural ace at both ends."""
    assert laid_off(rules, ACE_TO_KING, "Ah") == ACE_TO_KING + " Ah"
    assert melded(rules, ACE_TO_KING + " Ah") == ACE_TO_KING + " Ah"


@pytest.mark.parametrize("rules", [CLASSIC, DIRTY_OPEN, INDIRECT], ids=lambda rules: rules.id)
def test_no_two_aces(rules: RuleSet) -> None:
    """R4.5: without `two_aces` a second natural ace is refused, laid off or within a new meld."""
    assert laid_off(rules, ACE_TO_KING, "Ah") == "TWO_ACES"
    assert laid_off(rules, "2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh Ah", "Ah") == "TWO_ACES"
    assert melded(rules, ACE_TO_KING + " Ah") == "TWO_ACES"


@pytest.mark.parametrize("rules", [CLASSIC, DIRTY_OPEN, OPEN], ids=lambda rules: rules.id)
def test_wild_at_one_end(rules: RuleSet) -> None:
    """R4.5: a run of fourteen cards with a wild at one end is legal everywhere."""
    assert laid_off(rules, ACE_TO_KING, "2s") == ACE_TO_KING + " 2s@14"
    assert laid_off(rules, ACE_TO_KING[3:] + " Ah", "2s") == "2s@1 " + ACE_TO_KING[3:] + " Ah"


def test_wild_in_the_middle_of_fourteen() -> None:
    """R4.5: a wild between two natural aces does not make them one."""
    broken = "Ah 2h 3h 4h 5h 6h 2s@7 8h 9h Th Jh Qh Kh"
    assert laid_off(CLASSIC, broken, "Ah") == "TWO_ACES"
    assert laid_off(OPEN, broken, "Ah") == broken + " Ah"


# ---- R4.6 whose melds ------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [-1, 1, 2, 100])
def test_no_such_meld(index: int) -> None:
    """R4.6: a side lays off on its own melds only, so the number of none of them is refused."""
    deal = position(CLASSIC, hand="6h 9d Kd Qd", melds=["3h 4h 5h"], their_melds=["6d 7d 8d", "9c Tc Jc", "3s 4s 5s"])
    assert reasons(deal, lay_off(index, "9d")) == (Violation.NO_SUCH_MELD,)


def test_numbers_mean_the_own_side() -> None:
    """R4.6: the number of a meld means the mover's side, on which the partner's melds count too."""
    deal = position(CLASSIC, seats=4, seat=3, hand="6h 9d Kd Qd", melds=["3h 4h 5h"], their_melds=["6d 7d 8d"])
    assert reasons(deal, lay_off(0, "9d")) == (Violation.CARD_DOES_NOT_FIT,)
    assert table(play(deal, lay_off(0, "6h")), 1) == ["3h 4h 5h 6h"]


def test_cards_that_do_not_fit() -> None:
    """R4.6: a card of another suit or of a place taken or out of reach does not fit on a run."""
    assert laid_off(CLASSIC, "3h 4h 5h", "6s") == "CARD_DOES_NOT_FIT"
    assert laid_off(CLASSIC, "3h 4h 5h", "4h") == "PLACE_TAKEN"
    assert laid_off(CLASSIC, "3h 4h 5h", "8h") == "GAP"


def test_melds_side_by_side() -> None:
    """R4.6: several melds of one suit or rank may stand side by side."""
    deal = position(CLASSIC, hand="3h 4h 5h 3h 4h 5h 7h 7s 7d 7h 7s 7d Kd Qd")
    after = play(deal, lay("3h 4h 5h"), lay("3h 4h 5h"), lay("7h 7s 7d"), lay("7h 7s 7d"))
    assert table(after) == ["3h 4h 5h", "3h 4h 5h", "7s 7h 7d", "7s 7h 7d"]


def test_one_set_per_rank() -> None:
    """R4.6: `one_set_per_rank` forbids the second set of a rank, not the second run and not another side's set."""
    rules = house(CLASSIC, one_set_per_rank=True)
    deal = position(
        rules, hand="3h 4h 5h 7h 7s 7d 8h 8s 8d Kd Qd", melds=["7c 7c 7h", "3h 4h 5h"], their_melds=["8h 8c 8c"]
    )
    assert reasons(deal, lay("7h 7s 7d")) == (Violation.SECOND_SET,)
    assert reasons(deal, lay_off(0, "7s 7d")) == ()
    assert reasons(deal, lay("3h 4h 5h")) == ()
    assert reasons(deal, lay("8h 8s 8d")) == ()


def test_melds_are_not_merged() -> None:
    """R4.6: runs that touch are not merged: a card between them joins the one that is named, and no other."""
    deal = position(CLASSIC, hand="6h Kd Qd", melds=["3h 4h 5h", "7h 8h 9h"])
    assert table(play(deal, lay_off(0, "6h"))) == ["3h 4h 5h 6h", "7h 8h 9h"]
    assert table(play(deal, lay_off(1, "6h"))) == ["3h 4h 5h", "6h 7h 8h 9h"]


def test_melds_are_not_taken_back() -> None:
    """R4.6: melds of earlier turns are not taken back, and their cards are in no hand."""
    deal = position(CLASSIC, hand="6h Kd Qd", melds=["3h 4h 5h"])
    with pytest.raises(IllegalMove) as refusal:
        undo(deal)
    assert refusal.value.violations == (Violation.NOTHING_TO_UNDO,)
    assert reasons(deal, discard("4h")) == (Violation.CARD_NOT_IN_HAND,)
    assert reasons(deal, LayMeld(parse_cards("4h 5h 6h"))) == (Violation.CARD_NOT_IN_HAND,)
    assert Violation.CARD_NOT_IN_HAND in reasons(deal, LayOff(0, parse_cards("5h 6h")))


def test_two_naturals_alone_are_too_few_for_a_set() -> None:
    """R4.2: two cards of a rank lack a third; nothing else is wrong with them."""
    assert set_size_violations(CLASSIC, naturals=2, wilds=0) == [Violation.TOO_FEW_CARDS]
