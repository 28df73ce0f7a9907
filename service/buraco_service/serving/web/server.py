"""The server of the web port: uvicorn's HTTP in the event loop of the gRPC server."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from email.utils import formatdate
from typing import Any, Final

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from buraco_service.configuration.settings import Settings
from buraco_service.observing.metrics import Metrics
from buraco_service.serving.listening import format_address, listen
from buraco_service.serving.web.application import WebApplication
from buraco_service.serving.web.connections import IDLE_SECONDS, Connections, WebConnection

_SWEEP_SECONDS: Final = 1.0
_HANDSHAKE_SECONDS: Final = 10.0
# What the system holds for a client that does not read; Linux takes twice as much.
_SEND_BUFFER_BYTES: Final = 128 * 1024
_BACKLOG: Final = 1024
# Of a connection whose client has gone without a word: Linux's numbers are those of gRPC's keepalive.
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 40_000))


class WebServer:
    """One server. `make_tls` returns the certificate as it is now, None for plain text."""

    def __init__(
        self,
        application: WebApplication,
        settings: Settings,
        metrics: Metrics,
        max_connections: int,
        make_tls: Callable[[], ssl.SSLContext] | None,
    ) -> None:
        self._make_tls = make_tls
        self._connections = Connections(metrics, max_connections, settings.message_timeout, settings.max_connection_age)
        # Its logs are ours (see `connections`): they would hold what requests hold, at any rate.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
        app: Any = application
        self._config = Config(
            app,
            http=HttpToolsProtocol,
            ws="none",
            interface="asgi3",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=int(IDLE_SECONDS),
            reset_contextvars=True,
        )
        self._config.load()
        self._state = ServerState()
        self._socket: socket.socket | None = None
        self._listener: asyncio.AbstractServer | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._is_stale = False
        """The certificate of the listener is older than its files."""

    def bind(self, host: str, port: int, *, shared: bool) -> str:
        """Take the port, and return the address; the kernel lets connections wait. Raise StartError."""
        self._socket = listen(host, port, "--host, --web-port", backlog=_BACKLOG, shared=shared)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        for name, value in _KEEPALIVE:
            # Connections inherit them.
            if hasattr(socket, name):
                self._socket.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        return format_address(host, self._socket.getsockname()[1])

    async def start(self) -> None:
        """Serve from now on."""
        self._set_date()
        await self._listen(self._make_certificate())
        self._sweeping = asyncio.create_task(self._sweep())

    def reload_tls(self) -> None:
        """Give new connections the certificate of now, soon. May be called from any thread."""
        self._is_stale = True

    async def crashed(self) -> BaseException:
        """Wait until nobody looks after the connections any more although nobody stopped the server; return why."""
        assert self._sweeping is not None, "started before"
        await asyncio.wait((self._sweeping,))
        if self._sweeping.cancelled():
            await asyncio.Event().wait()
        return self._sweeping.exception() or RuntimeError("the web port is not looked after any more")

    async def stop(self, deadline: float) -> None:
        """Accept no more connections, and return when the requests under way have ended: by themselves, or cancelled
        at the deadline, a time of the event loop. May be called again with an earlier one.
        """
        loop = asyncio.get_running_loop()
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        self.close_socket()
        self._connections.close()
        while self._state.tasks and (left := deadline - loop.time()) > 0:
            await asyncio.wait(self._state.tasks, timeout=left)
        for task in list(self._state.tasks):
            task.cancel()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks)
        for connection in list(self._connections.open):
            # What was answered is still being sent.
            connection.transport.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait((self._sweeping,))

    def close_socket(self) -> None:
        """Free the port."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _make_certificate(self) -> ssl.SSLContext | None:
        return None if self._make_tls is None else self._make_tls()

    async def _listen(self, certificate: ssl.SSLContext | None) -> None:
        """Accept connections with a certificate, in place of those with an earlier one."""
        assert self._socket is not None, "bound before"
        if self._listener is not None:
            self._listener.close()
        self._listener = await asyncio.get_running_loop().create_server(
            lambda: WebConnection(self._config, self._state, self._connections),
            # Connections that come meanwhile wait at the port, which stays.
            sock=self._socket.dup(),
            backlog=_BACKLOG,
            ssl=certificate,
            ssl_handshake_timeout=None if certificate is None else _HANDSHAKE_SECONDS,
        )

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self._set_date()
            self._connections.sweep()
            if self._is_stale:
                self._is_stale = False
                await self._listen(self._make_certificate())

    def _set_date(self) -> None:
        date = formatdate(usegmt=True).encode()
        self._state.default_headers = [(b"date", date), (b"x-content-type-options", b"nosniff")]
