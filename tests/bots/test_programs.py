"""Bots that are programs: examples of the document, and programs that break every promise."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from buraco.v1 import event_pb2
from buraco_bots.bot import BotFault, ask_for_moves
from buraco_bots.match import MatchSetup, play_match
from buraco_bots.matches import play_match as play_in_process
from buraco_bots.programs import MAX_LINE, ProgramBot, kill_programs, programs_running
from buraco_bots.random_bot import RandomBot
from buraco_bots.registry import load_factory
from buraco_bots.thinking import Thinker, Tolerance
from buraco_client import BuracoClient
from buraco_rules import PRESETS_BY_ID, Discard, LayMeld, legal_moves, view_of
from tests.rules.positions import CLASSIC, position

PATIENCE = 60.0
EXAMPLES = Path(__file__).parents[2] / "bots" / "examples"
DEAL = position(CLASSIC, hand="3s 4s 5s Kd 9c")
VIEW, MOVES = view_of(DEAL, 0), legal_moves(DEAL)
READY = 'print(\'{"type": "ready"}\', flush=True)'

Make = Callable[..., ProgramBot]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes the bot of a Python program of these lines, before which it has read its first line."""
    made: list[ProgramBot] = []

    def bot(lines: str, **parameters: float | str) -> ProgramBot:
        script = tmp_path / f"bot{len(made)}.py"
        script.write_text("import json, os, sys, time\nhello = json.loads(input())\n" + textwrap.dedent(lines))
        made.append(ProgramBot([sys.executable, str(script)], Random(1), **parameters))
        return made[-1]

    yield bot
    for one in made:
        one.close()


def answering(answer: str) -> str:
    """A program that is ready, and gives one answer."""
    return f"{READY}\ninput()\nprint({answer!r}, flush=True)\ninput()"


def test_conversation(make: Make, tmp_path: Path) -> None:
    """A program reads a greeting with seed and parameters, events if it wants them, its questions, and the end."""
    bot = make(
        f"""
        print('{{"type": "ready", "observe": true}}', flush=True)
        lines = [json.dumps(hello)]
        for line in sys.stdin:
            lines.append(line)
            open({str(tmp_path / "heard")!r}, "w").write("\\n".join(lines))
            if json.loads(line)["type"] == "choose":
                print('{{"move": 0}}', flush=True)
        """,
        depth=2,
        style="bold",
    )
    event = event_pb2.Event(drew=event_pb2.Drew(seat=1, stock_count=40))
    assert ask_for_moves(bot, VIEW, MOVES, 0, [event]) == (MOVES[0],)
    bot.close()
    hello, observe, choose, end = [json.loads(line) for line in (tmp_path / "heard").read_text().split("\n") if line]
    assert hello == {
        "type": "hello",
        "protocol": 1,
        "seed": Random(1).getrandbits(53),
        "parameters": {"depth": 2, "style": "bold"},
    }
    assert observe["event"]["drew"]["seat"] == 1
    assert observe["event"]["drew"]["stockCount"] == 40
    assert choose["view"]["hand"][0] == "CARD_THREE_OF_SPADES"
    assert choose["view"]["stockCount"] == VIEW.stock_count
    assert choose["moves"][-1] == {"discard": {"card": "CARD_KING_OF_DIAMONDS"}} or len(choose["moves"]) == len(MOVES)
    assert end == {"type": "end"}


def test_events_only_if_wanted(make: Make) -> None:
    """A program that does not ask for events gets none."""
    bot = make(
        f"{READY}\nassert json.loads(input())['type'] == 'choose'\nprint('{{\"move\": 0}}', flush=True)\ninput()"
    )
    assert ask_for_moves(bot, VIEW, MOVES, 0, [event_pb2.Event()]) == (MOVES[0],)


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ('{"move": 1}', (MOVES[1],)),
        ('{"moves": [0, 1]}', (MOVES[0], MOVES[1])),
        ('{"move": {"layMeld": {"cards": ["CARD_THREE_OF_SPADES", 4, 5]}}}', (LayMeld((3, 4, 5)),)),
        (
            '{"moves": [0, {"discard": {"card": "CARD_KING_OF_DIAMONDS"}}], "because": "why not"}',
            (MOVES[0], Discard(39)),
        ),
    ],
)
def test_answers(make: Make, answer: str, chosen: tuple[object, ...]) -> None:
    """Moves are given by their index or as objects, one or a plan; what else is in the answer is nobody's business."""
    assert ask_for_moves(make(answering(answer)), VIEW, MOVES, 0) == chosen


@pytest.mark.parametrize(
    ("lines", "kind", "message"),
    [
        (answering('{"move": 99}'), "illegal", f"chose move 99 of {len(MOVES)}"),
        (answering('{"move": -1}'), "illegal", "chose move -1"),
        (answering('{"move": {"discard": {"card": 7}}}'), "illegal", r"Discard\(card=7\), which is no legal move"),
        (answering('{"move": true}'), "error", "answered with True, which is no move"),
        (answering('{"move": {"discard": {"card": 99}}}'), "error", "which is no move"),
        (answering('{"move": {"dance": {}}}'), "error", "which is no move"),
        (answering('{"moves": []}'), "error", "neither a move nor moves"),
        (answering('{"moves": 3}'), "error", "neither a move nor moves"),
        (answering("{}"), "error", "neither a move nor moves"),
        (answering("[0]"), "error", "no JSON object"),
        (answering("pass"), "error", "wrote what is no JSON: b'pass"),
        (answering("[" * 50_000), "error", "wrote what is no JSON"),
        (answering("\x80"), "error", "wrote what is no JSON"),
        (answering(" " * (MAX_LINE + 1)), "error", f"wrote a line of more than {MAX_LINE} bytes"),
        ("sys.stdout.write('x' * 10_000_000)", "error", f"wrote a line of more than {MAX_LINE} bytes"),
        (f"{READY}\nsys.exit(3)", "error", "ended with status 3"),
        (f"{READY}\ninput()\nos.kill(os.getpid(), 9)", "error", "ended with status -9"),
        (f"{READY}\ninput()\nos.close(1)\ntime.sleep(1e6)", "error", "closed its output"),
        ("sys.exit(4)", "error", "ended with status 4"),
        ('print("hello")', "error", "no JSON"),
        ('print("{}")', "error", "did not begin with a line that it is ready"),
    ],
)
def test_faults(make: Make, lines: str, kind: str, message: str) -> None:
    """Whatever a program writes, or does in place of that, is its fault, and named."""
    bot = make(lines)
    with pytest.raises(BotFault, match=message) as caught:
        ask_for_moves(bot, VIEW, MOVES, 0)
    assert caught.value.kind == kind
    assert str(caught.value).startswith("bot0 ")


async def test_late(make: Make) -> None:
    """A program that hangs is late, and killed at once with its thread."""
    bot = make(f"{READY}\ntime.sleep(1e6)")
    thinker = Thinker("mine", "mine", Tolerance(1.0))
    with pytest.raises(BotFault, match="mine took longer than 1 s to choose a move"):
        await thinker.choose(bot, VIEW, MOVES, 0)
    assert bot._process.returncode == -9
    for thread in threading.enumerate():
        if thread.name == "bot mine":
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_does_not_read(make: Make) -> None:
    """A program that does not read is killed in the middle of what is written to it."""
    bot = make('print(\'{"type": "ready", "observe": true}\', flush=True)\ntime.sleep(1e6)')
    event = event_pb2.Event(drew=event_pb2.Drew())

    faults: list[str] = []

    def write_on() -> None:
        try:
            while True:
                bot.observe(event)
        except BotFault as fault:
            faults.append(str(fault))

    writing = threading.Thread(target=write_on)
    writing.start()
    while not bot._is_asking:
        time.sleep(0.01)
    time.sleep(0.5)
    bot.close()
    writing.join(PATIENCE)
    assert faults == ["bot0 ended with status -9"]


def test_ends_by_itself(make: Make, tmp_path: Path) -> None:
    """A program that reads the end has time to end in order; one that goes on is killed, with what it has started."""
    polite = make(f"{READY}\nsys.stdin.read()\nopen({str(tmp_path / 'over')!r}, 'w').close()")
    stubborn = make(
        f"""
        if os.fork() == 0:
            open({str(tmp_path / "child")!r}, "w").write(str(os.getpid()))
            time.sleep(1e6)
        {READY}
        while True:
            time.sleep(1e6)
        """
    )
    while not ((tmp_path / "child").exists() and (tmp_path / "child").read_text()):
        time.sleep(0.01)
    for bot in (polite, stubborn):
        bot.close()
        bot.close()
    assert (polite._process.returncode, stubborn._process.returncode) == (0, -9)
    assert (tmp_path / "over").exists()
    child = Path("/proc") / (tmp_path / "child").read_text()
    deadline = time.monotonic() + PATIENCE
    while child.exists() and "Z" not in (child / "stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_all_are_killed(make: Make) -> None:
    """Where nobody closes bots any more, all programs are killed at once."""
    bot = make("time.sleep(1e6)")
    kill_programs()
    assert bot._process.wait(PATIENCE) == -9


def test_keys_stay_here(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program does not inherit our variables, among which are keys."""
    monkeypatch.setenv("BURACO_CLIENT_API_KEY", "secret")
    bot = make(
        f"{READY}\ninput()\nprint(json.dumps({{'move': int('BURACO_CLIENT_API_KEY' in os.environ)}}), flush=True)"
    )
    assert ask_for_moves(bot, VIEW, MOVES, 0) == (MOVES[0],)


# ---- the examples ----------------------------------------------------------------------------------

NODE = pytest.param(
    f"exec:node {EXAMPLES / 'line_bot.mjs'}?boldness=2",
    marks=pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine"),
    id="node",
)
PYTHON = pytest.param(f"exec:{sys.executable} {EXAMPLES / 'line_bot.py'}", id="python")


@pytest.mark.parametrize("bot", [PYTHON, NODE])
async def test_example(client: BuracoClient, bot: str) -> None:
    """The examples play whole matches, in process and at a table, and the same seed plays the same again."""
    factory = load_factory(bot)
    here = play_in_process(PRESETS_BY_ID["closed"], [factory, RandomBot], "example", 0)
    report = await play_match(client, MatchSetup((bot, "random"), (factory, RandomBot), "closed", 0, "example"))
    (deal,), (played,) = report.deals, here.deals
    assert played.moves > 20
    if "node" in bot:  # the other one counts discards, the first of which a table may show before it is seated
        assert (deal.end, deal.moves) == (played.deal, played.moves)


def test_example_wants_to_win() -> None:
    """The example in Python beats chance more often than not."""
    factory: Any = load_factory(f"exec:{sys.executable} {EXAMPLES / 'line_bot.py'}")
    wins = [play_in_process(CLASSIC, [factory, RandomBot], f"wins {number}", 0).winner == 0 for number in range(5)]
    assert sum(wins) >= 3


def test_nothing_is_left_running() -> None:
    """No test leaves a program behind."""
    assert programs_running() == 0
