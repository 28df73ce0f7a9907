"""Serves the metrics over HTTP for Prometheus, to few connections at a time and none of them for long."""

from __future__ import annotations

import contextlib
import socket
import threading
from socketserver import ThreadingMixIn
from typing import Any, ClassVar, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

MAX_CONNECTIONS: Final = 16
"""Open connections. One more closes the oldest that has sent no request, so that idle ones never block Prometheus."""
_IDLE_TIMEOUT_SECONDS: Final = 5.0


class MetricsServer:
    """Serves a registry from threads of its own. Raise OSError if it cannot listen at the address. Example:

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
    """Serves each connection in a thread, at most MAX_CONNECTIONS at a time."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, *args: Any, **options: Any) -> None:
        # By connection, the oldest first: True once a request has arrived.
        self._connections: dict[socket.socket, bool] = {}
        self._lock = threading.Lock()
        super().__init__(*args, **options)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a new connection."""
        with self._lock:
            self._connections[request] = False
            if len(self._connections) > MAX_CONNECTIONS:
                oldest = next(connection for connection, has_request in self._connections.items() if not has_request)
                del self._connections[oldest]
                # Its thread finds the connection ended, and closes it.
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def keep_connection(self, connection: Any) -> None:
        """Protect a connection whose request has arrived from being closed for a newer one."""
        with self._lock:
            if connection in self._connections:
                self._connections[connection] = True

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that has been served."""
        with self._lock:
            self._connections.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing about connections that break or time out."""


class _Handler(WSGIRequestHandler):
    """Answers one request on each connection."""

    timeout: ClassVar[float | None] = _IDLE_TIMEOUT_SECONDS

    def parse_request(self) -> bool:
        """Read the headers; return False if they are no valid request."""
        parsed = super().parse_request()
        if parsed and isinstance(self.server, _Server):
            self.server.keep_connection(self.request)
        return parsed

    def log_message(self, format: str, *args: Any) -> None:
        """Log no scrapes."""
