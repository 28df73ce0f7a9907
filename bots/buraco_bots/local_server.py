"""A temporary server: `buraco serve` in its own process, on free ports and with a store that is removed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from buraco_bots.stopping import StopSignals

START_TIMEOUT: Final = 30.0
"""Seconds that a server gets to become ready."""
STOP_TIMEOUT: Final = 10.0
"""Seconds that a server gets for a graceful stop before it is killed."""
_POLL_SECONDS: Final = 0.02
_SHOWN_LOG_LINES: Final = 5


class ServerFailed(Exception):
    """The server did not start. The message ends with the last lines of its log."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """The addresses of a server, each as `host:port`, and its process id."""

    address: str
    metrics_address: str
    pid: int


@contextlib.contextmanager
def local_server(signals: StopSignals | None = None) -> Iterator[RunningServer]:
    """Run a server for the time of the block, and remove all traces of it afterwards, even if `signals` abort.

    Variables BURACO_… do not reach it. Raise ServerFailed, and Stopped if a signal comes before the server is ready.
    """
    signals = signals or StopSignals()  # not entered: receives none
    signals.check()
    with tempfile.TemporaryDirectory(prefix="buraco-") as name:
        folder = Path(name)
        log = folder / "server.log"
        with log.open("wb") as output:
            process = _start(folder, output.fileno())
        try:
            signals.abort = lambda: _abort(process, folder)
            yield _wait_until_ready(process, folder / "ready.json", log, signals)
        finally:
            _stop(process)


def _start(folder: Path, output: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "buraco_service", "serve"]
    command += ["--host", "127.0.0.1", "--port", "0", "--metrics-host", "127.0.0.1", "--metrics-port", "0"]
    command += ["--ready-file", str(folder / "ready.json"), "--store", f"sqlite:///{folder}/tables.db"]
    command += ["--log-level", "warning"]
    return subprocess.Popen(  # noqa: S603 - our own program, with arguments of our own
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env={name: value for name, value in os.environ.items() if not name.startswith("BURACO_")},
        # Ctrl-C reaches the whole foreground group of a terminal, but this process stops the server, in order.
        process_group=0,
    )


def _wait_until_ready(process: subprocess.Popen[bytes], ready: Path, log: Path, signals: StopSignals) -> RunningServer:
    deadline = time.monotonic() + START_TIMEOUT
    while not ready.exists():
        signals.check()
        if process.poll() is not None:
            raise ServerFailed(f"the server did not start: {_last_log_lines(log)}")
        if time.monotonic() > deadline:
            raise ServerFailed(f"the server was not ready after {START_TIMEOUT:.0f} s: {_last_log_lines(log)}")
        time.sleep(_POLL_SECONDS)
    addresses = json.loads(ready.read_text())
    return RunningServer(addresses["address"], addresses["metrics_address"], process.pid)


def _last_log_lines(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return "\n".join(lines[-_SHOWN_LOG_LINES:]) or "its log is empty"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_TIMEOUT)
    finally:
        process.kill()  # no effect if it has ended
        process.wait()


def _abort(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Kill the server and remove its folder, whatever line of this module the main thread is at."""
    process.kill()
    with contextlib.suppress(ChildProcessError):  # `_stop` has waited for it
        os.waitpid(process.pid, 0)
    shutil.rmtree(folder, ignore_errors=True)
