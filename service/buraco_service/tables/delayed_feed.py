"""Watching a table some time later than its players do."""

from __future__ import annotations

from buraco_service.stores.base import HistoryGone, Subscription
from buraco_service.tables.feed import UPDATE, Feed
from buraco_service.tables.spectating import Spectators
from buraco_service.tables.state import TableValue
from buraco_service.tables.tables import Tables

_SHORTEST_WAIT = 0.01


class DelayedFeed(Feed):
    """The feed of a spectator who lags by `delay` seconds. A change waits in the store until its time has come."""

    def __init__(
        self,
        tables: Tables,
        table_id: str,
        subscription: Subscription,
        heartbeat: float,
        spectators: Spectators,
        *,
        views: bool,
        delay: float,
    ) -> None:
        super().__init__(tables, table_id, None, subscription, heartbeat, views=views, legal_moves=False)
        self._spectators = spectators
        self._delay = delay
        self._due_at: float | None = None
        """When the next change may be seen, by the service's clock; None if no change is known."""
        self._is_read = False
        """The changes up to now were looked for: without that a wait would be for one more."""

    async def catch_up(self, *, before: int | None = None, woken: bool = False) -> list[bytes]:
        """Return the changes since the last call whose time has come, in order."""
        updates: list[bytes] = []
        self._due_at = None
        self._is_read = True
        try:
            while entries := await self._repository.read_log(self._table_id, self.revision):
                until = self._tables.clock() - self._delay
                for entry in entries:
                    if entry.created_at > until:
                        self._due_at = entry.created_at + self._delay
                        return updates
                    updates.append(UPDATE.events(self._events_update(entry)))
        except HistoryGone as gone:
            updates += await self._restart(gone.oldest - 1)
            self._is_read = False
        return updates

    def is_behind(self) -> bool:
        """Return True if there may be changes that were not sent and may be seen now."""
        if not self._is_read:
            return True
        if self._due_at is not None:
            return self._tables.clock() >= self._due_at
        return super().is_behind()

    async def wait(self) -> None:
        """Wait as any feed does, and for the next change or message whose time comes."""
        if not self._is_read:
            return
        due = [at for at in (self._due_at, None if self.chat is None else self.chat.due_at) if at is not None]
        if not due:
            await super().wait()
            return
        seconds = max(_SHORTEST_WAIT, min(due) - self._tables.clock())
        alarm = self._loop.call_later(seconds, self._subscription.wake)
        try:
            await super().wait()
        finally:
            alarm.cancel()

    async def _get_table(self) -> TableValue:
        return await self._spectators.see(await self._repository.get(self._table_id), None)

    async def _get_table_at_least(self, revision: int) -> TableValue:
        return await self._spectators.at(await self._repository.get(self._table_id), revision)
