"""What time makes due, carried out; and the confirmation of scores, which time carries out where players do not.

A due time stands in the store. Every replica looks for those that are over and carries them out by compare-and-swap,
so that each is carried out once, whichever replica comes first, and no replica owns a timer. Times come from the clocks
of replicas: what is due is carried out `tolerance` seconds late, so that clocks that differ by no more than that cut no
turn short. What becomes of stakes is due as soon as it is decided, and carried out in the same way (see `staking`).
"""

from __future__ import annotations

import asyncio
import random
import time
from functools import partial
from typing import Final

from buraco.v1 import table_service_pb2
from buraco_service.access.seat_tokens import SeatClaims
from buraco_service.errors import ApiError
from buraco_service.observing import logs
from buraco_service.observing.metrics import Metrics
from buraco_service.stores.base import StoreError
from buraco_service.stores.limits import MAX_PAGE
from buraco_service.tables.changes import Change
from buraco_service.tables.idempotency import serialise_optional
from buraco_service.tables.state import TableValue
from buraco_service.tables.stored import CorruptTable, table_to_pb
from buraco_service.tables.tables import Tables
from buraco_service.tables.timing import AlreadyConfirmed, confirm_score, due_change

LOOK_SECONDS: Final = 1.0
"""From one look to the next: replicas look at times of their own, a quarter sooner or later."""
_LEAP_SECONDS: Final = 0.1
"""By less than this no clock leaps, whatever the tolerance is."""
_RETRY_SECONDS: Final = 60.0
_PAGE: Final = 100
"""Tables of one look, carried out at once; the store writes them together."""


async def confirm(
    tables: Tables, table_id: str, claims: SeatClaims, deal_number: int, request_id: str
) -> table_service_pb2.ConfirmScoreResponse:
    """Confirm the score of a deal for the token's seat.

    Raise SCORE_NOT_SHOWN and what `TableRepository.change` raises.
    """
    decide = partial(confirm_score, deal_number=deal_number)
    content = serialise_optional(deal_number)
    try:
        answer = await tables.change_for_seat("confirm", table_id, claims, request_id, decide, content)
    except AlreadyConfirmed as before:
        return table_service_pb2.ConfirmScoreResponse(table=table_to_pb(before.table))
    return table_service_pb2.ConfirmScoreResponse.FromString(answer)


class Deadlines:
    """Carries out what is due at the tables of a store."""

    def __init__(self, tables: Tables, metrics: Metrics, *, tolerance: float) -> None:
        self._tables = tables
        self._metrics = metrics
        self._tolerance = tolerance
        self._unreadable: dict[str, float] = {}
        """Tables that a later version wrote, or that are corrupt, and until when they are left alone."""

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        log = logs.get_logger()
        ahead = self._tables.clock() - time.monotonic()
        while True:
            await asyncio.sleep(random.uniform(0.75, 1.25) * LOOK_SECONDS)  # noqa: S311 (no secret)
            before, ahead = ahead, self._tables.clock() - time.monotonic()
            if abs(ahead - before) > max(self._tolerance, _LEAP_SECONDS):
                log.warning("the clock has jumped", seconds=round(ahead - before, 3))
            try:
                while await self.look() >= _PAGE:
                    pass  # more may be due
            except StoreError as error:
                log.warning("due times were not carried out", cause=str(error))

    async def look(self) -> int:
        """Carry out what is due now, and return how much was. Raise StoreError if the store cannot be asked."""
        now = time.monotonic()
        self._unreadable = {table_id: until for table_id, until in self._unreadable.items() if until > now}
        # However many there are of those, they hold up no other table.
        limit = min(_PAGE + len(self._unreadable), MAX_PAGE)
        over = max(0.0, self._tables.clock() - self._tolerance)
        due = [name for name in await self._tables.repository.store.due(over, limit) if name not in self._unreadable]
        outcomes = await asyncio.gather(*[self._carry_out(table_id) for table_id in due], return_exceptions=True)
        failed = {name: outcome for name, outcome in zip(due, outcomes, strict=True) if isinstance(outcome, Exception)}
        for table_id, error in failed.items():
            if not isinstance(error, StoreError):
                self._unreadable[table_id] = now + _RETRY_SECONDS
        if failed:
            table_id, error = next(iter(failed.items()))
            unforeseen = None if isinstance(error, (ApiError, CorruptTable, StoreError)) else error
            logs.get_logger().warning(
                "due times were not carried out",
                count=len(failed),
                table_id=table_id,
                cause=str(error),
                exc_info=unforeseen,
            )
        return outcomes.count(True)

    async def _carry_out(self, table_id: str) -> bool:
        """Carry out what is due at a table, and return whether this replica did it."""
        now = self._tables.clock()
        has_stakes = False

        def decide(table: TableValue) -> Change | None:
            nonlocal has_stakes
            has_stakes = table.stakes is not None
            due_at = table.clock_due_at
            return None if due_at is None or due_at > now - self._tolerance else due_change(table, now)

        change = await self._tables.repository.change_unasked(table_id, decide, by_clock=True)
        if change is not None:
            self._metrics.count_due("turn" if change.moves else "confirmation")
        done = await self._tables.staking.carry_out(table_id) if has_stakes else False
        return done or change is not None
