"""`CheaterBot`, which sees all cards: how much better than others could a bot be?"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from buraco_bots.search.candidates import candidate_turns
from buraco_bots.search.policy import Policy
from buraco_bots.search.rollouts import rollout
from buraco_rules import Deal, Move, View

CANDIDATES: Final = 10
"""Turns that are tried, the policy's own included."""
TURNS: Final = 24
"""Turns of all seats that a trial goes on for: to the end of most deals."""


class CheaterBot:
    """Sees all cards, and plays the turn that comes out best if all others play as planned.

    It is for measuring in the arena: it shows how much the bots that see their own cards alone have left to gain.
    """

    sees_all: Final = True

    def __init__(self, random: Random, candidates: int = CANDIDATES, turns: int = TURNS) -> None:
        """`candidates` and `turns`: as the constants of this module."""
        self._policy = Policy(Random(random.getrandbits(64)))
        self._random = random
        self._candidates = candidates
        self._turns = turns
        self.true_deal: Deal | None = None

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        """Return the first move of the best turn found."""
        return self.plan(view, moves)[0]

    def plan(self, view: View, moves: Sequence[Move]) -> Sequence[Move]:
        """Return the best turn found. Raise ValueError if `true_deal` was not set since the last choice."""
        deal, self.true_deal = self.true_deal, None
        if deal is None:
            raise ValueError("it has to see all cards, and does only in an arena without --server")
        if len(moves) == 1:
            return moves
        turns = candidate_turns(view, moves, self._policy, self._candidates)
        seed = self._random.getrandbits(32)
        return max(turns, key=lambda turn: rollout(deal, turn, seed, self._turns))
