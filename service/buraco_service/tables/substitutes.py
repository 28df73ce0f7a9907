"""Bots at tables: they take the seats that are kept for them, and play for absent players.

A substitute has a token of its own, and the player keeps the seat. Whatever makes the player present again ends the
substitution in the same commit (`settle_substitutes`), so that of two moves made at once, the player's and the bot's,
one finds the other committed. A substitute plays only while some player is there: when all are absent, the clock stands
still and substitutions end, or bots would play on for nobody.
"""

from buraco_service import errors
from buraco_service.tables import changes
from buraco_service.tables.changes import Change, SeatReturned, SubstituteJoined, SubstituteLeft, TableEvent
from buraco_service.tables.state import TableState, TableValue


def awaited_bot(table: TableValue, seat: int) -> str:
    """Return the level of the bot that a seat waits for; empty if it waits for none."""
    held, level = table.seats[seat], table.bot_level(seat)
    if table.state is TableState.FINISHED:
        return ""
    if level:
        return "" if held.token_id else level
    can_be_played = table.is_absent(seat) and not held.substitute_token_id and not table.is_deserted
    return table.options.substitute_level if can_be_played else ""


def join_as_bot(
    table: TableValue, seat: int | None, name: str, entropy: bytes, token_id: str, now: float, level: str
) -> Change:
    """Let a bot take a seat that waits for one of its level (None: the first), or play there for its absent player.

    Seats that are kept for bots come first. Raise TABLE_FINISHED, NO_BOT_WANTED, SEAT_TAKEN by another bot, or
    INVALID_ARGUMENT for a seat that the table does not have.
    """
    changes.check_unfinished(table)
    wanted = [number for number in range(len(table.seats)) if awaited_bot(table, number) == level]
    if seat is not None:
        changes.check_seat(table, seat)
        held = table.seats[seat]
        holder = held.token_id if table.bot_level(seat) else held.substitute_token_id
        if holder and level == (table.bot_level(seat) or table.options.substitute_level):
            raise errors.failed_precondition("SEAT_TAKEN", "another bot has the seat", {"seat": str(seat)})
        wanted = [number for number in wanted if number == seat]
    if not wanted:
        raise errors.failed_precondition("NO_BOT_WANTED", "no such seat waits for a bot of this level")
    found = min(wanted, key=lambda number: not table.bot_level(number))
    if table.bot_level(found):
        return changes.join(table, found, name, entropy, token_id, now, bot_level=level)
    seats = changes.replace_seat(table, found, table.seats[found]._replace(substitute_token_id=token_id))
    return Change(table.advanced(now, seats=seats), found, [SubstituteJoined(found, level)], by_substitute=True)


def leave_as_substitute(table: TableValue, seat: int, now: float) -> Change:
    """Let the bot that plays for the seat's player go. Raise TABLE_FINISHED."""
    changes.check_unfinished(table)
    return Change(_without(table.advanced(now), seat), seat, [SubstituteLeft(seat)], by_substitute=True)


def settle_substitutes(change: Change, *, by_clock: bool) -> Change:
    """Return a change of a running match, whose time is kept, with the substitutions ended that it ends.

    These are those of players who are there again, all if no player is there any more, and that of a bot for which the
    clock had to finish the turn: another one may come. After the match they stay: who played may see its end.
    """
    table, ended = change.table, list[TableEvent]()
    if table.state is not TableState.PLAYING:
        return change
    for number, seat in enumerate(table.seats):
        if not seat.substitute_token_id:
            continue
        if not table.is_absent(number):
            table = _without(table, number)
            if SeatReturned(number) not in change.events:
                ended.append(SeatReturned(number))
        elif table.is_deserted or (by_clock and change.moves and change.seat == number):
            table = _without(table, number)
            ended.append(SubstituteLeft(number))
    return change if table is change.table else change._replace(table=table, events=[*ended, *change.events])


def _without(table: TableValue, seat: int) -> TableValue:
    return table._replace(seats=changes.replace_seat(table, seat, table.seats[seat]._replace(substitute_token_id="")))
