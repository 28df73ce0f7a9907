"""`SearchBot`, which tries its turns in deals that are possible for what it knows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from buraco.v1 import event_pb2
from buraco_bots.memory import Memory
from buraco_bots.search.candidates import candidate_turns
from buraco_bots.search.determinize import determinize
from buraco_bots.search.evaluation import kind_of
from buraco_bots.search.policy import Policy, ask_policy
from buraco_bots.search.race import race
from buraco_bots.search.rollouts import rollout
from buraco_rules import Move, View

CANDIDATES: Final = 6
"""Turns that are tried, the policy's own included."""
TURNS: Final = 2
"""Turns of all seats after which a rollout is valued by an estimate: later ones add mostly noise."""
CERTAINTY: Final = 1.5
"""Standard errors by which a turn has to be better than the policy's own."""
POOR_ESTIMATES: Final = frozenset({"open pile, hard close, 2 seats"})
"""Kinds of games in which it tries nothing: deals are long there, the estimates are poor, and it lost to its policy."""


class SearchBot:
    """Plays the turn of `planner`, unless another one does better in deals that are possible for what it knows."""

    def __init__(
        self,
        random: Random,
        milliseconds: float = 200.0,
        iterations: int = 0,
        candidates: int = CANDIDATES,
        turns: int = TURNS,
        certainty: float = CERTAINTY,
    ) -> None:
        """`milliseconds`: of search for a choice; `iterations`: rollouts instead, which makes play reproducible.

        `candidates`, `turns` and `certainty`: as the constants of this module.
        """
        self._random = random
        self._milliseconds = milliseconds
        self._iterations = iterations
        self._candidates = candidates
        self._turns = turns
        self._certainty = certainty
        self._policy = Policy(Random(random.getrandbits(64)))
        self._memory = Memory()

    def observe(self, event: event_pb2.Event) -> None:
        """Note what everybody sees: where cards are that are hidden again."""
        self._memory.note(event)
        self._policy.observe(event)

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        """Return the first move of the best turn found."""
        return self.plan(view, moves)[0]

    def plan(self, view: View, moves: Sequence[Move]) -> Sequence[Move]:
        """Return the best turn found, as far as no hidden card comes up in it."""
        if len(moves) == 1:
            return moves
        if kind_of(view.rules, len(view.hand_counts)) in POOR_ESTIMATES:
            return ask_policy(self._policy, view, moves)
        start = time.perf_counter()
        turns = candidate_turns(view, moves, self._policy, self._candidates)
        if len(turns) == 1:
            return turns[0]
        spent = 0

        def trial(choices: Sequence[int]) -> list[float]:
            nonlocal spent
            spent += len(choices)
            deal = determinize(view, self._memory, self._random)
            seed = self._random.getrandbits(32)
            return [rollout(deal, turns[choice], seed, self._turns) for choice in choices]

        def has_iterations(share: float) -> bool:
            return spent < share * self._iterations

        def has_milliseconds(share: float) -> bool:
            return time.perf_counter() - start < share * self._milliseconds / 1000

        has_time: Callable[[float], bool] = has_iterations if self._iterations else has_milliseconds
        return turns[race(len(turns), trial, has_time, self._certainty)]
