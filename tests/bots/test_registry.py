from __future__ import annotations

import importlib.metadata
import random
import re
import sys
from pathlib import Path

import pytest

from buraco_bots import registry
from buraco_bots.greedy import GreedyBot
from buraco_bots.random_bot import RandomBot
from buraco_bots.search.cheater import CheaterBot
from buraco_bots.search.player import SearchBot


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
    assert list(registry.list_addresses()) == ["cheater", "greedy", "mine", "random", "search"]
    assert registry.load_factory("mine") is RandomBot
    assert registry.load_factory("greedy") is GreedyBot


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("clever", "known are cheater, greedy, random, search"),
        ("", "known are cheater, greedy, random, search"),
        ("no_such_module:Bot", "No module named 'no_such_module'"),
        (":Bot", "known are cheater, greedy, random, search"),
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
