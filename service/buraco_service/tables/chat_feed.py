"""The messages of a table for one watcher: those kept, then each as it is sent."""

from __future__ import annotations

from collections.abc import Callable

from buraco_service import errors
from buraco_service.stores.base import Store, Subscription, TableNotFound
from buraco_service.stores.messages import StoredMessage
from buraco_service.tables.chat import before, readable, sent_at

_PAGE = 50


class ChatFeed:
    """A watcher's place in the messages of a table.

    `token_id` is that of the watcher's seat token, None for a spectator, who lags by `delay` seconds. The first read
    begins after number `after`.
    """

    def __init__(
        self,
        store: Store,
        table_id: str,
        token_id: str | None,
        subscription: Subscription,
        after: int,
        *,
        delay: float = 0.0,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._table_id = table_id
        self._token_id = token_id
        self._subscription = subscription
        self._number = after
        """The newest message that was passed over or returned."""
        self._delay = delay
        self._clock = clock
        self._has_begun = False
        self._is_behind = True
        self.due_at: float | None = None
        """When the next message may be seen by one who lags, by the service's clock."""

    def is_behind(self) -> bool:
        """Return True if there may be messages to be read now."""
        newest = self._subscription.take_newest_message()
        if newest is None or newest > self._number:
            self._is_behind = True
        if self.due_at is not None:
            return self._clock() >= self.due_at
        return self._is_behind

    async def read(self) -> list[bytes]:
        """Return the serialised ChatMessages since the last call that the watcher may read, in order."""
        self._is_behind, self.due_at = False, None
        found: list[bytes] = []
        page = await self._next_page()
        while page:
            until = self._clock() - self._delay if self._delay else None
            visible = list(before(page, until))
            found += [message.SerializeToString() for message in readable(visible, self._token_id)]
            if visible:
                self._number = visible[-1].number
            if len(visible) < len(page):
                self.due_at = sent_at(page[len(visible)]) + self._delay
                break
            page = await self._next_page()
        return found

    async def _next_page(self) -> list[StoredMessage]:
        try:
            if not self._has_begun:
                self._has_begun = True
                # A number that the table has not come to is another table's, or of a store that was restored since.
                if self._number > 0 and not await self._store.read_messages(self._table_id, self._number - 1, 1):
                    self._number = 0
            return await self._store.read_messages(self._table_id, self._number, _PAGE)
        except TableNotFound:
            raise errors.table_not_found(self._table_id) from None
