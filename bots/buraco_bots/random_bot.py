"""The bot that plays at random: a yardstick for others, and a wide net for faults of the rules."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from buraco_rules import Move, View


class RandomBot:
    """Plays any legal move, all with the same chance."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        """Return one of the moves."""
        return self._random.choice(moves)
