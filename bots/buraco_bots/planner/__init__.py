"""The planner: it plans whole turns and values what they leave by weights that were trained in self-play."""

from buraco_bots.planner.player import PlannerBot

__all__ = ["PlannerBot"]
