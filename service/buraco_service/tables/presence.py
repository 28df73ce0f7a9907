"""Who is seen at the tables: players who have a stream open with the token of their seat, at any replica.

Each replica renews leases in the store for the seats of its own streams, all in one write, and reads those of the
tables that it has streams of, all in one read. A killed replica's leases end by themselves. Nothing of this is part
of a table's state, and no move or view waits for it.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from buraco_service.observing import logs
from buraco_service.observing.metrics import Metrics
from buraco_service.stores.base import Lease, Store, StoreError
from buraco_service.tables.state import TableState, TableValue

RENEW_SECONDS: Final = 3.0
"""From one renewal of all leases to the next."""
LEASE_SECONDS: Final = 8.0
"""How long a lease lasts: longer than two renewals, so that one may fail."""
_PAUSE_SECONDS: Final = 0.1
"""Streams that are opened within this time share one write."""
_PAGE: Final = 1000
"""Leases of one write, and tables of one read."""


class OpenStream:
    """A stream of this replica. Made by `Presence.open`, to be closed once."""

    def __init__(
        self, presence: "Presence", table: "_Table", seat: int | None, wake: Callable[[], None] | None
    ) -> None:
        self._presence = presence
        self.table = table
        self.seat = seat
        """Whose token it was opened with; None for a spectator."""
        self.wake = wake
        """Called when other seats are seen than before, if the stream wants to know."""

    def close(self) -> None:
        """Let the player be seen no more, unless another stream is open."""
        self._presence.close(self)


class _Table:
    """What this replica knows of a table that it has streams of."""

    def __init__(self, table: TableValue) -> None:
        self.id = table.id
        self.absent_after = table.options.absent_after
        self.streams: list[OpenStream] = []
        self.own: Counter[int] = Counter()
        """Open streams here by seat."""
        self.written: dict[int, float] = {}
        """By seat: until when the lease lasts that this replica wrote last. One that is stored with another time is
        another replica's."""
        self.others: dict[int, float] = {}
        """By seat: until when another replica's lease lasts."""
        self.is_known = False
        """The leases have been read."""
        self.seen: tuple[int, ...] = ()
        """The seats at which a player is seen, in order."""

    def update(self, now: float) -> None:
        """Find out who is seen now, and wake the streams if that has changed."""
        others = [seat for seat, until in self.others.items() if until > now]
        seen = tuple(sorted({*self.own, *others}))
        if seen != self.seen:
            self.seen = seen
            for stream in self.streams:
                if stream.wake is not None:
                    stream.wake()

    def take(self, leases: list[Lease], now: float) -> None:
        """Take in what the store has of the table."""
        self.is_known = True
        self.others = {
            lease.seat: lease.until
            for lease in leases
            if lease.until is not None and lease.until != self.written.get(lease.seat)
        }
        self.update(now)


class Presence:
    """Who is seen at the tables that this replica has streams of. `clock` gives seconds since the epoch."""

    def __init__(self, store: Store, metrics: Metrics, *, clock: Callable[[], float]) -> None:
        self._store = store
        self._metrics = metrics
        self._clock = clock
        self._tables: dict[str, _Table] = {}
        self._unwritten: set[tuple[str, int]] = set()
        """Seats whose first stream was opened since the last write."""
        self._opened = asyncio.Event()
        self._settles_at = 0.0

    @property
    def is_settled(self) -> bool:
        """Return True if every replica has had the time to renew its leases: one that has ended is ended in truth."""
        return time.monotonic() >= self._settles_at

    def unsettle(self) -> None:
        """Trust no end of a lease for a while: the clock has jumped, or the store was not there to renew leases."""
        self._settles_at = time.monotonic() + RENEW_SECONDS + LEASE_SECONDS

    async def open(self, table: TableValue, seat: int | None, wake: Callable[[], None] | None) -> OpenStream:
        """Let the player of a seat be seen while a stream is open, whose token was verified; None for a spectator.

        `wake` is called whenever other seats are seen than before. The first stream of a table reads its leases: raise
        StoreError if they cannot be read.
        """
        known = self._tables.get(table.id)
        if known is None:
            leases = await self._store.presence([table.id])
            known = self._tables.setdefault(table.id, _Table(table))
            if not known.is_known:
                known.take(leases, self._clock())
        stream = OpenStream(self, known, seat, wake)
        known.streams.append(stream)
        if seat is not None:
            known.own[seat] += 1
            if known.own[seat] == 1:
                self._metrics.add_present_seats(1)
                self._unwritten.add((table.id, seat))
                self._opened.set()
        known.update(self._clock())
        return stream

    def close(self, stream: OpenStream) -> None:
        """Let the player of a stream be seen no more, unless another stream is open."""
        known, seat = stream.table, stream.seat
        known.streams.remove(stream)
        if seat is not None:
            known.own[seat] -= 1
            if not known.own[seat]:
                del known.own[seat]
                self._metrics.add_present_seats(-1)
                self._unwritten.discard((known.id, seat))
        known.update(self._clock())
        if not known.streams:
            del self._tables[known.id]

    def seats_of(self, table_id: str) -> tuple[int, ...]:
        """Return the seats at which a player is seen, as far as this replica knows without a read; in order."""
        known = self._tables.get(table_id)
        return () if known is None else known.seen

    async def look(self, table: TableValue) -> tuple[int, ...]:
        """Return the seats at which a player is seen; a read if the match runs and this replica has no stream of it."""
        if table.id in self._tables or table.state is not TableState.PLAYING:
            return self.seats_of(table.id)
        now = self._clock()
        leases = await self._store.presence([table.id])
        return tuple(sorted([lease.seat for lease in leases if lease.until is not None and lease.until > now]))

    async def run(self) -> None:
        """Renew leases and read those of others again and again, until cancelled."""
        self.unsettle()
        loop = asyncio.get_running_loop()
        refresh_at = loop.time()
        while True:
            try:
                if loop.time() >= refresh_at:
                    refresh_at = loop.time() + RENEW_SECONDS
                    await self.refresh()
                else:
                    await self._write_opened()
            except StoreError as error:
                self.unsettle()
                logs.get_logger().warning("presence was not renewed", cause=str(error))
            await asyncio.sleep(_PAUSE_SECONDS)
            try:
                async with asyncio.timeout(max(0.0, refresh_at - loop.time())):
                    await self._opened.wait()
            except TimeoutError:
                pass

    async def refresh(self) -> None:
        """Renew the leases of all seats with streams here, and read those of their tables. Raise StoreError."""
        self._unwritten.clear()
        self._opened.clear()
        await self._renew([(table, seat) for table in self._tables.values() for seat in table.own])
        table_ids = list(self._tables)
        for start in range(0, len(table_ids), _PAGE):
            page = table_ids[start : start + _PAGE]
            found: dict[str, list[Lease]] = {table_id: [] for table_id in page}
            for lease in await self._store.presence(page):
                found[lease.table_id].append(lease)
            now = self._clock()
            for table_id, leases in found.items():
                known = self._tables.get(table_id)
                if known is not None:
                    known.take(leases, now)

    async def _write_opened(self) -> None:
        """Write leases for the seats whose first stream has just been opened. Raise StoreError."""
        opened, self._unwritten = self._unwritten, set()
        self._opened.clear()
        await self._renew([(self._tables[table_id], seat) for table_id, seat in opened])

    async def _renew(self, seats: list[tuple[_Table, int]]) -> None:
        until = self._clock() + LEASE_SECONDS
        leases = []
        for table, seat in seats:
            table.written[seat] = until
            absent_at = until + table.absent_after if table.absent_after else None
            leases.append(Lease(table.id, seat, until, absent_at))
        for start in range(0, len(leases), _PAGE):
            await self._store.renew_presence(leases[start : start + _PAGE])
