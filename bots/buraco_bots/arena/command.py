"""The command `buraco arena`: bots play each other in pairs of matches, until it is known who is better."""

from __future__ import annotations

import importlib.util
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from buraco_bots.arena.fingerprints import describe_bot
from buraco_bots.arena.journal import Journal, JournalMismatch
from buraco_bots.arena.playing import Playing
from buraco_bots.arena.plots import draw_plots
from buraco_bots.arena.results import format_table, to_csv, to_json
from buraco_bots.arena.schedule import Format, pairings
from buraco_bots.arena.standings import Pairing, pairings_of
from buraco_bots.arena.statistics import SequentialTest
from buraco_bots.arena.tables import Venue
from buraco_bots.arena.workers import WorkerFailed, Workers
from buraco_bots.registry import UnknownBot, load_table_factory
from buraco_bots.server_access import access_options, parse_access
from buraco_bots.stopping import StopSignals
from buraco_bots.thinking import thinking_limit_option
from buraco_rules import PRESETS, PRESETS_BY_ID


def _read_sprt(context: click.Context, parameter: click.Parameter, value: str | None) -> SequentialTest | None:
    if value is None:
        return None
    try:
        low, high = map(float, value.split(","))
        if not -math.inf < low < high < math.inf:
            raise ValueError(value)
    except ValueError:
        raise click.BadParameter("give two numbers of Elo, the lower first, such as 0,20") from None
    return SequentialTest(low, high)


@click.command(
    "arena",
    short_help="Let bots play each other many times.",
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option(
    "--bots",
    default="greedy,random",
    metavar="NAME,NAME…",
    help="The contenders, by name, as module:Class or exec:COMMAND, with ?name=value&… for parameters.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["round-robin", "gauntlet"]),
    default="round-robin",
    help="Who plays whom: all each other, or the first one each of the others.",
)
@click.option("--seats", type=click.Choice(["2", "4"]), default="2", help="Seats; with four, partners are alike.")
@click.option(
    "--rule-set", type=click.Choice(list(PRESETS_BY_ID)), default=PRESETS[0].id, metavar="ID", help="Rule set."
)
@click.option("--target", type=click.IntRange(0, 1_000_000), default=0, help="Points to play to; 0 plays one deal.")
@click.option("--pairs", type=click.IntRange(1), default=100, help="Pairs of matches for every pairing.")
@click.option("--workers", type=click.IntRange(1, 256), default=None, help="Processes.  [default: one a processor]")
@click.option("--seed", default="arena", metavar="TEXT", help="The same seed gives the same deals.")
@click.option(
    "--sprt",
    callback=_read_sprt,
    metavar="LOW,HIGH",
    help="Stop a pairing as soon as it is known whether its first bot is HIGH Elo better, or only LOW. Each answer is"
    " wrong with a chance of 5 %.",
)
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep finished pairs in this file, and go on from those that are there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--csv", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a line a match.")
@click.option("--plots", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER", help="Draw PNG pictures.")
@thinking_limit_option
@click.option("--server", metavar="HOST:PORT", help="Server to play at.  [default: none, play in processes]")
@access_options
def arena(
    bots: str,
    form: Format,
    seats: str,
    rule_set: str,
    target: int,
    pairs: int,
    workers: int | None,
    seed: str,
    sprt: SequentialTest | None,
    journal: Path | None,
    as_json: bool,
    csv: Path | None,
    plots: Path | None,
    thinking_limit: float,
    server: str | None,
    **access: Any,
) -> None:
    """Let bots play pairs of matches with the same cards and exchanged sides, and print who is better.

    A bot that is late, raises an error or chooses an illegal move forfeits its match.

    Ctrl-C (SIGINT) and SIGTERM stop it, with the results of the pairs until then, and status 130 and 143. With a
    journal the same command goes on later.
    """
    server_access = parse_access(**access)
    if server is None and server_access.tls is not None:
        raise click.UsageError("TLS needs a server: give --server, too")
    if plots is not None and importlib.util.find_spec("matplotlib") is None:
        raise click.UsageError("--plots needs matplotlib, that is the extra `plots`")
    names = [name.strip() for name in bots.split(",")]
    order = pairings(names, form)
    if not order or len({tuple(sorted(pairing)) for pairing in order}) < len(order):
        raise click.BadParameter("two bots or more are needed, no pairing of them twice", param_hint="--bots")
    settings = {
        "bots": names,
        "made_of": {name: _describe(name, at_tables=server is not None) for name in names},
        "format": form,
        "seats": int(seats),
        "rule_set": rule_set,
        "target": target,
        "seed": seed,
        "thinking_limit": thinking_limit,
        "at": "processes" if server is None else "tables",
    }
    played = Workers(workers or os.cpu_count() or 1, None if server is None else Venue(server, server_access))
    with StopSignals() as signals:
        signals.abort = played.kill
        failure: Exception | None = None
        try:
            with Journal(journal, settings) as kept, signals.stopping(played.stop):
                playing = Playing(settings, order, pairs, sprt, kept)
                try:
                    playing.run(played)
                except (OSError, WorkerFailed) as error:
                    failure = error
        except (JournalMismatch, OSError) as error:
            raise click.ClickException(str(error)) from None
        found = pairings_of(playing.finished, order)
        if found and as_json:
            click.echo(json.dumps(to_json(found, settings, sprt), indent=2))
        elif found:
            _print(found, sprt, playing)
        _write(found, csv, plots)
        if failure is not None:
            raise click.ClickException(str(failure))
        signals.check()


def _describe(name: str, *, at_tables: bool) -> dict[str, Any]:
    try:
        if at_tables:
            load_table_factory(name)
        return describe_bot(name)
    except UnknownBot as unknown:
        raise click.BadParameter(str(unknown), param_hint="--bots") from None


def _print(found: Sequence[Pairing], test: SequentialTest | None, playing: Playing) -> None:
    for line in format_table(found, test):
        click.echo(line)
    pace = playing.deals / playing.seconds if playing.seconds else 0.0
    click.echo(f"\n{playing.deals} deals in {playing.seconds:.1f} s ({pace:.1f} deals/s)")


def _write(found: Sequence[Pairing], csv: Path | None, plots: Path | None) -> None:
    if not found:
        return
    try:
        if csv is not None:
            csv.write_text(to_csv(found), encoding="utf-8")
        if plots is not None:
            click.echo(f"{len(draw_plots(found, plots))} pictures in {plots}", err=True)
    except OSError as error:
        raise click.ClickException(f"the results could not be written: {error}") from None
