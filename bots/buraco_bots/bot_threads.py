"""Threads that run one bot each and can be abandoned."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final


class BotThread(threading.Thread):
    """A daemon thread that runs calls for one bot, so that no call that hangs keeps the interpreter from exiting."""

    def __init__(self, bot: str) -> None:
        super().__init__(name=f"bot {bot}", daemon=True)
        self.bot: Final = bot
        self.calls: Final[SimpleQueue[Callable[[], object] | None]] = SimpleQueue()
        """What to run, in this order; None ends the thread."""
        self.is_abandoned = False

    def run(self) -> None:
        """Run the calls, until None or `abandon` ends the thread. A call must not raise."""
        with contextlib.suppress(SystemExit):
            while (call := self.calls.get()) is not None:
                call()

    def abandon(self) -> None:
        """End the thread: at once if it runs Python code, else as soon as its call returns."""
        self.is_abandoned = True
        # A busy loop would take processor time from all other bots for as long as the process lives.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident or 0), ctypes.py_object(SystemExit))
        self.calls.put(None)


def overdue_threads(bot: str | None = None) -> set[BotThread]:
    """Return the abandoned threads of a bot (None: of all bots) that still run."""
    threads = [thread for thread in threading.enumerate() if isinstance(thread, BotThread)]
    return {thread for thread in threads if thread.is_abandoned and bot in (None, thread.bot)}
