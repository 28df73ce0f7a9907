from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def promtool() -> str:
    """The program that checks configurations of Prometheus."""
    return _found("promtool")


@pytest.fixture(scope="session")
def prometheus() -> str:
    """Prometheus itself."""
    return _found("prometheus")


def _found(name: str) -> str:
    path = shutil.which(name)
    assert path, f"{name} is not in the PATH: `make monitoring-test` sees to it"
    return str(Path(path).resolve())
