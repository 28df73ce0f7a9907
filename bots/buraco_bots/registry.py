"""Bots by name: the built-in ones, those of other distributions, and any class by its address.

A distribution adds a bot through an entry point of the group `buraco.bots`:

    [project.entry-points."buraco.bots"]
    mine = "my_package.my_module:MyBot"

The entry point makes a bot from a seeded `random.Random`; usually it is the bot's class.
"""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import entry_points
from pathlib import Path

from buraco_bots.bot import BotFactory

ENTRY_POINTS = "buraco.bots"
MAX_PLAYER_NAME = 64
"""Characters."""

BUILT_IN = {
    "greedy": "buraco_bots.greedy:GreedyBot",
    "planner": "buraco_bots.planner:PlannerBot",
    "random": "buraco_bots.random_bot:RandomBot",
}
"""Names of bots and their addresses; other distributions cannot take these names."""


class UnknownBot(Exception):
    """There is no such bot. The message lists the known ones, or says what is wrong with the address."""


def list_addresses() -> dict[str, str]:
    """Return the address `module:attribute` of every bot known by name, in alphabetical order of names."""
    found = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)} | BUILT_IN
    return dict(sorted(found.items()))


def load_factory(bot: str) -> BotFactory:
    """Return the factory of the bot with this name, or at this address `module:attribute`. Raise UnknownBot.

    Modules in the working directory are found too (it is added to `sys.path`): that is where a bot is being written.
    What the module itself raises, except ImportError and TypeError, passes through.
    """
    known = list_addresses()
    module, colon, attribute = known.get(bot, bot).partition(":")
    if not (module and colon and attribute):
        raise UnknownBot(f"there is no bot {bot!r}: known are {', '.join(known)}, or give one as module:Class")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        factory: BotFactory | None = getattr(importlib.import_module(module), attribute, None)
    except (ImportError, TypeError) as error:
        raise UnknownBot(f"there is no bot {bot!r}: {error}") from error
    if not callable(factory):
        raise UnknownBot(f"there is no bot {bot!r}: {attribute!r} in {module!r} does not make bots")
    return factory


def player_name(bot: str, suffix: str = "") -> str:
    """Return the name that a bot takes at a table, cut to the longest allowed: its own, or the class of its address.

    >>> player_name("my_bots:Patient", " 2")
    'Patient 2'
    """
    return bot.rpartition(":")[2][: MAX_PLAYER_NAME - len(suffix)] + suffix
