from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from buraco_bots.planner.weights import Weights, read_coefficients, weights_for
from buraco_bots.training.__main__ import train
from buraco_bots.training.evolution import SCALES, Evolution
from buraco_bots.training.games import GAMES, Trial, compare

SEED = "test"


def start() -> Evolution:
    """An evolution that begins with the weights of the planner."""
    return Evolution(read_coefficients(), SEED, pairs=2)


def test_equal_weights_are_equally_strong() -> None:
    """Both deals of a pair have the same cards, so that they cancel out exactly."""
    game = GAMES[0]
    weights = weights_for(read_coefficients(), game)
    assert compare(Trial(game, SEED, weights, weights)) == 0.0


def test_weights_that_throw_wilds_away_are_weaker() -> None:
    """A comparison finds out who plays worse."""
    game = GAMES[0]
    weights = weights_for(read_coefficients(), game)
    foolish = weights._replace(two=-200.0, joker=-200.0, gives_wild=-200.0)
    results = [compare(Trial(game, f"{SEED}/{number}", weights, foolish)) for number in range(6)]
    assert sum(results) > 0


def test_trials_move_the_weights_to_opposite_sides() -> None:
    """The two contenders of a trial are as far from the trained weights, one on each side."""
    evolution = start()
    _, trials = evolution.trials()
    assert len(trials) == 2 * len(GAMES)
    for trial in trials:
        middle = weights_for(evolution.coefficients, trial.game)
        for value, one, other in zip(middle, trial.first, trial.second, strict=True):
            assert abs((one + other) / 2 - value) < 1e-9 * max(1.0, abs(value))


def test_learning_climbs_to_what_wins() -> None:
    """If more of one weight always wins, and of another always loses, the first rises and the second falls."""
    evolution = start()
    up, down = Weights._fields.index("pot"), Weights._fields.index("two")
    before = {name: values[0] for name, values in evolution.coefficients.items()}
    for _ in range(20):
        directions, _ = evolution.trials()
        results = [0.1 * (direction.steps[up] - direction.steps[down]) for direction in directions]
        evolution.learn(directions, results, progress=0.0)
    assert evolution.coefficients["pot"][0] > before["pot"] + SCALES.pot / 2
    assert evolution.coefficients["two"][0] < before["two"] - SCALES.two / 2


def test_same_seed_gives_the_same_weights_with_any_number_of_workers(tmp_path: Path) -> None:
    """Whoever runs the training again gets the same file."""
    texts = []
    for workers in (1, 2):
        path = tmp_path / f"{workers}.json"
        arguments = ["--steps", "1", "--pairs", "1", "--workers", str(workers), "--output", str(path)]
        assert CliRunner().invoke(train, arguments).exit_code == 0
        texts.append(path.read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert read_coefficients(str(tmp_path / "1.json")) != read_coefficients()
