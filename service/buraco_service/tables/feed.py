"""Watching a table: the state once, then every change in order, each once."""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from buraco.v1 import table_service_pb2
from buraco_codec.events import ends_match, seat_change
from buraco_codec.views import view_bytes
from buraco_codec.wire import field, tag
from buraco_rules import view_of
from buraco_service import errors
from buraco_service.access.seat_tokens import SeatClaims
from buraco_service.stores.base import HistoryGone, Subscription, TableNotFound
from buraco_service.tables.entries import Entry, read_entry, told
from buraco_service.tables.state import TableState, TableValue
from buraco_service.tables.stored import table_to_pb
from buraco_service.tables.tables import Tables, seat_of

_PAGE: Final = 256


_Response = table_service_pb2.PlayTableResponse
_TAGS: Final = {one.name: tag(one.number) for one in _Response.DESCRIPTOR.fields}


class Update(NamedTuple):
    """A message for the watcher: the field of the stream's oneof, and its value, serialised."""

    field: str
    value: bytes

    def serialised(self) -> bytes:
        """As a PlayTableResponse, whose fields WatchTableResponse has under the same numbers as far as it has them."""
        return field(_TAGS[self.field], self.value)


class Feed:
    """One watcher's position in the history of a table. Made by `Feeds.open`."""

    def __init__(
        self, tables: Tables, table_id: str, claims: SeatClaims | None, subscription: Subscription, heartbeat: float
    ) -> None:
        self._tables = tables
        self._table_id = table_id
        self._claims = claims
        self._subscription = subscription
        self._heartbeat = heartbeat
        self.seat = None if claims is None else claims.seat
        self.revision = 0
        """The newest revision that was sent."""
        self.over = False
        """Nothing can happen at the table any more."""
        self._admitted_at = 0
        self._newest: int | None = None
        self._loop = asyncio.get_running_loop()
        self.opened_at = self._loop.time()
        self._silent_until = self.opened_at + heartbeat
        self._alarm: asyncio.TimerHandle | None = None

    async def begin(self, after_revision: int | None) -> list[Update]:
        """What comes first: the state, or (resuming) nothing but what the watcher missed, or that this is gone."""
        table = await self._tables.get(self._table_id)
        if after_revision is None:
            return [self._state(table)]
        self._admit(table)
        if after_revision > table.revision:
            return await self._anew(await self._oldest())
        self.revision = after_revision
        updates = await self.catch_up()
        # Nothing follows the end of a match, and whoever had seen it is told nothing more.
        self.over = self.over or table.state is TableState.FINISHED
        return updates

    async def catch_up(self, *, before: int | None = None, woken: bool = False) -> list[Update]:
        """The changes since the last call, in order; those from the revision `before` on are left for later.

        `woken`: `wait` has just returned, and its word is taken for how far there is to go; else the store is asked.
        Where they are no longer kept, the watcher is told so and gets the whole state. Raises as `check` does.
        """
        self.check()
        updates: list[Update] = []
        try:
            while before is None or self.revision < before - 1:
                entries = self._tables.recent.entries_after(self._table_id, self.revision)
                if not entries:
                    if woken and not self.behind():
                        break
                    entries = await self._logged()
                for entry in entries:
                    if before is not None and entry.revision >= before:
                        return updates
                    updates.append(Update("events", self._passed_on(entry)))
                if not entries:
                    break
        except HistoryGone as gone:
            updates += await self._anew(gone.oldest - 1)
        return updates

    def check(self) -> None:
        """Raise TokenExpired or TokenInvalid once the watcher's token is over or its key gone."""
        if self._claims is not None:
            self._tables.tokens.check(self._claims, self._tables.clock())

    def behind(self) -> bool:
        """Whether there may be changes that were not sent, by the word of the last `wait`."""
        return self._newest is None or self._newest > self.revision

    async def wait(self) -> None:
        """Wait until there is something to look at: see `behind`, `silent` and `Feeds.sends_away`."""
        if self._alarm is None:
            # One timer for a time of silence, not one for every wait.
            self._alarm = self._loop.call_at(self._silent_until, self._ring)
        self._newest = await self._subscription.wait()

    def silent(self) -> bool:
        """Whether nothing was sent for the time of a heartbeat."""
        return self._loop.time() >= self._silent_until

    def hold(self) -> None:
        """The watcher makes a change itself, which it hears of by the answer: do not wake `wait` until `release`."""
        self._subscription.hold()

    def release(self) -> None:
        """The watcher's own change was made, and sent, or refused."""
        self._subscription.release(self.revision)

    def close(self) -> None:
        """Wait for nothing any more."""
        if self._alarm is not None:
            self._alarm.cancel()

    def _ring(self) -> None:
        self._alarm = None
        self._subscription.wake()

    def heartbeat(self) -> Update:
        """The stream is alive."""
        self._sent()
        return Update("heartbeat", table_service_pb2.Heartbeat(revision=self.revision).SerializeToString())

    def reconnect(self) -> Update:
        """The watcher is to open its stream anew."""
        return Update("reconnect", table_service_pb2.Reconnect(revision=self.revision).SerializeToString())

    def passed(self, revision: int, events: Iterable[bytes]) -> None:
        """A change was sent in another way."""
        self._sent()
        self.revision = revision
        self.over = any(map(ends_match, events))

    def _sent(self) -> None:
        self._silent_until = self._loop.time() + self._heartbeat

    def _admit(self, table: TableValue) -> None:
        if self._claims is not None:
            seat_of(table, self._claims)
        self._admitted_at = table.revision

    async def _anew(self, oldest: int) -> list[Update]:
        """The state, since history can be resumed only after the revision `oldest`."""
        lost = table_service_pb2.HistoryGone(oldest_revision=oldest)
        return [Update("history_gone", lost.SerializeToString()), self._state(await self._tables.get(self._table_id))]

    async def _oldest(self) -> int:
        """The oldest revision after which history is still kept."""
        try:
            await self._tables.store.read_log(self._table_id, 0, 1)
        except HistoryGone as gone:
            return gone.oldest - 1
        except TableNotFound:
            raise errors.table_not_found(self._table_id) from None
        return 0

    def _state(self, table: TableValue) -> Update:
        self._admit(table)
        self._sent()
        self.revision = table.revision
        self.over = table.state is TableState.FINISHED
        state = table_service_pb2.TableUpdate(table=table_to_pb(table))
        if table.deal is not None:
            state.view.MergeFromString(view_bytes(view_of(table.deal, self.seat)))
        return Update("state", state.SerializeToString())

    async def _logged(self) -> list[Entry]:
        try:
            page = await self._tables.store.read_log(self._table_id, self.revision, _PAGE)
        except TableNotFound:
            raise errors.table_not_found(self._table_id) from None
        return [read_entry(entry.revision, entry.payload) for entry in page]

    def _passed_on(self, entry: Entry) -> bytes:
        if entry.revision > self._admitted_at and any(map(self._seat_was_left, entry.events)):
            raise errors.seat_not_yours("the seat was given back")
        events = entry.events_for(self.seat)
        self.passed(entry.revision, events)
        return told(entry.revision, events)

    def _seat_was_left(self, event: bytes) -> bool:
        """From here on the seat's hidden cards are another's."""
        change = seat_change(event)
        return change is not None and change.seat == self.seat and not change.player_name


class Feeds:
    """All watchers of this replica.

    `heartbeat`: seconds of silence after which one is told that its stream is alive. `longest`: seconds after which it
    is told, behind the next message, to open its stream anew.
    """

    def __init__(self, tables: Tables, *, heartbeat: float, longest: float = math.inf) -> None:
        self._tables = tables
        self._heartbeat = heartbeat
        self._longest = longest
        self._loop = asyncio.get_running_loop()
        self._open: set[Subscription] = set()
        self._draining = False

    @asynccontextmanager
    async def open(self, table_id: str, claims: SeatClaims | None) -> AsyncIterator[Feed]:
        """A feed of a table, seen from the token's seat or (None) by everybody."""
        async with self._tables.store.subscribe(table_id) as subscription:
            self._open.add(subscription)
            self._tables.metrics.add_watch()
            feed = Feed(self._tables, table_id, claims, subscription, self._heartbeat)
            try:
                yield feed
            finally:
                feed.close()
                self._open.discard(subscription)
                self._tables.metrics.remove_watch()

    async def follow(self, feed: Feed, after_revision: int | None) -> AsyncGenerator[Update, None]:
        """All that a watcher is told, until nothing can happen any more or it is to reconnect."""
        for update in await feed.begin(after_revision):
            yield update
        while not feed.over:
            if self.sends_away(feed):
                yield feed.reconnect()
                return
            await feed.wait()
            if feed.behind():
                for update in await feed.catch_up(woken=True):
                    yield update
            elif feed.silent():
                yield feed.heartbeat()

    def sends_away(self, feed: Feed) -> bool:
        """Whether the watcher is to be told to reconnect: the replica is about to stop, or the stream is too old."""
        return self._draining or self._loop.time() - feed.opened_at >= self._longest

    async def drain(self) -> None:
        """Have every watcher told to reconnect."""
        self._draining = True
        for subscription in self._open:
            subscription.wake()
