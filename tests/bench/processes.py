"""What is measured runs in processes of its own."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.servers import service


def processor_seconds(pid: int, *, with_children: bool = False) -> float:
    """What a process has used so far, if asked for with its children that ended; 0 where that is not to be known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11 : 15 if with_children else 13])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """The memory of a process; 0 where the system does not tell (not Linux)."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@contextlib.contextmanager
def service_process(store: str | None = None) -> Iterator[tuple[str, int]]:
    """`buraco serve` in a process of its own: its address and process id. No store named: a new SQLite file."""
    with _serving(store) as (places, pid):
        yield places["address"], pid


@contextlib.contextmanager
def web_service_process(store: str | None = None) -> Iterator[tuple[str, str, int]]:
    """The same with a web port, whose address comes second."""
    with _serving(store, "--web-port", "0") as (places, pid):
        yield places["address"], places["web_address"], pid


@contextlib.contextmanager
def _serving(store: str | None, *more: str) -> Iterator[tuple[dict[str, Any], int]]:
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        options = ["--port", "0", "--metrics-port", "0", "--store", store or _new_file(folder), *more]
        with service.start(ready, *options, "--log-level", "error") as process:
            try:
                yield service.when_ready(process, ready), process.pid
            finally:
                process.terminate()
                process.wait(30)


@contextlib.contextmanager
def echo_process(store: str | None = None) -> Iterator[tuple[str, int]]:
    """The echo server in a process of its own, as `service_process`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.bench.echo_server", store or _new_file(folder)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                yield f"127.0.0.1:{process.stdout.readline().strip()}", process.pid
            finally:
                process.stdin.close()
                process.wait(30)


def _new_file(folder: str) -> str:
    return f"sqlite:///{folder}/bench.db"
