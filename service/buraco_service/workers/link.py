"""A worker's end of the socket that connects it to its supervisor.

Messages are JSON, one a line. The worker sends `{"ready": true}` or `{"failed": text}` once, and answers each line
of the supervisor with `{"metrics": …}`. When the supervisor ends, however it ends, the socket closes and the worker
stops.
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

from buraco_service.workers.metrics import export_families

KILL_MARGIN: Final = 5.0
"""Seconds beyond the drain grace after which a worker that has not stopped is killed."""
METRICS_REQUEST: Final = b"metrics\n"
"""The line with which the supervisor requests the worker's metrics."""


class WorkerLink:
    """The worker's end. It answers from a thread of its own, even while the event loop is busy."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._writing = threading.Lock()
        self._registry: CollectorRegistry | None = None

    def stop_with_supervisor(self, grace: float) -> None:
        """Answer the supervisor from now on; when it ends, stop this process within grace and KILL_MARGIN seconds."""
        threading.Thread(target=self._listen, args=(grace,), name="buraco-worker-link", daemon=True).start()

    def report_ready(self, registry: CollectorRegistry) -> None:
        """Report that the worker serves, with its metrics in the registry. Reports to an ended supervisor are lost."""
        self._registry = registry
        self._send({"ready": True})

    def report_failure(self, message: str) -> None:
        """Report why the worker cannot start."""
        self._send({"failed": message})

    def report_metrics(self) -> None:
        """Send the metrics as they are now; nothing before `report_ready`."""
        if self._registry is not None:
            self._send({"metrics": export_families(self._registry)})

    def _listen(self, grace: float) -> None:
        with contextlib.suppress(OSError), self._connection.makefile("rb") as requests:
            for _ in requests:
                self.report_metrics()
        # A graceful stop; before the server handles signals, this ends the process at once.
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(grace + KILL_MARGIN)
        os._exit(1)

    def _send(self, message: dict[str, Any]) -> None:
        # A supervisor that has ended needs no message.
        with self._writing, contextlib.suppress(OSError):
            self._connection.sendall(json.dumps(message).encode() + b"\n")
