"""A worker's line to its supervisor: a socket that both hold from the worker's start on.

Messages are JSON, one a line. The worker says `{"ready": true}` once, or `{"failed": text}`, and answers each line of
the supervisor with `{"metrics": …}`. The line's end tells a worker that its supervisor is no more, however it ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading
import time
from typing import Any, Final

from prometheus_client import CollectorRegistry

from buraco_service.workers.metrics import families

MARGIN: Final = 5.0
"""Seconds beyond the drain grace after which a worker that has been told to stop is ended by force."""
HURRY: Final = signal.SIGUSR1
"""Tells a worker that is stopping to cut short the calls that still run."""
ASK: Final = b"metrics\n"
"""What the supervisor asks."""


class WorkerLink:
    """The worker's end. A thread of its own answers, whatever the event loop does."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._writing = threading.Lock()
        self._registry: CollectorRegistry | None = None

    def watch(self, grace: float) -> None:
        """From now on the worker stops when its supervisor is gone, by force if it takes much more than the grace."""
        threading.Thread(target=self._listen, args=(grace,), name="buraco-worker-link", daemon=True).start()

    def ready(self, registry: CollectorRegistry) -> None:
        """The worker serves, and counts here."""
        self._registry = registry
        self._say({"ready": True})

    def failed(self, message: str) -> None:
        """The worker cannot start, for this reason."""
        self._say({"failed": message})

    def finish(self) -> None:
        """Nothing more is going to be counted."""
        if self._registry is not None:
            self._say({"metrics": families(self._registry)})

    def _listen(self, grace: float) -> None:
        with contextlib.suppress(OSError), self._line.makefile("rb") as asked:
            for _ in asked:
                self.finish()
        # Stops in order, as if told to; before the server can do that, this ends the process at once.
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(grace + MARGIN)
        os._exit(1)

    def _say(self, message: dict[str, Any]) -> None:
        # A supervisor that is gone needs no answer.
        with self._writing, contextlib.suppress(OSError):
            self._line.sendall(json.dumps(message).encode() + b"\n")
