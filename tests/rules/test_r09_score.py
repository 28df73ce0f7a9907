import pytest

from buraco_rules import (
    BuracoKind,
    Deal,
    DrawStock,
    Ending,
    Phase,
    RuleSet,
    ScoreLine,
    ScoreLineKind,
    buraco_points,
    card_points,
    score_deal,
)
from buraco_rules.match.scoring import table_points
from buraco_rules.presets import FROM_SOURCES
from tests.rules.positions import (
    CLASSIC,
    CLEAN_BURACO,
    CLOSED,
    CLOSED_DIRTY,
    DIRECT,
    DIRTY_BURACO,
    DIRTY_OPEN,
    FIBUR,
    INDIRECT,
    OPEN,
    discard,
    house,
    lay,
    lay_off,
    meld_of,
    play,
    position,
    table,
)

BURACO, CLOSING, HAND = ScoreLineKind.BURACO, ScoreLineKind.CLOSING, ScoreLineKind.HAND
NO_POT, UNUSED, PENALTIES = ScoreLineKind.NO_POT, ScoreLineKind.UNUSED_POT, ScoreLineKind.OPENING_PENALTIES


def points(deal: Deal, kind: ScoreLineKind, side: int = 0) -> list[int]:
    """The points of a side's lines of one kind."""
    return [line.points for line in score_deal(deal).sides[side].lines if line.kind is kind]


# ---- R9.1 the lines --------------------------------------------------------------------------------


def test_every_line() -> None:
    """R9.1: melded cards, bonuses, closing, hands, missing pot and opening penalties, line by line, and their sum."""
    deal = position(
        DIRECT,
        seats=4,
        hand="Kh",
        others={1: "Ah 2h", 2: "Ad 9d", 3: "3c 4c"},
        melds=[CLEAN_BURACO, "Ts Js 2d@12", "8h 9h Th Jh Qh"],
        their_melds=["7s 7h 7d", DIRTY_BURACO.replace("s", "c")],
        taken=2,
        penalties=40,
        scores=(1100, 300),
    )
    ours, theirs = score_deal(play(deal, lay_off(2, "Kh"))).sides
    assert ours.lines == (
        ScoreLine(ScoreLineKind.MELD_CARDS, 5 * 5 + 2 * 10, meld=0),
        ScoreLine(ScoreLineKind.MELD_CARDS, 10 + 10 + 10, meld=1),
        ScoreLine(ScoreLineKind.MELD_CARDS, 6 * 10, meld=2),
        ScoreLine(BURACO, 200, meld=0, buraco=BuracoKind.CLEAN),
        ScoreLine(CLOSING, 100),
        ScoreLine(HAND, -25, seat=2),
        ScoreLine(PENALTIES, -40),
    )
    assert (ours.side, ours.total, ours.match_total) == (0, 45 + 30 + 60 + 200 + 100 - 25 - 40, 1100 + 370)
    assert theirs.lines == (
        ScoreLine(ScoreLineKind.MELD_CARDS, 15, meld=0),
        ScoreLine(ScoreLineKind.MELD_CARDS, 4 * 5 + 10 + 2 * 10, meld=1),
        ScoreLine(BURACO, 100, meld=1, buraco=BuracoKind.DIRTY),
        ScoreLine(HAND, -25, seat=1),
        ScoreLine(HAND, -10, seat=3),
        ScoreLine(NO_POT, -100),
    )
    assert (theirs.side, theirs.total, theirs.match_total) == (1, 15 + 50 + 100 - 25 - 10 - 100, 300 + 30)


def test_closing_bonus_goes_to_the_closer() -> None:
    """R9.1: 100 points go to the side that closed, none to the other, none where nobody closed."""
    closed = play(position(CLASSIC, seat=1, hand="Kd", melds=[DIRTY_BURACO], taken=1), discard("Kd"))
    assert (points(closed, CLOSING, 1), points(closed, CLOSING, 0)) == ([100], [])
    running_out = position(CLASSIC, phase=Phase.DRAW, hand="3h Kd", next_cards="9c", stock=3)
    assert points(play(running_out, DrawStock(), discard("9c")), CLOSING) == []


def test_seven_twos_are_no_close() -> None:
    """R9.1, R7.3: seven 2s win the match, but nobody has closed, so there is no closing bonus."""
    deal = position(DIRECT, hand="2s 2h 2h 2d 2d 2c 2c")
    won = play(deal, lay("2s 2h 2h 2d 2d 2c 2c"))
    assert (won.ending, points(won, CLOSING), points(won, BURACO)) == (Ending.TWOS_BURACO, [], [200])


def test_hands_are_subtracted() -> None:
    """R9.1: all cards left in the hands of a side are subtracted, those of the closer's partner too."""
    deal = position(
        CLASSIC, seats=4, hand="Kd", others={2: "Jo 2h Ah", 1: "3h", 3: "Kc"}, melds=[DIRTY_BURACO], taken=1
    )
    closed = play(deal, discard("Kd"))
    assert (points(closed, HAND), points(closed, HAND, 1)) == ([-30 - 20 - 15], [-5, -10])


def test_no_pot() -> None:
    """R9.1: a side that took no pot loses 100, one that took one does not."""
    deal = position(CLASSIC, hand="Kd", melds=[DIRTY_BURACO], taken=1)
    closed = play(deal, discard("Kd"))
    assert (points(closed, NO_POT), points(closed, NO_POT, 1)) == ([], [-100])


def test_untaken_pots_count_for_nobody() -> None:
    """R9.1: the cards of pots left on the table count for nobody."""
    totals = {
        score_deal(position(CLASSIC, hand="Kd", others={1: "3h"}, pots=pots)).sides[0].total
        for pots in ([], ["Ac", "Ah"], ["Ac As Ah Ad Jo", "Ac As Ah Ad Jo"])
    }
    assert totals == {-10 - 100}


def test_negative_totals() -> None:
    """R9.1: totals may be negative, of the deal and of the match."""
    side = score_deal(position(CLASSIC, hand="Jo Jo Ah", scores=(50, 0))).sides[0]
    assert (side.total, side.match_total) == (-175, -125)


UNUSED_RULES = [rules for rules in FROM_SOURCES if rules.id in ("open", "closed", "closed-wtcc", "closed-dirty")]


@pytest.mark.parametrize("rules", FROM_SOURCES, ids=lambda rules: rules.id)
def test_unused_pot(rules: RuleSet) -> None:
    """R9.1: a pot taken by discard of which no card was played costs 100 more where the rule set says so."""
    if rules is DIRECT:
        rules = house(DIRECT, unused_pot_penalty=False, pot_by=INDIRECT.pot_by)
    deal = position(rules, hand="Kd", melds=[CLEAN_BURACO])
    after = play(deal, discard("Kd"))
    assert after.sides[0].unplayed_pots == (0,)
    assert points(after, UNUSED) == ([-100] if rules in UNUSED_RULES else [])
    assert points(after, NO_POT) == []


def test_unused_pot_in_flight() -> None:
    """R9.1: a pot taken in flight is unused until the taker plays; the discard that ends the turn uses it."""
    after = play(position(CLOSED, hand="3h 4h 5h", pots=["9s 9h 9d Kd Qd", "3s"]), lay("3h 4h 5h"))
    assert points(after, UNUSED) == [-100]
    assert points(play(after, lay("9s 9h 9d")), UNUSED) == []
    assert points(play(after, discard("Kd")), UNUSED) == []


def test_partner_does_not_use_the_pot() -> None:
    """R9.1: what the taker's partner or the opponents play does not use the pot; the taker's own discard does."""
    deal = position(CLOSED, seats=4, hand="Kd", others={1: "3c 4c", 2: "3s 4s", 3: "3d 4d"}, pots=["9s 9h 9d Kh", "3s"])
    deal = play(deal, discard("Kd"), DrawStock(), discard("3c"), DrawStock(), discard("3s"), DrawStock(), discard("3d"))
    assert (deal.seat_to_move, points(deal, UNUSED)) == (0, [-100])
    drawn = play(deal, DrawStock())
    assert points(drawn, UNUSED) == [-100]
    assert points(play(drawn, discard("9s")), UNUSED) == []


def test_unused_pot_is_charged_once_a_side() -> None:
    """R9.1: the penalty is charged once a side, though both partners hold an unused pot."""
    rules = house(CLOSED, pots_per_side=2)
    deal = position(rules, seats=4, hand="Kd Qd", taken=2, unplayed=[0, 2], they_took=0)
    assert points(deal, UNUSED) == [-100]


def test_opening_penalties() -> None:
    """R9.1, R11.2: opening penalties are subtracted, also from a side that opened later."""
    assert points(position(DIRECT, hand="Kd", penalties=60, required=135), PENALTIES) == [-60]
    assert points(position(DIRECT, hand="Kd", penalties=60), PENALTIES) == [-60]
    assert points(position(DIRECT, hand="Kd"), PENALTIES) == []


def test_sheets_name_their_melds() -> None:
    """R9.1: a side's sheet has its melds as they lay when it was counted, in the order that the lines count them."""
    theirs, ours = ["7s 7h 7d"], [CLEAN_BURACO, "Ts Js 2d@12", "8h 9h Th Jh Qh"]
    running = position(DIRECT, seats=4, hand="Kh 3d 9d", others={1: "Ah 2h"}, melds=ours, their_melds=theirs, taken=2)
    laid = play(running, lay_off(2, "Kh"))
    for deal, longest in ((running, ours[2]), (laid, f"{ours[2]} Kh")):
        sheets = score_deal(deal).sides
        assert [sheet.melds for sheet in sheets] == [
            tuple([meld_of(DIRECT, text) for text in melds]) for melds in ([*ours[:2], longest], theirs)
        ]
        for sheet in sheets:
            counted = [line for line in sheet.lines if line.kind is ScoreLineKind.MELD_CARDS]
            assert [(line.meld, line.points) for line in counted] == [
                (index, card_points(DIRECT, meld.cards)) for index, meld in enumerate(sheet.melds)
            ]


def test_running_deal() -> None:
    """R9.1: a running deal is scored as if it ended now without a close, and marked so."""
    score = score_deal(position(CLASSIC, hand="Kd", others={1: "3h"}, melds=[CLEAN_BURACO], taken=1))
    assert not score.final
    assert [line.points for line in score.sides[0].lines] == [45, 200, -10]
    assert [line.points for line in score.sides[1].lines] == [-5, -100]


# ---- R9.2 kinds of buraco --------------------------------------------------------------------------

SEVEN = "3s 4s 5s 6s 7s 8s 9s"
ROYAL_HIGH = "2s 3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks As"
ROYAL_LOW = "As 2s 3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks"
ACES = f"{ROYAL_LOW} As"
ALL_KINDS = house(CLOSED, semi_clean=150)


@pytest.mark.parametrize(
    ("meld", "kind"),
    [
        ("3s 4s 5s 6s 7s 8s", BuracoKind.NONE),
        ("7s 7h 7d 7c 7s 7h", BuracoKind.NONE),
        (SEVEN, BuracoKind.CLEAN),
        ("2s 3s 4s 5s 6s 7s 8s", BuracoKind.CLEAN),
        ("7s 7s 7h 7h 7d 7d 7c", BuracoKind.CLEAN),
        ("3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks As", BuracoKind.CLEAN),
        (ROYAL_HIGH, BuracoKind.ROYAL),
        (ROYAL_LOW, BuracoKind.ROYAL),
        (ACES, BuracoKind.ACE_TO_ACE),
        (f"Jo@1 {ROYAL_HIGH}", BuracoKind.SEMI_CLEAN),
        (f"{ROYAL_LOW} 2d@14", BuracoKind.SEMI_CLEAN),
        ("As 2s 3s 4s 5s 6s 2d@7 8s 9s Ts Js Qs Ks As", BuracoKind.SEMI_CLEAN),
        ("Jo@2 3s 4s 5s 6s 7s 8s", BuracoKind.DIRTY),
        ("3s 4s 5s 6s 7s 8s 2s@9", BuracoKind.DIRTY),
        (f"Jo@2 {SEVEN}", BuracoKind.SEMI_CLEAN),
        (f"{SEVEN} Jo@10", BuracoKind.SEMI_CLEAN),
        ("As Jo@2 3s 4s 5s 6s 7s 8s 9s", BuracoKind.SEMI_CLEAN),
        ("As 2s Jo@3 4s 5s 6s 7s 8s 9s", BuracoKind.DIRTY),
        ("As 2s 3s 4s 5s 6s Jo@7 8s 9s Ts Js Qs Ks", BuracoKind.DIRTY),
        ("As 2s 3s 4s 5s 6s 7s Jo@8 9s Ts Js Qs Ks", BuracoKind.SEMI_CLEAN),
        ("7s 7s 7h 7h 7d 7d 7c Jo*", BuracoKind.DIRTY),
        ("7s 7s 7h 7h 7d 7d Jo*", BuracoKind.DIRTY),
        (f"{SEVEN}!", BuracoKind.DIRTY),
        (f"{ACES}!", BuracoKind.DIRTY),
    ],
)
def test_kinds(meld: str, kind: BuracoKind) -> None:
    """R9.2: the first kind that fits, of ace-to-ace, royal, clean, semi-clean and dirty; none below seven cards."""
    assert meld_of(ALL_KINDS, meld).buraco is kind


@pytest.mark.parametrize(
    ("options", "meld", "kind", "bonus"),
    [
        ({}, ACES, BuracoKind.ACE_TO_ACE, 1000),
        ({"ace_to_ace": 0}, ACES, BuracoKind.ROYAL, 500),
        ({"ace_to_ace": 0, "royal": 0}, ACES, BuracoKind.CLEAN, 200),
        ({"royal": 0}, ROYAL_HIGH, BuracoKind.CLEAN, 200),
        ({"semi_clean": 0}, f"Jo@2 {SEVEN}", BuracoKind.DIRTY, 100),
        ({"clean": 0}, SEVEN, BuracoKind.DIRTY, 100),
        ({"clean": 0}, ROYAL_LOW, BuracoKind.ROYAL, 500),
        ({"semi_clean_sets": True}, "7s 7s 7h 7h 7d 7d 7c Jo*", BuracoKind.SEMI_CLEAN, 150),
        ({"semi_clean_sets": True}, "7s 7s 7h 7h 7d 7d Jo*", BuracoKind.DIRTY, 100),
        ({"dirty": 0}, f"{SEVEN[3:]} Jo@10", BuracoKind.DIRTY, 0),
    ],
)
def test_kinds_not_valued_fall_through(options: dict[str, int], meld: str, kind: BuracoKind, bonus: int) -> None:
    """R9.2: a kind that the rule set does not value counts as the next that fits, with that kind's bonus."""
    rules = house(ALL_KINDS, **options)
    assert meld_of(rules, meld).buraco is kind
    assert points(position(rules, hand="Kd", melds=[meld]), BURACO) == [bonus]
    assert buraco_points(rules, kind) == bonus


@pytest.mark.parametrize(
    ("rules", "meld", "bonus"),
    [
        (CLASSIC, SEVEN, 200),
        (CLASSIC, f"{SEVEN} Jo@10", 150),
        (CLASSIC, "3s 4s 5s 6s 7s 8s Jo@9", 100),
        (CLASSIC, ROYAL_HIGH, 200),
        (DIRECT, f"{SEVEN} 2d@10", 100),
        (DIRECT, ROYAL_HIGH, 200),
        (OPEN, ROYAL_LOW, 500),
        (OPEN, ACES, 1000),
        (OPEN, f"{SEVEN} 2d@10", 100),
        (DIRTY_OPEN, ROYAL_HIGH, 500),
        (DIRTY_OPEN, f"{ROYAL_LOW} Jo@14", 100),
        (CLOSED_DIRTY, ACES, 1000),
    ],
)
def test_bonuses_of_the_presets(rules: RuleSet, meld: str, bonus: int) -> None:
    """R9.2: each preset pays the bonus of its table."""
    assert points(position(rules, hand="Kd", melds=[meld]), BURACO) == [bonus]


def test_a_clean_buraco_may_become_dirty() -> None:
    """R9.2: a wild laid off on a clean buraco makes it semi-clean or dirty."""
    deal = position(CLASSIC, hand="Jo Kd Qd", melds=[SEVEN])
    assert points(deal, BURACO) == [200]
    assert points(play(deal, lay_off(0, "Jo")), BURACO) == [150]
    in_professional = position(DIRECT, hand="2d Kd Qd", melds=[SEVEN])
    assert points(play(in_professional, lay_off(0, "2d")), BURACO) == [100]


@pytest.mark.parametrize(
    ("meld", "anywhere", "at_an_end"),
    [
        (f"{SEVEN} Jo@10", 150, 150),
        (f"Jo@2 {SEVEN}", 150, 150),
        (f"{SEVEN} Jo@10 Js", 150, 100),
        ("As Jo@2 3s 4s 5s 6s 7s 8s 9s", 150, 100),
        ("3s 4s 5s 6s 7s 8s Jo@9 Ts", 100, 100),
        ("7s 7s 7h 7h 7d 7d 7c Jo*", 150, 150),
        ("7s 7s 7h 7h 7d 7d 7c 7c Jo*", 150, 150),
    ],
)
def test_where_the_wild_of_a_semi_clean_run_stands(meld: str, anywhere: int, at_an_end: int) -> None:
    """R9.2: seven naturals in a row are enough, unless `semi_clean_end_wild` wants the run's wild at an end."""
    for rules, bonus in ((FIBUR, anywhere), (house(FIBUR, semi_clean_end_wild=True), at_an_end)):
        assert points(position(rules, hand="Kd", melds=[meld]), BURACO) == [bonus]


@pytest.mark.parametrize(
    ("taken", "pays", "free"),
    [((0, 0), ([-100], [-100]), ([], [])), ((1, 0), ([], [-100]), ([], [-100])), ((1, 1), ([], []), ([], []))],
)
def test_no_pot_on_both_sides(taken: tuple[int, int], pays: tuple[list[int], ...], free: tuple[list[int], ...]) -> None:
    """R9.1: a side without a pot loses 100; with `no_pot_both_free` it does not where the other has none either."""
    for rules, lost in ((FIBUR, pays), (house(FIBUR, no_pot_both_free=True), free)):
        deal = position(rules, hand="Kd", taken=taken[0], they_took=taken[1])
        assert (points(deal, NO_POT), points(deal, NO_POT, 1)) == lost
        assert [table_points(deal, side) for side in (0, 1)] == [sum(each) for each in lost]


# ---- R9.3 whether dirt sticks ----------------------------------------------------------------------


def test_dirty_sticks() -> None:
    """R9.3: with `dirty_sticks` a buraco that once had an acting wild stays dirty when its 2 comes home."""
    after = play(position(DIRECT, hand="6h Kd Qd", melds=["3h 4h 5h 2h@6 7h 8h 9h"]), lay_off(0, "6h"))
    assert (table(after), points(after, BURACO)) == (["2h 3h 4h 5h 6h 7h 8h 9h"], [100])
    assert not after.sides[0].melds[0].is_clean_buraco


def test_dirt_that_does_not_stick() -> None:
    """R9.3: otherwise the final state counts, and the dirty buraco becomes clean when its 2 comes home."""
    for rules in (CLASSIC, OPEN, DIRTY_OPEN):
        after = play(position(rules, hand="6h Kd Qd", melds=["3h 4h 5h 2h@6 7h 8h 9h"]), lay_off(0, "6h"))
        assert (table(after), points(after, BURACO)) == (["2h 3h 4h 5h 6h 7h 8h 9h"], [200])


def test_dirt_before_the_buraco_does_not_stick() -> None:
    """R9.3: a meld of fewer than seven cards may have had an acting wild and still become a clean buraco."""
    after = play(
        position(DIRECT, hand="6h 9h Kd Qd", melds=["3h 4h 5h 2h@6 7h 8h"]), lay_off(0, "6h"), lay_off(0, "9h")
    )
    assert points(after, BURACO) == [200]


def test_dirt_that_came_later_sticks() -> None:
    """R9.3: a clean buraco that a wild made dirty stays dirty, whatever becomes of the wild."""
    after = play(position(DIRECT, hand="2h Kd Qd", melds=["4h 5h 6h 7h 8h 9h Th"]), lay_off(0, "2h", at=3))
    assert after.sides[0].melds[0].stays_dirty
    home = position(DIRECT, hand="3h Kd Qd", melds=["2h@3 4h 5h 6h 7h 8h 9h Th"])
    assert points(play(home, lay_off(0, "3h")), BURACO) == [100]


def test_dirt_on_every_way_sticks() -> None:
    """R9.3, R5.4: a joint lay-off leaves a meld dirty if it would be so in whatever order one by one."""
    dirty_on_every_way = position(DIRECT, hand="8c 3c Ac Kd Qd", melds=["4c 5c 6c 7c 2c@8 9c"])
    after = play(dirty_on_every_way, lay_off(0, "8c 3c Ac"))
    assert (table(after), points(after, BURACO)) == (["Ac 2c 3c 4c 5c 6c 7c 8c 9c"], [100])
    clean_on_every_way = position(DIRECT, hand="3c 8c 9c Kd Qd", melds=["4c 5c 6c 7c 2c@8"])
    assert points(play(clean_on_every_way, lay_off(0, "3c 8c 9c")), BURACO) == [200]
    clean_on_one_way = position(DIRECT, hand="8c 9c Kd Qd", melds=["3c 4c 5c 6c 7c 2c@8"])
    assert points(play(clean_on_one_way, lay_off(0, "9c"), lay_off(0, "8c")), BURACO) == [100]
    assert points(play(clean_on_one_way, lay_off(0, "8c 9c")), BURACO) == [200]


def test_ending_does_not_matter_for_bonuses() -> None:
    """R9.1: buraco bonuses count for both sides whatever ended the deal."""
    deal = position(CLASSIC, hand="Kd", melds=[DIRTY_BURACO], their_melds=["3h 4h 5h 6h 7h 8h 9h"], taken=1)
    closed = play(deal, discard("Kd"))
    assert closed.ending is Ending.CLOSED
    assert (points(closed, BURACO), points(closed, BURACO, 1)) == ([100], [200])
