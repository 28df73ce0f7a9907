"""Sets an event loop's clock forward, so that tests do not wait for time to pass."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import pytest

T = TypeVar("T")


class LoopClock:
    """Sets the clock of the running loop forward. Deadlines of gRPC calls keep real time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._loop = asyncio.get_running_loop()
        self._ahead = 0.0
        self._real = self._loop.time
        monkeypatch.setattr(self._loop, "time", lambda: self._real() + self._ahead)

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass at once."""
        self._ahead += seconds
        self._loop.call_soon(lambda: None)  # so that the loop looks which timers are due

    async def hurry(self, awaitable: Awaitable[T]) -> T:
        """Await something while the clock runs fast."""
        task = asyncio.ensure_future(awaitable)
        while not task.done():
            self.advance(1.0)
            await asyncio.sleep(0.005)
        return await task
