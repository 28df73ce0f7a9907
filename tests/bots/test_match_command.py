from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from buraco_bots.local_server import RunningServer
from buraco_bots.match_command import match
from buraco_notation import parse_cards
from buraco_rules import PRESETS_BY_ID
from buraco_rules.cards import CARD_TEXT, FACES

BURACO = Path(sysconfig.get_path("scripts")) / "buraco"
FOUR = ["--bots", "greedy,random,greedy,random", "--target", "2005", "--seed", "sheet"]
TIMEOUT = 60


def run(*arguments: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command as a user runs it, its output going to no terminal."""
    return subprocess.run(
        [BURACO, "match", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
        cwd=cwd,
        env=os.environ | variables,
    )


def played(*arguments: str) -> dict[str, Any]:
    """The JSON document of a match."""
    answer = run(*arguments, "--json")
    assert (answer.returncode, answer.stderr) == (0, "")
    document: dict[str, Any] = json.loads(answer.stdout)
    return document


def listening(address: str) -> bool:
    """Whether anything listens there."""
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def test_json(tmp_path: Path) -> None:
    """--json prints one document: who played what, every deal line by line, who won, how fast it went."""
    answer = run(*FOUR, "--json", TMPDIR=str(tmp_path))
    assert (answer.returncode, answer.stderr) == (0, "")
    report = json.loads(answer.stdout)
    assert report.keys() == {
        *("table_id", "bots", "seats", "rule_set", "target", "seed", "deals", "winner", "totals"),
        *("moves", "seconds", "moves_per_second", "metrics"),
    }
    assert report["bots"] == ["greedy", "random", "greedy", "random"]
    assert (report["seats"], report["rule_set"], report["target"]) == (4, "buraco-plus-classic", 2005)
    assert report["seed"] == "sheet"
    assert report["winner"] == 0
    totals = [0, 0]
    for number, deal in enumerate(report["deals"], 1):
        assert deal.keys() == {"number", "starter", "ending", "closed_by", "turns", "moves", "seed", "sides"}
        assert deal["number"] == number
        assert deal["ending"] in ("closed", "stock", "max_turns")
        assert (deal["closed_by"] is None) == (deal["ending"] != "closed")
        assert len(bytes.fromhex(deal["seed"])) == 32
        for side, sheet in enumerate(deal["sides"]):
            assert sheet["side"] == side
            assert sheet["total"] == sum(line["points"] for line in sheet["lines"])
            totals[side] += sheet["total"]
            assert sheet["match_total"] == totals[side]
            check_lines(sheet["lines"])
    assert report["totals"] == totals
    assert report["moves"] == sum(deal["moves"] for deal in report["deals"])
    assert report["moves_per_second"] == pytest.approx(report["moves"] / report["seconds"], rel=0.01)
    metrics = report["metrics"]
    assert metrics["buraco_moves_total"] == report["moves"]
    assert metrics["buraco_deals_finished_total"] == len(report["deals"])
    assert metrics["buraco_matches_finished_total"] == 1
    assert not listening(metrics["address"])
    assert list(tmp_path.iterdir()) == []


def check_lines(lines: list[dict[str, Any]]) -> None:
    """The lines of a side's sheet agree with the values of the cards they name (R9.1)."""
    values = PRESETS_BY_ID["buraco-plus-classic"].values
    for line in lines:
        assert line.keys() == {"kind", "points", "meld", "buraco", "seat"}
        cards = parse_cards(line["meld"] or "")
        match line["kind"]:
            case "meld_cards":
                assert line["points"] == sum(values[card] for card in cards) > 0
            case "buraco":
                assert line["points"] == {"clean": 200, "semi_clean": 150, "dirty": 100}[line["buraco"]]
                assert len(cards) >= 7
            case "hand":
                assert line["points"] < 0
                assert line["seat"] in range(4)
            case kind:
                assert (kind, line["points"]) in (("closing", 100), ("no_pot", -100))


def test_sheet() -> None:
    """Without a terminal plain lines are printed: every deal as it ends, then the sheet whose lines add up."""
    answer = run(*FOUR)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "\x1b" not in answer.stdout
    progress, _, sheet = answer.stdout.partition("\n\n")
    first, *deals = progress.splitlines()
    assert re.fullmatch(
        r"Table \w+ at [\d.]+:\d+: Buraco Plus Classic, to 2005, greedy 0, random 1, greedy 2, random 3", first
    )
    ended = [re.fullmatch(r"Deal (\d+) over \([a-z ]+\): (-?\d+) and (-?\d+), match .*", line) for line in deals]
    scores = [(int(found[2]), int(found[3])) for found in ended if found]
    assert len(scores) == len(deals) > 1
    card = "|".join(CARD_TEXT[face] for face in FACES)
    line = re.compile(rf"    [a-z ]+?  +((?:[a-z0-9 -]+: )?(?:{card})(?: (?:{card}))*)? +(-?\d+)")
    total, totals = 0, []
    for text in sheet.splitlines():
        if found := re.fullmatch(r" +total +(-?\d+)   match -?\d+", text):
            assert int(found[1]) == total
            totals.append(total)
            total = 0
        elif text.startswith("    "):
            counted = line.fullmatch(text)
            assert counted, text
            total += int(counted[2])
    assert list(zip(totals[::2], totals[1::2], strict=True)) == scores
    assert re.search(rf"^side 0: greedy \(seat 0\), greedy \(seat 2\) +{sum(totals[::2])}$", sheet, re.MULTILINE)
    assert "Winner: side 0: greedy (seat 0), greedy (seat 2)\n" in sheet
    assert re.search(r"Metrics were at [\d.]+:\d+: buraco_moves_total \d+, buraco_deals_finished_total \d+", sheet)


def test_terminal() -> None:
    """In a terminal the table is shown while it is played at, and the sheet afterwards."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [BURACO, "match", "--bots", "greedy", "--target", "0", "--seed", "shown"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 65536):
                shown += chunk
        except OSError:
            pass  # how the other end of a terminal learns that this one is closed
        os.close(ours)
        assert process.wait(TIMEOUT) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    assert re.search(r"Deal 1, turn \d+ +stock \d+ +pile \d+", text)
    assert "players (cards)" in text
    assert re.search(r"seat \d discards \w\w", text)
    assert "Winner: side" in text


def test_same_seed(server: RunningServer) -> None:
    """The same seed gives the same match, another gives another."""
    arguments = ["--server", server.address, "--bots", "greedy,random", "--target", "0", "--rule-set", "closed"]
    first, again, other = (played(*arguments, "--seed", seed) for seed in ("one", "one", "two"))
    assert first["deals"] == again["deals"]
    assert first["table_id"] != again["table_id"]
    assert first["deals"] != other["deals"]
    assert first["metrics"] is None


@pytest.mark.parametrize(
    ("arguments", "bots"),
    [
        (["--bots", "random"], ["random"] * 4),
        (["--bots", "random", "--seats", "2"], ["random"] * 2),
        (["--bots", "greedy, random", "--seats", "4"], ["greedy", "random", "greedy", "random"]),
        (["--bots", "buraco_bots.random_bot:RandomBot,random"], ["buraco_bots.random_bot:RandomBot", "random"]),
    ],
)
def test_seats(server: RunningServer, arguments: list[str], bots: list[str]) -> None:
    """Bots take the seats in turn, so that two at four seats are partners each."""
    result = CliRunner().invoke(
        match, [*arguments, "--server", server.address, "--target", "0", "--json"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["bots"] == bots


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bots", "greedy,clever"], "there is no bot 'clever': known are cheater, greedy, planner, random, search"),
        (["--bots", "greedy,,random"], "a name is missing"),
        (["--bots", "greedy,random,greedy"], "3 bots do not fit 3 seats"),
        (["--bots", "greedy,random,greedy,random", "--seats", "2"], "4 bots do not fit 2 seats"),
        (["--seats", "3"], "'3' is not one of '2', '4'"),
        (["--rule-set", "chess"], "there is no rule set 'chess': known are buraco-plus-classic, professional-indirect"),
        (["--target", "-1"], "-1 is not in the range"),
        (["--target", "lots"], "'lots' is not a valid integer"),
    ],
)
def test_misused(arguments: list[str], message: str) -> None:
    """Bad usage is answered with what there is, and exit code 2."""
    result = CliRunner().invoke(match, arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_rule_set_unknown_to_the_server(server: RunningServer) -> None:
    """A rule set that the server given does not know is answered with those it knows, and exit code 2."""
    answer = run("--server", server.address, "--rule-set", "chess")
    assert answer.returncode == 2
    assert "there is no rule set 'chess': known are" in answer.stderr
    assert all(rule_set in answer.stderr for rule_set in PRESETS_BY_ID)
    assert "Traceback" not in answer.stderr


def test_no_server() -> None:
    """A server that does not answer is a clear message and exit code 1."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        answer = run("--server", f"127.0.0.1:{taken.getsockname()[1]}")
    assert answer.returncode == 1
    assert answer.stderr.startswith("Error: the match failed: UNAVAILABLE")
    assert "Traceback" not in answer.stderr


def test_server_does_not_start(tmp_path: Path) -> None:
    """A server that does not start is a clear message with its last lines, and exit code 1."""
    # The server's process finds this module first, and so cannot even be imported.
    (tmp_path / "buraco_service").mkdir()
    (tmp_path / "buraco_service" / "__init__.py").write_text("")
    (tmp_path / "buraco_service" / "__main__.py").write_text("raise SystemExit('no room at the inn')\n")
    code = "from buraco_bots.match_command import match; match(['--seed', 'x'])"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
        env=os.environ | {"PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path)},
    )
    assert answer.returncode == 1
    assert answer.stderr == "Error: the server did not start: no room at the inn\n"
    assert [path.name for path in tmp_path.iterdir()] == ["buraco_service"]


def test_broken_bot(tmp_path: Path) -> None:
    """A bot that fails is named with its error and its line, and all that was started is stopped."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    (tmp_path / "my_bots.py").write_text(
        "class Stuck:\n"
        "    def __init__(self, random): ...\n"
        "    def choose(self, view, moves): raise RuntimeError('out of ideas')\n"
    )
    answer = run("--bots", "random,my_bots:Stuck", "--target", "0", cwd=tmp_path, TMPDIR=str(temporary))
    assert answer.returncode == 1
    first, second, *_ = answer.stderr.splitlines()
    assert first == "Error: the match failed: Stuck failed: RuntimeError: out of ideas"
    assert second == f'  File "{tmp_path}/my_bots.py", line 3, in choose'
    address = re.search(r"Table \w+ at ([\d.]+:\d+)", answer.stdout)
    assert address
    assert not listening(address[1])
    assert list(temporary.iterdir()) == []


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Programs get Ctrl-C: those that are started where it is ignored, as in the background of a shell, ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C and SIGTERM stop the match in the middle, and all that was started."""
    with subprocess.Popen(
        [BURACO, "match", "--bots", "random", "--target", "1000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout
        address = re.search(r"Table \w+ at ([\d.]+:\d+)", process.stdout.readline())
        assert address
        assert listening(address[1])
        process.send_signal(number)
        _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 128 + number
    assert errors == f"Error: stopped by {number.name}\n"
    assert not listening(address[1])
    assert list(tmp_path.iterdir()) == []


def test_record(tmp_path: Path) -> None:
    """--record leaves what `buraco replay` shows: the match that the score sheet was of."""
    answer = run("--target", "0", "--seed", "kept", "--record", "kept.txt", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    shown = subprocess.run(
        [BURACO, "replay", "kept.txt"], capture_output=True, text=True, check=False, timeout=TIMEOUT, cwd=tmp_path
    )
    assert shown.returncode == 0, shown.stderr
    assert "Turn 1, seat 1 (random)\n" in shown.stdout
    assert re.findall(r"^Turn (\d+),", shown.stdout, re.MULTILINE)[-1:] == re.findall(r"(\d+) turns,", answer.stdout)


def test_record_nowhere(tmp_path: Path) -> None:
    """A record that could not be written is refused before the match and not after it."""
    answer = run("--record", "nowhere/kept.txt", cwd=tmp_path)
    assert answer.returncode == 2
    assert "Invalid value for '--record': there is no folder 'nowhere'" in answer.stderr
