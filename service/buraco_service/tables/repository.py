"""Tables as values, in a store that keeps bytes: read, cached, and changed by compare-and-swap.

Nothing is locked: a change is decided on a copy of the table and committed if the store still has that revision. The
loser of a race reads again and decides again, so that its answer is the one it would have got had it come later.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from buraco.v1 import table_pb2
from buraco_rules import Move
from buraco_service import errors
from buraco_service.access.seat_tokens import SeatClaims
from buraco_service.observing.metrics import Metrics
from buraco_service.stores.base import (
    AlreadyAnswered,
    Commit,
    NewTable,
    RevisionConflict,
    Store,
    StoredAnswer,
    TableNotFound,
)
from buraco_service.tables import earlier
from buraco_service.tables.changes import Change, verify_player_or_substitute
from buraco_service.tables.counting import count_change
from buraco_service.tables.entries import Entry, make_entry, parse_entry, serialise_entry
from buraco_service.tables.finding import is_table
from buraco_service.tables.idempotency import Request
from buraco_service.tables.labels import changed_labels, labels_of
from buraco_service.tables.recent import RecentTables
from buraco_service.tables.records import make_record
from buraco_service.tables.returning import end_absence, first_leases
from buraco_service.tables.stakes import keep_stakes
from buraco_service.tables.state import TableValue
from buraco_service.tables.stored import parse_table, serialise_table
from buraco_service.tables.substitutes import settle_substitutes
from buraco_service.tables.timing import keep_time
from buraco_service.tables.views import table_view_bytes

_ATTEMPTS: Final = 8
_LOG_PAGE: Final = 256


class Accepted(NamedTuple):
    """A change that a call made, or that an earlier call with the same request made."""

    answer: bytes
    """The stored answer."""
    entry: Entry | None = None
    """What was done; None if an earlier call did it."""


class TableRepository:
    """The tables in a store, with those used last in `recent`."""

    def __init__(self, store: Store, recent: RecentTables, metrics: Metrics) -> None:
        self.store = store
        self._recent = recent
        self._metrics = metrics
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By table: held while `get_at_least` reads it."""

    async def get(self, table_id: str) -> TableValue:
        """Return the table as it is now. Raise TABLE_NOT_FOUND."""
        table = self._recent.get(table_id)
        try:
            if table is None:
                return await self._read(table_id)
            is_fresh = await self.store.load_revision(table_id) == table.revision
            return table if is_fresh else await self._read(table_id)
        except TableNotFound:
            raise self._not_found(table_id) from None

    async def get_at_least(self, table_id: str, revision: int) -> TableValue:
        """Return the table at this revision or a newer one, cached if it can be. Raise TABLE_NOT_FOUND.

        All who wait for a revision that another replica made share one read of it.
        """
        table = self._recent.get(table_id)
        if table is not None and table.revision >= revision:
            return table
        async with self._reading.setdefault(table_id, asyncio.Lock()):
            table = self._recent.get(table_id)
            if table is not None and table.revision >= revision:
                return table
            try:
                return await self._read(table_id)
            except TableNotFound:
                raise self._not_found(table_id) from None

    def view(
        self,
        table: TableValue,
        seat: int | None,
        moves: Sequence[Move] | None = None,
        *,
        present: tuple[int, ...] = (),
    ) -> bytes | None:
        """Return what `table_view_bytes` does now, made once for all who ask while the table is cached.

        At a timed table it is made for each, because the time that is left is part of it.
        """

        def make() -> bytes | None:
            return table_view_bytes(table, seat, self._recent.clock(), moves, present)

        return self._recent.view(table, seat, present, make) if table.timing is None else make()

    def recent_entries(self, table_id: str, after_revision: int) -> list[Entry]:
        """Return the cached changes that follow a revision without a gap; perhaps none."""
        return self._recent.entries_after(table_id, after_revision)

    async def read_log(self, table_id: str, after_revision: int, limit: int = _LOG_PAGE) -> list[Entry]:
        """Return the next changes after a revision, perhaps none. Raise HistoryGone or TABLE_NOT_FOUND."""
        try:
            page = await self.store.read_log(table_id, after_revision, limit)
        except TableNotFound:
            raise self._not_found(table_id) from None
        return [parse_entry(entry.revision, entry.payload) for entry in page]

    async def read_records(self, table_id: str, after_deal: int, limit: int) -> list[table_pb2.DealRecord]:
        """Return the records of the first `limit` deals after one, in order. Raise TABLE_NOT_FOUND.

        The last may be of a deal that was cut off: it has no ending.
        """
        try:
            page = await self.store.read_records(table_id, after_deal, limit)
        except TableNotFound:
            raise self._not_found(table_id) from None
        return [table_pb2.DealRecord.FromString(payload) for _, payload in page]

    async def create(self, table: TableValue, request: Request | None, answer: bytes, owner: str | None) -> None:
        """Store a new table with the answer to the request, if one asks for it.

        Raise AlreadyAnswered if this was done before; TableExists if another request did it, or no request asks.
        """
        state = serialise_table(table)
        await self.store.create(
            NewTable(
                table_id=table.id,
                state=state,
                status=table.state.status,
                now=table.created_at,
                entry=b"",
                request_id=None if request is None else request.id,
                answer=answer if request is None else request.bind(answer),
                owner=owner,
                labels=labels_of(table),
            )
        )
        self._recent.put(table, len(state), Entry(table.revision))
        self._metrics.count_created_table(table.rules.id)

    async def change(
        self,
        table_id: str,
        claims: SeatClaims | None,
        request: Request,
        decide: Callable[[TableValue], Change],
        answer: Callable[[Change, Entry], bytes],
        is_same: Callable[[StoredAnswer], Awaitable[bool]] | None = None,
    ) -> Accepted:
        """Decide a change and commit it; decide again if another change comes first.

        A repeat of a request gets the stored answer; another request under its id is refused. `is_same` returns whether
        the answer that an earlier version stored for this method, caller and id may be this request's; None if no
        earlier version has the method.

        Raise what `decide` raises, REQUEST_ID_REUSED, SEAT_NOT_YOURS, TABLE_NOT_FOUND, or STALE_REVISION if others keep
        coming first.
        """
        table = self._recent.get(table_id)
        newest_revision = 0
        for _ in range(_ATTEMPTS):
            try:
                if table is None:
                    table = await self._read(table_id)
                if earlier.has_earlier_answers(table):
                    await earlier.check_new(self.store, table, request, is_same)
                return await self._commit(table, decide(table), request, answer)
            except TableNotFound:
                raise self._not_found(table_id) from None
            except AlreadyAnswered as known:
                return await self._repeated(table_id, claims, request, known.stored_answer)
            except RevisionConflict as conflict:
                self._metrics.count_conflict()
                newest_revision = conflict.current
                table = None
            except errors.ApiError:
                # Perhaps the copy is outdated, or this is a repeat that can no longer be decided the same way.
                first = await self.store.find_answer(table_id, request.id)
                if first is not None:
                    return await self._repeated(table_id, claims, request, first)
                newest = await self.get(table_id)
                if table is None or newest.revision <= table.revision:
                    raise
                table = newest
        raise errors.stale_revision(newest_revision if table is None else table.revision)

    async def change_unasked(
        self, table_id: str, decide: Callable[[TableValue], Change | None], *, by_clock: bool
    ) -> Change | None:
        """Commit a change that no request asks for, and return it; None if there is nothing to do.

        That is decided again if another change comes first. Raise TABLE_NOT_FOUND or StoreError.
        """
        for _ in range(_ATTEMPTS):
            table = await self.get(table_id)
            change = decide(table)
            if change is None:
                break
            try:
                await self._commit(table, change, None, lambda *_: b"", by_clock=by_clock)
            except RevisionConflict:
                self._metrics.count_conflict()
            except TableNotFound:
                raise self._not_found(table_id) from None
            else:
                return change
        return None

    async def _commit(
        self,
        table: TableValue,
        change: Change,
        request: Request | None,
        answer: Callable[[Change, Entry], bytes],
        *,
        by_clock: bool = False,
    ) -> Accepted:
        """Commit a change. Without a request the answer is not stored."""
        if table.options.absent_after and not by_clock and not change.by_substitute:
            change = end_absence(change)
        if table.options.is_timed:
            change = keep_time(table, change, by_clock=by_clock)
        if table.stakes is not None:
            change = keep_stakes(table, change)
        if table.options.absent_after and (leases := first_leases(table, change.table)):
            await self.store.renew_presence(leases)
        if table.options.substitute_level:
            change = settle_substitutes(change, by_clock=by_clock)
        entry, after = make_entry(change), change.table
        state, log_entry, content = serialise_table(after), serialise_entry(entry, change), answer(change, entry)
        records: tuple[tuple[int, bytes], ...] = ()
        keep_log_after = None
        if change.ended is not None:
            record = await make_record(self.store, table, log_entry, change.ended)
            records = ((record.deal_number, record.SerializeToString()),)
            # A finished deal can still be watched from its beginning; what came before it only as its record. What
            # spectators see later is read from the log.
            keep_log_after = None if table.options.spectator_delay else table.deal_revision - 1
        await self.store.commit(
            Commit(
                table_id=table.id,
                expected_revision=table.revision,
                state=state,
                status=after.state.status,
                now=after.updated_at,
                entry=log_entry,
                request_id=None if request is None else request.id,
                answer=content if request is None else request.bind(content),
                records=records,
                keep_log_after=keep_log_after,
                due_at=after.due_at,
                labels=changed_labels(table, after),
            )
        )
        self._recent.put(after, len(state), entry)
        count_change(self._metrics, change)
        return Accepted(content, entry)

    async def _repeated(
        self, table_id: str, claims: SeatClaims | None, request: Request, first: StoredAnswer
    ) -> Accepted:
        """Return the stored answer if it is this request's. Raise SEAT_NOT_YOURS or REQUEST_ID_REUSED otherwise."""
        answer = request.answer_in(first.answer)
        if answer is None:
            table = await self.get(table_id)
            if claims is not None:
                verify_player_or_substitute(table, claims)
            raise errors.request_id_reused()
        return Accepted(answer)

    async def _read(self, table_id: str) -> TableValue:
        stored = await self.store.load(table_id)
        if not is_table(stored):
            raise TableNotFound(table_id)
        table = parse_table(stored.state, stored.revision)
        self._recent.put(table, len(stored.state))
        return table

    def _not_found(self, table_id: str) -> errors.ApiError:
        self._recent.drop(table_id)
        return errors.table_not_found(table_id)
