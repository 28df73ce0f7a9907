"""Players who have player tokens: a player has one seat of a table at most, and comes back to it."""

from typing import Final

from buraco_rules import Problem
from buraco_service import errors
from buraco_service.stores.base import Store
from buraco_service.tables.state import TableState, TableValue
from buraco_service.tables.stored import parse_table

_READ_AT_ONCE: Final = 500
_READS: Final = 2
"""Bounds of the tables that are read for one page: no caller makes a replica read them all at once."""


class AlreadySeated(errors.FailedPrecondition):
    """The player has a seat of the table (FAILED_PRECONDITION, ALREADY_SEATED)."""

    def __init__(self, table: TableValue, seat: int) -> None:
        reason = "ALREADY_SEATED"
        message = "a player has one seat of a table, and you have another"
        super().__init__([(reason, message)], metadata={"seat": str(seat)})
        self.table = table
        self.seat = seat


def check_can_join(table: TableValue, player_id: str, player_name: str) -> None:
    """Raise AlreadySeated if the player has a seat of the table, INVALID_ARGUMENT for one without a name."""
    for number, seat in enumerate(table.seats):
        if player_id and seat.player_id == player_id:
            raise AlreadySeated(table, number)
    if not player_name:
        raise errors.invalid_argument(
            [Problem("player_name", "is empty, and the player token has no name that can be shown")]
        )


async def list_tables_of(
    store: Store, player_id: str, state: TableState | None, limit: int, after: str
) -> tuple[list[TableValue], str]:
    """Return some tables where a player has a seat, at most `limit`, in order of their ids, all of which are behind
    `after`; and the id behind which to go on, empty if there are no more.
    """
    status = None if state is None else state.status
    written_id = player_id.encode()
    found: list[TableValue] = []
    for _ in range(_READS):
        page = await store.list_tables(status, _READ_AT_ONCE, after or None)
        for stored in page:
            after = stored.table_id
            # Most tables are passed over unparsed: an id that is not among the bytes is at no seat.
            if written_id not in stored.state:
                continue
            table = parse_table(stored.state, stored.revision)
            if player_id in [seat.player_id for seat in table.seats]:
                found.append(table)
                if len(found) == limit:
                    return found, after
        if len(page) < _READ_AT_ONCE:
            return found, ""
    return found, after
