"""Finding tables by what they are like, in pages of bounded work: no call makes a replica read all of them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from buraco_service.stores.base import StoredTable
from buraco_service.tables.state import TableAccess, TableState, TableValue
from buraco_service.tables.stored import parse_table

READ_AT_ONCE: Final = 500
_READS: Final = 2
"""Bounds of the tables that are read for one page."""


class Wanted(NamedTuple):
    """What tables are to be found: those for which all of it holds."""

    state: TableState | None = None
    rule_set_id: str = ""
    free_seats: int = 0
    """At least so many that a player could take."""
    access: TableAccess | None = None
    min_stake: int = 0
    max_stake: int | None = None
    updated_after: float | None = None
    """Seconds since the epoch."""
    player_id: str = ""
    """With a seat of this player."""

    @property
    def is_any(self) -> bool:
        """Return True if nothing but the state matters, by which stores list tables."""
        return self == Wanted(self.state)

    def may_be(self, stored: StoredTable) -> bool:
        """Return False for a table that can be passed over without being parsed."""
        if self.updated_after is not None and stored.updated_at <= self.updated_after:
            return False
        # An id that is not among the bytes is at no seat.
        return not self.player_id or self.player_id.encode() in stored.state

    def matches(self, table: TableValue) -> bool:
        """Return True if the table is wanted."""
        return (
            (not self.rule_set_id or table.rules.id == self.rule_set_id)
            and len(table.free_seats) >= self.free_seats
            and (self.access is None or table.options.access is self.access)
            and table.stake >= self.min_stake
            and (self.max_stake is None or table.stake <= self.max_stake)
            and (self.updated_after is None or table.updated_at > self.updated_after)
            and (not self.player_id or self.player_id in [seat.player_id for seat in table.seats])
        )


ReadPage = Callable[[str | None, int, str | None], Awaitable[Sequence[StoredTable]]]
"""`Store.list_tables`."""


async def find_tables(read_page: ReadPage, wanted: Wanted, limit: int, after: str) -> tuple[list[TableValue], str]:
    """Return some wanted tables, at most `limit`, in order of their ids, all of which are behind `after`; and the id
    behind which to go on, empty if there are no more.
    """
    status = None if wanted.state is None else wanted.state.status
    at_once = limit + 1 if wanted.is_any else READ_AT_ONCE
    found: list[TableValue] = []
    for _ in range(_READS):
        page = await read_page(status, at_once, after or None)
        for stored in page:
            if len(found) == limit:
                return found, after
            after = stored.table_id
            if not is_table(stored) or not wanted.may_be(stored):
                continue
            table = parse_table(stored.state, stored.revision)
            if wanted.matches(table):
                found.append(table)
        if len(page) < at_once:
            return found, ""
    return found, after


QUICK_JOIN_STATUS: Final = "quick_join"
"""The status of what is stored of a QuickJoin, which is no table."""


def is_table(stored: StoredTable) -> bool:
    """Return False for what is stored among tables and is none."""
    return stored.status != QUICK_JOIN_STATUS
