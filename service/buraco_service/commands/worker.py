"""One worker of `buraco serve --workers N`: `python -m buraco_service.commands.worker NUMBER DESCRIPTOR`.

Only the supervisor starts it. The settings come from the environment alone; the descriptor is its socket to the
supervisor, which reports to the operator why a worker cannot start.
"""

from __future__ import annotations

import os
import socket
import sys

from buraco_service.commands.serve import run_until_stopped
from buraco_service.configuration.loading import SettingsError, load
from buraco_service.observing import logs
from buraco_service.observing.tracing import TracingError
from buraco_service.serving.listening import StartError
from buraco_service.stores.base import StoreError
from buraco_service.workers.link import WorkerLink


def main(number: int, descriptor: int) -> int:
    """Serve until stopped; return the exit status: 1 if it cannot start, which the supervisor gets reported, else 0."""
    link = WorkerLink(socket.socket(fileno=descriptor))
    try:
        settings = load(os.environ, {})
        link.stop_with_supervisor(settings.drain_grace)
        logs.configure(settings.log_level, settings.log_format, settings.table_id_in_logs, worker=number)
        run_until_stopped(settings, link)
    except (SettingsError, StartError, StoreError, TracingError) as error:
        link.report_failure(str(error))
        return 1
    finally:
        logs.flush()
    link.report_metrics()
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
