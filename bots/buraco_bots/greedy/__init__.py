"""The greedy bot: it weighs the moves of its own turn and looks no further."""

from buraco_bots.greedy.player import GreedyBot

__all__ = ["GreedyBot"]
