"""The planner: it searches whole turns, and weighs how they end by fitted weights."""

from buraco_bots.planner.player import PlannerBot

__all__ = ["PlannerBot"]
