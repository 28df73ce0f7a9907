"""The return of players who were absent for want of a stream, and from when on the time of others counts."""

from buraco_service.stores.base import Lease
from buraco_service.tables.changes import Change, SeatReturned, replace_seat
from buraco_service.tables.state import TableState, TableValue


def end_absence(change: Change) -> Change:
    """Return a change by a player of a table with `absent_after`: who does something is not absent."""
    table, number = change.table, change.seat
    seat = table.seats[number]
    if not seat.unseen or table.state is not TableState.PLAYING:
        return change
    seats = replace_seat(table, number, seat._replace(unseen=False))
    events = change.events
    if SeatReturned(number) not in events:
        events = [SeatReturned(number), *events]
    return change._replace(table=table._replace(seats=seats), events=events)


def first_leases(before: TableValue, after: TableValue) -> list[Lease]:
    """Return leases that say when players are absent whose time begins to count with a change.

    That is when the match starts, and when a player takes a seat of a running match or comes back to it.
    """
    if after.seats is before.seats or after.state is not TableState.PLAYING:
        return []
    absent_at = after.updated_at + after.options.absent_after
    return [
        Lease(after.id, number, None, absent_at)
        for number, (old, new) in enumerate(zip(before.seats, after.seats, strict=True))
        if new.token_id
        and not new.unseen
        and not after.bot_level(number)
        and (old.unseen or old.token_id != new.token_id or before.state is not TableState.PLAYING)
    ]
