"""Which seats of a table wait for a bot of a level: those kept for one, and those of absent players."""

from __future__ import annotations

import re
from typing import Final

from buraco.v1 import table_pb2

_LEVEL: Final = re.compile("[a-z0-9._-]{1,32}")


def level_of(bot_name: str) -> str | None:
    """Return the level that tables ask for to get this bot: its name in lower case, without parameters.

    None if that names no level.

    >>> level_of("greedy"), level_of("Patient?depth=2"), level_of("two words")
    ('greedy', 'patient', None)
    """
    level = bot_name.partition("?")[0].lower()
    return level if _LEVEL.fullmatch(level) else None


def seats_for_players(table: table_pb2.Table) -> list[int]:
    """Return the free seats that are not kept for bots."""
    return [seat.seat for seat in table.seats if not seat.player_name and not seat.bot_level]


def seats_for_bots(table: table_pb2.Table, level: str) -> list[int]:
    """Return the seats that wait for a bot of a level: first those kept for one, then those of absent players."""
    kept = [seat.seat for seat in table.seats if seat.bot_level == level and not seat.player_name]
    is_played = table.state == table_pb2.TABLE_STATE_PLAYING and table.options.substitute_level == level
    absent = [seat.seat for seat in table.seats if is_played and seat.absent and not seat.substitute_level]
    return kept + absent
