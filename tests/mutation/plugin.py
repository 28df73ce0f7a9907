"""What the tests need when mutmut runs them, as a plugin of pytest: no remembered answers, fastest tests first."""

import json
import os
import sys
from pathlib import Path
from typing import Final

import pytest

STATISTICS: Final = Path("mutmut-stats.json")
"""Written by mutmut once it has run every test: the seconds each takes."""


def pytest_sessionstart() -> None:
    """A worker inherits the memory of the process it is forked from, answers of the unchanged code among it."""
    _forget()


def pytest_runtest_setup() -> None:
    """A test that is answered from memory would not count as one that reaches the code."""
    if os.environ.get("MUTANT_UNDER_TEST") == "stats":
        _forget()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Most mutants die in the first tests, whichever these are."""
    if STATISTICS.is_file():
        seconds = json.loads(STATISTICS.read_text())["duration_by_test"]
        items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))


def _forget() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith(("buraco_rules.", "buraco_codec.", "buraco_service.")):
            for value in vars(module).values():
                if clear := getattr(value, "cache_clear", None):
                    clear()
