"""SIGTERM and SIGINT: the first stops a process gracefully, a second cuts short what still runs."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Final

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
CUT_SHORT: Final = signal.SIGUSR1
"""The supervisor's signal to a worker that is stopping: cut short the calls that still run."""


def handle_stop_signals(cut_short: Callable[[], object], *, is_worker: bool) -> asyncio.Event:
    """Return an event that the first stop signal sets; call `cut_short` on the running loop at each further one.

    A worker ignores a second stop signal, since the first often reaches it twice: from its supervisor, and from
    whoever stops the whole process group. Its second one is CUT_SHORT.
    """
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()

    def cut_short_if_stopping() -> None:
        if stopping.is_set():
            cut_short()

    def stop() -> None:
        if not is_worker:
            cut_short_if_stopping()
        stopping.set()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop)
    if is_worker:
        loop.add_signal_handler(CUT_SHORT, cut_short_if_stopping)
    return stopping


def ignore_stop_signals() -> None:
    """Ignore the signals while the process ends: Python would write plain text among the lines of the log."""
    for number in (*STOP_SIGNALS, CUT_SHORT):
        signal.signal(number, signal.SIG_IGN)
