"""What is measured runs in processes of its own."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path


def processor_seconds(pid: int) -> float:
    """What a process has used so far; 0 where the system does not tell (not Linux)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def service_process(store: str | None = None) -> Iterator[tuple[str, int]]:
    """`buraco serve` in a process of its own: its address and process id. No store named: a new SQLite file."""
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        command = [
            *(sys.executable, "-m", "buraco_service", "serve", "--port", "0", "--metrics-port", "0"),
            *("--store", store or f"sqlite:///{folder}/bench.db", "--ready-file", str(ready), "--log-level", "error"),
        ]
        with subprocess.Popen(command) as process:
            try:
                while not ready.exists():
                    if process.poll() is not None:
                        raise SystemExit("the service did not start")
                    time.sleep(0.02)
                yield json.loads(ready.read_text())["address"], process.pid
            finally:
                process.terminate()
                process.wait(30)


@contextlib.contextmanager
def echo_process() -> Iterator[tuple[str, int]]:
    """The echo server in a process of its own: its address and process id."""
    command = [sys.executable, "-m", "tests.bench.echo_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"127.0.0.1:{process.stdout.readline().strip()}", process.pid
        finally:
            process.stdin.close()
            process.wait(30)
