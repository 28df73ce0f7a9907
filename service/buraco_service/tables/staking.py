"""Joins that stake, and what becomes of stakes later: the steps between a table and accounts, in their order.

A table and an account are never written together. `stakes` has the order that makes each hold end once, and why; here
it is followed. Whatever a replica leaves undone is due at the table, and any replica carries it out.
"""

import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final
from uuid import uuid4

from buraco_service import errors
from buraco_service.access.player_tokens import PlayerTokenMissing
from buraco_service.accounts.accounts import Accounts
from buraco_service.accounts.entries import HOUSE, HoldEnded, credit_too_low
from buraco_service.observing.metrics import DueKind, Metrics
from buraco_service.stores.base import StoredAnswer, StoreError
from buraco_service.tables import stakes
from buraco_service.tables.changes import Change
from buraco_service.tables.entries import Entry
from buraco_service.tables.idempotency import Request
from buraco_service.tables.repository import Accepted, TableRepository
from buraco_service.tables.state import StakeHold, Stakes, TableValue

_ATTEMPTS: Final = 8


class _StakeNeeded(errors.FailedPrecondition):
    """Nothing but the stake is missing for the join, or its reservation was given up. No caller gets this."""

    def __init__(self, stake: int) -> None:
        super().__init__([("CREDIT_TOO_LOW", "the stake is not held")])
        self.stake = stake


class Staking:
    """The use cases. `holds`: whether accounts hold the stakes of new tables; `lifetime` in seconds."""

    def __init__(
        self,
        repository: TableRepository,
        accounts: Accounts,
        metrics: Metrics,
        *,
        clock: Callable[[], float],
        holds: bool,
        lifetime: float,
    ) -> None:
        self._repository = repository
        self._accounts = accounts
        self._metrics = metrics
        self._clock = clock
        self._holds = holds
        self._lifetime = lifetime

    def of_new_table(self, stake: int) -> Stakes | None:
        """Return what a table with this stake begins with; None if its stake is only shown."""
        return stakes.stakes_of_new_table(stake, self._lifetime) if self._holds else None

    async def join(
        self,
        table_id: str,
        account_id: str,
        request: Request,
        decide: Callable[[TableValue], Change],
        answer: Callable[[Change, Entry], bytes],
        is_same: Callable[[StoredAnswer], Awaitable[bool]] | None = None,
    ) -> Accepted:
        """Commit a join as `TableRepository.change` does, with the stake held where the table asks for one.

        `account_id` is empty for who has no account. Raise what that and `decide` raise, PLAYER_TOKEN_MISSING and
        CREDIT_TOO_LOW.
        """
        held: tuple[StakeHold, int] | None = None

        def decide_staked(table: TableValue) -> Change:
            change = decide(table)
            if not stakes.needs_stake(table):
                return change
            if held is None or not stakes.is_reserved(table, held[0]):
                raise _StakeNeeded(table.stake)
            return stakes.take_reserved(change, *held)

        for _ in range(_ATTEMPTS):
            try:
                return await self._repository.change(table_id, None, request, decide_staked, answer, is_same)
            except _StakeNeeded as needed:
                if not account_id:
                    raise PlayerTokenMissing from None
                held = await self._hold(table_id, account_id, needed.stake)
            except errors.ApiError:
                if held is not None:
                    await self._give_up(table_id, held[0])
                raise
        raise errors.stale_revision((await self._repository.get(table_id)).revision)

    async def join_at(
        self,
        table_id: str,
        revision: int,
        account_id: str,
        request: Request,
        decide: Callable[[TableValue], Change],
        answer: Callable[[Change, Entry], bytes],
    ) -> Accepted:
        """Commit a join as `join` does, but at one revision of the table or not at all.

        Where the table asks for a stake, that is reserved at the revision, and the seat is taken while the reservation
        is there. So once this has raised REVISION_STALE, or what `decide` raises at a later revision, the request takes
        no seat of the table any more, whoever still carries it out.
        """
        held: tuple[StakeHold, int] | None = None

        def decide_at(table: TableValue) -> Change:
            change = decide(table)
            if not stakes.needs_stake(table):
                _check_revision(table, revision)
                return change
            if held is None:
                raise _StakeNeeded(table.stake)
            if not stakes.is_reserved(table, held[0]):
                raise errors.stale_revision(table.revision, revision)
            return stakes.take_reserved(change, *held)

        try:
            try:
                return await self._repository.change(table_id, None, request, decide_at, answer)
            except _StakeNeeded as needed:
                held = await self._hold_at(table_id, revision, account_id, request, needed.stake)
            return await self._repository.change(table_id, None, request, decide_at, answer)
        except errors.ApiError:
            await self._give_up_at(table_id, account_id, request)
            # Another call of the request may have taken the seat before.
            first = await self._repository.store.find_answer(table_id, request.id)
            joined = None if first is None else request.answer_in(first.answer)
            if joined is None:
                raise
            return Accepted(joined)

    async def check_can_stake(self, account_id: str, stake: int) -> None:
        """Raise CREDIT_TOO_LOW unless an account can hold a stake, PLAYER_TOKEN_MISSING without an account."""
        if not account_id:
            raise PlayerTokenMissing
        available = (await self._accounts.newest(account_id)).available
        if available < stake:
            raise credit_too_low(available, stake)

    async def carry_out(self, table_id: str) -> bool:
        """Do what is due for the stakes of a table, and return whether this replica did any of it.

        Raise TABLE_NOT_FOUND or StoreError: the rest stays due.
        """
        now = self._clock()
        done = await self._note("idle", table_id, partial(stakes.close_idle, now=now))
        done |= await self._note("orphan", table_id, partial(stakes.give_up_overdue, now=now))
        table = await self._repository.get(table_id)
        if table.stakes is None:
            return done
        settled = stakes.payouts_to_settle(table)
        ended: dict[str, int] = {}
        for hold, payout in [*[(hold, 0) for hold in table.stakes.releasing], *settled]:
            entry = await self._accounts.end_hold(hold.account_id, hold.key, payout, table_id)
            ended[hold.key] = entry.available
        kind: DueKind = "settlement" if settled else "release"
        return await self._note(kind, table_id, partial(stakes.note_ended, ended=ended, now=now)) or done

    async def try_to_carry_out(self, table_id: str) -> None:
        """Do now what a change has made due; what fails stays due."""
        with contextlib.suppress(StoreError, errors.ApiError):
            await self.carry_out(table_id)

    async def _hold(self, table_id: str, account_id: str, stake: int) -> tuple[StakeHold, int] | None:
        """Hold the stake of an account for a table, and return the hold and what is left; None if it was given up.

        Raise CREDIT_TOO_LOW.
        """
        table = await self._repository.get(table_id)
        if stakes.find_reserved(table, account_id) is None and account_id != HOUSE:
            # Asked first, so that whoever cannot pay changes nothing. A hold of an earlier attempt counts.
            await self.check_can_stake(account_id, stake)
        key, now = uuid4().hex, self._clock()
        await self._repository.change_unasked(
            table_id, lambda table: stakes.reserve(table, account_id, key, now), by_clock=True
        )
        hold = stakes.find_reserved(await self._repository.get(table_id), account_id)
        if hold is None:
            return None
        try:
            return hold, (await self._accounts.hold(account_id, hold.key, stake, table_id)).available
        except HoldEnded:
            return None
        except errors.ApiError:
            await self._give_up(table_id, hold)
            raise

    async def _hold_at(
        self, table_id: str, revision: int, account_id: str, request: Request, stake: int
    ) -> tuple[StakeHold, int]:
        """Hold the stake as `_hold` does, its reservation made at a revision of the table, once for a request.

        Raise REVISION_STALE if it cannot be made any more, or was given up.
        """
        table = await self._repository.get(table_id)
        if stakes.find_reserved(table, account_id) is None:
            try:
                await self.check_can_stake(account_id, stake)
            except errors.ApiError:
                # Perhaps another call of the request holds the stake already.
                if await self._repository.store.find_answer(table_id, _reserving(request).id) is None:
                    raise
        key, now = uuid4().hex, self._clock()

        def decide(table: TableValue) -> Change:
            _check_revision(table, revision)
            return stakes.reserve_or_keep(table, account_id, key, now)

        def answer(change: Change, entry: Entry) -> bytes:
            reserved = stakes.find_reserved(change.table, account_id)
            return b"" if reserved is None else reserved.key.encode()

        reserved = await self._repository.change(table_id, None, _reserving(request), decide, answer)
        hold = StakeHold(account_id, reserved.answer.decode())
        try:
            return hold, (await self._accounts.hold(account_id, hold.key, stake, table_id)).available
        except HoldEnded:
            raise errors.stale_revision(table.revision, revision) from None

    async def _give_up_at(self, table_id: str, account_id: str, request: Request) -> None:
        """Give up what `_hold_at` has reserved for a request, by any replica. Raise REVISION_STALE if it could not."""
        reserving = _reserving(request)
        first = await self._repository.store.find_answer(table_id, reserving.id)
        key = None if first is None else reserving.answer_in(first.answer)
        if key is None:
            return
        hold = StakeHold(account_id, key.decode())
        await self._give_up(table_id, hold)
        table = await self._repository.get(table_id)
        if stakes.is_reserved(table, hold):
            raise errors.stale_revision(table.revision)

    async def _give_up(self, table_id: str, hold: StakeHold) -> None:
        now = self._clock()
        with contextlib.suppress(StoreError, errors.ApiError):
            await self._repository.change_unasked(
                table_id, lambda table: stakes.give_up(table, hold.key, now), by_clock=True
            )
        await self.try_to_carry_out(table_id)

    async def _note(self, kind: DueKind, table_id: str, decide: Callable[[TableValue], Change | None]) -> bool:
        """Commit what is decided without a request, and count it. Return False if there is nothing to do."""
        change = await self._repository.change_unasked(table_id, decide, by_clock=True)
        if change is not None:
            self._metrics.count_due(kind)
        return change is not None


def _reserving(request: Request) -> Request:
    """Return the request under which the stake of a join is reserved."""
    return request._replace(id=f"stake {request.id}")


def _check_revision(table: TableValue, revision: int) -> None:
    """Raise REVISION_STALE for a table at another revision."""
    if table.revision != revision:
        raise errors.stale_revision(table.revision, revision)
