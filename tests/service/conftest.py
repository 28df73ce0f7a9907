from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog

from buraco_service.observing import logs
from tests.service.announcing import Announcing
from tests.service.programs import Program


@pytest.fixture
def log_stream() -> Iterator[Announcing]:
    """Where the logs of a test go, at debug level as JSON. What was configured before is restored."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = Announcing()
    logs.configure("debug", "json", stream=stream)
    yield stream
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def programs() -> Iterator[list[Program]]:
    """Programs to be ended after the test, should they still run."""
    started: list[Program] = []
    yield started
    for program in started:
        if program.process.poll() is None:
            program.process.kill()
            program.process.communicate()
