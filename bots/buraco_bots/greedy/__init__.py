"""The greedy bot: a sensible player that looks at its own turn and no further."""

from buraco_bots.greedy.player import GreedyBot

__all__ = ["GreedyBot"]
