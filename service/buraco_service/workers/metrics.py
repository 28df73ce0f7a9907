"""Sums the metrics of several workers to those of one service.

Every worker counts in its own memory, as a single process does, and sends its counts to its supervisor. (Counting in
files that all share, prometheus_client's way for several processes, costs every call several times as much, and has
neither collectors of one's own nor the metrics of the process.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from buraco_service.observing.metrics import STORED_TABLES

# Name, meaning, type, and the samples: name, labels, value. Plain data that JSON can hold.
Family: TypeAlias = Sequence[Any]
Labels: TypeAlias = tuple[tuple[str, str], ...]

# Types whose values only grow: they count on when their worker has ended.
_CUMULATIVE = ("counter", "histogram")
_START_TIME = "process_start_time_seconds"


def export_families(registry: Collector) -> list[Family]:
    """Return the metrics of a registry as they are now, as plain data that JSON can hold."""
    return [
        (metric.name, metric.documentation, metric.type, [(one.name, one.labels, one.value) for one in metric.samples])
        for metric in registry.collect()
    ]


def sum_families(sources: Iterable[Iterable[Family]]) -> list[Metric]:
    """Return the sums of all sources, series by series.

    Three are not sums: `*_info` stays 1, the start time is the earliest, the number of stored tables the largest.
    """
    metrics: dict[str, Metric] = {}
    values: dict[str, dict[tuple[str, Labels], float]] = {}
    for source in sources:
        for name, documentation, kind, samples in source:
            if name not in metrics:
                metrics[name], values[name] = Metric(name, documentation, kind), {}
            known = values[name]
            for sample, labels, value in samples:
                series = (sample, tuple(labels.items()))
                known[series] = _combine(sample, known[series], value) if series in known else value
    for name, metric in metrics.items():
        for (sample, labels), value in values[name].items():
            metric.add_sample(sample, dict(labels), value)
    return list(metrics.values())


def _combine(sample: str, one: float, other: float) -> float:
    if sample.endswith("_info") or sample == STORED_TABLES:
        return max(one, other)
    return min(one, other) if sample == _START_TIME else one + other


class EndedWorkers:
    """The counters and histograms of workers that have ended, so that no counter of the service decreases."""

    def __init__(self) -> None:
        self.families: list[Family] = []

    def add(self, last: Iterable[Family]) -> None:
        """Add the counters and histograms of a worker that has ended; its gauges end with it."""
        cumulative = [family for family in last if family[2] in _CUMULATIVE]
        sums = sum_families((self.families, cumulative))
        self.families = [(one.name, one.documentation, one.type, [s[:3] for s in one.samples]) for one in sums]


class SupervisorMetrics:
    """The supervisor's own metrics: the workers, and its process, which is a part of the service.

    Making them turns off the series `*_created` in the whole process.
    """

    def __init__(self) -> None:
        disable: Callable[[], None] = disable_created_metrics
        disable()
        self.registry = registry = CollectorRegistry()
        self.workers = Gauge("buraco_workers", "Workers that serve now.", registry=registry)
        self.restarts = Counter(
            "buraco_worker_restarts_total", "Workers started in place of others.", registry=registry
        )
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)


class SumCollector(Collector):
    """Exports the sums of what `collect_sources` returns; each scrape calls it, from the thread that answers."""

    def __init__(self, collect_sources: Callable[[], Iterable[Iterable[Family]]]) -> None:
        self._collect_sources = collect_sources

    def collect(self) -> Iterable[Metric]:
        """Return the metrics of the service."""
        return sum_families(self._collect_sources())
