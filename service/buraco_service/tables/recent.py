"""The tables that this replica has cached: copies to work on, never the truth.

A change made on an outdated copy is refused by the store's compare-and-swap, and the table is read again. That goes by
the revision alone. So a copy has to be dropped before its table can have been removed and, by a repeat of the request
that created it, been created anew.
"""

import math
import time
from collections.abc import Callable
from typing import Final

from buraco_service.sized_cache import SizedCache
from buraco_service.tables.entries import Entry
from buraco_service.tables.state import TableState, TableValue

MAX_BYTES: Final = 32 << 20
"""Room for about 1,300 tables in play: as many as keep one process busy where people play."""
MAX_ENTRIES: Final = 32

_TABLE_SIZE: Final = 2048
_SIZE_A_BYTE: Final = 10
_ENTRY_SIZE: Final = 768
_VIEW_SIZE: Final = 128
"""Bytes that a copy takes at most beside those for each byte of its stored state, an entry of ten events and a view
beside their bytes.
"""


class _Copy:
    """A table with its newest changes, and the bytes that they take."""

    __slots__ = ("entries", "entries_size", "table", "table_size", "views", "views_size")

    def __init__(self, table: TableValue, table_size: int) -> None:
        self.table = table
        self.table_size = table_size
        self.entries: dict[int, tuple[Entry, int]] = {}
        """By revision, with their sizes; the oldest first."""
        self.entries_size = 0
        self.views: dict[tuple[int | None, tuple[int, ...]], bytes] = {}
        """Of the table at this revision, by seat; the public one under None."""
        self.views_size = 0

    @property
    def size(self) -> int:
        """Return the bytes of it all."""
        return self.table_size + self.entries_size + self.views_size

    def replace(self, table: TableValue, table_size: int) -> None:
        """Go on to a newer revision."""
        self.table, self.table_size = table, table_size
        if self.views:
            self.views, self.views_size = {}, 0

    def add(self, entry: Entry) -> None:
        """Keep a change; drop the oldest if there are too many."""
        size = _ENTRY_SIZE + sum(map(len, entry.events))
        if entry.revision in self.entries:
            self.entries_size -= self.entries.pop(entry.revision)[1]
        self.entries[entry.revision] = entry, size
        self.entries_size += size
        if len(self.entries) > MAX_ENTRIES:
            self.entries_size -= self.entries.pop(next(iter(self.entries)))[1]


class RecentTables:
    """The tables used last, in `max_bytes`, each with its newest changes as far as they were made here.

    A table that has not changed for `max_age` seconds is not among them.
    """

    def __init__(
        self, max_bytes: int = MAX_BYTES, *, max_age: float = math.inf, clock: Callable[[], float] = time.time
    ) -> None:
        self._max_age = max_age
        self.clock = clock
        self._copies = SizedCache[str, _Copy](max_bytes)

    def get(self, table_id: str) -> TableValue | None:
        """Return the copy of a table, perhaps outdated; None if there is none."""
        copy = self._find(table_id)
        return None if copy is None else copy.table

    def put(self, table: TableValue, state_size: int, entry: Entry | None = None) -> None:
        """Cache a table as read, or as changed by `entry`. An older revision never replaces a newer one.

        `state_size` is the length of the table's stored state. A finished table is not kept: few ask for it again.
        """
        if table.state is TableState.FINISHED:
            self.drop(table.id)
            return
        table_size = _TABLE_SIZE + _SIZE_A_BYTE * state_size
        copy = self._find(table.id)
        if copy is None:
            copy = _Copy(table, table_size)
        elif copy.table.revision < table.revision:
            copy.replace(table, table_size)
        if entry is not None:
            copy.add(entry)
        self._copies.put(table.id, copy, copy.size)

    def view(
        self, table: TableValue, seat: int | None, present: tuple[int, ...], make: Callable[[], bytes | None]
    ) -> bytes | None:
        """Return what `make` makes of the table for a seat (None: the public view), made once while it is cached.

        `present` are the seats at which a player is seen, which the view shows, too.
        """
        copy = self._find(table.id)
        if copy is None or copy.table is not table:
            return make()
        view = copy.views.get((seat, present))
        if view is None:
            view = make()
            if view is not None:
                copy.views[seat, present] = view
                copy.views_size += _VIEW_SIZE + len(view)
                self._copies.put(table.id, copy, copy.size)
        return view

    def drop(self, table_id: str) -> None:
        """Drop the copy of a table."""
        self._copies.drop(table_id)

    def entries_after(self, table_id: str, revision: int) -> list[Entry]:
        """Return the changes that follow a revision without a gap, as far as they were made here; perhaps none."""
        copy = self._find(table_id)
        following: list[Entry] = []
        while copy is not None and (found := copy.entries.get(revision + 1)) is not None:
            revision += 1
            following.append(found[0])
        return following

    def _find(self, table_id: str) -> _Copy | None:
        copy = self._copies.get(table_id)
        if copy is not None and self.clock() - copy.table.updated_at > self._max_age:
            self._copies.drop(table_id)
            return None
        return copy
