"""The command `buraco arena`: bots play each other in pairs of matches, until it is known who is better."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from buraco_bots.arena.journal import Journal, JournalMismatch
from buraco_bots.arena.pairs import PairFigures, PairTask
from buraco_bots.arena.plots import draw_plots
from buraco_bots.arena.schedule import Format, pairings, schedule
from buraco_bots.arena.standings import Pairing, format_table, pairings_of, to_csv, to_json
from buraco_bots.arena.statistics import SequentialTest
from buraco_bots.arena.workers import WorkerFailed, Workers
from buraco_bots.registry import UnknownBot, load_factory
from buraco_bots.stopping import StopSignals
from buraco_bots.thinking import thinking_limit_option
from buraco_rules import PRESETS, PRESETS_BY_ID


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where results go beyond the terminal."""

    as_json: bool
    csv: Path | None
    plots: Path | None


def _read_sprt(context: click.Context, parameter: click.Parameter, value: str | None) -> SequentialTest | None:
    if value is None:
        return None
    try:
        low, high = map(float, value.split(","))
        if low >= high:
            raise ValueError(value)
    except ValueError:
        raise click.BadParameter("two numbers of Elo, the lower first, such as 0,20") from None
    return SequentialTest(low, high)


@click.command(
    "arena",
    short_help="Let bots play each other many times.",
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option(
    "--bots", default="greedy,random", metavar="NAME,NAME…", help="The contenders, by name or as module:Class."
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
    help="Stop a pairing as soon as it is known whether its first bot is HIGH Elo better, or only LOW.",
)
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep finished pairs there, and go on from those that are.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--csv", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a line a match.")
@click.option("--plots", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER", help="Draw PNG pictures.")
@thinking_limit_option
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
) -> None:
    """Let bots play pairs of matches with the same cards and exchanged sides, and print who is better.

    Ctrl-C (SIGINT) and SIGTERM stop it, with the results of the pairs until then, and status 130 and 143. With a
    journal the same command goes on later.
    """
    names = [name.strip() for name in bots.split(",")]
    if len(names) < 2 or len({*names}) < len(names):
        names = _distinct(names)
    for name in names:
        try:
            load_factory(name)
        except UnknownBot as unknown:
            raise click.BadParameter(str(unknown), param_hint="--bots") from None
    settings = {
        "bots": names, "format": form, "seats": int(seats), "rule_set": rule_set, "target": target, "seed": seed,
        "thinking_limit": thinking_limit,
    }  # fmt: skip
    order = pairings(names, form)
    with StopSignals() as signals:
        start = time.perf_counter()
        finished: list[PairFigures] = []
        try:
            with Journal(journal, settings) as kept:
                playing = _Playing(settings, order, pairs, sprt, kept, finished)
                played = Workers(workers or os.cpu_count() or 1)
                with signals.stopping(played.stop):
                    playing.run(played)
        except (JournalMismatch, OSError, WorkerFailed) as error:
            raise click.ClickException(str(error)) from None
        seconds = time.perf_counter() - start
        found = pairings_of(finished, order)
        if found:
            _print(found, settings, sprt, seconds, Outputs(as_json, csv, plots))
        signals.check()


def _distinct(names: list[str]) -> list[str]:
    if len(names) < 2:
        raise click.BadParameter("two bots or more are needed", param_hint="--bots")
    raise click.BadParameter("each bot once", param_hint="--bots")


class _Playing:
    """Plays what is not finished yet, with a progress bar on a terminal."""

    def __init__(
        self,
        settings: dict[str, Any],
        order: list[tuple[str, str]],
        count: int,
        test: SequentialTest | None,
        kept: Journal,
        finished: list[PairFigures],
    ) -> None:
        self._settings = settings
        self._order = order
        self._count = count
        self._test = test
        self._kept = kept
        self._finished = finished
        self._scores: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
        for pair in kept.finished:
            if pair.number < count:
                self._note(pair)

    def run(self, workers: Workers) -> None:
        total = self._count * len(self._order)
        columns = (TextColumn("pairs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("pairs", total=total, completed=len(self._finished))
            for pair in workers.play(self._tasks()):
                self._kept.add(pair)
                self._note(pair)
                progress.update(bar, completed=len(self._finished))

    def _note(self, pair: PairFigures) -> None:
        self._finished.append(pair)
        self._scores[pair.first, pair.second][pair.number] = pair.score

    def _tasks(self) -> Iterator[PairTask]:
        settings = self._settings
        for first, second, number in schedule(self._order, self._count):
            scores = self._scores[first, second]
            if number in scores or (self._test and self._test.decide(list(scores.values())) != "open"):
                continue
            yield PairTask(
                first, second, settings["rule_set"], settings["seats"], settings["target"], settings["seed"], number,
                settings["thinking_limit"],
            )  # fmt: skip


def _print(
    found: list[Pairing], settings: dict[str, Any], test: SequentialTest | None, seconds: float, outputs: Outputs
) -> None:
    if outputs.as_json:
        click.echo(json.dumps(to_json(found, settings, test), indent=2))
    else:
        for line in format_table(found, test):
            click.echo(line)
        deals = sum([len(match.deals) for pairing in found for pair in pairing.pairs for match in pair.matches])
        click.echo(f"{deals} deals in {seconds:.1f} s ({deals / seconds:.1f} deals/s)")
    if outputs.csv is not None:
        outputs.csv.write_text(to_csv(found))
    if outputs.plots is not None:
        try:
            written = draw_plots(found, outputs.plots)
        except ImportError:
            raise click.ClickException("plots need matplotlib: install the extra `plots`") from None
        click.echo(f"{len(written)} pictures in {outputs.plots}", err=True)
