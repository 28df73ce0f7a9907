"""Counts of all calls that a client makes, its own retries included, by status."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final

import grpc

from buraco_client import BuracoClient

_STREAMS: Final = ("PlayTable", "WatchTable")


class Wire:
    """Counts calls in `attempts` as `method: status`, and opened streams as `method: opened`."""

    def __init__(self, attempts: Counter[str]) -> None:
        self._attempts = attempts
        self._tasks: set[asyncio.Task[None]] = set()

    def observe(self, client: BuracoClient) -> None:
        """Count the calls of this client from now on."""
        stub = client._connection.tables
        for method, call in list(vars(stub).items()):
            setattr(stub, method, self._counting(method, call))

    def _counting(self, method: str, callable_: Any) -> Any:
        def begin(*arguments: Any, **options: Any) -> Any:
            call = callable_(*arguments, **options)
            if method in _STREAMS:
                self._attempts[f"{method}: opened"] += 1
            call.add_done_callback(lambda ended: self._ended(method, ended))
            return call

        return begin

    def _ended(self, method: str, call: Any) -> None:
        task = asyncio.create_task(self._count(method, call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _count(self, method: str, call: Any) -> None:
        code: grpc.StatusCode = await call.code()
        self._attempts[f"{method}: {code.name}"] += 1
