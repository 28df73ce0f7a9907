"""The metrics that this process exports to Prometheus.

Every label has few values: RPCs that do not exist are counted under "unknown", rule sets that callers send under
"custom", and the series of a family past its 512th under "other".
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from buraco_service.observing.collectors import (
    CallCollector,
    GrpcType,
    LabelledCounts,
    LabelledDurations,
    MethodMetrics,
)

MoveOutcome = Literal["ok", "refused", "failed", "cancelled"]
DueKind = Literal["turn", "confirmation", "settlement", "release", "orphan", "idle"]
UNKNOWN = "unknown"
"""The label value of RPCs that do not exist."""
CUSTOM = "custom"
"""The label value of rule sets that are no presets."""
STORED_TABLES = "buraco_tables"
"""The gauge that describes the store, so that every process exports the same value."""

# Seconds.
_MOVE_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_STORE_BUCKETS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0)
_LAG_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
_LAG_PERIOD = 0.5
_SCORE_BUCKETS = (-500, -200, 0, 200, 400, 600, 800, 1000, 1500, 2000, 3000)


class Metrics:
    """All metrics of one server, in a registry of their own. `rule_sets` are the ids that become labels.

    Making them turns off the series `*_created` in the whole process.
    """

    def __init__(self, rule_sets: Iterable[str] = (), version: str = UNKNOWN) -> None:
        # `*_created` would double the number of series. The library gives the function no type.
        disable: Callable[[], None] = disable_created_metrics
        disable()
        self.registry = registry = CollectorRegistry()
        self._rule_sets = frozenset(rule_sets)
        self._calls = CallCollector()
        registry.register(self._calls)

        def counter(name: str, text: str, *labels: str) -> LabelledCounts:
            counts = LabelledCounts(name, text, labels)
            registry.register(counts)
            return counts

        def durations(
            name: str, text: str, label: str, bounds: Sequence[float], expected: Iterable[str] = ()
        ) -> LabelledDurations:
            histogram = LabelledDurations(name, text, label, bounds, expected)
            registry.register(histogram)
            return histogram

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(name, text, labels, registry=registry)

        def histogram(name: str, text: str, bounds: Sequence[float], *labels: str) -> Histogram:
            return Histogram(name, text, labels, registry=registry, buckets=bounds)

        self._moves = counter("buraco_moves_total", "Moves submitted to tables.", "rule_set", "outcome")
        text = "Seconds from a request for moves or an undo, on a stream or by itself, until it was decided."
        outcomes = get_args(MoveOutcome)
        self._move_seconds = durations("buraco_move_request_seconds", text, "outcome", _MOVE_BUCKETS, outcomes)
        self._violations = counter("buraco_violations_total", "Rules that submitted moves broke.", "reason")
        self._deals = counter("buraco_deals_finished_total", "Deals played to their end.", "rule_set", "ending")
        self._buracos = counter("buraco_buracos_total", "Buracos on the tables of ended deals.", "rule_set", "kind")
        text = "What a side scored in a deal."
        self._scores = histogram("buraco_deal_score_points", text, _SCORE_BUCKETS, "rule_set")
        self._matches = counter("buraco_matches_finished_total", "Matches played to their end.", "rule_set")
        text = "Matches that players ended before they were played to their end."
        self._cut_off_matches = counter("buraco_matches_cut_off_total", text, "rule_set", "how")
        self._tables = counter("buraco_tables_created_total", "Tables created.", "rule_set")
        text = "Tables in the store, those of all replicas; counted once a minute."
        self._table_count = gauge(STORED_TABLES, text, "state")
        text = "What was due at tables and was carried out, by its kind."
        self._due = counter("buraco_due_total", text, "kind")
        self._messages = counter("buraco_chat_messages_total", "Chat messages that were sent.", "kind")
        text = "Entries posted to accounts, by their kind."
        self._account_entries = counter("buraco_account_entries_total", text, "kind")
        self._refusals = counter("buraco_refusals_total", "Calls refused, by reason and limit.", "reason", "limit")
        self._unsent = gauge("buraco_unsent_messages", "Calls open now whose message has not arrived.")
        self._web_calls = counter("buraco_web_calls_total", "Calls that came over the web port.", "protocol")
        self._web_connections = gauge("buraco_web_connections", "Connections to the web port now.")
        text = "Connections to the web port that were closed for what they did."
        self._dropped_connections = counter("buraco_web_connections_dropped_total", text, "cause")
        self._watches = gauge("buraco_watches", "Streams that watch or play a table now.")
        text = "Seconds that operations of the store took."
        self._store_seconds = durations("buraco_store_operation_seconds", text, "operation", _STORE_BUCKETS)
        text = "Operations of the store, by their outcome."
        self._store_operations = counter("buraco_store_operations_total", text, "operation", "outcome")
        text = "Commits that lost against another change."
        self._conflicts = Counter("buraco_store_conflicts_total", text, registry=registry)
        self._store_watchers = gauge("buraco_store_watchers", "Subscriptions to changes of tables in the store now.")
        text = "Seconds by which the event loop woke up late, sampled twice a second."
        self._lag = histogram("buraco_event_loop_lag_seconds", text, _LAG_BUCKETS)
        Info("buraco_build", "The version that runs.", registry=registry).info({"version": version})
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

    def method(self, grpc_type: GrpcType, service: str, method: str) -> MethodMetrics:
        """Return the numbers of an RPC that exists: the same ones at each call, at 0 from the first."""
        labels = (grpc_type, service, method)
        return self._calls.methods.setdefault(labels, MethodMetrics(*labels))

    def unknown_method(self) -> MethodMetrics:
        """Return the numbers of all RPCs that do not exist, together."""
        return self.method("unknown", UNKNOWN, UNKNOWN)

    def _label_of(self, rule_set: str) -> str:
        """Return the id of a preset, "custom" for any other rule set."""
        return rule_set if rule_set in self._rule_sets else CUSTOM

    def count_moves(self, rule_set: str, outcome: Literal["accepted", "illegal"], count: int = 1) -> None:
        """Count moves submitted under the rule set with this id."""
        self._moves.add(self._label_of(rule_set), outcome, count=count)

    def observe_move_request(self, outcome: MoveOutcome, seconds: float) -> None:
        """Count a request for moves or an undo that was decided after so many seconds."""
        self._move_seconds.observe(outcome, seconds)

    def count_violation(self, reason: str) -> None:
        """Count a broken rule, by the stable name of the violation."""
        self._violations.add(reason)

    def count_deal(self, rule_set: str, ending: str) -> None:
        """Count a deal that ended, by how it ended."""
        self._deals.add(self._label_of(rule_set), ending)

    def observe_scores(self, rule_set: str, buracos: Iterable[str], totals: Iterable[int]) -> None:
        """Count the kinds of all buracos of an ended deal, and what each side scored."""
        label = self._label_of(rule_set)
        for kind in buracos:
            self._buracos.add(label, kind)
        for total in totals:
            self._scores.labels(label).observe(total)

    def count_match(self, rule_set: str) -> None:
        """Count a match that was played to its end."""
        self._matches.add(self._label_of(rule_set))

    def count_cut_off_match(self, rule_set: str, how: str) -> None:
        """Count a match that players ended before its end, by how they did."""
        self._cut_off_matches.add(self._label_of(rule_set), how)

    def count_created_table(self, rule_set: str) -> None:
        """Count a table that was created."""
        self._tables.add(self._label_of(rule_set))

    def count_account_entry(self, kind: str) -> None:
        """Count an entry that was posted to an account, by the name of its kind."""
        self._account_entries.add(kind)

    def count_due(self, kind: DueKind, count: int = 1) -> None:
        """Count what was due at a table and was carried out here."""
        self._due.add(kind, count=count)

    def count_message(self, kind: Literal["text", "phrase"]) -> None:
        """Count a chat message that was sent."""
        self._messages.add(kind)

    def set_stored_tables(self, counts: Mapping[str, int]) -> None:
        """Set how many tables of each state the store holds now; an empty mapping removes all series, as not known."""
        if not counts:
            self._table_count.clear()
        for state, count in counts.items():
            self._table_count.labels(state).set(count)

    def count_refusal(self, reason: str, limit: str = "") -> None:
        """Count a call that was refused for its token or key, or for a limit, by their stable names."""
        self._refusals.add(reason, limit)

    def set_unsent_messages(self, count: int) -> None:
        """Set how many calls are open whose message has not arrived."""
        self._unsent.set(count)

    def count_web_call(self, protocol: str) -> None:
        """Count a call that came over the web port, by its protocol."""
        self._web_calls.add(protocol)

    def set_web_connections(self, count: int) -> None:
        """Set how many connections to the web port are open."""
        self._web_connections.set(count)

    def count_dropped_connection(self, cause: str) -> None:
        """Count a connection to the web port that was closed for what it did."""
        self._dropped_connections.add(cause)

    def add_watch(self) -> None:
        """Count a stream that begins to watch or play a table."""
        self._watches.inc()

    def remove_watch(self) -> None:
        """Stop counting such a stream when it ends."""
        self._watches.dec()

    def observe_store_operation(self, operation: str, outcome: str, seconds: float) -> None:
        """Count an operation of the store that took so many seconds."""
        self._store_operations.add(operation, outcome)
        self._store_seconds.observe(operation, seconds)

    def set_store_watchers(self, count: int) -> None:
        """Set how many subscriptions to the store there are now."""
        self._store_watchers.set(count)

    def count_conflict(self) -> None:
        """Count a commit that lost against another change."""
        self._conflicts.inc()

    async def observe_loop_lag(self) -> None:
        """Sample how late the event loop wakes up, until cancelled."""
        while True:
            due = time.perf_counter() + _LAG_PERIOD
            await asyncio.sleep(_LAG_PERIOD)
            self._lag.observe(max(0.0, time.perf_counter() - due))
