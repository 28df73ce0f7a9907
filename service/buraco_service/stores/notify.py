"""Wake-ups inside one process: who waits for which table."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from buraco_service.stores.base import StoreUnavailable


class TableSubscription:
    """One waiter for one table (see `base.Subscription`)."""

    def __init__(self, watchers: Watchers, table_id: str) -> None:
        self._watchers = watchers
        self._table_id = table_id
        self._woken = asyncio.Event()
        self._newest: int | None = 0
        self._held = False

    async def __aenter__(self) -> Self:
        self._watchers.join(self._table_id, self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watchers.leave(self._table_id, self)

    async def changed(self) -> int | None:
        """Return when the table may have changed; see `base.Subscription`."""
        self._watchers.check_open()
        await self._woken.wait()
        self._woken.clear()
        self._watchers.check_open()
        newest, self._newest = self._newest, 0
        return newest

    def wake(self) -> None:
        """Let `changed` return now."""
        self._woken.set()

    def hold(self) -> None:
        """See `base.Subscription`."""
        self._held = True

    def release(self, seen: int) -> None:
        """See `base.Subscription`."""
        self._held = False
        if self._newest is None or self._newest > seen:
            self._woken.set()

    def hear(self, revision: int | None) -> None:
        """The table has come to this revision; None: to one that is not known."""
        if revision is None or self._newest is None:
            self._newest = None
        else:
            self._newest = max(self._newest, revision)
        if not self._held:
            self._woken.set()


class Watchers:
    """The subscriptions of one store. Everything here runs on the store's event loop."""

    def __init__(self, joined: Callable[[str], None], left: Callable[[str], None]) -> None:
        """`joined` hears of a table that gets its first subscription, `left` of one that lost its last."""
        self._loop = asyncio.get_running_loop()
        self._joined = joined
        self._left = left
        self._waiting: dict[str, set[TableSubscription]] = {}
        self._closed = False

    def subscribe(self, table_id: str) -> TableSubscription:
        """A subscription that counts from the moment it is entered."""
        return TableSubscription(self, table_id)

    def wake(self, table_id: str, revision: int | None) -> None:
        """Let every subscription of the table return; the table is at this revision (None: not known)."""
        for subscription in self._waiting.get(table_id, ()):
            subscription.hear(revision)

    def wake_all(self) -> None:
        """Let every subscription return: any table may have changed unheard."""
        for table_id in self._waiting:
            self.wake(table_id, None)

    def close(self) -> None:
        """End every subscription: waiting on it raises StoreUnavailable from now on."""
        self._closed = True
        for subscriptions in self._waiting.values():
            for subscription in subscriptions:
                subscription.wake()

    def check_open(self) -> None:
        """Raise StoreUnavailable once closed."""
        if self._closed:
            raise StoreUnavailable("the store is closed")

    def join(self, table_id: str, subscription: TableSubscription) -> None:
        """Let the subscription hear of every change of the table from now on."""
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("a store belongs to the event loop that opened it")
        self.check_open()
        waiting = self._waiting.get(table_id)
        if waiting is None:
            waiting = self._waiting[table_id] = set()
            self._joined(table_id)
        waiting.add(subscription)

    def leave(self, table_id: str, subscription: TableSubscription) -> None:
        """Undo `join`."""
        waiting = self._waiting[table_id]
        waiting.remove(subscription)
        if not waiting:
            del self._waiting[table_id]
            self._left(table_id)
