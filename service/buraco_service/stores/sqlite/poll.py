"""Polling of the database file for commits of other processes, while a table has subscriptions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping

from buraco_service.stores.base import StoreUnavailable

POLL_INTERVAL = 0.025
"""Seconds between two polls, the most by which others' commits are noticed late."""


class ForeignCommits:
    """Finds other processes' commits to the watched tables, as long as there are any.

    `data_version` returns a number that changes with other processes' commits; `changed_revisions` then returns which
    tables have another revision than the known one (None: no table), and `notify` is called with each of these.
    StoreUnavailable from either is ignored until the next poll; any other error ends polling until the next `watch`.
    """

    def __init__(
        self,
        data_version: Callable[[], Awaitable[int]],
        changed_revisions: Callable[[Mapping[str, int | None]], Awaitable[list[tuple[str, int | None]]]],
        notify: Callable[[str, int | None], None],
    ) -> None:
        self._data_version = data_version
        self._changed_revisions = changed_revisions
        self._notify = notify
        self._known: dict[str, int | None] = {}
        self._has_new_tables = False
        self._task: asyncio.Task[None] | None = None

    def watch(self, table_id: str) -> None:
        """Poll for this table from now on. The first poll finds it changed, if it exists: no revision is known yet."""
        self._known[table_id] = None
        self._has_new_tables = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._poll())

    def unwatch(self, table_id: str) -> None:
        """Stop polling for a table that is watched; watches are not counted. Raise KeyError for another."""
        del self._known[table_id]

    def note_own_commit(self, table_id: str, revision: int | None) -> None:
        """Take in the revision that this process gave the table (None: removed it), so that no poll finds it."""
        if table_id in self._known:
            self._known[table_id] = revision

    async def stop(self) -> None:
        """Stop polling."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _poll(self) -> None:
        seen: int | None = None
        while self._known:
            # If the store is unavailable, poll again: subscribers learn of the trouble when they read.
            with contextlib.suppress(StoreUnavailable):
                seen = await self._look(seen)
            await asyncio.sleep(POLL_INTERVAL)

    async def _look(self, seen: int | None) -> int:
        """Notify of the tables that changed, and return the data version up to which all changes are found."""
        # The version comes first: a commit between the two queries is found now or again next time, but never missed.
        version = await self._data_version()
        if version == seen and not self._has_new_tables:
            return version
        self._has_new_tables = False
        try:
            changed = await self._changed_revisions(self._known.copy())
        except StoreUnavailable:
            self._has_new_tables = True
            raise
        for table_id, revision in changed:
            if table_id in self._known:
                self._known[table_id] = revision
                self._notify(table_id, revision)
        return version
