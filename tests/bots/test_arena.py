"""The command `buraco arena`, as its users run it."""

from __future__ import annotations

import asyncio
import csv
import json
import subprocess
import sys
import sysconfig
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from buraco.v1 import table_pb2
from buraco_bots.arena import command
from buraco_bots.arena.command import arena
from buraco_bots.arena.figures import PairFigures
from buraco_bots.arena.fingerprints import describe_bot
from buraco_bots.arena.pairs import PairTask
from buraco_bots.arena.workers import WorkerFailed, Workers
from buraco_bots.local_server import RunningServer, local_server
from buraco_client import BuracoClient
from buraco_rules import PRESETS_BY_ID
from tests.bots.test_arena_pairs import ODD, played

BURACO = Path(sysconfig.get_path("scripts")) / "buraco"
PATIENCE = 120.0
QUICK = ["--workers", "1", "--rule-set", "closed"]


def invoke(*arguments: str) -> Result:
    """The command in this process."""
    return CliRunner().invoke(arena, [*QUICK, *arguments])


def document(*arguments: str) -> Any:
    """The JSON document of an arena."""
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def without_times(found: Any) -> Any:
    """A document without how long choices took."""
    if isinstance(found, dict):
        return {name: without_times(value) for name, value in found.items() if name not in ("think", "think_seconds")}
    return [without_times(value) for value in found] if isinstance(found, list) else found


def test_table() -> None:
    """A line for each pairing has pairs, win rate and difference with their intervals, Elo and a verdict."""
    result = invoke("--bots", f"greedy,random,{ODD}:Raises", "--pairs", "4")
    assert result.exit_code == 0, result.output
    heading, first, *_ = lines = result.stdout.splitlines()
    assert heading.split() == ["pairs", "wins", "95", "%", "Elo", "points", "a", "match", "verdict"]
    assert first.startswith("greedy – random")
    assert first.endswith("greedy is better")
    raises = next(line for line in lines if line.startswith(f"random – {ODD}:Raises"))
    assert "100.0%" in raises
    assert "  matches forfeited: error 8" in lines
    assert lines[-1].startswith("8 deals in ")
    assert sum(["a choice" in line for line in lines]) == 6


def test_equals() -> None:
    """A bot against itself shows 50 % without width."""
    result = invoke("--bots", "greedy,greedy", "--pairs", "2")
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("greedy – greedy")]
    assert "50.0%   50.0% – 50.0%" in line
    assert line.endswith("equal")


def test_inconclusive() -> None:
    """Where the interval covers 50 %, that is the verdict."""
    found = document("--bots", f"{ODD}:Last,{ODD}:Last?skip=1", "--pairs", "1")
    (pairing,) = found["pairings"]
    assert pairing["win_rate"]["low"] <= 0.5 <= pairing["win_rate"]["high"]
    assert pairing["verdict"] == "inconclusive"


def test_document() -> None:
    """The JSON document has what is needed to play it again, and is the same for the same seed and any workers."""
    arguments = ["--bots", f"{ODD}:Last?skip=1,random,greedy", "--pairs", "3", "--format", "gauntlet", "--seed", "json"]
    found = document(*arguments)
    assert found["settings"] == {
        "bots": [f"{ODD}:Last?skip=1", "random", "greedy"],
        "made_of": {name: describe_bot(name) for name in (f"{ODD}:Last?skip=1", "random", "greedy")},
        "format": "gauntlet",
        "seats": 2,
        "rule_set": "closed",
        "target": 0,
        "seed": "json",
        "thinking_limit": 30.0,
        "at": "processes",
    }
    assert found["settings"]["made_of"][f"{ODD}:Last?skip=1"]["version"] == "1.5"
    assert set(found["versions"]) == {"buraco", "python"}
    assert [[one["bot"] for one in pairing["contenders"]] for pairing in found["pairings"]] == [
        [f"{ODD}:Last?skip=1", "random"],
        [f"{ODD}:Last?skip=1", "greedy"],
    ]
    for pairing in found["pairings"]:
        assert sum(pairing["pentanomial"]) == len(pairing["pairs"]) == 3
        assert pairing["win_rate"]["low"] <= pairing["win_rate"]["value"] <= pairing["win_rate"]["high"]
        assert pairing["sprt"] is None
    again = document(*arguments, "--workers", "2")
    assert without_times(again) == without_times(found)
    assert without_times(document(*arguments, "--seed", "other")) != without_times(found)


def test_sequential_test() -> None:
    """A sequential test stops a pairing when it has decided, after the same pairs for any number of workers."""
    for workers in ("1", "2"):
        found = document("--bots", "greedy,random", "--pairs", "60", "--sprt", "0,50", "--workers", workers)
        (pairing,) = found["pairings"]
        assert (pairing["sprt"]["decision"], pairing["sprt"]["pairs"]) == ("better", 16)
        assert 16 <= len(pairing["pairs"]) < 60
        assert pairing["sprt"]["elo"] == [0, 50]
        assert pairing["sprt"]["bounds"] == pytest.approx([-2.944, 2.944], abs=0.001)
    result = invoke("--bots", "greedy,random", "--pairs", "60", "--sprt", "0,50")
    assert "SPRT of 0 against 50 Elo: " in result.stdout
    assert "after 16 pairs: better" in result.stdout


def test_csv(tmp_path: Path) -> None:
    """The CSV file has a line for each match, forfeits included."""
    path = tmp_path / "matches.csv"
    assert invoke("--bots", f"greedy,{ODD}:Raises,random", "--pairs", "2", "--csv", str(path)).exit_code == 0
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert len(rows) == 12
    forfeits = [row for row in rows if row["forfeit"]]
    assert {row["forfeit"] for row in forfeits} == {f"error: {ODD}:Raises"}
    assert len(forfeits) == 8
    assert all(int(row["moves"]) > 20 for row in rows if not row["forfeit"])
    assert [(row["pair"], row["match"]) for row in rows[:4]] == [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]


def test_plots(tmp_path: Path) -> None:
    """Pictures are drawn of whatever there is: several pairings, a single pair, nothing but forfeits."""
    for number, bots in enumerate(["greedy,random,buraco_bots.greedy:GreedyBot", f"random,{ODD}:Raises"]):
        folder = tmp_path / str(number) / "plots"
        result = invoke("--bots", bots, "--pairs", "1", "--plots", str(folder))
        assert result.exit_code == 0, result.output
        names = sorted([path.name for path in folder.iterdir()])
        assert names == ["buracos.png", "differences.png", "elo.png", "leads.png", "lengths.png"]
        assert all([path.read_bytes().startswith(b"\x89PNG") for path in folder.iterdir()])


def test_goes_on(tmp_path: Path) -> None:
    """With a journal finished pairs are not played again, and the result is that of one run."""
    journal = ["--journal", str(tmp_path / "journal")]
    arguments = ["--bots", "greedy,random", "--seed", "goes on"]
    first = document(*arguments, *journal, "--pairs", "2")
    lines = (tmp_path / "journal").read_text().splitlines()
    assert len(lines) == 3
    whole = document(*arguments, *journal, "--pairs", "4")
    assert whole["pairings"][0]["pairs"][:2] == first["pairings"][0]["pairs"]
    assert (tmp_path / "journal").read_text().splitlines()[:3] == lines
    assert without_times(whole) == without_times(document(*arguments, "--pairs", "4"))
    result = invoke(*arguments, *journal, "--pairs", "2")
    assert result.stdout.splitlines()[1].split()[3] == "2"
    assert result.stdout.splitlines()[-1] == "0 deals in 0.0 s (0.0 deals/s)"


def test_killed_and_goes_on(tmp_path: Path) -> None:
    """An arena that is killed loses no finished pair."""
    journal = tmp_path / "journal"
    arguments = ["arena", *QUICK, "--bots", "greedy,random", "--pairs", "12", "--journal", str(journal), "--json"]
    with subprocess.Popen([BURACO, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not (journal.exists() and journal.read_bytes().count(b"\n") > 3):
            assert process.poll() is None
        process.kill()
    kept = journal.read_bytes().rpartition(b"\n")[0].split(b"\n")[1:]
    run = subprocess.run([BURACO, *arguments], capture_output=True, timeout=PATIENCE, check=True)
    (pairing,) = json.loads(run.stdout)["pairings"]
    assert len(pairing["pairs"]) == 12
    assert [pair for pair in map(json.loads, kept) if pair not in pairing["pairs"]] == []


def test_changed_bot(tmp_path: Path) -> None:
    """A journal of another version of a bot is refused, so that no result is of two bots."""
    bot = tmp_path / "changing.py"
    text = "class Mine:\n    def __init__(self, random): ...\n    def choose(self, view, moves): return moves[0]\n"
    command_line = [
        sys.executable,
        "-m",
        "buraco_service",
        "arena",
        *QUICK,
        "--bots",
        "changing:Mine,random",
        "--pairs",
        "1",
    ]
    command_line += ["--journal", "journal"]
    for content, status, message in [(text, 0, ""), (text, 0, ""), (f"{text}\n# changed\n", 1, "another made_of")]:
        bot.write_text(content)
        run = subprocess.run(command_line, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert run.returncode == status, run.stderr
        assert message in run.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bots", "greedy"], "two bots or more are needed"),
        (["--bots", "greedy,random,greedy"], "no pairing of them twice"),
        (["--bots", "greedy,clever"], "known are cheater, greedy, planner, random, search"),
        (["--bots", "greedy,random?depth=2"], "'depth' is none of its parameters"),
        (["--rule-set", "chess"], "buraco-plus-classic"),
        (["--sprt", "20,0"], "the lower first"),
        (["--sprt", "0,inf"], "two numbers of Elo"),
        (["--sprt", "20"], "two numbers of Elo"),
        (["--tls"], "TLS needs a server"),
        (["--matches", "4"], "No such option"),
    ],
)
def test_misused(arguments: list[str], message: str) -> None:
    """Bad usage is answered with what there is, and exit code 2."""
    result = CliRunner().invoke(arena, arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_worker_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is no bot's fault ends the arena with its message, after the results of the pairs until then."""

    class Failing(Workers):
        def play(self, tasks: Iterator[PairTask]) -> Generator[PairFigures, None, None]:
            yield played("greedy", "random")
            raise WorkerFailed("the processor is on fire")

    monkeypatch.setattr(command, "Workers", Failing)
    result = invoke("--bots", "greedy,random", "--pairs", "9")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].startswith("greedy – random       1")
    assert result.stderr == "Error: the processor is on fire\n"


def test_no_journal(tmp_path: Path) -> None:
    """A file that is no journal is an error with a message, and stays as it is."""
    path = tmp_path / "diary"
    path.write_text("dear diary\n")
    result = invoke("--journal", str(path))
    assert (result.exit_code, path.read_text()) == (1, "dear diary\n")
    assert "is no journal of an arena" in result.stderr


def test_greedy_beats_random() -> None:
    """Greedy wins at least 95 % of its matches to 1000 against random, over all rule sets."""
    rates = []
    for rules in PRESETS_BY_ID:
        found = document("--bots", "greedy,random", "--pairs", "3", "--target", "1000", "--rule-set", rules)
        rates.append(found["pairings"][0]["win_rate"]["value"])
    assert sum(rates) / len(rates) >= 0.95
    assert min(rates) >= 0.8


# ---- at a server -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own_server() -> Iterator[RunningServer]:
    """A server whose tables are those of these tests."""
    with local_server() as running:
        yield running


@pytest.mark.parametrize("seats", ["2", "4"])
def test_at_a_server(own_server: RunningServer, seats: str) -> None:
    """At tables of a server the figures are those of a process, but for the time of choices."""
    arguments = ["--bots", "greedy,random", "--pairs", "2", "--seats", seats, "--seed", "tables"]
    here, there = document(*arguments), document(*arguments, "--server", own_server.address)
    assert there["settings"].pop("at") == "tables"
    assert here["settings"].pop("at") == "processes"
    assert without_times(there) == without_times(here)
    assert there["pairings"][0]["contenders"][0]["think_seconds"]["mean"] > 0


@pytest.mark.parametrize(
    ("bot", "kind"), [("Raises", "error"), ("CheatsLater", "illegal"), ("Slow", "late"), ("Unmade", "error")]
)
def test_forfeits_at_a_server(own_server: RunningServer, bot: str, kind: str) -> None:
    """At a server a fault forfeits its match as in a process, and the table does not stay open."""
    arguments = ["--bots", f"random,{ODD}:{bot}", "--pairs", "1", "--thinking-limit", "0.9"]
    found = document(*arguments, "--server", own_server.address)
    (pairing,) = found["pairings"]
    assert pairing["win_rate"]["value"] == 1.0
    assert [one["forfeits"] for one in pairing["contenders"]] == [{}, {kind: 2}]

    async def states() -> set[int]:
        async with BuracoClient(own_server.address) as client:
            return {table.state async for table in client.list_tables()}

    assert asyncio.run(states()) <= {table_pb2.TABLE_STATE_FINISHED}


def test_no_server() -> None:
    """Without a server at the address the arena ends with a message, not with results."""
    result = invoke("--server", "127.0.0.1:1", "--pairs", "1")
    assert result.exit_code == 1
    assert "Unavailable" in result.stderr or "DeadlineExceeded" in result.stderr
