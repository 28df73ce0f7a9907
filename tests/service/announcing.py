"""A stream for logs that notifies of what is written to it."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from typing import Any

from buraco_service.observing import logs

PATIENCE = 60.0


class Announcing(io.StringIO):
    """Text in memory. `written` is set with each write from the event loop."""

    def __init__(self) -> None:
        super().__init__()
        self.written = asyncio.Event()

    def write(self, text: str) -> int:
        """Keep the text, and notify."""
        self.written.set()
        return super().write(text)

    def lines(self, event: str | None = None) -> list[dict[str, Any]]:
        """The JSON lines written so far, all of them or those about one event."""
        logs.flush()
        found: list[dict[str, Any]] = [json.loads(line) for line in self.getvalue().splitlines()]
        return [line for line in found if event in (None, line["event"])]

    async def wait_for(self, enough: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Return once what is logged is enough."""
        async with asyncio.timeout(patience):
            while not enough():
                self.written.clear()
                await self.written.wait()
