"""Cheap counters and histograms for what happens on every call: plain numbers that only the event loop changes.

A counter or histogram of prometheus_client takes 1 to 3 microseconds, half of them for a lock that is not needed here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Literal

from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

GrpcType = Literal["UNARY", "CLIENT_STREAM", "SERVER_STREAM", "BIDI_STREAM", "unknown"]

# Seconds. Calls take 0.2 ms to some 10 ms; streams live for minutes.
_CALL_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0)
OTHER = "other"
"""The label value of series past the 512th."""
_MAX_SERIES = 512
_EXPECTED_CODES = ("OK", "INTERNAL", "UNAVAILABLE")


class Durations:
    """One series of a histogram of seconds. `bounds` are ascending."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        # One count for each bucket, not cumulated; the last is for values over the last bound.
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self._sum += seconds
        self._counts[bisect_left(self._bounds, seconds)] += 1

    def add_to(self, family: HistogramMetricFamily, labels: Sequence[str]) -> None:
        """Add a series with these labels to an exported family."""
        bounds = [*map(floatToGoString, self._bounds), "+Inf"]
        family.add_metric(labels, list(zip(bounds, accumulate(self._counts), strict=True)), self._sum)


class MethodMetrics:
    """The numbers of one RPC. Whoever serves it counts `started`, `received` and `sent`."""

    __slots__ = ("durations", "handled", "labels", "received", "sent", "started")

    def __init__(self, grpc_type: GrpcType, service: str, method: str) -> None:
        self.labels = (grpc_type, service, method)
        self.started = 0
        self.received = 0
        self.sent = 0
        # By the name of the status code. Codes that alerts read exist from the start: a rate needs an earlier sample.
        self.handled = defaultdict(int, dict.fromkeys(_EXPECTED_CODES, 0))
        self.durations = Durations(_CALL_BUCKETS)

    def observe_end(self, code: str, seconds: float) -> None:
        """Count a call that ended with the status code of this name, after so many seconds."""
        self.handled[code] += 1
        self.durations.observe(seconds)


class CallCollector(Collector):
    """Exports the numbers of all RPCs under the usual names of gRPC metrics."""

    def __init__(self) -> None:
        self.methods: dict[tuple[str, str, str], MethodMetrics] = {}

    def collect(self) -> Iterable[Metric]:
        """Return the families. Each scrape calls it, from the thread that answers."""
        rpc = ("grpc_type", "grpc_service", "grpc_method")
        started = CounterMetricFamily("grpc_server_started", "Calls begun.", labels=rpc)
        handled = CounterMetricFamily("grpc_server_handled", "Calls ended, by status code.", labels=(*rpc, "grpc_code"))
        received = CounterMetricFamily("grpc_server_msg_received", "Messages received.", labels=rpc)
        sent = CounterMetricFamily("grpc_server_msg_sent", "Messages sent.", labels=rpc)
        seconds = HistogramMetricFamily(
            "grpc_server_handling_seconds", "Seconds from a call's arrival to its last answer.", labels=rpc
        )
        for method in tuple(self.methods.values()):
            started.add_metric(method.labels, method.started)
            received.add_metric(method.labels, method.received)
            sent.add_metric(method.labels, method.sent)
            for code, count in tuple(method.handled.items()):
                handled.add_metric((*method.labels, code), count)
            method.durations.add_to(seconds, method.labels)
        return started, handled, seconds, received, sent


class LabelledCounts(Collector):
    """A counter with labels. From 512 series on, a new one is counted with "other" as the value of every label."""

    def __init__(self, name: str, text: str, labels: Sequence[str]) -> None:
        self._name = name
        self._text = text
        self._labels = labels
        self._counts: dict[tuple[str, ...], int] = {}

    def add(self, *labels: str, count: int = 1) -> None:
        """Add to the count under these label values."""
        counts = self._counts
        if labels not in counts and len(counts) >= _MAX_SERIES:
            labels = (OTHER,) * len(labels)
        counts[labels] = counts.get(labels, 0) + count

    def collect(self) -> Iterable[Metric]:
        """Return the family. Each scrape calls it, from the thread that answers."""
        family = CounterMetricFamily(self._name, self._text, labels=self._labels)
        for labels, count in tuple(self._counts.items()):
            family.add_metric(labels, count)
        return [family]


class LabelledDurations(Collector):
    """A histogram of seconds with one label, whose values are few: names in the code, never from outside."""

    def __init__(self, name: str, text: str, label: str, bounds: Sequence[float], expected: Iterable[str] = ()) -> None:
        self._name = name
        self._text = text
        self._label = label
        self._durations = defaultdict(lambda: Durations(bounds), {value: Durations(bounds) for value in expected})

    def observe(self, label: str, seconds: float) -> None:
        """Count one duration under this label value."""
        self._durations[label].observe(seconds)

    def collect(self) -> Iterable[Metric]:
        """Return the family. Each scrape calls it, from the thread that answers."""
        family = HistogramMetricFamily(self._name, self._text, labels=[self._label])
        for label, durations in tuple(self._durations.items()):
            durations.add_to(family, [label])
        return [family]
