"""Bots that are programs in any language, and speak JSON lines: bots/README.md describes what they read and write."""

from __future__ import annotations

import atexit
import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from random import Random
from typing import IO, Any, Final

from google.protobuf import json_format

from buraco.v1 import event_pb2, move_pb2
from buraco_bots.bot import BotFault
from buraco_codec.moves import move_from_pb, move_to_pb
from buraco_codec.views import view_to_pb
from buraco_rules import Move, View

PROTOCOL: Final = 1
"""The version of what programs read and write; another one is not understood by programs for this one."""
MAX_LINE: Final = 1 << 16
"""Bytes of a line that a program writes."""
END_SECONDS: Final = 0.5
"""Time in which a program may end by itself."""

_running: Final[set[subprocess.Popen[bytes]]] = set()


class ProgramBot:
    """A bot that is a program, which it starts, asks, and kills when it is closed."""

    def __init__(self, command: Sequence[str], random: Random, **parameters: float | str) -> None:
        """`command`: the program and its arguments, without a shell. Raise OSError if it cannot be started."""
        self._process = subprocess.Popen(  # noqa: S603 - the user's own program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Keys of ours are no business of a bot.
            env={name: value for name, value in os.environ.items() if not name.startswith("BURACO_")},
            # A worker of the arena is killed with its group, that is with its programs. Elsewhere Ctrl-C of a terminal
            # must not reach them before it has stopped the match.
            process_group=None if multiprocessing.parent_process() else 0,
        )
        _running.add(self._process)
        self.name = program_name(command)
        self._is_closed = False
        self._is_asking = self._is_reading = False
        self._observes: bool | None = None
        # Not waited for: a program that hangs must do so while it can be closed.
        hello = {"type": "hello", "protocol": PROTOCOL, "seed": random.getrandbits(53), "parameters": parameters}
        with contextlib.suppress(BotFault):  # it has ended, which the first question finds out
            self._write(hello)

    def observe(self, event: event_pb2.Event) -> None:
        """Send the event if the program wants events."""
        if self._wants_events():
            self._write({"type": "observe", "event": _to_json(event)})

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        """Return the program's next move; of a plan the first one."""
        return self.plan(view, moves)[0]

    def plan(self, view: View, moves: Sequence[Move]) -> Sequence[Move]:
        """Return what the program plays next. Raise BotFault."""
        self._wants_events()  # that is, wait until it is ready
        listed = [_to_json(move_to_pb(move)) for move in moves]
        self._write({"type": "choose", "view": _to_json(view_to_pb(view)), "moves": listed})
        answer = self._read()
        chosen = answer.get("moves", [answer["move"]] if "move" in answer else None)
        if not isinstance(chosen, list) or not chosen:
            raise self._fault("answered with neither a move nor moves")
        return [self._read_move(item, moves) for item in chosen]

    def close(self) -> None:
        """Announce the end, and kill the program unless it ends within END_SECONDS; at once if it hangs."""
        if self._is_closed:
            return
        self._is_closed, is_asking, is_reading = True, self._is_asking, self._is_reading
        stdin = self._process.stdin
        assert stdin is not None
        os.set_blocking(stdin.fileno(), False)  # it may have stopped to read
        if not is_asking:
            with contextlib.suppress(OSError, BotFault):
                self._write({"type": "end"})
            stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_SECONDS)
        _kill(self._process)
        self._process.wait()
        stdin.close()
        _running.discard(self._process)
        if not is_reading:
            self._stdout.close()

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _wants_events(self) -> bool:
        """Return what the program asks for in its first line; wait for it once."""
        if self._observes is None:
            ready = self._read()
            if ready.get("type") != "ready":
                raise self._fault("did not begin with a line that it is ready")
            self._observes = ready.get("observe") is True
        return self._observes

    def _write(self, message: Mapping[str, Any]) -> None:
        # Without the buffer of Python's file: its lock would keep `close` waiting for a program that does not read.
        assert self._process.stdin is not None
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self._is_asking = True
        try:
            while line:
                line = line[os.write(self._process.stdin.fileno(), line) :]
        except BrokenPipeError:
            raise self._fault(self._describe_end()) from None
        finally:
            self._is_asking = False

    def _read(self) -> dict[str, Any]:
        """Return the object of the next line that the program writes."""
        self._is_asking = self._is_reading = True
        try:
            line = self._stdout.readline(MAX_LINE + 1)
        finally:
            self._is_asking = self._is_reading = False
            if self._is_closed:
                self._stdout.close()
        if not line.endswith(b"\n"):
            is_long = len(line) > MAX_LINE
            raise self._fault(f"wrote a line of more than {MAX_LINE} bytes" if is_long else self._describe_end())
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise self._fault(f"wrote what is no JSON: {line[:80]!r}") from None
        if not isinstance(answer, dict):
            raise self._fault(f"wrote what is no JSON object: {line[:80]!r}")
        return answer

    def _read_move(self, item: Any, moves: Sequence[Move]) -> Move:
        """Return a move that is given by its index, or as an object."""
        if isinstance(item, int) and not isinstance(item, bool):
            if not 0 <= item < len(moves):
                raise BotFault("illegal", f"{self.name} chose move {item} of {len(moves)}")
            return moves[item]
        try:
            return move_from_pb(json_format.ParseDict(item, move_pb2.Move()))
        except Exception as error:  # noqa: BLE001 - of the many that a parser of anything raises
            raise self._fault(f"answered with {item!r:.80}, which is no move: {error}") from None

    def _fault(self, text: str) -> BotFault:
        return BotFault("error", f"{self.name} {text}")

    def _describe_end(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return f"ended with status {self._process.wait(END_SECONDS)}"
        return "closed its output"


class ProgramFactory:
    """Makes bots of a program; what a registry gives for `exec:COMMAND`."""

    def __init__(self, command: Sequence[str]) -> None:
        """`command`: the program and its arguments."""
        self.command = tuple(command)
        self.name = program_name(command)

    def __call__(self, random: Random, **parameters: float | str) -> ProgramBot:
        """Return a new bot with a process of its own."""
        return ProgramBot(self.command, random, **parameters)


def program_name(command: Sequence[str]) -> str:
    """Return a short name for a program: of its script if it is one for an interpreter.

    >>> program_name(["python3", "-u", "bots/line_bot.py", "--fast"]), program_name(["./clever"])
    ('line_bot', 'clever')
    """
    scripts = [word for word in command[1:] if PurePath(word).suffix and not word.startswith("-")]
    return PurePath((scripts or command)[0]).stem


def programs_running() -> int:
    """Return how many programs have not been closed."""
    return len(_running)


def kill_programs() -> None:
    """Kill all programs that run, from any thread: nobody will close them."""
    for process in tuple(_running):
        _kill(process)


atexit.register(kill_programs)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program, and what it has started if it has a group of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # no effect if it has ended


def _to_json(message: Any) -> dict[str, Any]:
    values: dict[str, Any] = json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
    return values
