"""The metrics of several workers as those of one service.

Every worker counts in its own memory, as a single process does, and tells its supervisor what it has counted. (Counting
in files that all share, the library's way for several processes, costs every call several times as much, and has
neither collectors of one's own nor figures of the process.)
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

# Of these the past counts, and not only what is now.
_GROWING = ("counter", "histogram")
_START = "process_start_time_seconds"


def families(registry: Collector) -> list[Family]:
    """What a registry holds now."""
    return [
        (metric.name, metric.documentation, metric.type, [(one.name, one.labels, one.value) for one in metric.samples])
        for metric in registry.collect()
    ]


def together(sources: Iterable[Iterable[Family]]) -> list[Metric]:
    """The sums of all sources, series by series.

    What describes instead of counting is not summed: `*_info` stays 1, the start is that of the first process, and how
    many tables the store holds is what one of them has found.
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
                known[series] = _joined(sample, known[series], value) if series in known else value
    for name, metric in metrics.items():
        for (sample, labels), value in values[name].items():
            metric.add_sample(sample, dict(labels), value)
    return list(metrics.values())


def _joined(sample: str, one: float, other: float) -> float:
    if sample.endswith("_info") or sample == STORED_TABLES:
        return max(one, other)
    return min(one, other) if sample == _START else one + other


class Gone:
    """What workers that have ended have counted: no counter of the service goes back when one of them ends."""

    def __init__(self) -> None:
        self.families: list[Family] = []

    def add(self, last: Iterable[Family]) -> None:
        """Keeps what a worker has counted."""
        growing = [family for family in last if family[2] in _GROWING]
        kept = together((self.families, growing))
        self.families = [(one.name, one.documentation, one.type, [s[:3] for s in one.samples]) for one in kept]


class SupervisorMetrics:
    """What the supervisor tells of its own. It is a process of the service: its memory and time count, too."""

    def __init__(self) -> None:
        hide: Callable[[], None] = disable_created_metrics
        hide()
        self.registry = registry = CollectorRegistry()
        self.workers = Gauge("buraco_workers", "Workers that serve now.", registry=registry)
        self.restarts = Counter(
            "buraco_worker_restarts_total", "Workers started in place of others.", registry=registry
        )
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)


class Together(Collector):
    """Shows the sums of what `ask` returns, asked for each scrape from the thread that answers it."""

    def __init__(self, ask: Callable[[], Iterable[Iterable[Family]]]) -> None:
        self._ask = ask

    def collect(self) -> Iterable[Metric]:
        """The metrics of the service."""
        return together(self._ask())
