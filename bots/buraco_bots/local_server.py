"""A server of one's own: `buraco serve` in its own process, on free ports and a store that is thrown away."""

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

START_LIMIT: Final = 30.0
"""Seconds a server may take until it is ready."""
STOP_LIMIT: Final = 10.0
"""Seconds a server gets to stop in order before it is killed."""
_POLL: Final = 0.02
_LOG_LINES: Final = 5


class ServerFailed(Exception):
    """The server did not start. Says what it said last."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """Where the server is, each as `host:port`, and its process."""

    address: str
    metrics_address: str
    pid: int


@contextlib.contextmanager
def local_server(signals: StopSignals | None = None) -> Iterator[RunningServer]:
    """Run a server for the time of the block, and remove all traces of it afterwards, also where `signals` abort.

    Raise ServerFailed, and Stopped where a signal comes before the server is ready.
    """
    signals = signals or StopSignals()  # not entered, so none is received
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
    deadline = time.monotonic() + START_LIMIT
    while not ready.exists():
        signals.check()
        if process.poll() is not None:
            raise ServerFailed(f"the server did not start: {_last_words(log)}")
        if time.monotonic() > deadline:
            raise ServerFailed(f"the server was not ready after {START_LIMIT:.0f} s: {_last_words(log)}")
        time.sleep(_POLL)
    said = json.loads(ready.read_text())
    return RunningServer(said["address"], said["metrics_address"], process.pid)


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return "\n".join(lines[-_LOG_LINES:]) or "it said nothing"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_LIMIT)
    finally:
        process.kill()  # does nothing to one that has ended
        process.wait()


def _abort(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Kill the server and remove its folder, wherever in this module the main thread is."""
    process.kill()
    with contextlib.suppress(ChildProcessError):  # `_stop` has waited for it
        os.waitpid(process.pid, 0)
    shutil.rmtree(folder, ignore_errors=True)
