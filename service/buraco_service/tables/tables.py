"""Tables in the store: every use case of a table but watching it. Any replica may serve any call.

Nothing is locked: a change is decided on a copy of the table and committed if the store still has that revision. The
loser of a race reads again and decides again, so that its answer is the one it would have got had it come later.
"""

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, NamedTuple
from uuid import uuid4

from buraco.v1 import table_pb2, table_service_pb2
from buraco_codec.moves import move_bytes
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.views import view_bytes
from buraco_codec.wire import field, number, number_tag, tag
from buraco_rules import Deal, Move, RuleSet, legal_moves, view_of
from buraco_service import errors
from buraco_service.access.seat_tokens import SeatClaims, SeatTokens
from buraco_service.observing.metrics import Metrics
from buraco_service.stores.base import AlreadyAnswered, NewTable, RevisionConflict, Store, StoredAnswer, TableNotFound
from buraco_service.tables import changes, earlier
from buraco_service.tables.changes import Change
from buraco_service.tables.counting import MoveTimer, count_deal
from buraco_service.tables.entries import Entry
from buraco_service.tables.idempotency import Request, optional_number, table_id_for
from buraco_service.tables.recent import RecentTables
from buraco_service.tables.records import deal_record
from buraco_service.tables.state import TableState, TableValue
from buraco_service.tables.stored import commit_of, decode, encode, table_to_pb

_ATTEMPTS: Final = 8
_TABLE_MAY_END: Final = 10.0
"""Seconds after which an owner of too many tables may try again: until then one of them may be over."""
_Submitted = table_service_pb2.SubmitMovesResponse
_REVISION: Final = number_tag(_Submitted.REVISION_FIELD_NUMBER)
_VIEW: Final = tag(_Submitted.VIEW_FIELD_NUMBER)
_EVENTS: Final = tag(_Submitted.EVENTS_FIELD_NUMBER)


class Accepted(NamedTuple):
    """A change that a call made, or had made when it came before."""

    answer: bytes
    """The serialised answer that is remembered for the call."""
    entry: Entry | None = None
    """What was done; None where that was before."""


class Tables:
    """The use cases.

    `clock` gives seconds since the epoch; an owner has `most_owned` unfinished tables at a time; a table untouched for
    `table_ttl` seconds may be removed.
    """

    def __init__(
        self,
        store: Store,
        tokens: SeatTokens,
        metrics: Metrics,
        *,
        clock: Callable[[], float] = time.time,
        most_owned: int = 1000,
        table_ttl: float = math.inf,
    ) -> None:
        self.store = store
        self.tokens = tokens
        self.metrics = metrics
        self.clock = clock
        self._most_owned = most_owned
        # Half of it, for clocks that differ.
        self.recent = RecentTables(longest=table_ttl / 2, clock=clock)

    async def create(
        self,
        rules: RuleSet,
        seats: int,
        *,
        target_score: int,
        stake: int,
        master_seed: bytes,
        seeded_by_creator: bool,
        request_id: str,
        owner: str | None = None,
    ) -> table_service_pb2.CreateTableResponse:
        """A new table, or the one that this request made before. Raises LIMIT_REACHED for an owner of too many."""
        table = changes.opened(
            table_id_for(request_id),
            rules,
            seats,
            target_score=target_score,
            stake=stake,
            now=self.clock(),
            master_seed=master_seed,
            seeded_by_creator=seeded_by_creator,
        )
        content = b"%d %d %d" % (seats, target_score, stake), master_seed if seeded_by_creator else b""
        request = Request.of("create", request_id, owner or "", rule_set_to_pb(rules).SerializeToString(), *content)
        answer = table_service_pb2.CreateTableResponse(table=table_to_pb(table))
        entry, state = Entry(table.revision), encode(table)
        try:
            if owner is not None:
                await self._check_owned(owner)
            await self.store.create(
                NewTable(
                    table_id=table.id,
                    state=state,
                    status=table.state.status,
                    now=table.created_at,
                    entry=entry.payload(),
                    request_id=request_id,
                    answer=request.kept(answer.SerializeToString()),
                    owner=owner,
                )
            )
        except AlreadyAnswered as known:
            first = known.stored_answer
        except errors.ApiError:
            remembered = await self.store.find_answer(table.id, request_id)
            if remembered is None:
                raise
            first = remembered
        else:
            self.recent.put(table, len(state), entry)
            self.metrics.count_created_table(rules.id)
            return answer
        said = request.first_answer(first.answer)
        if said is None:
            if not earlier.is_same_create(first.answer, table):
                raise errors.request_id_reused()
            said = first.answer
        return table_service_pb2.CreateTableResponse.FromString(said)

    async def _check_owned(self, owner: str) -> None:
        """Counts what is there before one more is written: tables being created meanwhile are not among them."""
        unfinished = (TableState.WAITING, TableState.PLAYING)
        count = sum([await self.store.count_owned(owner, state.status) for state in unfinished])
        if count >= self._most_owned:
            message = f"you have as many unfinished tables as an API key may have ({self._most_owned})"
            raise errors.limit_reached("key_tables", self._most_owned, message, _TABLE_MAY_END)

    async def get(self, table_id: str) -> TableValue:
        """The table as it is now."""
        copy = self.recent.get(table_id)
        try:
            if copy is not None and await self.store.load_revision(table_id) == copy.revision:
                return copy
            return await self._read(table_id)
        except TableNotFound:
            self.recent.forget(table_id)
            raise errors.table_not_found(table_id) from None

    async def page(self, state: TableState | None, limit: int, after: str | None) -> list[TableValue]:
        """Tables by id."""
        status = None if state is None else state.status
        return [decode(stored.state, stored.revision) for stored in await self.store.list_tables(status, limit, after)]

    async def records(self, table_id: str, after_deal: int, limit: int) -> list[table_pb2.DealRecord]:
        """Finished deals in order."""
        try:
            pages = await self.store.read_records(table_id, after_deal, limit)
        except TableNotFound:
            raise errors.table_not_found(table_id) from None
        return [table_pb2.DealRecord.FromString(payload) for _, payload in pages]

    async def join(
        self,
        table_id: str,
        seat: int | None,
        player_name: str,
        entropy: bytes,
        request_id: str,
        caller: str | None = None,
    ) -> table_service_pb2.JoinTableResponse:
        """A seat and the token for it. What is remembered holds no token, only what it is signed again from."""
        token_id = uuid4().hex
        now = self.clock()

        def decide(table: TableValue) -> Change:
            return changes.join(table, seat, player_name, entropy, token_id, now)

        def answer(table: TableValue, entry: Entry) -> bytes:
            taken = [held.token_id for held in table.seats].index(token_id)
            joined = table_service_pb2.JoinTableResponse(seat=taken, token=token_id, table=table_to_pb(table))
            return joined.SerializeToString()

        request = Request.of("join", request_id, caller or "", optional_number(seat), player_name.encode(), entropy)
        is_same = partial(earlier.is_same_join, seat, player_name)
        accepted = await self._change(table_id, None, request, decide, answer, is_same)
        joined = table_service_pb2.JoinTableResponse.FromString(accepted.answer)
        since = joined.table.updated_at.seconds
        joined.token = self.tokens.issue(table_id, joined.seat, joined.token, since)
        joined.token_expires_at.FromSeconds(self.tokens.end_of(since))
        return joined

    async def renew(self, table_id: str, claims: SeatClaims) -> table_service_pb2.RenewTokenResponse:
        """A token of the same seat with a whole life before it. The one before stays good until its own end."""
        seat = seat_of(await self.get(table_id), claims)
        now = self.clock()
        renewed = table_service_pb2.RenewTokenResponse(token=self.tokens.issue(table_id, seat, claims.token_id, now))
        renewed.token_expires_at.FromSeconds(self.tokens.end_of(now))
        return renewed

    async def leave(self, table_id: str, claims: SeatClaims, request_id: str) -> table_service_pb2.LeaveTableResponse:
        """The seat is given back; the token is void."""
        now = self.clock()

        def decide(table: TableValue) -> Change:
            return changes.leave(table, seat_of(table, claims), now)

        def answer(table: TableValue, entry: Entry) -> bytes:
            return table_service_pb2.LeaveTableResponse(table=table_to_pb(table)).SerializeToString()

        request = Request.of("leave", request_id, claims.token_id)
        is_same = partial(earlier.is_same_play, self.store, table_id, (), None)
        accepted = await self._change(table_id, claims, request, decide, answer, is_same)
        return table_service_pb2.LeaveTableResponse.FromString(accepted.answer)

    async def submit(
        self,
        table_id: str,
        claims: SeatClaims,
        moves: Sequence[Move],
        revision: int | None,
        request_id: str,
        *,
        with_view: bool,
    ) -> Accepted:
        """Moves of the token's seat, all or none. The answer is a SubmitMovesResponse, its view only if asked for."""
        now = self.clock()
        rule_set = ""

        def decide(table: TableValue) -> Change:
            nonlocal rule_set
            rule_set = table.rules.id
            seat = seat_of(table, claims)
            _check_revision(table, revision)
            return changes.submit(table, seat, moves, now)

        content = optional_number(revision), *map(move_bytes, moves)
        request = Request.of("submit", request_id, claims.token_id, *content)
        is_same = partial(earlier.is_same_play, self.store, table_id, moves, revision)
        try:
            with MoveTimer(self.metrics, "submit"):
                accepted = await self._change(
                    table_id, claims, request, decide, _seat_answer(claims.seat, with_view), is_same
                )
        except changes.RuleBroken as broken:
            self._count_illegal(rule_set, broken)
            raise
        if accepted.entry is not None:
            self.metrics.count_moves(rule_set, "accepted", len(moves))
        return accepted

    async def take_back(
        self, table_id: str, claims: SeatClaims, revision: int | None, request_id: str, *, with_view: bool
    ) -> Accepted:
        """The newest play of the seat's turn is taken back. The answer is as that of `submit`."""
        now = self.clock()

        def decide(table: TableValue) -> Change:
            seat = seat_of(table, claims)
            _check_revision(table, revision)
            return changes.take_back(table, seat, now)

        request = Request.of("undo", request_id, claims.token_id, optional_number(revision))
        is_same = partial(earlier.is_same_play, self.store, table_id, (), revision)
        with MoveTimer(self.metrics, "undo"):
            return await self._change(table_id, claims, request, decide, _seat_answer(claims.seat, with_view), is_same)

    async def _change(
        self,
        table_id: str,
        claims: SeatClaims | None,
        request: Request,
        decide: Callable[[TableValue], Change],
        answer: Callable[[TableValue, Entry], bytes],
        is_same: Callable[[StoredAnswer], Awaitable[bool]],
    ) -> Accepted:
        """Decide a change and commit it, again while others come first. A request remembered gets its first answer, and
        another one under its id is refused.

        `is_same`: whether what an earlier version remembered of this method, caller and id may be this request.
        """
        table = self.recent.get(table_id)
        newest_revision = 0
        for _ in range(_ATTEMPTS):
            try:
                if table is None:
                    table = await self._read(table_id)
                if earlier.may_remember(table):
                    await earlier.check_new(self.store, table, request, is_same)
                change = decide(table)
                said = answer(change.table, change.entry)
                records = () if change.ended is None else await self._records_of(table, change, change.ended)
                commit = commit_of(table, change, request.id, request.kept(said), records)
                await self.store.commit(commit)
            except TableNotFound:
                self.recent.forget(table_id)
                raise errors.table_not_found(table_id) from None
            except AlreadyAnswered as known:
                return await self._repeated(table_id, claims, request, known.stored_answer)
            except RevisionConflict as conflict:
                self.metrics.count_conflict()
                newest_revision = conflict.current
                table = None
            except errors.ApiError:
                remembered = await self.store.find_answer(table_id, request.id)
                if remembered is not None:
                    return await self._repeated(table_id, claims, request, remembered)
                newest = await self.get(table_id)
                if table is None or newest.revision <= table.revision:
                    raise
                table = newest
            else:
                self.recent.put(change.table, len(commit.state), change.entry)
                self._count_ended(change)
                return Accepted(said, change.entry)
        raise errors.stale_revision(newest_revision if table is None else table.revision)

    async def _repeated(
        self, table_id: str, claims: SeatClaims | None, request: Request, first: StoredAnswer
    ) -> Accepted:
        """Return the first answer if it was this request's. Raise SEAT_NOT_YOURS or REQUEST_ID_REUSED otherwise."""
        answer = request.first_answer(first.answer)
        if answer is None:
            table = await self.get(table_id)
            if claims is not None:
                seat_of(table, claims)
            raise errors.request_id_reused()
        return Accepted(answer)

    async def _read(self, table_id: str) -> TableValue:
        stored = await self.store.load(table_id)
        table = decode(stored.state, stored.revision)
        self.recent.put(table, len(stored.state))
        return table

    async def _records_of(self, table: TableValue, change: Change, ended: Deal) -> tuple[tuple[int, bytes], ...]:
        record = await deal_record(self.store, table, change, ended)
        return ((record.deal_number, record.SerializeToString()),)

    def _count_illegal(self, rule_set: str, broken: changes.RuleBroken) -> None:
        self.metrics.count_moves(rule_set, "illegal")
        for violation in broken.violations:
            self.metrics.count_violation(violation.name)

    def _count_ended(self, change: Change) -> None:
        if change.ended is not None:
            count_deal(self.metrics, change.ended)
            if change.table.state is TableState.FINISHED:
                self.metrics.count_match(change.table.rules.id)


def seat_of(table: TableValue, claims: SeatClaims) -> int:
    """The seat that a verified token holds at the table. Raises PERMISSION_DENIED where it holds none any more."""
    if claims.table_id != table.id or not 0 <= claims.seat < len(table.seats):
        raise errors.seat_not_yours()
    if not claims.token_id or table.seats[claims.seat].token_id != claims.token_id:
        raise errors.seat_not_yours("the seat was given back")
    return claims.seat


def legal_moves_of(table: TableValue, seat: int) -> list[Move]:
    """The legal moves of a seat; none while another is to move, or nothing is being played."""
    if table.deal is None or seat != table.deal.seat_to_move:
        return []
    return legal_moves(table.deal)


def _seat_answer(seat: int, with_view: bool) -> Callable[[TableValue, Entry], bytes]:
    def answer(table: TableValue, entry: Entry) -> bytes:
        said = [number(_REVISION, table.revision), *[field(_EVENTS, event) for event in entry.events_for(seat)]]
        if with_view and table.deal is not None:
            said.append(field(_VIEW, view_bytes(view_of(table.deal, seat))))
        return b"".join(said)

    return answer


def _check_revision(table: TableValue, revision: int | None) -> None:
    if revision is not None and revision != table.revision:
        raise errors.stale_revision(table.revision, revision)
