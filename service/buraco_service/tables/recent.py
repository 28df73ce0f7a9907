"""What this replica remembers of tables: a copy to work on, never the truth.

A change made on an outdated copy is refused by the store's compare-and-swap, and the table is read again. That goes by
the revision alone. So a copy has to be forgotten before its table can have been removed and, by a repeat of the request
that created it, been created anew.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from buraco_service.tables.entries import Entry
from buraco_service.tables.state import TableValue

MAX_TABLES: Final = 4096
MAX_ENTRIES: Final = 32


class RecentTables:
    """The tables used last, each with its newest changes as far as they were made here.

    A table that has not changed for `longest` seconds is not among them.
    """

    def __init__(
        self, most: int = MAX_TABLES, *, longest: float = math.inf, clock: Callable[[], float] = time.time
    ) -> None:
        self._most = most
        self._longest = longest
        self._clock = clock
        self._tables: OrderedDict[str, tuple[TableValue, dict[int, Entry]]] = OrderedDict()

    def get(self, table_id: str) -> TableValue | None:
        """The copy of a table, perhaps outdated; None if there is none."""
        found = self._found(table_id)
        if found is None:
            return None
        self._tables.move_to_end(table_id)
        return found[0]

    def put(self, table: TableValue, entry: Entry | None = None) -> None:
        """Remember a table as read, or as changed by `entry`. An older revision never replaces a newer one."""
        found = self._found(table.id)
        entries: dict[int, Entry] = {} if found is None else found[1]
        if entry is not None:
            entries[entry.revision] = entry
            if len(entries) > MAX_ENTRIES:
                del entries[min(entries)]
        if found is None or found[0].revision < table.revision:
            self._tables[table.id] = (table, entries)
        self._tables.move_to_end(table.id)
        if len(self._tables) > self._most:
            self._tables.popitem(last=False)

    def forget(self, table_id: str) -> None:
        """Drop the copy of a table."""
        self._tables.pop(table_id, None)

    def entries_after(self, table_id: str, revision: int) -> list[Entry]:
        """Changes that follow a revision without a gap, as far as they were made here; perhaps none."""
        found = self._found(table_id)
        following: list[Entry] = []
        while found is not None and (entry := found[1].get(revision + 1)) is not None:
            revision += 1
            following.append(entry)
        return following

    def _found(self, table_id: str) -> tuple[TableValue, dict[int, Entry]] | None:
        found = self._tables.get(table_id)
        if found is not None and self._clock() - found[0].updated_at > self._longest:
            del self._tables[table_id]
            return None
        return found
