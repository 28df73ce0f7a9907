"""The command `buraco fleet`: bots take free seats at the tables of a server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import click

from buraco_bots.fleet import SEARCH_INTERVAL, Fleet, Limits
from buraco_bots.fleet_health import Health
from buraco_bots.fleet_metrics import FleetMetrics
from buraco_bots.pauses import PauseRange
from buraco_bots.registry import UnknownBot, load_table_factory, player_name
from buraco_bots.server_access import Access, access_options, parse_access
from buraco_bots.stopping import StopSignals
from buraco_bots.thinking import Tolerance, thinking_limit_option
from buraco_client import BuracoClient

TOLERATED_FAULTS: Final = 2
"""Faults of a bot in a match after which plain moves finish its turn; at the next one the bot leaves."""
NO_BOT: Final = "none"
"""In place of the names of bots."""
_SWITCH_INTERVAL: Final = 0.0005
"""Seconds for which a bot that computes may keep all others from running: a tenth of the interpreter's default."""


def _parse_pause(_: click.Context, __: click.Parameter, value: str) -> PauseRange:
    try:
        return PauseRange.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command(
    "fleet",
    short_help="Let bots take free seats at tables.",
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option("--server", required=True, metavar="HOST:PORT", help="Server to play at.")
@click.option(
    "--bots",
    default="greedy",
    metavar="NAME[,NAME…]",
    help="Bots by name, as module:Class or exec:COMMAND; they take seats in turn.",
)
@click.option(
    "--free-seats",
    metavar="NAME[,NAME…]",
    help="Which of them take free seats of players, `none` for none; the others take those that ask for their level."
    "  [default: all]",
)
@click.option(
    "--seats-limit", type=click.IntRange(1, 10_000), default=8, metavar="N", help="Seats held at a time, at most."
)
@click.option(
    "--courtesy",
    type=click.FloatRange(0, 3600),
    default=3.0,
    metavar="SECONDS",
    help="Time for which a new table's seats are left to people.",
)
@click.option(
    "--waiting-limit",
    type=click.FloatRange(1, 86_400),
    default=600.0,
    metavar="SECONDS",
    help="Time for which a bot waits at a table until its match starts.",
)
@click.option(
    "--grace",
    type=click.FloatRange(0, 86_400),
    default=20.0,
    metavar="SECONDS",
    help="Time that running matches get to end after SIGTERM.",
)
@click.option(
    "--search-interval",
    type=click.FloatRange(0.1, 3600),
    default=SEARCH_INTERVAL,
    metavar="SECONDS",
    help="Time between two searches for seats.",
)
@click.option(
    "--pause",
    callback=_parse_pause,
    default="0",
    metavar="SECONDS[-SECONDS]",
    help="Time that a bot takes at least to move, at random between two bounds; less where a clock is short.",
)
@thinking_limit_option
@click.option(
    "--on-fault",
    type=click.Choice(["move", "leave"]),
    default="move",
    help="If a bot is late, raises an error or chooses an illegal move: finish its turn with plain moves, twice in a"
    " match, or give the seat back at once.",
)
@click.option("--metrics-host", default="127.0.0.1", metavar="HOST", help="Address to serve metrics at.")
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Port to serve metrics at, and the probes /livez and /readyz.  [default: none]",
)
@access_options
def fleet(
    server: str,
    bots: str,
    free_seats: str | None,
    seats_limit: int,
    courtesy: float,
    waiting_limit: float,
    grace: float,
    search_interval: float,
    pause: PauseRange,
    thinking_limit: float,
    on_fault: str,
    metrics_host: str,
    metrics_port: int | None,
    **access: Any,
) -> None:
    """Let bots take free seats at any table, play, and look for the next table.

    Seats that a table keeps for bots of a level are taken by the bot of that name; so are those of absent players, for
    the time being, where the table asks for it.

    SIGTERM or Ctrl-C ends it: no more seats are taken, seats in matches that have not started are given back at once,
    those in running matches after the grace time. A second signal ends it at once, with status 143 or 130.
    """
    server_access = parse_access(**access)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        loaded = [(name, load_table_factory(name)) for name in map(str.strip, bots.split(","))]
        factories = [(player_name(name), factory) for name, factory in loaded]
    except UnknownBot as unknown:
        raise click.BadParameter(str(unknown), param_hint="--bots") from None
    for_players = None if free_seats is None else _parse_free_seats(free_seats, [name for name, _ in loaded])
    tolerance = Tolerance(thinking_limit, TOLERATED_FAULTS if on_fault == "move" else 0)
    limits = Limits(seats_limit, courtesy, waiting_limit, grace, tolerance, search_interval, pause)

    def make_fleet(client: BuracoClient, metrics: FleetMetrics) -> Fleet:
        return Fleet(client, factories, limits, metrics, free_seats=for_players)

    with StopSignals() as signals:
        asyncio.run(_run(server, server_access, make_fleet, signals, metrics_host, metrics_port))


def _parse_free_seats(text: str, bots: Sequence[str]) -> list[str]:
    """Return the player names of those bots that take free seats. Raise click.BadParameter."""
    names = [] if text == NO_BOT else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in bots:
            raise click.BadParameter(f"{name!r} is none of --bots ({', '.join(bots)})", param_hint="--free-seats")
    return [player_name(name) for name in names]


@contextlib.contextmanager
def _serve_metrics(metrics: FleetMetrics, health: Health, host: str, port: int | None) -> Iterator[None]:
    """Serve metrics and probes for the time of the block if they have a port."""
    if port is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        try:
            bound = stack.enter_context(metrics.serve(host, port, health))
        except OSError as error:
            raise click.ClickException(f"cannot serve metrics at {host}:{port}: {error.strerror or error}") from None
        logging.getLogger(__name__).info("metrics at %s:%d", host, bound)
        yield


async def _run(
    server: str,
    access: Access,
    make_fleet: Callable[[BuracoClient, FleetMetrics], Fleet],
    signals: StopSignals,
    metrics_host: str,
    metrics_port: int | None,
) -> None:
    sys.setswitchinterval(_SWITCH_INTERVAL)
    stop, loop, metrics = asyncio.Event(), asyncio.get_running_loop(), FleetMetrics()
    async with access.connect(server) as client:
        bots = make_fleet(client, metrics)
        health = Health(lambda: bots.is_searching)
        with (
            _serve_metrics(metrics, health, metrics_host, metrics_port),
            signals.stopping(lambda: loop.call_soon_threadsafe(stop.set)),
        ):
            await bots.run(stop)
