"""The options of CreateTable, validated and with the values that hold in place of those left out."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, TypeVar

from google.protobuf.duration_pb2 import Duration

from buraco.v1 import table_pb2
from buraco_codec.fields import has_unknown_fields
from buraco_service.access.player_tokens import is_player_id
from buraco_service.requests import RequestProblems
from buraco_service.serving.bot_options import read_bot_seats, read_substitute_level
from buraco_service.tables.state import ChatMode, SpectatorPolicy, TableAccess, TableOptions

MIN_TURN_TIME: Final = 5.0
MAX_TURN_TIME: Final = 86_400.0
MAX_CONFIRMATION_TIME: Final = 600.0
MAX_ABSENT_AFTER_TURNS: Final = 100
MAX_SPECTATOR_DELAY: Final = 3600
DEFAULT_ABSENT_AFTER_TURNS: Final = 3
MAX_PLAYER_IDS: Final = 64
MIN_ABSENT_AFTER: Final = 10.0
MAX_ABSENT_AFTER: Final = 86_400.0
_Choice = TypeVar("_Choice", bound=IntEnum)
_WITHOUT_CLOCK: Final = "only with a turn_time"


def read_options(options: table_pb2.TableOptions, seats: int, problems: RequestProblems) -> TableOptions:
    """Return what the creator of a table with so many seats chose; add a problem for each option that cannot be."""
    problems.check("options", not has_unknown_fields(options), "asks for what this version does not know")
    times = _read_times(options, problems)
    access, player_ids = _read_access(options, problems)
    delay = _read_delay(options, problems)
    return times._replace(
        access=access,
        player_ids=player_ids,
        substitute_level=read_substitute_level(options, problems),
        spectators=_read_choice("spectators", options.spectators, SpectatorPolicy, SpectatorPolicy.ALLOWED, problems),
        spectator_delay=delay,
        chat=_read_choice("chat", options.chat, ChatMode, ChatMode.ALL, problems),
        bot_levels=read_bot_seats(options, seats, problems),
    )


def _read_delay(options: table_pb2.TableOptions, problems: RequestProblems) -> float:
    """Return by how many seconds spectators lag."""
    given = options.spectator_delay
    delay = given.seconds + given.nanos / 1e9
    bounds = f"0 to {MAX_SPECTATOR_DELAY} whole seconds"
    problems.check(("options", "spectator_delay"), given.nanos == 0 and 0 <= delay <= MAX_SPECTATOR_DELAY, bounds)
    if delay and options.spectators == table_pb2.SPECTATOR_POLICY_NONE:
        problems.add(("options", "spectator_delay"), "only where spectators are allowed")
    return delay


def _read_choice(name: str, given: int, choices: type[_Choice], default: _Choice, problems: RequestProblems) -> _Choice:
    """Return the choice with this number, 0 being the default; add a problem if there is none."""
    known = given in (0, *choices)
    problems.check(("options", name), known, f"no value of {name}")
    return choices(given) if given and known else default


def _read_times(options: table_pb2.TableOptions, problems: RequestProblems) -> TableOptions:
    """Return what a creator chose of the clock and of absence; the other options have their defaults."""
    turn_time = _read_time("turn_time", options.turn_time, MIN_TURN_TIME, MAX_TURN_TIME, problems)
    reserve_time = _read_time("reserve_time", options.reserve_time, 0.0, MAX_TURN_TIME, problems)
    confirmation_time = _read_time("confirmation_time", options.confirmation_time, 0.0, MAX_CONFIRMATION_TIME, problems)
    absent_after = options.absent_after_turns
    problems.check(
        ("options", "absent_after_turns"), absent_after <= MAX_ABSENT_AFTER_TURNS, f"at most {MAX_ABSENT_AFTER_TURNS}"
    )
    problems.check(("options", "absence"), options.absence in table_pb2.AbsencePolicy.values(), "no policy")
    unseen_time = _read_time("absent_after", options.absent_after, MIN_ABSENT_AFTER, MAX_ABSENT_AFTER, problems)
    problems.check(("options", "absent_after"), options.absent_after.nanos == 0, "whole seconds")
    if not turn_time:
        problems.check(("options", "reserve_time"), not reserve_time, _WITHOUT_CLOCK)
        problems.check(("options", "absent_after_turns"), not absent_after, _WITHOUT_CLOCK)
        has_absence = bool(unseen_time) or not options.absence
        problems.check(("options", "absence"), has_absence, "only with a turn_time or absent_after")
    elif not absent_after:
        absent_after = DEFAULT_ABSENT_AFTER_TURNS
    return TableOptions(turn_time, reserve_time, confirmation_time, absent_after, absent_after=unseen_time)


def _read_access(options: table_pb2.TableOptions, problems: RequestProblems) -> tuple[TableAccess, tuple[str, ...]]:
    """Return who may join; add a problem for what cannot be."""
    known = int(options.access) in (0, *TableAccess)
    problems.check(("options", "access"), known, "no access")
    access = TableAccess(int(options.access) or TableAccess.PUBLIC) if known else TableAccess.PUBLIC
    player_ids = tuple(dict.fromkeys(options.player_ids))
    path = ("options", "player_ids")
    if access is TableAccess.PLAYERS:
        problems.check(path, 1 <= len(player_ids) <= MAX_PLAYER_IDS, f"1 to {MAX_PLAYER_IDS} players")
        for index, player_id in enumerate(player_ids[:MAX_PLAYER_IDS]):
            problems.check((*path, index), is_player_id(player_id), "no id of a player")
    else:
        problems.check(path, not player_ids, "only with access PLAYERS")
    return access, player_ids


def _read_time(name: str, given: Duration, least: float, most: float, problems: RequestProblems) -> float:
    """Return a time in seconds; add a problem unless it is 0, or from `least` to `most` in whole milliseconds."""
    seconds = given.seconds + given.nanos / 1e9
    holds = given.nanos % 1_000_000 == 0 and (seconds == 0 or least <= seconds <= most)
    bounds = f"{least:g} to {most:g}" if least else f"at most {most:g}"
    problems.check(("options", name), holds, f"0, or {bounds} seconds in whole milliseconds")
    return seconds
