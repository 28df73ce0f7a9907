"""The command `buraco match`: bots play a match over gRPC."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from buraco_bots.bot import BotFault
from buraco_bots.local_server import ServerFailed, local_server
from buraco_bots.match import MatchSetup, play_match
from buraco_bots.progress import Lines, LiveTable, Progress
from buraco_bots.registry import UnknownBot, load_table_factory
from buraco_bots.report import MatchReport, RecordMismatch, format_match, to_json
from buraco_bots.scraping import scrape
from buraco_bots.server_access import Access, access_options, parse_access
from buraco_bots.stopping import StopSignals
from buraco_bots.thinking import Tolerance, thinking_limit_option
from buraco_client import BuracoError, InvalidRequest
from buraco_notation import format_record
from buraco_rules import PRESETS, PRESETS_BY_ID

METRICS: Final = ("buraco_moves_total", "buraco_deals_finished_total", "buraco_matches_finished_total")
"""The metrics to print after a match at a server that was started for it."""
MAX_TARGET: Final = 1_000_000


def _validate_folder(_: click.Context, __: click.Parameter, file: Path | None) -> Path | None:
    """Refuse a file without a folder before the match, not after it."""
    if file is not None and not file.parent.is_dir():
        raise click.BadParameter(f"there is no folder {str(file.parent)!r}")
    return file


@click.command(
    "match",
    short_help="Let bots play a match over gRPC.",
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option(
    "--bots",
    default="greedy,random",
    metavar="NAME[,NAME…]",
    help="Bots by name, as module:Class or exec:COMMAND. They take the seats in turn, so two names at four seats are"
    " two pairs.",
)
@click.option("--seats", type=click.Choice(["2", "4"]), help="Seats.  [default: one a bot; 4 for a single bot]")
@click.option("--rule-set", "rule_set", default=PRESETS[0].id, metavar="ID", help="Rule set.")
@click.option(
    "--target",
    type=click.IntRange(0, MAX_TARGET),
    help="Points to play to; 0 plays one deal.  [default: usual for the rule set]",
)
@click.option("--seed", metavar="TEXT", help="The same seed gives the same match.  [default: a new one]")
@thinking_limit_option
@click.option(
    "--on-fault",
    type=click.Choice(["stop", "move"]),
    default="stop",
    help="If a bot is late, raises an error or chooses an illegal move: stop the match, or finish its turn with plain"
    " moves and a warning.",
)
@click.option("--server", metavar="HOST:PORT", help="Server to play at.  [default: one started for the match]")
@access_options
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_validate_folder,
    help="Write the finished match to this file, for `buraco replay`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def match(
    bots: str,
    seats: str | None,
    rule_set: str,
    target: int | None,
    seed: str | None,
    thinking_limit: float,
    on_fault: str,
    server: str | None,
    record: Path | None,
    as_json: bool,
    **access: Any,
) -> None:
    """Let bots play a match against each other over gRPC.

    Without --server a server is started for the match in a process of its own, with a temporary database.

    SIGINT (Ctrl-C) and SIGTERM stop the match and that server, with status 130 and 143; a second one does so at once.
    """
    server_access = parse_access(**access)
    if server is None and server_access.tls is not None:
        raise click.UsageError("TLS needs a server: give --server, too")
    names = _seat_bots([name.strip() for name in bots.split(",")], seats)
    try:
        factories = {name: load_table_factory(name) for name in names}
    except UnknownBot as unknown:
        raise click.BadParameter(str(unknown), param_hint="--bots") from None
    if server is None and rule_set not in PRESETS_BY_ID:
        raise _unknown_rule_set_error(rule_set, list(PRESETS_BY_ID))
    seed = secrets.token_hex(8) if seed is None else seed
    tolerance = Tolerance(thinking_limit, math.inf if on_fault == "move" else 0)
    setup = MatchSetup(names, tuple(factories[name] for name in names), rule_set, target, seed, tolerance)
    with StopSignals() as signals, _report_failures():
        with _running_server(server, signals) as (address, metrics_address):
            progress = _make_progress(address, names, as_json=as_json)
            report = asyncio.run(_play(address, server_access, setup, progress, signals))
            metrics = _scrape_metrics(metrics_address)
            if record is not None:
                record.write_text(format_record(report.record), encoding="utf-8")
        signals.check()
        if as_json:
            click.echo(json.dumps(to_json(report, metrics), indent=2))
        else:
            _print(report, metrics)


async def _play(
    address: str, access: Access, setup: MatchSetup, progress: Progress, signals: StopSignals
) -> MatchReport:
    with signals.cancelling():
        async with access.connect(address) as client, progress.following(client):
            try:
                return await play_match(client, setup, progress.show_start, progress.show_update)
            except InvalidRequest as error:
                if error.reason != "RULE_SET_UNKNOWN":
                    raise
                known = [rule_set.id for rule_set in await client.rules.list_rule_sets()]
                raise _unknown_rule_set_error(setup.rule_set, known) from None


def _make_progress(address: str, bots: tuple[str, ...], *, as_json: bool) -> Progress:
    console = Console()
    if as_json:
        return Progress()
    return LiveTable(console, address, bots) if console.is_terminal else Lines(console, address)


def _print(report: MatchReport, metrics: dict[str, Any] | None) -> None:
    click.echo()
    for line in format_match(report):
        click.echo(line)
    if metrics is not None:
        values = ", ".join(f"{name} {metrics[name]:.0f}" for name in METRICS if name in metrics)
        click.echo(f"Metrics were at {metrics['address']}: {values or 'nothing could be read'}")


def _scrape_metrics(address: str | None) -> dict[str, Any] | None:
    """Return what the server counted; None for a server that was not started for the match."""
    if address is None:
        return None
    values = scrape(address)
    return {"address": address} | {name: values[name] for name in METRICS if name in values}


@contextlib.contextmanager
def _running_server(address: str | None, signals: StopSignals) -> Iterator[tuple[str, str | None]]:
    """Run a server if none is given; yield its address, and that of its metrics if it was started here."""
    if address is not None:
        yield address, None
    else:
        with local_server(signals) as server:
            yield server.address, server.metrics_address


@contextlib.contextmanager
def _report_failures() -> Iterator[None]:
    """Turn failures into a message and exit code 1."""
    try:
        yield
    except (ServerFailed, OSError) as failure:
        raise click.ClickException(str(failure)) from None
    except BotFault as fault:
        raise click.ClickException(f"the match failed: {fault.describe()}") from None
    except (BuracoError, RecordMismatch) as failure:
        raise click.ClickException(f"the match failed: {failure}") from None


def _seat_bots(bots: list[str], seats: str | None) -> tuple[str, ...]:
    """Return the bot of each seat."""
    if not all(bots):
        raise click.BadParameter("a name is missing", param_hint="--bots")
    count = int(seats) if seats else 4 if len(bots) == 1 else len(bots)
    if count not in (2, 4) or len(bots) > count or count % len(bots):
        raise click.BadParameter(f"{len(bots)} bots do not fit {count} seats: 1, 2 or 4 bots do", param_hint="--bots")
    return tuple(bots[seat % len(bots)] for seat in range(count))


def _unknown_rule_set_error(rule_set: str, known: list[str]) -> click.BadParameter:
    return click.BadParameter(
        f"there is no rule set {rule_set!r}: known are {', '.join(known)}", param_hint="--rule-set"
    )
