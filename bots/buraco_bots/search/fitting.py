"""Fits the weights of the evaluation to deals that a policy plays: `python -m buraco_bots.search.fitting FILE`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import click

from buraco_bots.search.evaluation import FEATURES, features_of, kind_of
from buraco_bots.search.policy import Policy
from buraco_bots.search.rollouts import play_next
from buraco_rules import PRESETS, Match, Phase, RuleSet, deal_match, score_deal

MAX_LEAD: Final = 1200
"""Points of a lead that count no more if they are exceeded."""
TRUST: Final = 1000.0
"""Positions of a game that weigh as much as what all games have in common."""
SAMPLES: Final = 12
"""Positions of a deal that are used."""

Matrix = list[list[float]]


class Position(NamedTuple):
    """A position with the lead that side 0 had at the end of its deal."""

    features: list[float]
    lead: float


class _Sums:
    """Sums over positions, of which the weights with the least squared error follow."""

    def __init__(self) -> None:
        size = range(len(FEATURES))
        self.products: Matrix = [[0.0 for _ in size] for _ in size]
        self.leads = [0.0 for _ in size]
        self.count = 0

    def add(self, position: Position) -> None:
        """Add a position."""
        self.count += 1
        for row, feature in enumerate(position.features):
            if feature:
                self.leads[row] += feature * position.lead
                products = self.products[row]
                for column, other in enumerate(position.features):
                    products[column] += feature * other

    def fit(self, prior: Sequence[float], scales: Sequence[float]) -> list[float]:
        """Return the weights, drawn to those of the prior as by `TRUST` positions of these mean squares."""
        matrix = [list(row) for row in self.products]
        goal = list(self.leads)
        for index, scale in enumerate(scales):
            matrix[index][index] += TRUST * scale
            goal[index] += TRUST * scale * prior[index]
        return solve(matrix, goal)


def solve(matrix: Matrix, goal: list[float]) -> list[float]:
    """Return the solution of a system of linear equations with a positive definite matrix, by elimination.

    >>> solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
    [1.0, 0.5]
    """
    rows = [[*row, value] for row, value in zip(matrix, goal, strict=True)]
    for pivot, row in enumerate(rows):
        for other in rows[pivot + 1 :]:
            factor = other[pivot] / row[pivot]
            for column in range(pivot, len(row)):
                other[column] -= factor * row[column]
    solution: list[float] = []
    for index, row in reversed([*enumerate(rows)]):
        known = sum([a * b for a, b in zip(row[index + 1 : -1], solution, strict=True)])
        solution.insert(0, (row[-1] - known) / row[index])
    return solution


def play_positions(rules: RuleSet, seats: int, seed: str) -> Iterator[Position]:
    """Yield positions of a deal that a policy plays at all seats."""
    random = Random(seed)
    deal, _ = deal_match(rules, seats, random.randbytes(32), Match(starter=random.randrange(seats)))
    policies = [Policy(Random(f"{seed}/{seat}")) for seat in range(seats)]
    features: list[list[float]] = []
    while deal.phase is not Phase.OVER:
        if deal.phase is Phase.DRAW:
            features.append(features_of(deal))
        deal = play_next(deal, policies[deal.seat_to_move])
    first, second = score_deal(deal).sides
    lead = max(-MAX_LEAD, min(MAX_LEAD, first.total - second.total))
    for chosen in random.sample(features, min(SAMPLES, len(features))):
        yield Position(chosen, lead)


@click.command("fit")
@click.option("--deals", type=click.IntRange(1), default=200, show_default=True, help="Deals of each game.")
@click.option("--seed", default="fit", show_default=True, help="Any text: the same seed gives the same weights.")
@click.argument("output", type=click.Path(dir_okay=False, path_type=Path))
def fit(deals: int, seed: str, output: Path) -> None:
    """Play deals of all rule sets with two and four seats, and write the weights that foresee their scores best."""
    kinds: dict[str, _Sums] = {}
    everything = _Sums()
    for rules in PRESETS:
        for seats in (2, 4):
            sums = kinds.setdefault(kind_of(rules, seats), _Sums())
            for number in range(deals):
                for position in play_positions(rules, seats, f"{seed}/{rules.id}/{seats}/{number}"):
                    sums.add(position)
                    everything.add(position)
            click.echo(f"{rules.id}, {seats} seats: {sums.count} positions", err=True)
    scales = [everything.products[index][index] / everything.count + 1e-9 for index in range(len(FEATURES))]
    common = everything.fit([0.0] * len(FEATURES), scales)
    table = {
        kind: {name: round(weight, 3) for name, weight in zip(FEATURES, sums.fit(common, scales), strict=True)}
        for kind, sums in sorted(kinds.items())
    }
    output.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    fit()
