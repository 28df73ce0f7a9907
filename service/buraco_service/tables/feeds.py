"""All watchers of a replica, and what each of them is sent."""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from buraco_service.access.seat_tokens import SeatClaims
from buraco_service.stores.base import Subscription
from buraco_service.tables.chat_feed import ChatFeed
from buraco_service.tables.delayed_feed import DelayedFeed
from buraco_service.tables.feed import Feed
from buraco_service.tables.spectating import Spectators, check_spectator
from buraco_service.tables.tables import Tables


class Feeds:
    """All watchers of this replica.

    `heartbeat`: seconds of silence after which a watcher gets a heartbeat. `max_age`: seconds after which it is asked,
    behind the next message, to open its stream anew.
    """

    def __init__(self, tables: Tables, *, heartbeat: float, max_age: float = math.inf) -> None:
        self._tables = tables
        self._heartbeat = heartbeat
        self._max_age = max_age
        self._spectators = Spectators(tables)
        self._loop = asyncio.get_running_loop()
        self._open: set[Subscription] = set()
        self._is_draining = False

    @asynccontextmanager
    async def open(
        self,
        table_id: str,
        claims: SeatClaims | None,
        *,
        views: bool = False,
        legal_moves: bool = False,
        chat: bool = False,
        after_message: int = 0,
    ) -> AsyncIterator[Feed]:
        """Open a feed of a table, as seen from the token's seat or by everybody (None).

        `views`, `legal_moves`: whether every change is followed by the view, and by the legal moves if the seat is to
        move. `chat`: whether messages come, too, from those kept after number `after_message` on.

        Raise SPECTATORS_NOT_ALLOWED, and TABLE_NOT_FOUND for a spectator.
        """
        repository = self._tables.repository
        async with repository.store.subscribe(table_id, messages=chat) as subscription:
            delay = 0.0
            if claims is None:
                table = await repository.get(table_id)
                check_spectator(table)
                delay = table.options.spectator_delay
            self._open.add(subscription)
            self._tables.metrics.add_watch()
            feed = self._make_feed(table_id, claims, subscription, delay, views=views, legal_moves=legal_moves)
            if chat:
                feed.chat = ChatFeed(
                    repository.store,
                    table_id,
                    None if claims is None else claims.token_id,
                    subscription,
                    after_message,
                    delay=delay,
                    clock=self._tables.clock,
                )
            try:
                yield feed
            finally:
                feed.close()
                self._open.discard(subscription)
                self._tables.metrics.remove_watch()

    async def follow(self, feed: Feed, after_revision: int | None) -> AsyncGenerator[bytes, None]:
        """Yield the updates of a feed until nothing can happen any more or the watcher is to reconnect."""
        for update in await feed.begin(after_revision):
            yield update
        for update in await feed.observe():
            yield update
        for update in await feed.read_messages():
            yield update
        while not feed.is_over:
            if self.must_reconnect(feed):
                yield feed.reconnect()
                return
            await feed.wait()
            if feed.is_behind():
                for update in await feed.catch_up(woken=True):
                    yield update
                for update in await feed.observe():
                    yield update
            elif feed.is_heartbeat_due():
                yield feed.heartbeat()
            if feed.chat is not None:
                for update in await feed.read_messages():
                    yield update

    def must_reconnect(self, feed: Feed) -> bool:
        """Return True if the watcher is to open its stream anew: the replica drains, or the stream is too old."""
        return self._is_draining or self._loop.time() - feed.opened_at >= self._max_age

    async def drain(self) -> None:
        """Ask every watcher to reconnect."""
        self._is_draining = True
        for subscription in self._open:
            subscription.wake()

    def _make_feed(
        self,
        table_id: str,
        claims: SeatClaims | None,
        subscription: Subscription,
        delay: float,
        *,
        views: bool,
        legal_moves: bool,
    ) -> Feed:
        if delay:
            return DelayedFeed(
                self._tables, table_id, subscription, self._heartbeat, self._spectators, views=views, delay=delay
            )
        return Feed(self._tables, table_id, claims, subscription, self._heartbeat, views=views, legal_moves=legal_moves)
