"""`buraco arena`: two bots against each other many times, in this process, without a service."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from queue import SimpleQueue
from typing import Any

import click

from buraco_bots.arena import PlayedMatch, Statistics, contest, statistics
from buraco_bots.bot import BotFault
from buraco_bots.registry import UnknownBot, load
from buraco_bots.stopping import StopSignals
from buraco_bots.thinking import BotThread
from buraco_rules import PRESETS, PRESETS_BY_ID


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
    """Let two bots play many matches in this process, and tell how they fared.

    Ctrl-C (SIGINT) and SIGTERM stop it, with the statistics of what was played until then, and status 130 and 143.
    """
    names = [name.strip() for name in bots.split(",")]
    if len(names) != 2:
        raise click.BadParameter("two bots are needed", param_hint="--bots")
    try:
        first, second = load(names[0]), load(names[1])
    except UnknownBot as unknown:
        raise click.BadParameter(str(unknown), param_hint="--bots") from None
    matches_played = contest(PRESETS_BY_ID[rule_set], (first, second), int(seats), seed, target, matches)
    with StopSignals() as signals:
        began = time.perf_counter()
        try:
            result = statistics(_until_stopped(matches_played, signals))
        except BotFault as fault:
            raise click.ClickException(fault.told()) from None
        except ValueError:  # no match was finished
            signals.check()
            raise
        seconds = time.perf_counter() - began
        _print(result, names, seconds, as_json=as_json)
        signals.check()


def _until_stopped(
    played: Iterator[tuple[PlayedMatch, bool]], signals: StopSignals
) -> Iterator[tuple[PlayedMatch, bool]]:
    """Pass matches on until a signal comes. They are played in another thread: a bot that hangs holds up no signal."""
    finished: SimpleQueue[tuple[PlayedMatch, bool] | BaseException | None] = SimpleQueue()
    thread = BotThread("arena")
    thread.calls.put(partial(_play, played, finished))
    thread.calls.put(None)
    thread.start()
    with signals.stopping(partial(finished.put, None)):
        while (one := finished.get()) is not None:
            if isinstance(one, BaseException):
                raise one
            yield one
    if signals.received is not None:
        thread.abandon()


def _play(
    played: Iterator[tuple[PlayedMatch, bool]],
    finished: SimpleQueue[tuple[PlayedMatch, bool] | BaseException | None],
) -> None:
    try:
        for match in played:
            finished.put(match)
        finished.put(None)
    except BaseException as error:  # noqa: BLE001 - raised anew where the matches are counted
        finished.put(error)


def _print(result: Statistics, names: list[str], seconds: float, *, as_json: bool) -> None:
    values = _values(result, names, seconds)
    if as_json:
        click.echo(json.dumps(values, indent=2))
        return
    for bot in values["bots"]:
        low, high = bot["confidence"]
        buracos = ", ".join(f"{kind} {count:.2f}" for kind, count in bot["buracos"].items())
        click.echo(
            f"{bot['name']}: wins {bot['win_rate']:.1%} (95 % sure: {low:.1%} to {high:.1%}),"
            f" {bot['mean_score']:.0f} points a deal, closes {bot['closed']:.0%}, buracos a deal: {buracos or 'none'}"
        )
    click.echo(
        f"{result.matches} matches ({result.draws} drawn), {result.deals} deals,"
        f" {result.moves} moves in {seconds:.1f} s ({result.moves / seconds:.0f} moves/s)"
    )


def _values(result: Statistics, names: list[str], seconds: float) -> dict[str, Any]:
    return {
        "bots": [
            {
                "name": name,
                "wins": who.wins,
                "win_rate": result.win_rate(number),
                "confidence": list(result.confidence(number)),
                "mean_score": who.mean_score,
                "buracos": {kind.name.lower(): count for kind, count in who.buracos.items()},
                "closed": who.closed,
            }
            for number, (name, who) in enumerate(zip(names, result.contenders, strict=True))
        ],
        "matches": result.matches,
        "draws": result.draws,
        "deals": result.deals,
        "moves": result.moves,
        "seconds": round(seconds, 3),
    }
