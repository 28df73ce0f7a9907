"""Wake-ups inside one process: which tables have subscriptions, and until when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from buraco_service.stores.base import StoreUnavailable


class TableSubscription:
    """A `base.Subscription` of one table, which `Subscriptions` notifies."""

    def __init__(self, subscriptions: Subscriptions, table_id: str, *, messages: bool = False) -> None:
        self._subscriptions = subscriptions
        self._table_id = table_id
        self.wants_messages = messages
        """Whether it is notified of messages, too."""
        self._newest_message: int | None = 0
        self._woken = asyncio.Event()
        self._newest: int | None = 0
        self._held = False

    async def __aenter__(self) -> Self:
        self._subscriptions.add(self._table_id, self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._subscriptions.remove(self._table_id, self)

    async def wait(self) -> int | None:
        """Return the newest revision after a change (None: not known), 0 after `wake` alone.

        Raise StoreUnavailable once the store is closed.
        """
        self._subscriptions.check_open()
        await self._woken.wait()
        self._woken.clear()
        self._subscriptions.check_open()
        newest, self._newest = self._newest, 0
        return newest

    def wake(self) -> None:
        """End the wait under way, or else the next one, even during `hold`."""
        self._woken.set()

    def hold(self) -> None:
        """Let changes wake nobody until `release`."""
        self._held = True

    def release(self, seen: int) -> None:
        """End `hold`, and wake for changes that came meanwhile: those after revision `seen`, or not known."""
        self._held = False
        if self._newest is None or self._newest > seen:
            self._woken.set()

    def notify(self, revision: int | None) -> None:
        """Take in a change to this revision (None: not known), and end the wait unless changes are on hold."""
        if revision is None or self._newest is None:
            self._newest = None
            if revision is None and self.wants_messages:
                self._newest_message = None
        else:
            self._newest = max(self._newest, revision)
        if not self._held:
            self._woken.set()

    def take_newest_message(self) -> int | None:
        """Return the newest message since the last call: 0 for none, None if it is not known."""
        newest, self._newest_message = self._newest_message, 0
        return newest

    def notify_message(self, number: int | None) -> None:
        """Take in the table's newest message (None: not known), and end the wait."""
        if number is None or self._newest_message is None:
            self._newest_message = None
        else:
            self._newest_message = max(self._newest_message, number)
        self._woken.set()


class Subscriptions:
    """All subscriptions of one store, and whether the store is open. For the event loop that made it alone."""

    def __init__(self) -> None:
        self.on_first: Callable[[str], None] = lambda _: None
        """Called with a table that gets its first subscription."""
        self.on_last: Callable[[str], None] = lambda _: None
        """Called with a table that has lost its last subscription."""
        self.on_first_for_messages: Callable[[str], None] = lambda _: None
        self.on_last_for_messages: Callable[[str], None] = lambda _: None
        """The same for subscriptions to messages."""
        self._loop = asyncio.get_running_loop()
        self._by_table: dict[str, set[TableSubscription]] = {}
        self._closed = False

    def subscribe(self, table_id: str, *, messages: bool = False) -> TableSubscription:
        """Return a subscription to the table, and to its messages. It receives nothing until it is entered."""
        return TableSubscription(self, table_id, messages=messages)

    def notify(self, table_id: str, revision: int | None) -> None:
        """Wake every subscription of the table, which is at this revision; None: not known."""
        for subscription in self._by_table.get(table_id, ()):
            subscription.notify(revision)

    def notify_message(self, table_id: str, number: int | None) -> None:
        """Wake every subscription to the table's messages, the newest of which has this number; None: not known."""
        for subscription in self._by_table.get(table_id, ()):
            if subscription.wants_messages:
                subscription.notify_message(number)

    def notify_all(self) -> None:
        """Wake every subscription, because any table may have changed unnoticed."""
        for table_id in self._by_table:
            self.notify(table_id, None)

    def close(self) -> None:
        """Close the store to new calls, and end every wait with StoreUnavailable."""
        self._closed = True
        for subscriptions in self._by_table.values():
            for subscription in subscriptions:
                subscription.wake()

    def check_open(self) -> None:
        """Raise StoreUnavailable once closed, RuntimeError on another event loop than the store's."""
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("a store belongs to the event loop that opened it")
        if self._closed:
            raise StoreUnavailable("the store is closed")

    def add(self, table_id: str, subscription: TableSubscription) -> None:
        """Notify the subscription of the table's changes from now on. Raise as `check_open`."""
        self.check_open()
        subscriptions = self._by_table.get(table_id)
        if subscriptions is None:
            subscriptions = self._by_table[table_id] = set()
            self.on_first(table_id)
        if subscription.wants_messages and not _any_wants_messages(subscriptions):
            self.on_first_for_messages(table_id)
        subscriptions.add(subscription)

    def remove(self, table_id: str, subscription: TableSubscription) -> None:
        """Undo `add`. Raise KeyError if the subscription is not there."""
        subscriptions = self._by_table[table_id]
        subscriptions.remove(subscription)
        if subscription.wants_messages and not _any_wants_messages(subscriptions):
            self.on_last_for_messages(table_id)
        if not subscriptions:
            del self._by_table[table_id]
            self.on_last(table_id)


def _any_wants_messages(subscriptions: Iterable[TableSubscription]) -> bool:
    return any([subscription.wants_messages for subscription in subscriptions])
