"""What Prometheus may know of a fleet."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final, Literal, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    start_http_server,
)

from buraco_bots.bot import FaultKind
from buraco_bots.thinking import overdue

Outcome = Literal["finished", "not_started", "bot_failed", "seat_lost", "stopped"]

# Seconds.
_THINK_BUCKETS: Final = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)


class FleetMetrics:
    """The metrics of one fleet. Bots are labelled by the names under which they sit down: as many as were asked for."""

    def __init__(self) -> None:
        hide: Callable[[], None] = disable_created_metrics
        hide()
        self.registry = registry = CollectorRegistry()
        self._think = Histogram(
            "buraco_bot_think_seconds",
            "Seconds that bots took to choose a move.",
            ("bot",),
            registry=registry,
            buckets=_THINK_BUCKETS,
        )
        self._faults = Counter(
            "buraco_bot_faults_total",
            "Calls in which bots were late, raised an error, or chose no legal move.",
            ("bot", "fault"),
            registry=registry,
        )
        self._overdue = Gauge(
            "buraco_bot_overdue_calls", "Calls of bots past their time that have not returned.", registry=registry
        )
        self._overdue.set_function(lambda: len(overdue()))
        self._seats = Gauge("buraco_fleet_seats", "Seats that bots of the fleet hold now.", registry=registry)
        self._sittings = Counter(
            "buraco_fleet_sittings_total", "Bots that got up from a table, and why.", ("outcome",), registry=registry
        )
        # A rate needs a sample before the first.
        for outcome in get_args(Outcome):
            self._sittings.labels(outcome)
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)

    def thought(self, bot: str, seconds: float) -> None:
        """A bot took so many seconds to choose a move."""
        self._think.labels(bot).observe(seconds)

    def failed(self, bot: str, fault: FaultKind) -> None:
        """Count a fault of a bot."""
        self._faults.labels(bot, fault).inc()

    def sat_down(self) -> None:
        """A bot has taken a seat."""
        self._seats.inc()

    def got_up(self, outcome: Outcome) -> None:
        """A bot's time at a table has ended."""
        self._seats.dec()
        self._sittings.labels(outcome).inc()

    @contextlib.contextmanager
    def served(self, host: str, port: int) -> Iterator[int]:
        """Serves the metrics over HTTP; gives the port (0 took a free one). Raises OSError if it cannot be had."""
        server, thread = start_http_server(port, addr=host, registry=self.registry)
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
