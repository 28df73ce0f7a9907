"""The load test runs, and its figures are there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_load_with_a_fault_loses_nothing() -> None:
    """Some seconds of play with a replica killed end well, with every table and move accounted for."""
    command = [sys.executable, "-m", "tests.soak", "--store", "sqlite", "--tables", "10", "--pause", "0.2"]
    run = subprocess.run(
        [*command, "--seconds", "20", "--fault-every", "3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"errors that reached a bot +0\n", run.stdout)
    assert re.search(r"tables lost / unsound +0 / 0\n", run.stdout)
    assert re.search(r"moves lost / made twice +0 / 0\n", run.stdout)
    assert int(re.search(r"killed / stopped in order +(\d+)", run.stdout)[1]) >= 1  # type: ignore[index]
