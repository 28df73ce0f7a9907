"""The command `buraco bots`: which bots there are, and how they play."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from buraco_bots.registry import KnownBot, list_bots


@click.command(
    "bots",
    short_help="List the bots known by name.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def bots(as_json: bool) -> None:
    """List the bots known by name, and how they play: the built-in ones and those of other distributions.

    A table that asks for bots of a level names one of them.
    """
    known = list_bots()
    if as_json:
        click.echo(json.dumps([asdict(bot) for bot in known], indent=2))
        return
    width = max(len(bot.name) for bot in known)
    for bot in known:
        click.echo(f"{bot.name:{width}}  {_describe(bot)}".rstrip())


def _describe(bot: KnownBot) -> str:
    return f"{bot.description} (In an arena without --server only.)" if bot.sees_all else bot.description
