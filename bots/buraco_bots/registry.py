"""Bots by name: the built-in ones, those of other distributions, any class by its address, and any program.

A distribution adds a bot through an entry point of the group `buraco.bots`:

    [project.entry-points."buraco.bots"]
    mine = "my_package.my_module:MyBot"

The entry point makes a bot from a seeded `random.Random`; usually it is the bot's class.
"""

from __future__ import annotations

import importlib
import inspect
import shlex
import shutil
import sys
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from buraco_bots.bot import BotFactory, sees_all
from buraco_bots.programs import ProgramFactory, program_name

ENTRY_POINTS = "buraco.bots"
PROGRAM: Final = "exec:"
"""What the command of a program follows."""
MAX_PLAYER_NAME = 64
"""Characters."""

BUILT_IN = {
    "cheater": "buraco_bots.search.cheater:CheaterBot",
    "greedy": "buraco_bots.greedy:GreedyBot",
    "planner": "buraco_bots.planner:PlannerBot",
    "random": "buraco_bots.random_bot:RandomBot",
    "search": "buraco_bots.search.player:SearchBot",
}
"""Names of bots and their addresses; other distributions cannot take these names."""


class UnknownBot(Exception):
    """There is no such bot. The message lists the known ones, or what is wrong with the address or the parameters."""


@dataclass(frozen=True, slots=True)
class KnownBot:
    """A bot known by name."""

    name: str
    address: str
    """As `module:attribute`."""
    description: str
    """How it plays: the first paragraph of its docstring; in place of that, why it cannot be loaded."""
    sees_all: bool
    """It sees all cards, and so plays in an arena without `--server` alone."""


def list_addresses() -> dict[str, str]:
    """Return the address `module:attribute` of every bot known by name, in alphabetical order of names."""
    found = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)} | BUILT_IN
    return dict(sorted(found.items()))


def list_bots() -> list[KnownBot]:
    """Return all bots known by name, in alphabetical order. One that cannot be loaded is among them."""
    return [_describe(name, address) for name, address in list_addresses().items()]


def _describe(name: str, address: str) -> KnownBot:
    try:
        factory = load_factory(name)
    except Exception as error:  # noqa: BLE001 - a module of another distribution may raise any
        return KnownBot(name, address, f"cannot be loaded: {error}", sees_all=False)
    paragraph = (factory.__doc__ or "").strip().partition("\n\n")[0]
    return KnownBot(name, address, " ".join(paragraph.split()), sees_all(factory))


def load_table_factory(bot: str) -> BotFactory:
    """Return the factory of a bot for a table, as `load_factory` does. Raise UnknownBot if it sees all cards, too."""
    factory = load_factory(bot)
    if sees_all(factory):
        raise UnknownBot(
            f"there is no bot {bot!r} at tables: it sees all cards, which only `arena` without --server shows"
        )
    return factory


def load_factory(bot: str) -> BotFactory:
    """Return the factory of a bot: of this name, at this address `module:attribute`, or of a program `exec:COMMAND`.

    What follows a `?`, as in `mine?depth=2&style=bold`, are parameters for the factory: numbers and words. Modules in
    the working directory are found too (it is added to `sys.path`): that is where a bot is being written. Raise
    UnknownBot. What the module itself raises, except ImportError and TypeError, passes through.
    """
    address, _, query = bot.partition("?")
    factory = _load_program(address) if address.startswith(PROGRAM) else _load_class(address)
    parameters = _read_parameters(bot, query)
    if not parameters:
        return factory
    _, *accepted = inspect.signature(factory).parameters.values()
    if not any([parameter.kind is parameter.VAR_KEYWORD for parameter in accepted]):
        names = [parameter.name for parameter in accepted]
        for name in parameters.keys() - set(names):
            raise UnknownBot(
                f"there is no bot {bot!r}: {name!r} is none of its parameters ({', '.join(names) or 'it has none'})"
            )
    return partial(factory, **parameters)


def _load_class(address: str) -> BotFactory:
    known = list_addresses()
    module, colon, attribute = known.get(address, address).partition(":")
    if not (module and colon and attribute):
        raise UnknownBot(
            f"there is no bot {address!r}: known are {', '.join(known)}, or give one as module:Class or exec:COMMAND"
        )
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        factory: BotFactory | None = getattr(importlib.import_module(module), attribute, None)
    except (ImportError, TypeError) as error:
        raise UnknownBot(f"there is no bot {address!r}: {error}") from error
    if not callable(factory):
        raise UnknownBot(f"there is no bot {address!r}: {attribute!r} in {module!r} does not make bots")
    return factory


def _load_program(address: str) -> BotFactory:
    try:
        command = shlex.split(address.removeprefix(PROGRAM))
    except ValueError as error:
        raise UnknownBot(f"there is no bot {address!r}: {error}") from None
    if not command or shutil.which(command[0]) is None:
        raise UnknownBot(f"there is no bot {address!r}: {command[0] if command else ''!r} is no program")
    return ProgramFactory(command)


def _read_parameters(bot: str, query: str) -> dict[str, float | str]:
    """Return the parameters after the `?` of a bot. Raise UnknownBot if they cannot be read."""
    parameters: dict[str, float | str] = {}
    for item in query.split("&") if query else ():
        name, equals, value = item.partition("=")
        if not (name.isidentifier() and equals) or name in parameters:
            raise UnknownBot(f"there is no bot {bot!r}: parameters are given as name=value, each once, not {item!r}")
        parameters[name] = _read_value(value)
    return parameters


def _read_value(text: str) -> float | str:
    try:
        number = float(text)
        return int(text) if number.is_integer() and text.lstrip("-").isdigit() else number
    except ValueError:
        return text


def player_name(bot: str, suffix: str = "") -> str:
    """Return the name that a bot takes at a table, cut to the longest allowed: its own, or the class of its address.

    >>> player_name("my_bots:Patient", " 2")
    'Patient 2'
    >>> player_name("exec:node clever.mjs?depth=3")
    'clever?depth=3'
    """
    address, question, query = bot.partition("?")
    if address.startswith(PROGRAM):
        name = program_name(shlex.split(address.removeprefix(PROGRAM)))
    else:
        name = address.rpartition(":")[2]
    return (name + question + query)[: MAX_PLAYER_NAME - len(suffix)] + suffix
