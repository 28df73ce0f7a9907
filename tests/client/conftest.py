from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from buraco_client import Backoff, BuracoClient
from tests.client.playing import Table
from tests.client.scripted import Script, Service
from tests.clock import LoopClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PATIENCE = 60.0
"""Seconds after which something that has to happen is taken to be lost."""
QUICK = Backoff(first=0.002, cap=0.02)


@pytest.fixture(autouse=True)
async def no_task_left() -> AsyncIterator[None]:
    """Every test leaves the loop as it found it: what is cancelled ends by itself, and promptly."""
    before = asyncio.all_tasks()
    yield
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    if left:
        _, left = await asyncio.wait(left, timeout=PATIENCE)
    assert not left


@pytest.fixture
def script() -> Script:
    """What the service will do, to be laid out by the test."""
    return Script()


@pytest.fixture
async def service(script: Script) -> AsyncIterator[Service]:
    """A service that follows the script."""
    async with Service(script) as running:
        yield running


@pytest.fixture
async def client(service: Service) -> AsyncIterator[BuracoClient]:
    """A client that tries again quickly. It may be called for longer than any test takes."""
    async with BuracoClient(service.target, backoff=QUICK, timeout=PATIENCE) as made:
        yield made


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> LoopClock:
    """The clock of the test's event loop."""
    return LoopClock(monkeypatch)


@pytest.fixture
def table() -> Table:
    """The server's side of the play streams."""
    return Table()
