"""Evolution strategy: weights are pushed to where random changes of them win more than the opposite changes.

Each trial draws a random direction, and lets the weights moved that way play a pair of deals against the weights moved
the opposite way. The mean of the directions, by how much each has won, estimates the gradient of the strength; Adam
follows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sqrt
from random import Random
from typing import Final, NamedTuple

from buraco_bots.planner.weights import TRAITS, Coefficients, Game, Weights, weights_for
from buraco_bots.training.games import GAMES, Trial

REACH: Final = 0.8
"""How far a trial moves each weight, in `SCALES`, as a standard deviation."""
FIRST_RATE: Final = 0.045
LAST_RATE: Final = 0.01
"""How far a step moves a coefficient at most, in `SCALES`: at the beginning and at the end."""
TRAIT_RATE: Final = 0.6
"""The same of a coefficient of one trait, as a share."""
MEAN_DECAY: Final = 0.9
SQUARE_DECAY: Final = 0.98

SCALES: Final = Weights(
    dirty_3=0.06, dirty_4=0.06, dirty_5=0.08, dirty_6=0.1, clean_3=0.06, clean_4=0.06, clean_5=0.08, clean_6=0.1,
    royal=0.2, first_buraco=20, first_clean=20, two=15, joker=8, card=3, same_rank=3, next_to=3, near_to=2, twin=3,
    live=0.3, fits=4, fits_gain=0.15, near_own=3, keep=0.2, risk=0.07, risk_close=0.2, risk_card=0.04, risk_stock=0.2,
    risk_turn=0.04, haste=2.5, haste_few=4, haste_close=2.5, haste_lead=1, pot=40, pot_risk=40, second_pot=40,
    flight=20, close=50, close_card=3, unknown=6, hidden=3, pile_left=2, pile_left_fit=4, gives=8, gives_gain=0.15,
    gives_near=3, gives_live=0.3, gives_wild=10, pile_gives=1.5, pile_gives_live=0.05, pile_gives_wild=2,
    gives_known=3, pile_gives_known=0.5,
)  # fmt: skip
"""By how much each weight has to change for a change of play that can be noticed."""


class Direction(NamedTuple):
    """A random change of the weights of one game, in `SCALES`."""

    game: Game
    steps: tuple[float, ...]


class Evolution:
    """Coefficients that are being trained."""

    def __init__(self, coefficients: Coefficients, seed: str, pairs: int) -> None:
        """`pairs`: those of each game in a step."""
        self.coefficients = {name: list(values) for name, values in coefficients.items()}
        self._seed = seed
        self._pairs = pairs
        self._steps = 0
        size = (len(Weights._fields), len(TRAITS))
        self._mean = [[0.0] * size[1] for _ in range(size[0])]
        self._square = [[0.0] * size[1] for _ in range(size[0])]

    def trials(self) -> tuple[list[Direction], list[Trial]]:
        """Return the trials of the next step, and the direction of each."""
        directions, trials = [], []
        for game in GAMES:
            weights = weights_for(self.coefficients, game)
            for number in range(self._pairs):
                seed = f"{self._seed}/{self._steps}/{game.rules.id}/{game.seats}/{game.is_one_deal}/{number}"
                random = Random(seed)
                steps = tuple([random.gauss(0.0, REACH) for _ in Weights._fields])
                moved = [
                    Weights(*[w + sign * step * scale for w, step, scale in zip(weights, steps, SCALES, strict=True)])
                    for sign in (1, -1)
                ]
                directions.append(Direction(game, steps))
                trials.append(Trial(game, seed, *moved))
        return directions, trials

    def learn(self, directions: Sequence[Direction], results: Sequence[float], progress: float) -> None:
        """Move the coefficients by the results of a step's trials; `progress`, 0 to 1, is how far the training is."""
        self._steps += 1
        gradient = [[0.0] * len(TRAITS) for _ in Weights._fields]
        for direction, result in zip(directions, results, strict=True):
            game = direction.game
            has = [trait(game) for trait in TRAITS.values()]
            for row, step in zip(gradient, direction.steps, strict=True):
                for place, is_there in enumerate(has):
                    if is_there:
                        row[place] += result * step
        rate = LAST_RATE + (FIRST_RATE - LAST_RATE) * (1 + cos(pi * progress)) / 2
        for index, (name, scale) in enumerate(zip(Weights._fields, SCALES, strict=True)):
            for place, slope in enumerate(gradient[index]):
                mean = self._mean[index][place] = MEAN_DECAY * self._mean[index][place] + (1 - MEAN_DECAY) * slope
                square = SQUARE_DECAY * self._square[index][place] + (1 - SQUARE_DECAY) * slope * slope
                self._square[index][place] = square
                if square:
                    mean /= 1 - MEAN_DECAY**self._steps
                    square /= 1 - SQUARE_DECAY**self._steps
                    share = 1.0 if place == 0 else TRAIT_RATE
                    self.coefficients[name][place] += rate * share * scale * mean / sqrt(square)
