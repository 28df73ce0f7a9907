"""What answers the requests of the web port: calls, questions of browsers whether they may call, and files."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

from buraco_service.observing import logs
from buraco_service.observing.metrics import Metrics
from buraco_service.serving.calls import Calls
from buraco_service.serving.methods import Handler, Metadata
from buraco_service.serving.web.asgi import Headers, Receive, Scope, Send, find_header, respond
from buraco_service.serving.web.calls import WebCall, name_peer, read_metadata
from buraco_service.serving.web.context import WebContext
from buraco_service.serving.web.formats import find_types, read_content_type
from buraco_service.serving.web.origins import Origins
from buraco_service.serving.web.pages import Pages
from buraco_service.serving.web.protocols import make_connect

_BODILESS = ("GET", "HEAD", "OPTIONS")


class WebApplication:
    """The application for uvicorn (ASGI). `services` are the full names of the services; `root` has the page's files.

    Raise StartError if the files cannot be served.
    """

    def __init__(
        self,
        calls: Calls,
        metrics: Metrics,
        services: Iterable[str],
        max_message_bytes: int,
        origins: Sequence[str] = (),
        root: Path | None = None,
    ) -> None:
        self._calls = calls
        self._metrics = metrics
        self._types = find_types(services)
        self._max_bytes = max_message_bytes
        self._connect = make_connect(self._types, max_message_bytes)
        self._origins = Origins(origins)
        self._pages = None if root is None else Pages(root)
        self._log = logs.get_logger()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            if scope["path"] in self._types:
                await self._answer_call(scope, receive, send)
            elif (
                self._pages is None
                or scope["method"] not in ("GET", "HEAD")
                or not await self._pages.serve(scope, send)
            ):
                await self._refuse(scope, send, 404)
        except Exception as error:  # noqa: BLE001 - uvicorn would log what a request holds
            self._log.error("unforeseen error", exc_info=error)
            with contextlib.suppress(Exception):
                # Closes the connection if the response has begun.
                await respond(send, 500)

    async def _answer_call(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        if method == "OPTIONS":
            await respond(send, 204, self._origins.preflight_headers(scope))
            return
        if method != "POST":
            await self._refuse(scope, send, 405, [(b"allow", b"POST")])
            return
        types = self._types[path]
        form = types.formats.get(read_content_type(find_header(scope, b"content-type")))
        if form is None:
            accepted = b", ".join(types.formats)
            await self._refuse(scope, send, 415, [(b"accept-post", accepted)])
            return
        self._metrics.count_web_call(form.name)
        extra = self._origins.headers(scope)
        request = (scope, receive, send)
        call = WebCall(self._calls, self._connect, request, form, types, self._max_bytes, extra)
        await self._calls.serve(path, call)

    async def _refuse(self, scope: Scope, send: Send, status: int, headers: Headers = ()) -> None:
        """Answer a request that is no call, and count it as one of an unknown method."""
        await self._calls.serve(None, _NoCall(scope, send, status, [*headers, *self._origins.headers(scope)]))


class _NoCall:
    """A request for something that does not exist."""

    def __init__(self, scope: Scope, send: Send, status: int, headers: Headers) -> None:
        self._metadata = read_metadata(scope)
        self.context = WebContext(self._metadata, name_peer(scope))
        self._send = send
        self._status = status
        # The body, if there is one, is not read.
        self._headers = headers if scope["method"] in _BODILESS else [*headers, (b"connection", b"close")]

    async def handle(self, path: str, choose: Callable[[Metadata], Awaitable[Handler | None]]) -> None:
        """See `Incoming`."""
        await choose(self._metadata)
        await respond(self._send, self._status, self._headers)
