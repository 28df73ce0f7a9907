"""The Prometheus metrics of a fleet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final, Literal, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    make_wsgi_app,
    start_http_server,
)

from buraco_bots.bot import FaultKind
from buraco_bots.bot_threads import overdue_threads
from buraco_bots.fleet_health import Health

Outcome = Literal["finished", "not_started", "bot_failed", "relieved", "seat_lost", "stopped"]
"""How a bot left its table.

After the match, before one began, by a fault, because it was no longer to play for an absent player, by an error of the
service, by a stop.
"""

_BUCKET_SECONDS: Final = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)


class FleetMetrics:
    """The metrics of one fleet, labelled by the names of its bots: as many as the command names.

    Making them turns off the series `*_created` in the whole process.
    """

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # prometheus_client has no type for it
        self.registry = registry = CollectorRegistry()
        self._choice_seconds = Histogram(
            "buraco_bot_think_seconds",
            "Seconds that bots took to choose a move.",
            ("bot",),
            registry=registry,
            buckets=_BUCKET_SECONDS,
        )
        self._faults = Counter(
            "buraco_bot_faults_total",
            "Calls in which bots were late, raised an error, or chose no legal move.",
            ("bot", "fault"),
            registry=registry,
        )
        self._overdue = Gauge(
            "buraco_bot_overdue_calls",
            "Calls of bots that have exceeded their time limit and not returned.",
            registry=registry,
        )
        self._overdue.set_function(lambda: len(overdue_threads()))
        self._seats = Gauge("buraco_fleet_seats", "Seats that bots of the fleet hold now.", registry=registry)
        self._sittings = Counter(
            "buraco_fleet_sittings_total", "Seats that bots have left, and why.", ("outcome",), registry=registry
        )
        # A rate needs a sample before the first event.
        for outcome in get_args(Outcome):
            self._sittings.labels(outcome)
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)

    def observe_choice(self, bot: str, seconds: float) -> None:
        """Record how long a bot took to choose a move."""
        self._choice_seconds.labels(bot).observe(seconds)

    def count_fault(self, bot: str, kind: FaultKind) -> None:
        """Count a fault of a bot."""
        self._faults.labels(bot, kind).inc()

    def count_seat_taken(self) -> None:
        """Count a seat that a bot has taken."""
        self._seats.inc()

    def count_seat_left(self, outcome: Outcome) -> None:
        """Count a seat that a bot has left."""
        self._seats.dec()
        self._sittings.labels(outcome).inc()

    @contextlib.contextmanager
    def serve(self, host: str, port: int, health: Health | None = None) -> Iterator[int]:
        """Serve the metrics over HTTP for the time of the block, which gets the port (0 takes a free one).

        With `health` its probes are answered, too. Raise OSError if the port cannot be used.
        """
        server, thread = start_http_server(port, addr=host, registry=self.registry)
        if health is not None:
            server.set_app(health.wrap(make_wsgi_app(self.registry)))
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
