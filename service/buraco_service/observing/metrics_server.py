"""The metrics over HTTP, for Prometheus: few connections at a time, and none of them for long."""

from __future__ import annotations

import contextlib
import socket
import threading
from socketserver import ThreadingMixIn
from typing import Any, ClassVar, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

MAX_CONNECTIONS: Final = 16
"""Connections at a time. One more closes the oldest that is silent, so that these never keep Prometheus out."""
_SILENCE_SECONDS: Final = 5.0


class MetricsServer:
    """Serves a registry from threads of its own. Raise OSError if the address cannot be had. Example:

    server = MetricsServer(CollectorRegistry(), "127.0.0.1", 0)
    print(server.port)
    server.close()
    """

    def __init__(self, registry: CollectorRegistry, host: str, port: int) -> None:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        server_class: type[_Server] = type("_Server", (_Server,), {"address_family": family})
        self._server = make_server(host, port, make_wsgi_app(registry), server_class, _Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="buraco-metrics", daemon=True)
        self._thread.start()
        self.host = host
        self.port: int = self._server.server_address[1]

    def close(self) -> None:
        """Stop serving; return when the thread has ended (within half a second)."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingMixIn, WSGIServer):
    """A thread for each connection, and a bound on them."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, *args: Any, **options: Any) -> None:
        # Whether a request has come, by connection; the oldest first.
        self._connections: dict[socket.socket, bool] = {}
        self._lock = threading.Lock()
        super().__init__(*args, **options)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a new connection."""
        with self._lock:
            self._connections[request] = False
            if len(self._connections) > MAX_CONNECTIONS:
                oldest = next(connection for connection, heard in self._connections.items() if not heard)
                del self._connections[oldest]
                # Its thread finds the end of the connection, and closes it.
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def request_came(self, connection: Any) -> None:
        """Let a connection finish, however many others come."""
        with self._lock:
            if connection in self._connections:
                self._connections[connection] = True

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that has been served."""
        with self._lock:
            self._connections.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that break or stay silent."""


class _Handler(WSGIRequestHandler):
    """One request a connection."""

    timeout: ClassVar[float | None] = _SILENCE_SECONDS

    def parse_request(self) -> bool:
        """Read the headers; return False where they are none."""
        parsed = super().parse_request()
        if parsed and isinstance(self.server, _Server):
            self.server.request_came(self.request)
        return parsed

    def log_message(self, format: str, *args: Any) -> None:
        """Log no scrapes."""
