"""How strong one bot is against another in every rule set, with two and four seats, as a table for a document.

    python -m tests.bench.strength planner,greedy --deals 200 --matches 60

Each line stands for mirrored pairs of single deals, and of matches to the usual target, with 95 % intervals.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from statistics import fmean, median

import click

from buraco_bots.arena.figures import PairFigures
from buraco_bots.arena.pairs import PairTask
from buraco_bots.arena.standings import Pairing
from buraco_bots.arena.statistics import Interval, mean_difference
from buraco_bots.arena.workers import Workers
from buraco_rules import PRESETS, RuleSet

_LIMIT = 60.0


@click.command("strength", context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("bots")
@click.option("--deals", type=click.IntRange(0), default=200, help="Pairs of single deals.")
@click.option("--matches", type=click.IntRange(0), default=60, help="Pairs of matches.")
@click.option("--rule-sets", default=",".join([rules.id for rules in PRESETS]), metavar="ID,ID…", help="Which to play.")
@click.option("--workers", type=click.IntRange(1, 256), default=2, help="Processes that play.")
@click.option("--seed", default="strength", help="The same seed gives the same deals.")
def strength(bots: str, deals: int, matches: int, rule_sets: str, workers: int, seed: str) -> None:
    """Print a table of how strong the first of two BOTS is against the second."""
    first, second = bots.split(",")
    began = time.monotonic()
    click.echo(f"| {first} against {second} | seats | deals won | points a deal | matches won | ms a choice |")
    click.echo("| --- | --- | --- | --- | --- | --- |")
    won = {"deals": list[float](), "matches": list[float]()}
    for rules, seats in itertools.product(PRESETS, (2, 4)):
        if rules.id in rule_sets.split(","):
            single = _play(first, second, rules, seats, 0, deals, workers, seed)
            whole = _play(first, second, rules, seats, rules.usual_targets[0], matches, workers, seed)
            for what, pairing in (("deals", single), ("matches", whole)):
                won[what] += [pairing.rate.value] if pairing.pairs else []
            click.echo(_row(rules, seats, single, whole))
    minutes = (time.monotonic() - began) / 60
    averages = ", ".join([f"{fmean(rates):.0%} of {what}" for what, rates in won.items() if rates])
    click.echo(f"\n{first} won {averages} on average; {minutes:.0f} minutes, workers: {workers}.")


def _play(
    first: str, second: str, rules: RuleSet, seats: int, target: int, pairs: int, workers: int, seed: str
) -> Pairing:
    def tasks() -> Iterator[PairTask]:
        for number in range(pairs):
            yield PairTask(first, second, rules.id, seats, target, seed, number, _LIMIT)

    finished: Sequence[PairFigures] = list(Workers(workers).play(tasks())) if pairs else []
    return Pairing(first, second, tuple(finished))


def _row(rules: RuleSet, seats: int, deals: Pairing, matches: Pairing) -> str:
    played = [*deals.matches, *matches.matches]
    points = mean_difference([pair.difference for pair in deals.pairs if pair.difference is not None])
    thought = median([match.think[0].total / max(1, match.think[0].choices) for match in played])
    cells = [
        f"`{rules.id}`",
        str(seats),
        _percent(deals),
        "" if points is None else f"{points.value:+.0f} ± {points.high - points.value:.0f}",
        _percent(matches),
        f"{1000 * thought:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def _percent(pairing: Pairing) -> str:
    if not pairing.pairs:
        return ""
    rate: Interval = pairing.rate
    forfeits = sum(pairing.forfeits(0).values())
    forfeited = f", {forfeits} forfeited" if forfeits else ""
    return f"{rate.value:.0%} ({rate.low:.0%} to {rate.high:.0%}{forfeited})"


if __name__ == "__main__":
    strength()
