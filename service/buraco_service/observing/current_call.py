"""The call that a task works for: what logs, traces and limits know of it."""

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
    """32 hexadecimal figures."""

    def use_case(self, name: str) -> AbstractContextManager[None]:
        """A span around a use case. On a stream, which lasts, it is a trace of its own, linked to the stream's."""

    def operation(self, name: str, outcome: str, seconds: float) -> None:
        """An operation of the store that the call waited for has ended just now."""

    def end(self, code: str, reason: str | None, table_id: str | None) -> None:
        """The call has ended, with the status of this name."""


class CallContext:
    """What is known of one call; `started` is a time of time.perf_counter()."""

    __slots__ = (
        *("caller", "charge", "ended_by", "finished", "kind", "let_in", "metadata", "method", "peer"),
        *("request_id", "request_id_given", "served", "started", "table_id", "task", "trace"),
    )

    def __init__(self, method: str) -> None:
        self.method = method
        self.started = time.perf_counter()
        # As grpc has it at hand: asking for it later has it made anew. It is never logged.
        self.metadata: Iterable[tuple[str, str | bytes]] = ()
        self.request_id = ""
        # Whether the caller chose it.
        self.request_id_given = False
        self.table_id: str | None = None
        # The name of the API key that came with it.
        self.caller: str | None = None
        # Counts one more request of a stream; None where requests are not limited.
        self.charge: Callable[[], None] | None = None
        # None where calls are not traced.
        self.trace: CallTrace | None = None
        # What limits know of it (see `access.admission`): its kind, its peer, whether it was let in, and is served.
        self.kind = 0
        self.peer = ""
        self.let_in = False
        self.served = False
        # Counted and logged as ended.
        self.finished = False
        # What works for it, and why that was ended from outside.
        self.task: asyncio.Task[object] | None = None
        self.ended_by: Exception | None = None

    def end(self, error: Exception) -> None:
        """End the call from outside, with the error that its caller gets."""
        if self.task is not None and self.ended_by is None:
            self.ended_by = error
            self.task.cancel()


current_call: Final[ContextVar[CallContext | None]] = ContextVar("current_call", default=None)
"""The call that this task works for."""


def bind_table(table_id: str) -> None:
    """Names the table that the current call is about: its log lines carry the id from here on."""
    call = current_call.get()
    if call is not None:
        call.table_id = table_id
