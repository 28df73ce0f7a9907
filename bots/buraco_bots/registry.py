"""Bots by name: the built-in ones, those that other distributions add, and any class by its address.

A distribution adds a bot through an entry point of the group `buraco.bots`:

    [project.entry-points."buraco.bots"]
    mine = "my_package.my_module:MyBot"

The entry point is whatever makes a bot of a seeded `random.Random`.
"""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import entry_points
from pathlib import Path

from buraco_bots.bot import BotFactory

ENTRY_POINTS = "buraco.bots"
_MAX_NAME = 64

BUILT_IN = {
    "greedy": "buraco_bots.greedy:GreedyBot",
    "random": "buraco_bots.random_bot:RandomBot",
}
"""Name -> address. These names cannot be taken by others."""


class UnknownBot(Exception):
    """There is no such bot. The message says what there is, or what is wrong with the address."""


def addresses() -> dict[str, str]:
    """All bots known by name, in alphabetical order: name -> `module:attribute`."""
    found = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)} | BUILT_IN
    return dict(sorted(found.items()))


def load(bot: str) -> BotFactory:
    """What makes the bot of this name, or at this address `module:attribute`. Raises UnknownBot.

    Modules in the working directory are found too: that is where a bot is being written.
    """
    known = addresses()
    address = known.get(bot, bot)
    module, colon, attribute = address.partition(":")
    if not (module and colon and attribute):
        raise UnknownBot(f"there is no bot {bot!r}: known are {', '.join(known)}, or give one as module:Class")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = importlib.import_module(module)
    except (ImportError, TypeError) as error:
        raise UnknownBot(f"there is no bot {bot!r}: {error}") from error
    factory = getattr(found, attribute, None)
    if not callable(factory):
        raise UnknownBot(f"there is no bot {bot!r}: {attribute!r} in {module!r} is nothing that makes bots")
    made: BotFactory = factory
    return made


def player_name(bot: str, suffix: str = "") -> str:
    """Return the name under which a bot takes a seat: its own, or the class of its address, cut to the longest allowed.

    >>> player_name("my_bots:Patient", " 2")
    'Patient 2'
    """
    return bot.rpartition(":")[2][: _MAX_NAME - len(suffix)] + suffix
