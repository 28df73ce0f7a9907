"""The load test runs and prints its figures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak.growth import growth_after
from tests.soak.replicas import Sample

ROOT = Path(__file__).resolve().parents[2]


def test_growth_is_that_after_a_time() -> None:
    """Growth is in MiB a minute, and what was before the time does not count."""
    samples = [Sample(60.0 * minute, (50 + 10 * min(minute, 10) + minute) << 20, 1) for minute in range(60)]
    assert growth_after(samples, 600.0) == pytest.approx(1.0)
    assert growth_after(samples) > 1.5


@pytest.mark.slow
def test_growth_is_measured() -> None:
    """Matches are played one after the other, and the growth of memory decides how the program ends."""
    command = [sys.executable, "-m", "tests.soak", "--only", "growth", "--store", "sqlite", "--seconds", "70"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=170)
    assert re.search(r"minute +1 +[\d.]+ MiB\n", run.stdout), run.stdout + run.stderr
    growth, verdict = re.search(r"grew by ([+-][\d.]+) MiB a minute: (.*)\n", run.stdout).groups()  # type: ignore[union-attr]
    assert (float(growth) <= 0.25, run.returncode) == ((True, 0) if verdict == "level" else (False, 1))
    assert int(re.search(r"(\d+) matches and", run.stdout)[1]) >= 1  # type: ignore[index]


@pytest.mark.slow
def test_load_with_a_fault_loses_nothing() -> None:
    """Some seconds of play with a replica killed end well, with every table and move accounted for."""
    _run_without_loss("load", "sqlite")


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite", "valkey"])
def test_online_load_with_a_fault_loses_nothing(store: str) -> None:
    """The same with stakes, clocks and chat: every credit and every message is accounted for, too."""
    printed = _run_without_loss("online", store)
    assert re.search(r"credits lost +0\n", printed)
    assert re.search(r"messages lost / made twice +0 / 0\n", printed)
    settled, unsettled = re.search(r"settled / left unsettled +(\d+) / (\d+)\n", printed).groups()  # type: ignore[union-attr]
    assert int(settled) >= 1
    assert unsettled == "0"


def _run_without_loss(kind: str, store: str) -> str:
    """Run some seconds of a load in which a replica is killed, and return what it prints."""
    command = [sys.executable, "-m", "tests.soak", "--only", kind, "--store", store, "--tables", "10"]
    run = subprocess.run(
        [*command, "--pause", "0.2", "--seconds", "20", "--fault-every", "3"],
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
    return run.stdout
