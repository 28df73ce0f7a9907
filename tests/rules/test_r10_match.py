import random

import pytest

from buraco_rules import (
    PRESETS,
    Deal,
    Ending,
    Match,
    MatchResult,
    Phase,
    RuleSet,
    Tie,
    apply,
    deal_match,
    legal_moves,
    match_result,
    next_match,
    score_deal,
)
from buraco_rules.events import DealEnded, MatchEnded
from tests.rules.positions import (
    CLASSIC,
    CLOSED_DIRTY,
    DIRECT,
    DIRTY_BURACO,
    OPEN,
    discard,
    events_of,
    house,
    lay,
    play,
    position,
)

OURS = 10 + 4 * 5 + 2 * 10 + 10 + 100 + 100
"""What the closing side scores below: a dirty buraco of 3 to 9 with a 2 worth 20, its bonus, and the close."""


def closing(
    scores: tuple[int, int], target: int, rules: RuleSet = CLASSIC, *, seat: int = 0, starter: int = 0, number: int = 1
) -> tuple[Deal, MatchEnded | None, tuple[int, int]]:
    """A deal that `seat` closes from these match scores: the deal, how the match ended, what the deal scored."""
    deal = position(
        rules,
        seats=4,
        seat=seat,
        hand="Kd",
        others={(seat + 1) % 4: "3h", (seat + 2) % 4: "Kc", (seat + 3) % 4: "4h"},
        melds=[DIRTY_BURACO],
        taken=1,
        they_took=1,
        scores=scores,
        target=target,
        starter=starter,
        deal_number=number,
    )
    after = play(deal, discard("Kd"))
    ended = [event for event in events_of(deal, discard("Kd")) if isinstance(event, MatchEnded)]
    first, second = score_deal(after).sides
    return after, ended[0] if ended else None, (first.total, second.total)


# ---- R10.1 until the target ------------------------------------------------------------------------


def test_match_goes_on() -> None:
    """R10.1: below the target another deal follows, with the scores carried over and the deal counted."""
    after, ended, (ours, theirs) = closing((1000, 900), 2005)
    assert (ended, match_result(after)) == (None, None)
    assert next_match(after) == Match(2, (1000 + ours, 900 + theirs), 0, 2005)


def test_target_reached() -> None:
    """R10.1: at the target exactly the match is over, one point below it is not."""
    _, _, (ours, _) = closing((0, 0), 2005)
    reached, ended, _ = closing((2005 - ours, 0), 2005)
    assert ended == MatchEnded(0, (2005, -10))
    assert match_result(reached) == MatchResult(0, (2005, -10))
    _, ended, _ = closing((2004 - ours, 0), 2005)
    assert ended is None


def test_loser_of_the_deal_may_win_the_match() -> None:
    """R10.1: the higher total wins, whoever closed; both sides may be over the target."""
    _, ended, (ours, theirs) = closing((2000, 2600), 2005)
    assert ended == MatchEnded(1, (2000 + ours, 2600 + theirs))


def test_target_reached_only_at_the_end_of_a_deal() -> None:
    """R10.1: a total over the target during a deal ends nothing."""
    deal = position(CLASSIC, hand="Kd Qd", melds=[DIRTY_BURACO], scores=(2000, 0), target=2005)
    assert play(deal, discard("Kd")).phase is Phase.DRAW


def test_falling_below_the_target() -> None:
    """R10.1: only totals at the end of a deal count: a side that falls below the target has not reached it."""
    _, ended, (_, theirs) = closing((0, 2010), 2005)
    assert theirs < -5
    assert ended is None


def test_one_deal() -> None:
    """R10.1: target 0 is a match of one deal, negative totals or not."""
    _, ended, (ours, theirs) = closing((0, 0), 0)
    assert ended == MatchEnded(0, (ours, theirs))
    deal = position(CLASSIC, hand="Kd Qd", others={1: "3h"}, turn=1000)
    assert events_of(deal, discard("Kd"))[-1] == MatchEnded(1, (-110, -105))


def test_events_at_the_end() -> None:
    """R10.1: the end of the deal is told before the end of the match."""
    deal = position(CLASSIC, hand="Kd", melds=[DIRTY_BURACO], taken=1)
    assert [type(event) for event in events_of(deal, discard("Kd"))[-2:]] == [DealEnded, MatchEnded]


# ---- R10.2 ties ------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [2000, 1500])
@pytest.mark.parametrize("rules", [CLASSIC, DIRECT], ids=lambda rules: rules.id)
def test_tie_is_a_draw(rules: RuleSet, target: int) -> None:
    """R10.2: with `tie = draw` equal totals at or over the target have no winner."""
    rules = house(rules, tie=Tie.DRAW, close_by=CLASSIC.close_by)
    _, _, (ours, theirs) = closing((0, 0), 0, rules)
    _, ended, _ = closing((2000 - ours, 2000 - theirs), target, rules)
    assert ended == MatchEnded(None, (2000, 2000))


@pytest.mark.parametrize("starter", [0, 1, 2, 3])
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_tie_goes_to_the_starter(starter: int, seat: int, number: int) -> None:
    """R10.2: with `tie = starter` equal totals are won by the side that started the first deal, whoever closed."""
    _, _, (first, second) = closing((0, 0), 0, CLOSED_DIRTY, seat=seat)
    scores = (2000 - first, 2000 - second)
    _, ended, _ = closing(scores, 2000, CLOSED_DIRTY, seat=seat, starter=starter, number=number)
    assert ended == MatchEnded(starter % 2, (2000, 2000))


def test_tie_below_the_target() -> None:
    """R10.2: equal totals below the target end no match."""
    _, _, (first, second) = closing((0, 0), 0)
    _, ended, _ = closing((1000 - first, 1000 - second), 2005)
    assert ended is None


def test_tie_in_a_match_of_one_deal() -> None:
    """R10.2: a match of one deal may be tied as well."""
    deal = position(OPEN, hand="3h Kd", others={1: "3s"}, turn=1000, starter=1)
    assert events_of(deal, discard("Kd"))[-1] == MatchEnded(1, (-105, -105))
    drawn = position(CLASSIC, hand="3h Kd", others={1: "3s"}, turn=1000, starter=1)
    assert events_of(drawn, discard("Kd"))[-1] == MatchEnded(None, (-105, -105))


def test_seven_twos_end_a_match_far_below_the_target() -> None:
    """R10.1, R7.3: a buraco of seven 2s ends the match, the target notwithstanding."""
    deal = position(DIRECT, hand="2s 2h 2h 2d 2d 2c 2c Kd Qd", target=2005, scores=(-500, 1990))
    ended = events_of(deal, lay("2s 2h 2h 2d 2d 2c 2c"))[-1]
    assert isinstance(ended, MatchEnded)
    assert ended.winner == 0


# ---- whole matches ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_match_play(rules: RuleSet) -> None:
    """R10.1: deals follow each other, scores adding up and starters changing, until a side has reached the target."""
    rng = random.Random(rules.id)
    match, seats, target = Match(target_score=250, starter=1), rng.choice([2, 4]), 250
    for number in range(1, 60):
        assert max(match.scores) < target
        deal, dealt = deal_match(rules, seats, rng.randbytes(32), match)
        assert (dealt.deal_number, dealt.starter) == (number, number % seats)
        while moves := legal_moves(deal):
            longest = max(len(getattr(move, "cards", ())) for move in moves)
            deal, _ = apply(deal, rng.choice([move for move in moves if len(getattr(move, "cards", ())) == longest]))
        totals = tuple(side.total for side in score_deal(deal).sides)
        assert deal.ending is not Ending.NONE
        result = match_result(deal)
        match = next_match(deal)
        assert match.scores == (deal.match.scores[0] + totals[0], deal.match.scores[1] + totals[1])
        if result is not None:
            assert max(match.scores) >= target or deal.ending is Ending.TWOS_BURACO
            assert result.scores == match.scores
            return
    pytest.fail("no side ever reached 250 points")
