"""Whether a fleet works, for the probes of whoever runs it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

LOOP_SECONDS: Final = 2.0
"""The time within which the event loop has to run a call."""


class Health:
    """Answers `GET /livez` and `GET /readyz` over HTTP, with status 200 or 503. Make it on the fleet's event loop.

    A fleet is live while its event loop runs: bots that hang do not stop it, and a restart does not repair a server.
    """

    def __init__(self, is_ready: Callable[[], bool]) -> None:
        """`is_ready`: whether the fleet does its work; called in other threads."""
        self._loop = asyncio.get_running_loop()
        self._probes: Final[dict[str, Callable[[], bool]]] = {
            "/livez": self._is_live,
            "/readyz": lambda: self._is_live() and is_ready(),
        }

    def wrap(self, application: WSGIApplication) -> WSGIApplication:
        """Return an application that answers the probes, and leaves all other requests to the one given."""

        def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            probe = self._probes.get(environ["PATH_INFO"])
            if probe is None:
                return application(environ, start_response)
            status, text = ("200 OK", b"ok\n") if probe() else ("503 Service Unavailable", b"not ok\n")
            start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
            return [text]

        return answer

    def _is_live(self) -> bool:
        has_run = threading.Event()
        try:
            self._loop.call_soon_threadsafe(has_run.set)
        except RuntimeError:  # the loop is closed
            return False
        return has_run.wait(LOOP_SECONDS)
