"""The command `buraco arena`: two bots play each other many times, in this process, without a service."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from queue import SimpleQueue
from typing import Any

import click

from buraco_bots.arena import PlayedMatch, Statistics, play_matches
from buraco_bots.bot import BotFault
from buraco_bots.bot_threads import BotThread
from buraco_bots.registry import UnknownBot, load_factory
from buraco_bots.stopping import StopSignals
from buraco_rules import PRESETS, PRESETS_BY_ID, BuracoKind


@click.command(
    "arena",
    short_help="Let two bots play each other many times.",
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option(
    "--bots", default="greedy,random", metavar="NAME,NAME", help="The two contenders, by name or as module:Class."
)
@click.option("--seats", type=click.Choice(["2", "4"]), default="2", help="Seats; with four, partners are alike.")
@click.option(
    "--rule-set",
    type=click.Choice(list(PRESETS_BY_ID)),
    default=PRESETS[0].id,
    metavar="ID",
    help="Rule set.",
)
@click.option("--target", type=click.IntRange(0, 1_000_000), default=1000, help="Points to play to; 0 plays one deal.")
@click.option(
    "--matches", type=click.IntRange(1), default=100, help="Matches; every shuffle is played from both sides."
)
@click.option("--seed", default="arena", metavar="TEXT", help="The same seed gives the same matches.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def arena(bots: str, seats: str, rule_set: str, target: int, matches: int, seed: str, as_json: bool) -> None:
    """Let two bots play many matches in this process, and print statistics.

    Ctrl-C (SIGINT) and SIGTERM stop it, with the statistics of the matches until then, and status 130 and 143.
    """
    names = [name.strip() for name in bots.split(",")]
    if len(names) != 2:
        raise click.BadParameter("two bots are needed", param_hint="--bots")
    try:
        contenders = load_factory(names[0]), load_factory(names[1])
    except UnknownBot as unknown:
        raise click.BadParameter(str(unknown), param_hint="--bots") from None
    played = play_matches(PRESETS_BY_ID[rule_set], contenders, int(seats), seed, target, matches)
    statistics = Statistics()
    with StopSignals() as signals:
        start = time.perf_counter()
        try:
            for match, swapped in _until_stopped(played, signals):
                statistics.add(match, swapped)
        except BotFault as fault:
            raise click.ClickException(fault.describe()) from None
        seconds = time.perf_counter() - start
        if statistics.matches:
            _print(statistics, names, seconds, as_json=as_json)
        signals.check()


def _until_stopped(
    played: Iterator[tuple[PlayedMatch, bool]], signals: StopSignals
) -> Iterator[tuple[PlayedMatch, bool]]:
    """Yield matches until a signal comes. They are played in another thread: a bot that hangs delays no signal."""
    finished: SimpleQueue[tuple[PlayedMatch, bool] | BaseException | None] = SimpleQueue()
    thread = BotThread("arena")
    thread.calls.put(partial(_put_all, played, finished))
    thread.calls.put(None)
    thread.start()
    with signals.stopping(partial(finished.put, None)):
        while (match := finished.get()) is not None:
            if isinstance(match, BaseException):
                raise match
            yield match
    if signals.received is not None:
        thread.abandon()


def _put_all(
    played: Iterator[tuple[PlayedMatch, bool]],
    finished: SimpleQueue[tuple[PlayedMatch, bool] | BaseException | None],
) -> None:
    try:
        for match in played:
            finished.put(match)
        finished.put(None)
    except BaseException as error:  # noqa: BLE001 - the thread that reads the queue raises it
        finished.put(error)


def _print(statistics: Statistics, names: list[str], seconds: float, *, as_json: bool) -> None:
    values = _to_json(statistics, names, seconds)
    if as_json:
        click.echo(json.dumps(values, indent=2))
        return
    for bot in values["bots"]:
        low, high = bot["confidence"]
        buracos = ", ".join(f"{kind} {count:.2f}" for kind, count in bot["buracos"].items())
        click.echo(
            f"{bot['name']}: wins {bot['win_rate']:.1%} (95 % confidence: {low:.1%} to {high:.1%}),"
            f" {bot['mean_score']:.0f} points a deal, closes {bot['closed']:.0%}, buracos a deal: {buracos or 'none'}"
        )
    click.echo(
        f"{statistics.matches} matches ({statistics.draws} drawn), {statistics.deals} deals,"
        f" {statistics.moves} moves in {seconds:.1f} s ({statistics.moves / seconds:.0f} moves/s)"
    )


def _to_json(statistics: Statistics, names: list[str], seconds: float) -> dict[str, Any]:
    return {
        "bots": [
            {
                "name": name,
                "wins": contender.wins,
                "win_rate": statistics.win_rate(number),
                "confidence": list(statistics.confidence(number)),
                "mean_score": contender.points / statistics.deals,
                "buracos": {
                    kind.name.lower(): contender.buracos[kind] / statistics.deals
                    for kind in BuracoKind
                    if contender.buracos[kind]
                },
                "closed": contender.closed / statistics.deals,
            }
            for number, (name, contender) in enumerate(zip(names, statistics.contenders, strict=True))
        ],
        "matches": statistics.matches,
        "draws": statistics.draws,
        "deals": statistics.deals,
        "moves": statistics.moves,
        "seconds": round(seconds, 3),
    }
