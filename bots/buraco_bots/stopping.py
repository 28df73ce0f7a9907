"""How a command ends by a signal: in order at the first one, at once at another."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Final, Self

import click

from buraco_bots.bot_threads import overdue_threads

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(click.ClickException):
    """The command was stopped by a signal: a message, and the exit status that shells use for it."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(f"stopped by {number.name}")
        self.exit_code = 128 + number  # type: ignore[misc] # click reads it from the instance


class StopSignals:
    """SIGINT, SIGTERM and SIGHUP for the time of the block.

    Nothing is interrupted in the middle: the first signal calls what `stopping` was given, and `check` raises. Another
    SIGINT or SIGTERM calls `abort` and ends the process. To be entered in the main thread.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self.abort: Callable[[], object] = _nothing
        """What must not be left behind is removed here; called within a signal handler."""
        self._stop: Callable[[], object] = _nothing

    def __enter__(self) -> Self:
        self._earlier = overdue_threads()
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}
        for number, before in self._before.items():
            if number is not signal.SIGHUP or before is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if overdue_threads() - self._earlier and (error is None or isinstance(error, click.ClickException)):
            _exit_now(error)
        if self.received is None:  # else another signal still ends what takes long to end
            for number, before in self._before.items():
                signal.signal(number, before)

    def check(self) -> None:
        """Raise Stopped once a signal has come."""
        if self.received is not None:
            raise Stopped(self.received)

    @contextlib.contextmanager
    def stopping(self, stop: Callable[[], object]) -> Iterator[None]:
        """For the time of the block call `stop` at the first signal, or at once where it has come."""
        self._stop = stop
        if self.received is not None:
            stop()
        try:
            yield
        finally:
            self._stop = _nothing

    @contextlib.contextmanager
    def cancelling(self) -> Iterator[None]:
        """For the time of the block let a signal cancel the task that runs it. Raise Stopped where that happened."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        with self.stopping(lambda: loop.call_soon_threadsafe(task.cancel)):
            try:
                yield
            except asyncio.CancelledError:
                self.check()
                raise

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self.received is None:
            self.received = signal.Signals(number)
            self._stop()
        elif number != signal.SIGHUP:  # a terminal that is closed may send two
            self.abort()
            os._exit(128 + number)


def _nothing() -> None:
    pass


def _exit_now(error: click.ClickException | None) -> None:
    """End the process with the status of the error, as the interpreter does, but wait for no thread of a bot.

    A bot that hangs may have started threads itself that keep the interpreter from exiting.
    """
    if error is not None:
        error.show()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if error is None else error.exit_code)
