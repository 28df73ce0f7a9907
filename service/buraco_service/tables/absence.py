"""Absence for want of a stream: who is absent when, and back when.

At a table with `absent_after`, each taken seat of a running match has a lease in the store (see `presence`) that says
when its player is absent unless seen before. It is there before the change from which it counts: whatever is killed
in between, no seat is left out. Any replica makes seats absent by compare-and-swap, and then ends their leases.
"""

from collections.abc import Collection

from buraco_service import errors
from buraco_service.tables.changes import Change, SeatAbsent
from buraco_service.tables.repository import TableRepository
from buraco_service.tables.state import TableState, TableValue


def become_absent(table: TableValue, seats: Collection[int], now: float) -> Change | None:
    """Return what makes players absent who were not seen for the table's time; None if no such player is there."""
    if not table.options.absent_after or table.state is not TableState.PLAYING:
        return None
    due = [
        number
        for number, seat in enumerate(table.seats)
        if number in seats and seat.token_id and not seat.unseen and not table.bot_level(number)
    ]
    if not due:
        return None
    after = [seat._replace(unseen=True) if number in due else seat for number, seat in enumerate(table.seats)]
    return Change(table.advanced(now, seats=tuple(after)), due[0], [SeatAbsent(seat) for seat in due])


async def carry_out_absence(repository: TableRepository, table_id: str, over: float, now: float) -> bool:
    """Make the seats of a table absent whose time was over at `over`, and return whether this replica did it.

    Raise StoreError, and ApiError for a table that cannot be read.
    """
    store = repository.store
    try:
        table = await repository.get(table_id)
    except errors.ApiError as error:
        if error.reason != "TABLE_NOT_FOUND":
            raise
        await store.end_presence(table_id, over)
        return False
    # Read after the table: what makes a player count as seen again is written before the table is changed.
    leases = await store.presence([table_id])
    lapsed = [lease.seat for lease in leases if lease.absent_at is not None and lease.absent_at <= over]
    change = become_absent(table, lapsed, now)
    if change is not None:
        made = await repository.change_unasked(
            table_id, lambda newest: change if newest.revision == table.revision else None, by_clock=True
        )
        if made is None:
            return False  # another change came first: decided anew at the next look
    await store.end_presence(table_id, over)
    return change is not None
