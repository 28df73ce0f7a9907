from __future__ import annotations

import importlib.metadata
import json
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from buraco_bots import registry
from buraco_bots.arena.command import arena
from buraco_bots.bots_command import bots
from buraco_bots.fleet_command import fleet
from buraco_bots.greedy import GreedyBot
from buraco_bots.match_command import match
from buraco_bots.random_bot import RandomBot
from buraco_bots.search.cheater import CheaterBot
from buraco_bots.search.player import SearchBot
from buraco_rules import Move, View


class Seer(RandomBot):
    """Sees every card,
    and uses it.

    This is no part of its description.
    """

    sees_all = True


class Untitled(RandomBot):
    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        return moves[0]


class Deep:
    """A bot with parameters."""

    def __init__(self, random: random.Random, depth: int = 1, style: str = "plain") -> None:
        self.depth, self.style = depth, style


@pytest.mark.parametrize(
    ("query", "depth", "style"),
    [("?depth=3", 3, "plain"), ("?style=bold&depth=0.5", 0.5, "bold"), ("?style=-2", 1, -2), ("", 1, "plain")],
)
def test_parameters(query: str, depth: float, style: object) -> None:
    """What follows a question mark reaches the bot by name, numbers as numbers."""
    bot = registry.load_factory(f"{__name__}:Deep{query}")(random.Random(1))
    assert isinstance(bot, Deep)
    assert (bot.depth, bot.style) == (depth, style)


@pytest.mark.parametrize(
    ("name", "bot"), [("random", RandomBot), ("greedy", GreedyBot), ("search", SearchBot), ("cheater", CheaterBot)]
)
def test_built_in(name: str, bot: type) -> None:
    """The built-in bots are found by name and made of a generator."""
    assert isinstance(registry.load_factory(name)(random.Random(1)), bot)


def test_address() -> None:
    """A class is found by its address, without being registered."""
    assert registry.load_factory("buraco_bots.random_bot:RandomBot") is RandomBot


def test_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in the working directory is found: that is where a bot is being written."""
    (tmp_path / "bot_in_the_making.py").write_text("class Mine:\n    def __init__(self, random): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert type(registry.load_factory("bot_in_the_making:Mine")(random.Random(1))).__name__ == "Mine"


def test_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other distributions add bots through entry points, but cannot take the name of a built-in one."""
    group = registry.ENTRY_POINTS
    added = [
        importlib.metadata.EntryPoint("mine", "buraco_bots.random_bot:RandomBot", group),
        importlib.metadata.EntryPoint("greedy", "buraco_bots.random_bot:RandomBot", group),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda *, group: added if group == registry.ENTRY_POINTS else [])
    assert list(registry.list_addresses()) == ["cheater", "greedy", "mine", "planner", "random", "search"]
    assert registry.load_factory("mine") is RandomBot
    assert registry.load_factory("greedy") is GreedyBot


def test_built_in_bots_are_described() -> None:
    """Each built-in bot has a description of one sentence, which fits into a line or two."""
    for bot in registry.list_bots():
        if bot.name in registry.BUILT_IN:
            assert re.fullmatch(r"[A-Z].{20,158}\.", bot.description), bot


def test_list_of_bots(monkeypatch: pytest.MonkeyPatch) -> None:
    """`buraco bots` lists names and descriptions, also of other distributions' bots and those that cannot be loaded."""
    added = [
        importlib.metadata.EntryPoint(name, address, registry.ENTRY_POINTS)
        for name, address in {
            "seer": f"{__name__}:Seer",
            "lost": "no_such_module:Bot",
            "bare": f"{__name__}:Untitled",
        }.items()
    ]
    monkeypatch.setattr(registry, "entry_points", lambda *, group: added)
    printed = CliRunner().invoke(bots, [])
    assert printed.exit_code == 0
    lines = [re.sub(" {2,}", "|", line) for line in printed.output.splitlines()]
    assert lines == sorted(lines)
    assert f"random|{RandomBot.__doc__}" in lines
    assert "seer|Sees every card, and uses it. (In an arena without --server only.)" in lines
    assert "bare" in lines
    assert "lost|cannot be loaded: there is no bot 'lost': No module named 'no_such_module'" in lines
    listed = {bot["name"]: bot for bot in json.loads(CliRunner().invoke(bots, ["--json"]).output)}
    assert listed.keys() == registry.BUILT_IN.keys() | {"bare", "lost", "seer"}
    assert listed["seer"] == {
        "name": "seer",
        "address": f"{__name__}:Seer",
        "description": "Sees every card, and uses it.",
        "sees_all": True,
    }


@pytest.mark.parametrize("query", ["", "?depth=1"])
def test_bots_that_see_all_cards(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot that sees all cards is refused wherever bots play at tables, with parameters, too; not in an arena."""
    monkeypatch.setattr(Seer, "__init__", lambda self, random, depth=0: None)
    seer = f"{__name__}:Seer{query}"
    for command, arguments in [
        (fleet, ["--server", "localhost:1", "--bots", f"greedy,{seer}"]),
        (match, ["--bots", seer]),
        (match, ["--bots", seer, "--server", "localhost:1"]),
        (arena, ["--bots", f"{seer},greedy", "--server", "localhost:1"]),
    ]:
        refused = CliRunner().invoke(command, arguments, terminal_width=300)
        assert refused.exit_code == 2
        assert "at tables: it sees all cards, which only `arena` without --server shows" in refused.output
    assert isinstance(registry.load_factory(seer)(random.Random(1)), Seer)
    assert registry.load_table_factory("greedy") is GreedyBot


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("clever", "known are cheater, greedy, planner, random, search"),
        ("", "known are cheater, greedy, planner, random, search"),
        ("no_such_module:Bot", "No module named 'no_such_module'"),
        (":Bot", "known are cheater, greedy, planner, random, search"),
        ("..up:Bot", "relative"),
        ("buraco_bots.bot:Nobody", "'Nobody' in 'buraco_bots.bot' does not make bots"),
        ("exec:", "'' is no program"),
        ("exec:no-such-program --fast", "'no-such-program' is no program"),
        ("exec:python 'mine", "No closing quotation"),
        ("random?depth=2", "'depth' is none of its parameters (it has none)"),
        (f"{__name__}:Deep?breadth=2", "'breadth' is none of its parameters (depth, style)"),
        (f"{__name__}:Deep?depth", "parameters are given as name=value, each once, not 'depth'"),
        (f"{__name__}:Deep?depth=1&depth=2", "each once, not 'depth=2'"),
        (f"{__name__}:Deep?=1", "each once, not '=1'"),
    ],
)
def test_unknown(name: str, message: str) -> None:
    """What is no bot is refused with what there is, or with what is wrong about the address."""
    with pytest.raises(registry.UnknownBot, match=f"there is no bot {re.escape(repr(name))}: .*{re.escape(message)}"):
        registry.load_factory(name)


def test_player_names() -> None:
    """A bot plays under its own name, or its class's, as far as a seat's name may be long."""
    assert registry.player_name("greedy") == "greedy"
    assert registry.player_name("greedy", " 3") == "greedy 3"
    assert registry.player_name("my.bots:Patient", " 0") == "Patient 0"
    assert registry.player_name("search?ms=200", " 1") == "search?ms=200 1"
    assert registry.player_name("exec:python3 -u bots/clever.py --fast?depth=2") == "clever?depth=2"
    assert registry.player_name("my.bots:" + "P" * 100, " 0") == "P" * 62 + " 0"
