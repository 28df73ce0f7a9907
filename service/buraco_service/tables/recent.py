"""What this replica remembers of tables: a copy to work on, never the truth.

A change made on an outdated copy is refused by the store's compare-and-swap, and the table is read again. That goes by
the revision alone. So a copy has to be forgotten before its table can have been removed and, by a repeat of the request
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
"""Bytes that a copy takes at most, beside those for each byte of its stored state, and an entry of ten texts beside
what is in them.
"""


class _Copy:
    """A table with its newest changes, and the bytes that they take."""

    __slots__ = ("entries", "entries_size", "table", "table_size")

    def __init__(self, table: TableValue, table_size: int) -> None:
        self.table = table
        self.table_size = table_size
        self.entries: dict[int, tuple[Entry, int]] = {}
        """By revision, with their sizes; the oldest first."""
        self.entries_size = 0

    def add(self, entry: Entry) -> None:
        """Keep a change, and of all only the newest."""
        size = _ENTRY_SIZE + sum(map(len, entry.events)) + sum(map(len, entry.moves))
        if entry.revision in self.entries:
            self.entries_size -= self.entries.pop(entry.revision)[1]
        self.entries[entry.revision] = entry, size
        self.entries_size += size
        if len(self.entries) > MAX_ENTRIES:
            self.entries_size -= self.entries.pop(next(iter(self.entries)))[1]


class RecentTables:
    """The tables used last, in `most` bytes, each with its newest changes as far as they were made here.

    A table that has not changed for `longest` seconds is not among them.
    """

    def __init__(
        self, most: int = MAX_BYTES, *, longest: float = math.inf, clock: Callable[[], float] = time.time
    ) -> None:
        self._longest = longest
        self._clock = clock
        self._copies = SizedCache[str, _Copy](most)

    def get(self, table_id: str) -> TableValue | None:
        """The copy of a table, perhaps outdated; None if there is none."""
        copy = self._found(table_id)
        return None if copy is None else copy.table

    def put(self, table: TableValue, state_size: int, entry: Entry | None = None) -> None:
        """Remember a table as read, or as changed by `entry`. An older revision never replaces a newer one.

        `state_size` is the length of the table's stored state. A finished table is not kept: few ask for it again.
        """
        if table.state is TableState.FINISHED:
            self.forget(table.id)
            return
        table_size = _TABLE_SIZE + _SIZE_A_BYTE * state_size
        copy = self._found(table.id)
        if copy is None:
            copy = _Copy(table, table_size)
        elif copy.table.revision < table.revision:
            copy.table, copy.table_size = table, table_size
        if entry is not None:
            copy.add(entry)
        self._copies.put(table.id, copy, copy.table_size + copy.entries_size)

    def forget(self, table_id: str) -> None:
        """Drop the copy of a table."""
        self._copies.drop(table_id)

    def entries_after(self, table_id: str, revision: int) -> list[Entry]:
        """Changes that follow a revision without a gap, as far as they were made here; perhaps none."""
        copy = self._found(table_id)
        following: list[Entry] = []
        while copy is not None and (found := copy.entries.get(revision + 1)) is not None:
            revision += 1
            following.append(found[0])
        return following

    def _found(self, table_id: str) -> _Copy | None:
        copy = self._copies.get(table_id)
        if copy is not None and self._clock() - copy.table.updated_at > self._longest:
            self._copies.drop(table_id)
            return None
        return copy
