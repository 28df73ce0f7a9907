from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from buraco_bots.search import fitting
from buraco_bots.search.evaluation import FEATURES, kind_of, weights_for
from buraco_rules import PRESETS, PRESETS_BY_ID, RuleSet


@pytest.mark.parametrize("seed", range(3))
def test_solution_solves(seed: int) -> None:
    """The solution of a positive definite system, put into it, gives the goal."""
    random, size = Random(seed), 6
    factors = [[random.gauss(0, 1) for _ in range(size)] for _ in range(size)]
    matrix = [
        [sum([a * b for a, b in zip(row, other, strict=True)]) + (row is other) for other in factors] for row in factors
    ]
    goal = [random.gauss(0, 1) for _ in range(size)]
    solution = fitting.solve(matrix, goal)
    for row, value in zip(matrix, goal, strict=True):
        assert sum([a * b for a, b in zip(row, solution, strict=True)]) == pytest.approx(value)


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_every_game_has_weights(rules: RuleSet, seats: int) -> None:
    """Every rule set has weights for two and four seats, in which points on the table count about what they are."""
    weights = dict(zip(FEATURES, weights_for(rules, seats), strict=True))
    assert 0.5 < weights["table_points"] < 1.5
    assert weights["can_close"] > 0


def test_positions_of_a_deal() -> None:
    """Positions of one deal share its result, and the same seed gives the same ones."""
    positions, again = ([*fitting.play_positions(PRESETS_BY_ID["burraco"], 2, "deal")] for _ in range(2))
    assert positions == again
    assert 2 < len(positions) <= fitting.SAMPLES
    assert len({position.lead for position in positions}) == 1


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command writes weights of every kind of game in the form of the file that is read."""
    monkeypatch.setattr(fitting, "PRESETS", [PRESETS_BY_ID["burraco"]])
    output = tmp_path / "weights.json"
    result = CliRunner().invoke(fitting.fit, ["--deals", "2", str(output)])
    assert result.exit_code == 0, result.output
    table = json.loads(output.read_text())
    assert set(table) == {kind_of(PRESETS_BY_ID["burraco"], seats) for seats in (2, 4)}
    assert all(tuple(weights) == FEATURES for weights in table.values())
