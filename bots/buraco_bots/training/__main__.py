"""The command behind `make train`."""

from __future__ import annotations

import time
from multiprocessing import get_context
from pathlib import Path

import click

from buraco_bots.planner.weights import format_weights, read_coefficients
from buraco_bots.training.evolution import Evolution
from buraco_bots.training.games import compare
from buraco_bots.training.start import first_coefficients


@click.command("train", context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--steps", type=click.IntRange(1, 100_000), default=300, help="Steps of the training.")
@click.option("--pairs", type=click.IntRange(1, 1000), default=5, help="Pairs of deals of each game in a step.")
@click.option("--workers", type=click.IntRange(1, 256), default=2, help="Processes that play.")
@click.option("--seed", default="train", help="Any text: the same seed gives the same weights.")
@click.option("--start", default="", metavar="FILE", help="Weights to go on from.  [default: some set by hand]")
@click.option("--output", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Where to write them.")
def train(steps: int, pairs: int, workers: int, seed: str, start: str, output: Path) -> None:
    """Train the weights of the planner by matches against itself, over all rule sets and seats at once."""
    evolution = Evolution(read_coefficients(start) if start else first_coefficients(), seed, pairs)
    began = time.monotonic()
    how = {"start": start, "seed": seed, "steps": steps, "pairs": pairs}
    with get_context("spawn").Pool(workers) as pool:
        for step in range(steps):
            directions, trials = evolution.trials()
            results = pool.map(compare, trials, chunksize=1)
            evolution.learn(directions, results, step / steps)
            output.write_text(format_weights(evolution.coefficients, how | {"steps": step + 1}), encoding="utf-8")
            seconds = time.monotonic() - began
            left = seconds / (step + 1) * (steps - step - 1)
            click.echo(f"step {step + 1} of {steps}, {seconds:.0f} s, {left:.0f} s left", err=True)


if __name__ == "__main__":
    train()
