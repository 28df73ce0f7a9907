from itertools import pairwise

import pytest

from buraco_notation import parse_cards
from buraco_rules import (
    PRESETS,
    Deal,
    Discard,
    DrawStock,
    Ending,
    IllegalMove,
    Match,
    MatchResult,
    Move,
    MoveWild,
    OpeningMinimum,
    Phase,
    RuleSet,
    ScoreLineKind,
    TakePile,
    Violation,
    deal_match,
    legal_moves,
    payouts,
    score_deal,
    undo,
)
from buraco_rules.events import Event, Opened, OpeningFailed, PotTaken, Undone
from tests.rules.positions import (
    CLASSIC,
    CLEAN_BURACO,
    CLOSED,
    DIRECT,
    DIRTY_BURACO,
    INDIRECT,
    all_cards,
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
    table,
)

EVERY_TURN = house(INDIRECT, opening_minimum=OpeningMinimum(every_turn=True))


def of_kind(events: list[Event], kind: type) -> list[Event]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def undone(deal: Deal) -> Deal | Violation:
    """The deal without its newest play, or the reason why it may not be taken back."""
    try:
        return undo(deal)[0]
    except IllegalMove as refusal:
        return refusal.violations[0]


# ---- R11.1 makart ----------------------------------------------------------------------------------


def test_makart_is_off_by_default() -> None:
    """R11.1: makart is an option that no preset has on; Professional may be played with it."""
    assert not any(rules.makart for rules in PRESETS)
    deal = position(house(DIRECT, makart=True), phase=Phase.DRAW, hand="Kd", pile="9c")
    assert reasons(deal, TakePile()) == (Violation.MAKART,)
    assert legal_moves(deal) == [DrawStock()]


# ---- R11.2 who needs the minimum -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "required"),
    [((0, 0), (0, 0)), ((999, 1000), (0, 75)), ((1000, -40), (75, 0)), ((1985, 2000), (75, 75))],
)
def test_who_needs_the_minimum(scores: tuple[int, int], required: tuple[int, int]) -> None:
    """R11.2: a side at the threshold or over it when a deal starts needs the minimum in that deal."""
    for rules in (INDIRECT, DIRECT):
        deal, _ = deal_match(rules, 4, bytes(32), Match(3, scores, 0, 2005))
        assert (deal.sides[0].opening_required, deal.sides[1].opening_required) == required


@pytest.mark.parametrize(
    "rules", [rules for rules in PRESETS if rules not in (INDIRECT, DIRECT)], ids=lambda rules: rules.id
)
def test_rule_sets_without_a_minimum(rules: RuleSet) -> None:
    """R11.2: no other preset asks for a minimum at any score."""
    deal, _ = deal_match(rules, 2, bytes(32), Match(3, (1500, 1999), 0, 3000))
    assert [side.opening_required for side in deal.sides] == [0, 0]


def test_numbers_are_options() -> None:
    """R11.2: threshold, points, step and penalty are options."""
    rules = house(INDIRECT, opening_minimum=OpeningMinimum(threshold=500, points=50, step=5, penalty=7))
    deal, _ = deal_match(rules, 2, bytes(32), Match(2, (500, 499), 0, 2005))
    assert [side.opening_required for side in deal.sides] == [50, 0]
    failed = play(position(rules, hand="3h 4h 5h Kd Qd", required=50), lay("3h 4h 5h"), discard("Kd"))
    assert failed.sides[0][3:] == (55, 7)


# ---- R11.2 meeting the minimum ---------------------------------------------------------------------


def test_meeting_it_with_one_meld() -> None:
    """R11.2: a meld worth the minimum opens at once: 15 + 6 x 10 = 75."""
    deal = position(INDIRECT, hand="9h Th Jh Qh Kh Ah 8h Kd Qd", required=75)
    events = events_of(deal, lay("8h 9h Th Jh Qh Kh Ah"))
    assert of_kind(events, Opened) == [Opened(0, 75)]
    after = play(deal, lay("8h 9h Th Jh Qh Kh Ah"))
    assert (after.sides[0].opening_required, after.turn.opening_attempt) == (0, False)


def test_one_point_short() -> None:
    """R11.2: a meld worth 70 does not open where 75 are needed."""
    after = play(position(INDIRECT, hand="7h 8h 9h Th Jh Qh Kh Ah Kd Qd", required=75), lay("7h 8h 9h Th Jh Qh Kh"))
    assert (after.sides[0].opening_required, after.turn.opening_attempt) == (75, True)


def test_meeting_it_over_several_plays() -> None:
    """R11.2: several melds and lay-offs of one turn add up."""
    deal = position(INDIRECT, hand="8h 9h Th Ks Kd Kc Ah As Ac 7h Kd Qd", required=75)
    plays: list[Move] = [lay("8h 9h Th"), lay("Ks Kd Kc"), lay_off(0, "7h"), lay("Ah As Ac")]
    seen = [play(deal, *plays[: count + 1]).sides[0].opening_required for count in range(4)]
    assert seen == [75, 75, 75, 0]
    assert of_kind(events_of(deal, *plays), Opened) == [Opened(0, 110)]
    after = play(deal, *plays, discard("Qd"))
    assert (len(after.sides[0].melds), after.sides[0].opening_penalties) == (3, 0)


def test_a_wild_counts_its_own_value() -> None:
    """R11.2: a wild counts its own value, not that of the card it stands for."""
    short = position(INDIRECT, hand="Kh Ks 2d Ah As Ac Kd Qd", required=80)
    assert play(short, lay("Kh Ks 2d"), lay("Ah As Ac")).sides[0].opening_required == 80
    enough = position(INDIRECT, hand="Kh Ks 2d Ah As 2c Kd Qd", required=70)
    assert play(enough, lay("Kh Ks 2d"), lay("Ah As 2c")).sides[0].opening_required == 0
    as_an_ace = position(INDIRECT, hand="Qh Kh 2d Ah As Ac Kd Qd", required=80)
    assert play(as_an_ace, lay("Qh Kh 2d", at=14), lay("Ah As Ac")).sides[0].opening_required == 80


def test_bonuses_do_not_count() -> None:
    """R11.2: the bonus of a buraco does not count towards the minimum."""
    after = play(position(INDIRECT, hand="3h 4h 5h 6h 7h 8h 9h Kd Qd", required=75), lay("3h 4h 5h 6h 7h 8h 9h"))
    assert after.sides[0].opening_required == 75


def test_free_for_the_rest_of_the_deal() -> None:
    """R11.2: a side that has opened melds what it likes for the rest of the deal, the partner too."""
    deal = position(INDIRECT, seats=4, hand="Kh Ks Kc Ah As Ac Kd Qd", others={2: "3h 4h 5h 9d 8d"}, required=75)
    after = play(deal, lay("Kh Ks Kc"), lay("Ah As Ac"), discard("Qd"), DrawStock())
    after = play(after, Discard(after.hand[0]), DrawStock(), lay("3h 4h 5h"), discard("9d"))
    assert table(after) == ["Ks Kh Kc", "As Ah Ac", "3h 4h 5h"]
    assert (after.sides[0].opening_required, after.sides[0].opening_penalties) == (0, 0)


def test_the_other_side_is_not_bound() -> None:
    """R11.2: the minimum binds only the side that needs it."""
    deal = position(INDIRECT, hand="3h 4h 5h Kd Qd", they_require=75)
    after = play(deal, lay("3h 4h 5h"), discard("Kd"))
    assert (len(after.sides[0].melds), after.sides[1].opening_required) == (1, 75)


# ---- R11.2 falling short ---------------------------------------------------------------------------


def test_falling_short() -> None:
    """R11.2: an attempt that falls short returns its cards at the turn's end, costs 20, and the minimum rises by 20."""
    deal = position(INDIRECT, hand="3h 4h 5h 8s 8d 8c Kd Qd", required=75)
    moves: list[Move] = [lay("3h 4h 5h"), lay("8s 8d 8c"), discard("Kd")]
    after = play(deal, *moves)
    assert (hand(after), after.pile) == ("8s 3h 4h 5h 8d Qd 8c", parse_cards("Kd"))
    assert (after.sides[0].melds, after.sides[0].opening_required, after.sides[0].opening_penalties) == ((), 95, 20)
    assert (after.seat_to_move, after.turn.opening_attempt) == (1, False)
    assert of_kind(events_of(deal, *moves), OpeningFailed) == [
        OpeningFailed(0, tuple(sorted(parse_cards("3h 4h 5h 8s 8d 8c"))), 20, 95)
    ]
    assert all_cards(after) == all_cards(deal)


def test_falling_short_again() -> None:
    """R11.2: a second attempt that falls short of 95 costs 20 more and raises the minimum to 115."""
    deal = position(INDIRECT, hand="Kh Ks Kc 9h 9s 9c 8h 8s 7d Qd", required=95, penalties=20)
    after = play(deal, lay("Kh Ks Kc"), lay("9h 9s 9c"), discard("Qd"))
    assert after.sides[0][3:] == (115, 40)
    lines = [line for line in score_deal(after).sides[0].lines if line.kind is ScoreLineKind.OPENING_PENALTIES]
    assert [line.points for line in lines] == [-40]


def test_a_turn_without_an_attempt() -> None:
    """R11.2: by default a turn without an attempt costs nothing and raises nothing."""
    after = play(position(INDIRECT, hand="3h 4h 5h Kd Qd", required=75), discard("Kd"))
    assert after.sides[0][3:] == (75, 0)


def test_every_turn() -> None:
    """R11.2: with `every_turn` a turn without an attempt fails too."""
    deal = position(EVERY_TURN, hand="3h 4h 5h Kd Qd", required=75)
    after = play(deal, discard("Kd"))
    assert (after.sides[0][3:], hand(after)) == ((95, 20), "3h 4h 5h Qd")
    assert of_kind(events_of(deal, discard("Kd")), OpeningFailed) == [OpeningFailed(0, (), 20, 95)]


def test_every_turn_with_an_attempt() -> None:
    """R11.2: with `every_turn` an attempt that fails is charged once, and a side that has opened is charged no more."""
    tried = play(position(EVERY_TURN, hand="3h 4h 5h Kd Qd", required=75), lay("3h 4h 5h"), discard("Kd"))
    assert (tried.sides[0].melds, tried.sides[0][3:]) == ((), (95, 20))
    opened = play(position(EVERY_TURN, hand="3h 4h 5h Kd Qd"), discard("Kd"))
    assert opened.sides[0][3:] == (0, 0)


def test_penalties_stay_when_a_pot_is_taken() -> None:
    """R11.2, R9.1: a side that failed once and then opens with its whole hand takes the pot, and stays charged."""
    deal = position(INDIRECT, hand="8h 9h Th Jh Qh Kh Ah Js Qs Ks", required=95, penalties=20)
    after = play(deal, lay("8h 9h Th Jh Qh Kh Ah"), lay("Js Qs Ks"))
    assert after.sides[0][1:] == (1, (0,), 0, 20)


def test_every_deal_starts_again() -> None:
    """R11.2: every deal starts again at 75, whatever the minimum had risen to."""
    deal = position(INDIRECT, hand="3h 4h 5h Kd Qd", required=155, penalties=80, scores=(1500, 0), target=2005)
    anew, _ = deal_match(INDIRECT, 2, bytes(32), deal.match._replace(deal_number=2))
    assert anew.sides[0][3:] == (75, 0)


def test_the_failed_cards_may_be_tried_again() -> None:
    """R11.2: the cards that returned may be laid again in a later turn, when they reach the higher minimum."""
    deal = position(INDIRECT, hand="Kh Ks Kc 9h 9s 9c Kd Qd", required=75, next_cards="3s Ah")
    deal = play(deal, lay("Kh Ks Kc"), lay("9h 9s 9c"), discard("Qd"), DrawStock(), discard("3s"), DrawStock())
    after = play(deal, lay("Kh Ks Kc Kd"), lay("9h 9s 9c"))
    assert (after.sides[0].opening_required, after.turn.opening_attempt) == (95, True)


# ---- R11.2 what an attempt forbids -----------------------------------------------------------------


def test_no_pot_below_the_minimum() -> None:
    """R11.2: nobody picks up a pot in flight below the minimum."""
    rules = house(INDIRECT, pot_needs_buraco=False)
    deal = position(rules, hand="3h 4h 5h", required=75)
    assert reasons(deal, lay("3h 4h 5h")) == (Violation.BELOW_OPENING_MINIMUM,)


def test_pot_once_opened() -> None:
    """R11.2, R6.1: the meld that reaches the minimum may empty the hand and pick up the pot."""
    deal = position(INDIRECT, hand="8h 9h Th Jh Qh Kh Ah", required=75)
    assert isinstance(events_of(deal, lay("8h 9h Th Jh Qh Kh Ah"))[-1], PotTaken)


def test_last_card_discarded_below_the_minimum() -> None:
    """R11.2: the cards return before the hand is judged empty, so a last card may be discarded below the minimum."""
    after = play(position(INDIRECT, hand="3h 4h 5h Kd", required=75), lay("3h 4h 5h"), discard("Kd"))
    assert (hand(after), after.seat_to_move, after.sides[0].pots_taken) == ("3h 4h 5h", 1, 0)


def test_last_card_without_an_attempt() -> None:
    """R11.2: without an attempt the last card cannot be discarded below the minimum."""
    for rules in (INDIRECT, EVERY_TURN):
        deal = position(rules, hand="Kd", required=75)
        assert reasons(deal, discard("Kd")) == (Violation.BELOW_OPENING_MINIMUM,)


def test_locked_last_card_of_an_attempt() -> None:
    """R11.2, R3.3: an attempt that leaves only the locked card is a dead end."""
    deal = position(INDIRECT, phase=Phase.DRAW, hand="3h 4h 5h", pile="Kd", required=75)
    assert reasons(play(deal, TakePile()), lay("3h 4h 5h")) == (Violation.DEAD_END,)


def test_nothing_is_undone_during_an_attempt() -> None:
    """R11.2: the cards of an attempt are shown to all, and nothing of it is taken back."""
    deal = position(INDIRECT, hand="3h 4h 5h 9s 9h 9d Kd Qd", required=75)
    assert undone(play(deal, lay("3h 4h 5h"))) is Violation.NOTHING_TO_UNDO
    assert undone(play(deal, lay("3h 4h 5h"), lay("9s 9h 9d"))) is Violation.NOTHING_TO_UNDO


def test_undo_after_the_attempt() -> None:
    """R11.2, R11.4: what is melded after the minimum was met may be taken back, the attempt itself may not."""
    deal = position(INDIRECT, hand="3h 4h 5h Kh Ks Kc Ah As Ac Kd Qd", required=75)
    opened = play(deal, lay("Kh Ks Kc"), lay("Ah As Ac"))
    assert undone(opened) is Violation.NOTHING_TO_UNDO
    assert undone(play(opened, lay("3h 4h 5h"))) == opened


def test_wild_moves_during_an_attempt() -> None:
    """R11.2, R5.2: a wild may be moved during an attempt, which is not taken back either."""
    deal = position(INDIRECT, hand="7h 8h 2s Jh Kd Qd", required=75)
    moved = play(deal, lay("7h 8h 2s", at=6), MoveWild(0, 9))
    assert table(moved) == ["7h 8h 2s@9"]
    assert undone(moved) is Violation.NOTHING_TO_UNDO
    assert hand(play(moved, discard("Qd"))) == "2s 7h 8h Jh Kd"


def test_the_deal_may_end_with_a_failed_attempt() -> None:
    """R11.2, R8.1: an attempt that fails in the last turn of the deal returns its cards before the score is taken."""
    deal = position(
        INDIRECT,
        phase=Phase.DRAW,
        hand="3h 4h 5h Qd",
        next_cards="Kd",
        stock=3,
        required=75,
        others={1: "3c"},
        scores=(1500, 0),
    )
    after = play(deal, DrawStock(), lay("3h 4h 5h"), discard("Kd"))
    assert after.ending is Ending.STOCK
    assert score_deal(after).sides[0].total == -25 - 100 - 20


def test_failed_attempt_with_cards_of_the_pile() -> None:
    """R11.2: the cards of an attempt return whole, those from the pile among them."""
    deal = position(INDIRECT, phase=Phase.DRAW, hand="3h 4h Kd Qd", pile="9c 5h", required=75)
    after = play(deal, TakePile(), lay("3h 4h 5h"), discard("Kd"))
    assert hand(after) == "3h 4h 5h Qd 9c"


# ---- R11.3 stakes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("winner", "seats", "stake", "credits"),
    [
        (0, 2, 50, (50, -50)),
        (1, 2, 50, (-50, 50)),
        (0, 4, 50, (50, -50, 50, -50)),
        (1, 4, 7, (-7, 7, -7, 7)),
        (None, 4, 50, (0, 0, 0, 0)),
        (0, 4, 0, (0, 0, 0, 0)),
    ],
)
def test_stakes(winner: int | None, seats: int, stake: int, credits: tuple[int, ...]) -> None:
    """R11.3: the losers' stakes go to the winners in equal parts; a draw returns them; no credit comes from nowhere."""
    paid = payouts(MatchResult(winner, (0, 0)), seats, stake)
    assert paid == credits
    assert sum(paid) == 0


# ---- R11.4 undo ------------------------------------------------------------------------------------


def test_undo_newest_first() -> None:
    """R11.4: melds, lay-offs and moved wilds of the turn are taken back, newest first, each to the state before it."""
    deal = position(CLASSIC, hand="3h 4h 5h 6h Ts Kd Qd", melds=["Jo@6 7s 8s 9s"])
    plays: list[Move] = [lay("3h 4h 5h"), lay_off(1, "6h"), MoveWild(0, 10), lay_off(0, "Ts")]
    states = [deal]
    for move in plays:
        states.append(play(states[-1], move))
    for before, after in reversed(list(pairwise(states))):
        assert undone(after) == before
    assert undone(deal) is Violation.NOTHING_TO_UNDO


def test_undo_is_told() -> None:
    """R11.4: what was taken back is told: the meld's number, the cards, and what is left of the meld."""
    deal = position(CLASSIC, hand="3h 4h 5h 6h Kd Qd")
    melded = play(deal, lay("3h 4h 5h"))
    assert undo(melded)[1] == (Undone(0, 0, parse_cards("3h 4h 5h"), None),)
    laid = play(melded, lay_off(0, "6h"))
    assert undo(laid)[1] == (Undone(0, 0, parse_cards("6h"), melded.sides[0].melds[0]),)


def test_draw_is_never_undone() -> None:
    """R11.4: neither draw is taken back."""
    for move in (DrawStock(), TakePile()):
        deal = play(position(CLASSIC, phase=Phase.DRAW, hand="3h Kd", pile="9c 8c"), move)
        assert undone(deal) is Violation.NOTHING_TO_UNDO


def test_nothing_of_another_turn_is_undone() -> None:
    """R11.4: after the discard nothing is taken back, neither by this seat nor by the next."""
    deal = play(position(CLASSIC, hand="3h 4h 5h Kd Qd"), lay("3h 4h 5h"), discard("Kd"))
    assert undone(deal) is Violation.NOTHING_TO_UNDO
    assert undone(play(deal, DrawStock())) is Violation.NOTHING_TO_UNDO


def test_nothing_is_undone_after_the_deal() -> None:
    """R11.4, R3.2: once the deal is over nothing is taken back."""
    deal = position(CLOSED, hand="3h 4h 5h Ts", melds=[CLEAN_BURACO], taken=1)
    assert undone(play(deal, lay("3h 4h 5h"), lay_off(0, "Ts"))) is Violation.DEAL_OVER


def test_pot_bars_undo() -> None:
    """R11.4: once a pot was picked up nothing before it is taken back; what comes after it is."""
    deal = position(CLASSIC, hand="3h 4h 5h 6h", pots=["9s 9h 9d Kd Qd", "3s"])
    with_pot = play(deal, lay("3h 4h 5h"), lay_off(0, "6h"))
    assert undone(with_pot) is Violation.NOTHING_TO_UNDO
    assert undone(play(with_pot, lay("9s 9h 9d"))) == with_pot


def test_rest_of_a_closed_pile_bars_undo() -> None:
    """R11.4: once the rest of a closed pile was taken, the meld that opened it is not taken back; later ones are."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="3h 4h 8s 8d 8c Kd", pile="9c 5h")
    opened = play(deal, TakePile(), lay("3h 4h 5h"))
    assert undone(opened) is Violation.NOTHING_TO_UNDO
    assert undone(play(opened, lay("8s 8d 8c"))) == opened


def test_only_card_of_a_closed_pile_bars_nothing() -> None:
    """R11.4, R3.4: a closed pile of one card hides nothing, so its meld is taken back, and must be made then."""
    deal = position(CLOSED, phase=Phase.DRAW, hand="3h 4h Kd Qd", pile="5h")
    taken = play(deal, TakePile())
    again = undone(play(taken, lay("3h 4h 5h")))
    assert again == taken
    assert isinstance(again, Deal)
    assert reasons(again, discard("Kd")) == (Violation.TOP_CARD_FIRST,)


def test_undo_restores_the_lock() -> None:
    """R11.4, R3.3: a locked card that comes back to the hand is locked again."""
    taken = play(position(CLASSIC, phase=Phase.DRAW, hand="Tc Jc Kd Qd", pile="9c"), TakePile())
    again = undone(play(taken, lay("9c Tc Jc")))
    assert again == taken
    assert isinstance(again, Deal)
    assert reasons(again, discard("9c")) == (Violation.CARD_LOCKED,)


def test_undo_restores_the_unused_pot() -> None:
    """R11.4, R9.1: a pot whose only play was taken back is unused again."""
    deal = position(CLOSED, hand="3h 4h 5h Kd Qd", taken=1, unplayed=[0])
    melded = play(deal, lay("3h 4h 5h"))
    assert melded.sides[0].unplayed_pots == ()
    assert undone(melded) == deal


def test_undo_restores_dirt() -> None:
    """R11.4, R9.3: a meld that was spoiled and restored is clean again."""
    deal = position(DIRECT, hand="2d Kd Qd", melds=[CLEAN_BURACO])
    assert undone(play(deal, lay_off(0, "2d"))) == deal


def test_wild_moved_to_and_fro() -> None:
    """R11.4, R5.2: a wild moved to the other end and back is taken back move by move, however often it was moved."""
    deal = play(position(CLASSIC, hand="3h 4h 5h Kd Qd", melds=["Jo@6 7s 8s 9s"]), lay("3h 4h 5h"))
    there = play(deal, MoveWild(0, 10))
    assert undone(play(there, MoveWild(0, 6))) == there
    assert undone(there) == deal
    for _ in range(200):
        deal = play(deal, MoveWild(0, 10), MoveWild(0, 6))
    assert len(deal.turn.undo) < 200
    assert table(play(deal, discard("Kd"))) == ["Jo@6 7s 8s 9s", "3h 4h 5h"]


def test_undo_all_the_way() -> None:
    """R11.4: taking everything back leads to the state after the draw, and the same plays can be made again."""
    start = position(DIRECT, hand="3h 4h 5h 6h 8s 8d 8c 2d Kd Qd", melds=[DIRTY_BURACO])
    plays: list[Move] = [lay("3h 4h 5h"), lay_off(1, "6h"), lay("8s 8d 8c"), lay_off(2, "2d")]
    end = play(start, *plays)
    deal: Deal | Violation = end
    for _ in plays:
        assert isinstance(deal, Deal)
        deal = undone(deal)
    assert deal == start
    assert isinstance(deal, Deal)
    assert play(deal, *plays) == end
    assert reason(end, discard("Kd")) is None
