"""The policies of a search: `Policy`, from whose turns it departs, and `RolloutPolicy`, which plays deals on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from buraco_bots.bot import Bot
from buraco_bots.greedy import GreedyBot as RolloutPolicy
from buraco_bots.planner import PlannerBot as Policy
from buraco_rules import Move, View

__all__ = ["Policy", "RolloutPolicy", "ask_policy"]


def ask_policy(policy: Bot, view: View, moves: Sequence[Move]) -> Sequence[Move]:
    """Return the next moves of a policy: its plan if it has one, else its choice. It is not asked if there is none."""
    if len(moves) == 1:
        return moves
    plan: Callable[[View, Sequence[Move]], Sequence[Move]] | None = getattr(policy, "plan", None)
    return [policy.choose(view, moves)] if plan is None else plan(view, moves)
