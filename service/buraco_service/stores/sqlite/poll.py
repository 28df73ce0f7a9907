"""Finds what other processes commit to the same database file, while somebody is interested."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping

from buraco_service.stores.base import StoreUnavailable

POLL_INTERVAL = 0.025
"""Seconds between two looks: by so much others' commits are noticed late."""


class ForeignCommits:
    """Looks for other processes' commits to the tables that are watched, as long as there are any.

    `data_version` answers a number that changes with other processes' commits; `moved_on` is then asked which of the
    tables have another revision than is known (None: no table), and `wake` hears of each and of its revision.
    """

    def __init__(
        self,
        data_version: Callable[[], Awaitable[int]],
        moved_on: Callable[[Mapping[str, int | None]], Awaitable[list[tuple[str, int | None]]]],
        wake: Callable[[str, int | None], None],
    ) -> None:
        self._data_version = data_version
        self._moved_on = moved_on
        self._wake = wake
        self._known: dict[str, int | None] = {}
        self._newcomers = False
        self._task: asyncio.Task[None] | None = None

    def watch(self, table_id: str) -> None:
        """Look after this table from now on. The first look finds it changed: nothing is known of it yet."""
        self._known[table_id] = None
        self._newcomers = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._poll())

    def unwatch(self, table_id: str) -> None:
        """Look after this table no more."""
        del self._known[table_id]

    def committed_here(self, table_id: str, revision: int | None) -> None:
        """This process has brought the table to this revision (None: removed it): nothing to find there."""
        if table_id in self._known:
            self._known[table_id] = revision

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _poll(self) -> None:
        seen: int | None = None
        while self._known:
            # A store in trouble is looked at again. Watchers learn of the trouble when they read.
            with contextlib.suppress(StoreUnavailable):
                seen = await self._look(seen)
            await asyncio.sleep(POLL_INTERVAL)

    async def _look(self, seen: int | None) -> int:
        """Wake the tables that changed; the data version up to which all is found."""
        # The version comes first: a commit between the two questions is found now, or again next time, but not missed.
        version = await self._data_version()
        if version == seen and not self._newcomers:
            return version
        self._newcomers = False
        try:
            changed = await self._moved_on(self._known.copy())
        except StoreUnavailable:
            self._newcomers = True
            raise
        for table_id, revision in changed:
            if table_id in self._known:
                self._known[table_id] = revision
                self._wake(table_id, revision)
        return version
