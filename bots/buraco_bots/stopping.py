"""How a signal ends a command: in order at the first one, at once at another."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Self

import click

from buraco_bots.bot_threads import overdue_threads
from buraco_bots.programs import kill_programs

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(click.ClickException):
    """The command was stopped by a signal: a message, and the exit status that shells use for it."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(f"stopped by {number.name}")
        self.exit_code = 128 + number  # type: ignore[misc] # click reads it from the instance


class StopSignals:
    """SIGINT, SIGTERM and SIGHUP for the time of the block.

    No statement is interrupted: the first signal calls the function given to `stopping`, and makes `check` raise.
    Another SIGINT or SIGTERM calls `abort` and ends the process. Enter it in the main thread.

    A thread reads the signals one by one, as numbers that the interpreter writes to a pipe. Python's handlers do not
    suffice: they run in the main thread, which a signal to another thread does not wake, and one may run in the middle
    of another.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        """The first signal of the block; it stays afterwards."""
        self.abort: Callable[[], object] = _nothing
        """Removes what must not be left behind. Called in another thread, while the main thread continues."""
        self._stop: Callable[[], object] = _nothing
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._earlier = overdue_threads()
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}
        numbers, written = os.pipe()
        os.set_blocking(written, False)
        self._written_before = signal.set_wakeup_fd(written)
        threading.Thread(target=self._read_signals, args=(numbers,), name="signals", daemon=True).start()
        for number, before in self._before.items():
            if number is not signal.SIGHUP or before is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, _nothing)  # without a handler none is written
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:  # held for ever once a second signal ends the process: nothing more is printed then
            is_stopped = self.received is not None
        if overdue_threads() - self._earlier and (error is None or isinstance(error, click.ClickException)):
            _exit_now(error)
        if not is_stopped:  # otherwise a second signal can still end a long exit
            for number, before in self._before.items():
                signal.signal(number, before)
            os.close(signal.set_wakeup_fd(self._written_before))  # ends the thread

    def check(self) -> None:
        """Raise Stopped if a signal was received."""
        if self.received is not None:
            raise Stopped(self.received)

    @contextlib.contextmanager
    def stopping(self, stop: Callable[[], object]) -> Iterator[None]:
        """During the block call `stop` at the first signal, or at once if it was received before."""
        with self._lock:
            self._stop = stop
            if self.received is not None:
                stop()
        try:
            yield
        finally:
            with self._lock:
                self._stop = _nothing

    @contextlib.contextmanager
    def cancelling(self) -> Iterator[None]:
        """During the block let a signal cancel the current task. Raise Stopped if that happened."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        with self.stopping(lambda: loop.call_soon_threadsafe(task.cancel)):
            try:
                yield
            except asyncio.CancelledError:
                self.check()
                raise

    def _read_signals(self, numbers: int) -> None:
        with open(numbers, "rb", buffering=0) as pipe:
            while number := pipe.read(1):
                if number[0] in self._before:
                    self._handle(signal.Signals(number[0]))

    def _handle(self, number: signal.Signals) -> None:
        with self._lock:
            if self.received is None:
                self.received = number
                self._stop()
            elif number != signal.SIGHUP:  # a terminal that is closed may send two
                self.abort()
                kill_programs()
                os._exit(128 + number)


def _nothing(*_: object) -> None:
    pass


def _reset_in_child() -> None:
    """Let signals end a process that a bot forks, and write none of them to the pipe of its parent."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _nothing:
            signal.set_wakeup_fd(-1)
            signal.signal(number, signal.SIG_DFL)


os.register_at_fork(after_in_child=_reset_in_child)


def _exit_now(error: click.ClickException | None) -> None:
    """End the process with the status of the error, as the interpreter does, but wait for no thread of a bot.

    A bot that hangs may have started threads itself that keep the interpreter from exiting.
    """
    if error is not None:
        error.show()
    sys.stdout.flush()
    sys.stderr.flush()
    kill_programs()
    os._exit(0 if error is None else error.exit_code)
