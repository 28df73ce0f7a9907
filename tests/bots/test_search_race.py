from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from buraco_bots.search.race import MIN_TRIALS, race


class Trials:
    """Choices of these mean values, with noise that all share and noise of their own."""

    def __init__(self, means: Sequence[float], common: float = 0.0, own: float = 0.0) -> None:
        self.means, self.common, self.own = means, common, own
        self.random = Random(1)
        self.counts = [0] * len(means)

    def __call__(self, choices: Sequence[int]) -> list[float]:
        shared = self.random.gauss(0.0, self.common)
        for choice in choices:
            self.counts[choice] += 1
        return [self.means[choice] + shared + self.random.gauss(0.0, self.own) for choice in choices]


def limited(trials: Trials, total: int) -> Callable[[float], bool]:
    """So many values may be had in all."""
    return lambda share: sum(trials.counts) < share * total


def winner(trials: Trials, total: int = 400, certainty: float = 2.0) -> int:
    """The choice that wins a race."""
    return race(len(trials.means), trials, limited(trials, total), certainty)


@pytest.mark.parametrize("best", [0, 1, 2, 3, 4])
def test_best_wins(best: int) -> None:
    """What is clearly best wins, the first choice as well as any other."""
    means = [0.0] * 5
    means[best] = 50.0
    assert winner(Trials(means, common=200.0, own=20.0)) == best


def test_common_chance_favours_nobody() -> None:
    """Noise that all choices share hides no difference, however large it is."""
    assert winner(Trials([0.0, 1.0], common=1e4), total=40) == 1


def test_first_wins_without_evidence() -> None:
    """A rival that is better by less than the noise, or no better at all, does not replace the first choice."""
    assert winner(Trials([0.0, 5.0, -5.0], own=100.0), total=60, certainty=3.0) == 0
    assert winner(Trials([7.0, 7.0])) == 0


def test_few_trials_prove_nothing() -> None:
    """With fewer than MIN_TRIALS trials the first choice wins, even if a rival seems far better."""
    assert winner(Trials([0.0, 1000.0]), total=2 * (MIN_TRIALS - 1)) == 0
    assert winner(Trials([0.0, 1000.0]), total=2 * MIN_TRIALS) == 1


def test_no_time() -> None:
    """Without any time the first choice wins, and nothing is tried."""
    trials = Trials([0.0, 1000.0])
    assert race(2, trials, lambda share: False, 0.0) == 0
    assert trials.counts == [0, 0]


def test_time_goes_to_the_close_ones() -> None:
    """The worse half of the rivals gets less time than the better half, and the first choice is tried each time."""
    trials = Trials([0.0, -100.0, -90.0, 1.0, 2.0], own=10.0)
    winner(trials, total=300)
    assert max(trials.counts[1:3]) < min(trials.counts[3:])
    assert trials.counts[0] == max(trials.counts)
