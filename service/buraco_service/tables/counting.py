"""What happens at tables, as metrics."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final

from buraco_rules import Deal, score_deal
from buraco_service.errors import ApiError
from buraco_service.observing import logs
from buraco_service.observing.current_call import current_call
from buraco_service.observing.metrics import Metrics, MoveOutcome
from buraco_service.stores.base import Store, StoreError
from buraco_service.tables.changes import Change, RuleBroken
from buraco_service.tables.state import MatchEnd, TableState

COUNT_EVERY: Final = 60.0
"""Seconds between two counts of the tables in the store."""
_PAUSE_FACTOR: Final = 100
"""A pause takes at least so many times as long as the count before it."""
_OWN_FAILURES: Final = frozenset({"UNAVAILABLE", "INTERNAL"})
"""Names of the statuses that are not the caller's doing."""


class MoveTimer:
    """Time the block that decides a request for moves, and count it by its outcome; trace it under the name."""

    __slots__ = ("_begun", "_metrics", "_name", "_span")

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._metrics = metrics
        self._name = name
        self._begun = 0.0
        self._span: AbstractContextManager[None] | None = None

    def __enter__(self) -> None:
        call = current_call.get()
        if call is not None and call.trace is not None:
            self._span = call.trace.trace_use_case(self._name)
            self._span.__enter__()
        self._begun = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._metrics.observe_move_request(_outcome(error), time.perf_counter() - self._begun)
        if self._span is not None:
            self._span.__exit__(None, None, None)


def _outcome(error: BaseException | None) -> MoveOutcome:
    if error is None:
        return "ok"
    if isinstance(error, ApiError) and error.code.name not in _OWN_FAILURES:
        return "refused"
    return "cancelled" if isinstance(error, asyncio.CancelledError) else "failed"


def count_change(metrics: Metrics, change: Change) -> None:
    """Count the moves of a committed change, and the deal and the match that ended with it."""
    rule_set = change.table.rules.id
    if change.moves:
        metrics.count_moves(rule_set, "accepted", len(change.moves))
    if change.ended is not None:
        if change.ended.ending:
            count_deal(metrics, change.ended)
        if change.table.how is not MatchEnd.PLAYED:
            metrics.count_cut_off_match(rule_set, change.table.how.name.lower())
        elif change.table.state is TableState.FINISHED:
            metrics.count_match(rule_set)


def count_illegal(metrics: Metrics, broken: RuleBroken) -> None:
    """Count moves that break the rules, by each rule that they break."""
    metrics.count_moves(broken.rule_set, "illegal")
    for violation in broken.violations:
        metrics.count_violation(violation.name)


def count_deal(metrics: Metrics, deal: Deal) -> None:
    """Count a deal that has ended."""
    metrics.count_deal(deal.rules.id, deal.ending.name.lower())
    buracos = [meld.buraco.name.lower() for side in deal.sides for meld in side.melds if meld.buraco]
    metrics.observe_scores(deal.rules.id, buracos, [side.total for side in score_deal(deal).sides])


async def count_tables(metrics: Metrics, store: Store) -> None:
    """Count the tables in the store now and then, until cancelled. All replicas may do so."""
    while True:
        begun = time.perf_counter()
        try:
            metrics.set_stored_tables({state.status: await store.count(state.status) for state in TableState})
        except StoreError as error:
            # No number is better than an old one.
            metrics.set_stored_tables({})
            logs.get_logger().warning("tables were not counted", cause=str(error))
        # PostgreSQL reads an index entry of every table that is being played: with very many it is asked less often.
        await asyncio.sleep(max(COUNT_EVERY, _PAUSE_FACTOR * (time.perf_counter() - begun)))
