"""The call that a task works for: what logs, traces and limits know about it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Final, Protocol


class CallTrace(Protocol):
    """The trace of one call."""

    trace_id: str
    """32 hexadecimal digits."""

    def trace_use_case(self, name: str) -> AbstractContextManager[None]:
        """Return a context whose time becomes a span. On a stream it is a trace of its own, linked to the stream's."""

    def record_operation(self, name: str, outcome: str, seconds: float) -> None:
        """Add a span for an operation of the store that took so many seconds and ended just now."""

    def end(self, code: str, reason: str | None, table_id: str | None) -> None:
        """End the call's span, with the name of its status code."""


class CallContext:
    """What is known about one call; `started` is a time of time.perf_counter()."""

    __slots__ = (
        *("admitted", "caller", "charge", "ended_by", "finished", "kind", "metadata", "method", "peer", "protocol"),
        *("request_id", "request_id_given", "served", "started", "table_id", "task", "trace"),
    )

    def __init__(self, method: str) -> None:
        self.method = method
        self.started = time.perf_counter()
        # The headers as grpc passed them: reading them later would build them again. They are never logged.
        self.metadata: Iterable[tuple[str, str | bytes]] = ()
        self.request_id = ""
        # True if the caller chose the request id.
        self.request_id_given = False
        self.table_id: str | None = None
        # How it came over the web port; None over gRPC.
        self.protocol: str | None = None
        # The name of the caller's API key.
        self.caller: str | None = None
        # Counts one more request of a stream; None where requests are not limited.
        self.charge: Callable[[], None] | None = None
        # None where calls are not traced.
        self.trace: CallTrace | None = None
        # What the limits keep (see `access.admission`): its kind and peer, whether it was admitted and is being served.
        self.kind = 0
        self.peer = ""
        self.admitted = False
        self.served = False
        # True once its end is counted and logged.
        self.finished = False
        # The task that works for it, and the error with which it was ended from outside.
        self.task: asyncio.Task[object] | None = None
        self.ended_by: Exception | None = None

    def end(self, error: Exception) -> None:
        """Cancel the call's task; its caller gets the error. Only the first error counts; without a task do nothing."""
        if self.task is not None and self.ended_by is None:
            self.ended_by = error
            self.task.cancel()


current_call: Final[ContextVar[CallContext | None]] = ContextVar("current_call", default=None)
"""The call that this task works for; None outside of calls."""


def bind_table(table_id: str) -> None:
    """Set the table that the current call, if any, is about: its log lines carry the id from here on."""
    call = current_call.get()
    if call is not None:
        call.table_id = table_id
