"""What requests ask of bots, validated: their levels, and the seats that are kept for them."""

import re
from typing import Final

from buraco.v1 import table_pb2
from buraco_rules import Path
from buraco_service.requests import RequestProblems

MAX_LEVEL_LENGTH: Final = 32
_LEVEL: Final = re.compile(f"[a-z0-9._-]{{1,{MAX_LEVEL_LENGTH}}}")
_NO_LEVEL: Final = f"1 to {MAX_LEVEL_LENGTH} of a-z, 0-9, `.`, `_` and `-`"


def read_level(path: Path, sent: str, problems: RequestProblems) -> str:
    """Return the name of a level; add a problem and return "" if it is none."""
    if _LEVEL.fullmatch(sent):
        return sent
    problems.add(path, _NO_LEVEL)
    return ""


def read_bot_seats(options: table_pb2.TableOptions, seats: int, problems: RequestProblems) -> tuple[str, ...]:
    """Return by seat the level of the bot for which it is kept, () without any; add problems for seats that cannot be.

    `seats` are those of the table.
    """
    levels: dict[int, str] = {}
    for index, bot in enumerate(options.bots[:seats]):
        path = ("options", "bots", index)
        level = read_level((*path, "level"), bot.level, problems)
        problems.check((*path, "seat"), bot.seat < seats, f"0 to {seats - 1}")
        problems.check((*path, "seat"), bot.seat not in levels, "is named twice")
        levels[bot.seat] = level
    problems.check(("options", "bots"), len(options.bots) < seats, "at most all seats but one")
    return tuple([levels.get(seat, "") for seat in range(seats)]) if levels else ()


def read_substitute_level(options: table_pb2.TableOptions, problems: RequestProblems) -> str:
    """Return the level of the bots that play for absent players, "" if none do; add problems for what cannot be."""
    if options.absence == table_pb2.ABSENCE_POLICY_BOT:
        return read_level(("options", "substitute_level"), options.substitute_level, problems)
    problems.check(("options", "substitute_level"), not options.substitute_level, "only with absence policy BOT")
    return ""
