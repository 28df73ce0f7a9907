from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buraco_bots.arena.statistics import (
    MIN_PAIRS,
    Interval,
    SequentialRun,
    SequentialTest,
    elo,
    mean_difference,
    pentanomial,
    win_rate,
)

SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0]), min_size=1, max_size=60)


def drawn_pair(chance: Random, rate: float) -> float:
    """The score of a pair of independent matches, each won with this chance."""
    return float((chance.random() < rate) + (chance.random() < rate))


def test_wilson_by_hand() -> None:
    """Of independent matches the interval is Wilson's, as computed by hand for 60 of 100."""
    # 50 pairs whose spread is that of independent matches: variance of a pair's rate 0.6 * 0.4 / 2 = 0.12.
    scores = [2.0] * 18 + [1.0] * 24 + [0.0] * 8
    rate = win_rate(scores)
    # Sum of squares 18 * 0.16 + 24 * 0.01 + 8 * 0.36 = 6, and 0.12 for the added pair, over 50.
    weight = 50 * 0.24 / (6.12 / 50)
    assert weight == pytest.approx(98.04, abs=0.01)
    assert rate.value == 0.6
    assert (rate.low, rate.high) == pytest.approx((0.5011, 0.6915), abs=0.0005)


@pytest.mark.parametrize(("pairs", "low"), [(1, 0.207), (10, 0.722), (100, 0.963)])
def test_all_won(pairs: int, low: float) -> None:
    """Of nothing but wins the interval is Wilson's for as many matches as there are pairs."""
    rate = win_rate([2.0] * pairs)
    assert (rate.value, rate.high) == (1.0, 1.0)
    assert rate.low == pytest.approx(low, abs=0.001)
    lost = win_rate([0.0] * pairs)
    assert (lost.value, lost.low, lost.high) == pytest.approx((0.0, 0.0, 1 - rate.low))


def test_a_few_equal_pairs_prove_little() -> None:
    """Pairs that happen to be alike have an interval with width, which shrinks with their number."""
    few, many = win_rate([1.0] * 2), win_rate([1.0] * 200)
    assert few.low < 0.3
    assert few.high > 0.7
    assert 0.49 < many.low < 0.5 < many.high < 0.51


def test_no_pair() -> None:
    """Without a pair there is no rate."""
    with pytest.raises(ValueError, match="a pair is needed"):
        win_rate([])


@given(SCORES)
def test_interval_holds_the_rate(scores: list[float]) -> None:
    """The interval is within 0 and 1 and holds the rate; that of the other contender is its mirror image."""
    rate, other = win_rate(scores), win_rate([2 - score for score in scores])
    assert 0 <= rate.low <= rate.value <= rate.high <= 1
    assert (other.low, other.value, other.high) == pytest.approx((1 - rate.high, 1 - rate.value, 1 - rate.low))


@given(SCORES)
def test_more_of_the_same_is_narrower(scores: list[float]) -> None:
    """The same pairs four times over give a narrower interval of the same rate."""
    once, often = win_rate(scores), win_rate(scores * 4)
    assert often.value == pytest.approx(once.value)
    assert often.high - often.low < once.high - once.low


@pytest.mark.parametrize("true", [0.5, 0.6, 0.9])
def test_coverage(true: float) -> None:
    """The interval holds the true rate about as often as it promises."""
    chance = Random(f"coverage {true}")
    trials = [win_rate([drawn_pair(chance, true) for _ in range(50)]).covers(true) for _ in range(1000)]
    assert 0.92 <= sum(trials) / 1000 <= 0.98


def test_difference_by_hand() -> None:
    """The mean of differences has the interval of the normal distribution."""
    assert mean_difference([]) is None
    assert mean_difference([30.0]) == Interval(30.0, -math.inf, math.inf)
    found = mean_difference([10.0, 20.0, 30.0, 40.0])
    assert found is not None
    # Standard deviation 12.91, over the root of 4: 6.455; times 1.96: 12.65.
    assert (found.value, found.low, found.high) == pytest.approx((25, 12.35, 37.65), abs=0.01)


@pytest.mark.parametrize(("rate", "difference"), [(0.5, 0), (0.75, 190.85), (0.25, -190.85), (10 / 11, 400)])
def test_elo_by_hand(rate: float, difference: float) -> None:
    """400 points of Elo are a chance of 10 to 1."""
    assert elo(Interval(rate, rate, rate)).value == pytest.approx(difference, abs=0.01)


def test_elo_without_bounds() -> None:
    """Whoever wins or loses everything is infinitely better or worse."""
    assert elo(Interval(1.0, 0.5, 1.0)) == Interval(math.inf, 0.0, math.inf)
    assert elo(Interval(0.0, 0.0, 0.5)).value == -math.inf


@given(SCORES)
def test_pentanomial(scores: list[float]) -> None:
    """Every pair is counted once, and the counts have the same mean."""
    counts = pentanomial(scores)
    assert sum(counts) == len(scores)
    assert sum([count * step / 2 for step, count in enumerate(counts)]) == pytest.approx(sum(scores))


def test_ratio_by_hand() -> None:
    """The ratio of likelihoods is that of two normal distributions around the hypotheses."""
    test = SequentialTest(0, 20)
    # 20 pairs of mean 11.5 / 20 = 0.575 and variance 1.2625 / 20; 20 Elo are a rate of 0.52875.
    expected = 20 * 0.028751 * (2 * 0.575 - 0.5 - 0.528751) / (2 * 0.063125)
    assert test.ratio([1, 2, 10, 4, 3]) == pytest.approx(expected, abs=0.01)
    assert test.ratio([0] * 5) == 0
    assert test.bounds == pytest.approx((-2.944, 2.944), abs=0.001)


@given(SCORES)
def test_ratio_is_antisymmetric(scores: list[float]) -> None:
    """Between opposite hypotheses the ratio changes its sign when the contenders change places."""
    test = SequentialTest(-10, 10)
    ratio = test.ratio(pentanomial(scores))
    assert test.ratio(pentanomial([2 - score for score in scores])) == pytest.approx(-ratio, abs=1e-6)


def test_run_waits_for_pairs() -> None:
    """Nothing is decided before there are MIN_PAIRS, however clear they are."""
    assert SequentialRun(SequentialTest(), [2.0] * (MIN_PAIRS - 1)).decision == "open"
    run = SequentialRun(SequentialTest(), [2.0] * (MIN_PAIRS + 9))
    assert (run.decision, run.pairs) == ("better", MIN_PAIRS)


def test_first_decision_stays() -> None:
    """Pairs after the decision change nothing: those under way when it fell would else be chosen by their length."""
    run = SequentialRun(SequentialTest(), [2.0] * MIN_PAIRS)
    ratio = run.ratio
    for _ in range(1000):
        run.add(0.0)
    assert (run.decision, run.pairs, run.ratio) == ("better", MIN_PAIRS, ratio)


def test_equals_are_not_better() -> None:
    """Of deterministic equals, with 1 of every pair, the test finds at once that none is better."""
    assert SequentialRun(SequentialTest(), [1.0] * MIN_PAIRS).decision == "not better"


@pytest.mark.parametrize(("true", "wrong"), [(0.0, "better"), (60.0, "not better")])
def test_errors_are_as_rare_as_stated(true: float, wrong: str) -> None:
    """If one of the hypotheses is true, the test decides for the other one about as seldom as it states."""
    chance, test = Random(f"sprt {true}"), SequentialTest(0, 60)
    rate = 1 / (1 + 10 ** (-true / 400))
    decisions = []
    for _ in range(200):
        run = SequentialRun(test)
        while run.decision == "open":
            run.add(drawn_pair(chance, rate))
        decisions.append(run.decision)
    assert decisions.count(wrong) / 200 < 0.1  # type: ignore[arg-type]
