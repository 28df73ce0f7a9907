"""Bots that hang, fail or cheat, in the commands as their users run them: real processes, real signals."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from buraco.v1 import table_pb2
from buraco_bots.local_server import RunningServer, local_server
from buraco_bots.player import play_seat
from buraco_bots.random_bot import RandomBot
from buraco_client import BuracoClient
from tests.bots.test_fleet_health import WORKS, probe

BURACO = str(Path(sysconfig.get_path("scripts")) / "buraco")
PATIENCE = 90.0
"""Seconds, on a busy machine, for what should take two."""
EITHER_OF_TWO_SIGNALS = (128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Exit statuses after SIGINT and SIGTERM at once: a process may receive either of them first."""
FOR_EVER = ["--thinking-limit", "86400"]

MODULE = '''
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def hanging(bot):
    """Leave a file behind for every bot that begins to hang."""
    Path(f"hangs-{id(bot)}").touch()


class Sleeps:
    def __init__(self, random): ...
    def choose(self, view, moves):
        hanging(self)
        while True:
            time.sleep(1e6)

class Spins(Sleeps):
    def choose(self, view, moves):
        hanging(self)
        while True:
            pass

class Stubborn(Sleeps):
    def choose(self, view, moves):
        hanging(self)
        while True:
            try:
                while True:
                    print(end="")
            except BaseException:
                pass

class WaitsForItsOwn(Sleeps):
    """Its own thread keeps the interpreter from exiting."""
    def choose(self, view, moves):
        hanging(self)
        return ThreadPoolExecutor().submit(time.sleep, 1e6).result()

class NeverMade:
    def __init__(self, random):
        hanging(self)
        time.sleep(1e6)

class Raises(Sleeps):
    def choose(self, view, moves): raise RuntimeError("out of ideas")

class Exits(Sleeps):
    def choose(self, view, moves): raise SystemExit("enough")

class Interrupts(Sleeps):
    def choose(self, view, moves): raise KeyboardInterrupt

class Cheats(Sleeps):
    def choose(self, view, moves): return "all of them"

class Plays(Sleeps):
    def choose(self, view, moves): return moves[0]

class TiresInTheThirdMatch(Sleeps):
    made = 0
    def __init__(self, random):
        TiresInTheThirdMatch.made += 1
        self.tired = self.made == 3
    def choose(self, view, moves):
        return super().choose(view, moves) if self.tired else moves[-1]
'''

HANGING = ["Sleeps", "Spins", "Stubborn", "WaitsForItsOwn"]
FAULTS = {
    **dict.fromkeys(HANGING, "took longer than 0.1 s to choose a move"),
    "NeverMade": "took longer than 0.1 s to be made",
    "Raises": "failed: RuntimeError: out of ideas",
    "Exits": "failed: SystemExit: enough",
    "Interrupts": "the bot raised KeyboardInterrupt()",
    "Cheats": "chose 'all of them', which is no legal move",
}


def limit(bot: str) -> list[str]:
    """No time for a bot that hangs, much for one that fails by itself: so the fault is the same on a busy machine."""
    return ["--thinking-limit", "0.1" if "0.1 s" in FAULTS[bot] else "60"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    """Where the commands run: bots are found there, and temporary files in `tmp`."""
    (tmp_path / "odd.py").write_text(MODULE)
    (tmp_path / "tmp").mkdir()
    return tmp_path


@contextlib.contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command; killed if it is still there at the end."""
    # Under nohup it is ignored, and a child inherits that.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        process = subprocess.Popen(
            [BURACO, *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(folder / "tmp"), "PYTHONUNBUFFERED": "1"},
        )
    finally:
        signal.signal(signal.SIGHUP, before)
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(condition: Callable[[], object]) -> None:
    """Return once the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def hung(folder: Path) -> int:
    """How many bots have begun to hang."""
    return len(list(folder.glob("hangs-*")))


def server_of(folder: Path) -> int:
    """The process of the match's own server."""
    (ready,) = (folder / "tmp").glob("buraco-*/ready.json")
    pid: int = json.loads(ready.read_text())["pid"]
    return pid


def is_running(pid: int) -> bool:
    """Whether there is such a process."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


@pytest.mark.parametrize("bot", FAULTS)
def test_match_ends_with_the_fault(folder: Path, bot: str) -> None:
    """A bot that is late or fails ends the match with a message and status 1, and nothing is left behind."""
    with started(folder, "match", "--bots", f"odd:{bot},odd:Plays", "--target", "0", *limit(bot)) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    first = errors.splitlines()[0]
    assert first.startswith("Error: the match failed: ")
    # On a busy machine a tenth of a second may be too little for the other bot, too.
    assert FAULTS[bot] in first or first.startswith("Error: the match failed: Plays 1 took longer than 0.1 s")
    assert "Traceback" not in errors
    assert list((folder / "tmp").iterdir()) == []


@pytest.mark.parametrize("bot", ["Sleeps", "Raises"])
def test_match_goes_on(folder: Path, bot: str) -> None:
    """With `--on-fault move` the turns of such a bot are finished by plain moves, each with a warning."""
    arguments = ["--bots", f"odd:{bot},random", "--target", "0", "--json", "--on-fault", "move", *limit(bot)]
    with started(folder, "match", *arguments) as process:
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    (deal,) = json.loads(output)["deals"]
    lines = {line["kind"] for line in deal["sides"][0]["lines"]}
    assert lines <= {"hand", "no_pot"}, "a seat that only draws and discards has no melds"
    warnings = re.findall(rf"^{bot} 0: its turn is finished by plain moves: ", errors, re.MULTILINE)
    assert len(warnings) in ((deal["turns"] + 1) // 2, deal["turns"] // 2)
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("number", "bot"),
    [
        (signal.SIGINT, "Sleeps"),
        (signal.SIGINT, "Stubborn"),
        (signal.SIGTERM, "Spins"),
        (signal.SIGHUP, "WaitsForItsOwn"),
    ],
)
def test_match_stops_by_one_signal(folder: Path, number: signal.Signals, bot: str) -> None:
    """One signal stops a match whose bot hangs, and its server: a short message, and the status that shells use."""
    with started(folder, "match", "--bots", f"odd:{bot}", *FOR_EVER) as process:
        wait_for(lambda: hung(folder))
        server = server_of(folder)
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert errors == f"Error: stopped by {number.name}\n"
    assert not is_running(server)
    assert list((folder / "tmp").iterdir()) == []


def test_match_stops_before_its_server_is_ready(folder: Path) -> None:
    """A signal while the server starts stops it, too."""
    with started(folder, "match") as process:
        wait_for(lambda: list((folder / "tmp").glob("buraco-*")))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors == "Error: stopped by SIGINT\n"
    assert list((folder / "tmp").iterdir()) == []


def test_match_ends_at_once_by_two_signals(folder: Path) -> None:
    """A second signal waits for nothing, not even for a server that does not stop, and leaves none behind."""
    with started(folder, "match", "--bots", "odd:Sleeps", *FOR_EVER) as process:
        wait_for(lambda: hung(folder))
        server = server_of(folder)
        os.kill(server, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode in EITHER_OF_TWO_SIGNALS
    assert errors == ""
    assert not is_running(server)
    assert list((folder / "tmp").iterdir()) == []


def test_match_stops_by_ctrl_c_in_a_terminal(folder: Path) -> None:
    """One Ctrl-C in a terminal, which goes to every process of the foreground, stops a match whose bots hang."""
    ours, theirs = pty.openpty()
    take_terminal = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
    go_on = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
    command = [BURACO, "match", "--bots", "odd:Sleeps,odd:Spins", *FOR_EVER]
    with subprocess.Popen(
        [sys.executable, "-c", f"{take_terminal}; {go_on}", *command],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "TMPDIR": str(folder / "tmp")},
        start_new_session=True,
    ) as process:
        os.close(theirs)
        try:
            wait_for(lambda: hung(folder))
            server = server_of(folder)
            os.write(ours, b"\x03")
            shown = b""
            with contextlib.suppress(OSError):  # how the other end of a terminal learns that this one is closed
                while chunk := os.read(ours, 65536):
                    shown += chunk
            assert process.wait(PATIENCE) == 130
        finally:
            process.kill()
            os.close(ours)
    assert b"Error: stopped by SIGINT" in shown
    assert b"Traceback" not in shown
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l"), "the cursor is shown again"
    assert not is_running(server)
    assert list((folder / "tmp").iterdir()) == []


PROGRAM = (
    "import sys, time; from pathlib import Path; Path('hangs-program').write_text(str(__import__('os').getpid()));"
)


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGINT, signal.SIGTERM]])
@pytest.mark.parametrize("command", ["match", "arena"])
def test_programs_are_killed(folder: Path, command: str, signals: list[signal.Signals]) -> None:
    """A program that hangs ends with the command, by one signal or two."""
    (folder / "hang.py").write_text(f"{PROGRAM} time.sleep(1e6)")
    with started(folder, command, "--bots", f"exec:{sys.executable} hang.py,random", *FOR_EVER) as process:
        wait_for(lambda: hung(folder) and (folder / "hangs-program").read_text())
        program = int((folder / "hangs-program").read_text())
        assert running(program)
        for number in signals:
            process.send_signal(number)
        process.communicate(timeout=PATIENCE)
    assert process.returncode in EITHER_OF_TWO_SIGNALS
    wait_for(lambda: not running(program))


def test_a_late_program_is_killed(folder: Path) -> None:
    """A program that is late in the arena forfeits, and is ended with its worker."""
    (folder / "hang.py").write_text(f"{PROGRAM} time.sleep(1e6)")
    bots = f"random,exec:{sys.executable} hang.py"
    with started(folder, "arena", "--bots", bots, "--pairs", "1", "--thinking-limit", "1", "--json") as process:
        output, _ = process.communicate(timeout=PATIENCE)
    (pairing,) = json.loads(output)["pairings"]
    assert pairing["contenders"][1]["forfeits"] == {"late": 2}
    wait_for(lambda: not running(int((folder / "hangs-program").read_text())))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_arena_stops_with_what_it_had(folder: Path, number: signal.Signals) -> None:
    """One signal stops the arena, also where a bot hangs, with the results of the pairs that were finished."""
    arguments = ["--bots", "odd:TiresInTheThirdMatch,odd:Plays", "--workers", "1", "--json"]
    with started(folder, "arena", *arguments) as process:
        wait_for(lambda: hung(folder))
        process.send_signal(number)
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    (pairing,) = json.loads(output)["pairings"]
    assert [pair["number"] for pair in pairing["pairs"]] == [0]
    assert errors == f"Error: stopped by {number.name}\n"


def test_arena_stops_before_the_first_pair(folder: Path) -> None:
    """Without a finished pair there are no results, only the message."""
    with started(folder, "arena", "--bots", "odd:Stubborn,random") as process:
        wait_for(lambda: hung(folder))
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output, errors) == (130, "", "Error: stopped by SIGINT\n")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_a_second_signal_ends_the_arena(folder: Path) -> None:
    """A second signal ends the arena with all its processes, and so does a kill, which no process can see coming."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with started(folder, "arena", "--bots", "odd:Stubborn,odd:Sleeps", "--workers", "2", *FOR_EVER) as process:
            wait_for(lambda: hung(folder))
            workers = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
            assert len(workers) >= 2
            process.send_signal(number)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)
        assert process.returncode in (128 + number, -number)
        wait_for(lambda pids=workers: not any(running(pid) for pid in pids))  # type: ignore[misc]
        for file in folder.glob("hangs-*"):
            file.unlink()


def running(pid: int) -> bool:
    """Whether a process runs; one that has ended does not, even if nobody has waited for it."""
    with contextlib.suppress(FileNotFoundError):  # it has ended, or there is no /proc
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return is_running(pid)


@pytest.fixture(scope="module")
def own_server() -> Iterator[RunningServer]:
    """A server whose tables no other test's fleet sees."""
    with local_server() as running:
        yield running


@pytest.fixture
async def client(own_server: RunningServer) -> AsyncIterator[BuracoClient]:
    """A client of that server, whose tables are finished or full at the end."""
    async with BuracoClient(own_server.address) as made:
        yield made
        async for table in made.list_tables():
            if table.state != table_pb2.TABLE_STATE_FINISHED:
                for seat in table.seats:
                    if not seat.player_name:
                        await made.join_table(table.id, "leftover", seat=seat.seat)


async def new_table(client: BuracoClient) -> str:
    """A new table for two; its id."""
    return (await client.create_table("buraco-plus-classic", 2, target_score=0)).id


async def players(client: BuracoClient, table_id: str) -> list[str]:
    """Who sits there."""
    return [seat.player_name for seat in (await client.get_table(table_id)).seats]


def is_finished(table: table_pb2.Table) -> bool:
    """Whether the match is over."""
    return table.state == table_pb2.TABLE_STATE_FINISHED


async def until(client: BuracoClient, table_id: str, wanted: Callable[[table_pb2.Table], bool]) -> None:
    """Wait until the table is as wanted."""
    async with asyncio.timeout(PATIENCE), client.watch(table_id) as watch:
        async for _ in watch:
            if wanted(await client.get_table(table_id)):
                return
    raise AssertionError("the watch has ended")


@contextlib.contextmanager
def fleet(folder: Path, server: RunningServer, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A fleet that sits down at once."""
    with started(folder, "fleet", "--server", server.address, "--courtesy", "0", *arguments) as process:
        yield process


async def logged(process: subprocess.Popen[str], text: str) -> str:
    """What a fleet has logged, up to the line that holds a text."""
    lines: list[str] = []
    while not lines or text not in lines[-1]:
        assert process.stderr is not None
        lines.append(await asyncio.to_thread(process.stderr.readline))
        assert lines[-1], "the fleet has ended"
    return "".join(lines)


async def ended(process: subprocess.Popen[str]) -> str:
    """What a fleet that was sent a signal has logged."""
    _, errors = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
    assert "Traceback" not in errors
    return errors


async def test_hung_bots_hold_up_no_other_table(folder: Path, own_server: RunningServer, client: BuracoClient) -> None:
    """Eight bots that hang, one of them in a busy loop, let another table of the fleet play on, and the fleet stop.

    The fleet stays live and ready.
    """
    bots = ",".join(["odd:Sleeps"] * 14 + ["odd:Spins"] * 2 + ["greedy"] * 2)
    arguments = ["--bots", bots, "--seats-limit", "18", "--grace", "0", "--metrics-port", "0", *FOR_EVER]
    with fleet(folder, own_server, *arguments) as process:
        port = int((await logged(process, "metrics at")).rpartition(":")[2])
        stuck = [await new_table(client) for _ in range(8)]
        await asyncio.to_thread(wait_for, lambda: hung(folder) == 8)
        free = await new_table(client)
        await until(client, free, is_finished)
        assert await players(client, free) == ["greedy", "greedy"]
        assert await asyncio.to_thread(probe, port) == WORKS
        process.send_signal(signal.SIGTERM)
        await ended(process)
        assert process.returncode == 0
        for table_id in stuck:
            assert await players(client, table_id) == ["", ""], "the seats are given back"


@pytest.mark.parametrize("bot", ["Sleeps", "WaitsForItsOwn"])
async def test_fleet_ends_at_once_by_two_signals(
    folder: Path, own_server: RunningServer, client: BuracoClient, bot: str
) -> None:
    """The first signal gives running matches their time, also those of bots that hang; the second does not wait."""
    with fleet(folder, own_server, "--bots", f"odd:{bot}", "--grace", "86400", *FOR_EVER) as process:
        await new_table(client)
        await asyncio.to_thread(wait_for, lambda: hung(folder))
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        await ended(process)
    assert process.returncode in EITHER_OF_TWO_SIGNALS


@pytest.mark.parametrize("bot", ["Sleeps", "Spins", "Raises", "Cheats"])
async def test_fleet_moves_for_a_bot_twice(
    folder: Path, own_server: RunningServer, client: BuracoClient, bot: str
) -> None:
    """A bot that is late or fails is warned of, with its table, and has two turns finished; at its third it leaves."""
    arguments = ["--bots", f"odd:{bot}", "--seats-limit", "1", *limit(bot)]
    with fleet(folder, own_server, *arguments) as process:
        table = await client.create_table("buraco-plus-classic", 2, target_score=0)
        person = await client.join_table(table.id, "person", seat=0)
        playing = asyncio.create_task(play_seat(person, RandomBot(Random(1))))
        errors = await logged(process, "leaving")
        await until(client, table.id, lambda now: now.seats[1].player_name == "")
        playing.cancel()
        process.send_signal(signal.SIGTERM)
        errors += await ended(process)
    where = f"{bot} at seat 1 of table {table.id}"
    kinds = re.findall(rf" (WARNING|ERROR) {where}: (its turn is finished by plain moves|leaving): .", errors)
    assert kinds == [("WARNING", "its turn is finished by plain moves")] * 2 + [("ERROR", "leaving")]
    assert FAULTS[bot] in errors


async def test_fleet_gives_the_seat_back(folder: Path, own_server: RunningServer, client: BuracoClient) -> None:
    """With `--on-fault leave` a bot leaves at its first fault."""
    with fleet(
        folder, own_server, "--bots", "odd:Sleeps", "--on-fault", "leave", "--grace", "0", *limit("Sleeps")
    ) as process:
        table_id = await new_table(client)
        errors = await logged(process, "leaving")
        await until(client, table_id, lambda now: "" in [seat.player_name for seat in now.seats])
        process.send_signal(signal.SIGTERM)
        errors += await ended(process)
    assert re.search(rf"ERROR Sleeps at seat [01] of table {table_id}: leaving: Sleeps took longer than 0.1 s", errors)
    assert "WARNING" not in errors
