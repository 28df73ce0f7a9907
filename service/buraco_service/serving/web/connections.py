"""The connections of the web port: uvicorn's, bounded in number, in what they may send before they are answered, and in
how long they may do nothing.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from buraco_service.observing import logs
from buraco_service.observing.line_limit import LineLimit
from buraco_service.observing.metrics import Metrics

MAX_HEADER_BYTES: Final = 16 * 1024
"""Of a request line and its headers, as over gRPC."""
UNREAD_SECONDS: Final = 30.0
"""Within so many seconds a client has to read something of what waits for it."""
IDLE_SECONDS: Final = 75.0
"""A connection without a request is kept so long after the last."""
_MAX_LINES: Final = 5
_CLOSED_STATUS: Final = {
    "headers": b"431 Request Header Fields Too Large",
    "malformed": b"400 Bad Request",
}


class Connections:
    """All open connections. `sweep` is to be called regularly, every second or so."""

    def __init__(self, metrics: Metrics, maximum: int, header_seconds: float, max_age: float) -> None:
        """`header_seconds`: within so many a request's headers have to be complete. `max_age`: seconds after which a
        connection is closed behind its last answer; 0: never.
        """
        self._metrics = metrics
        self._max = maximum
        self._header_seconds = header_seconds
        self._max_age = max_age
        self._loop = asyncio.get_running_loop()
        self._lines = LineLimit(_MAX_LINES)
        self._log = logs.get_logger()
        self.open: dict[WebConnection, float] = {}
        """When each was opened."""
        self.waiting: dict[WebConnection, float] = {}
        """Since when the headers of a request are waited for; the first one longest."""
        self.idle: dict[WebConnection, float] = {}
        """Since when nothing has come behind the last answer; the first one longest."""
        self.unread: dict[WebConnection, float] = {}
        """Since when a client has read nothing of what waits for it."""

    def now(self) -> float:
        """Return the time of the event loop."""
        return self._loop.time()

    def admit(self, connection: WebConnection) -> bool:
        """Count a new connection in; return False if there are too many.

        Of those without a request the one that waits longest makes room: who holds connections open must not keep
        others out.
        """
        if len(self.open) >= self._max:
            oldest = next(iter(self.waiting), None) or next(iter(self.idle), None)
            if oldest is None:
                self.count_drop("connections")
                return False
            oldest.drop("connections")
        now = self.now()
        self.open[connection] = self.waiting[connection] = now
        self._metrics.set_web_connections(len(self.open))
        return True

    def leave(self, connection: WebConnection) -> None:
        """Count a connection out. Repeatable."""
        for holding in (self.open, self.waiting, self.idle, self.unread):
            holding.pop(connection, None)
        self._metrics.set_web_connections(len(self.open))

    def sweep(self) -> None:
        """Close the connections that take too long."""
        now = self.now()
        for connection, since in list(self.waiting.items()):
            if now - since < self._header_seconds:
                break
            connection.drop("headers_overdue")
        for connection, since in list(self.unread.items()):
            if now - since >= UNREAD_SECONDS:
                connection.drop("unread")
        if self._max_age:
            for connection, opened in list(self.open.items()):
                if now - opened < self._max_age:
                    break
                connection.shutdown()

    def close(self) -> None:
        """Close every connection behind its last answer."""
        for connection in list(self.open):
            connection.shutdown()

    def count_drop(self, cause: str) -> None:
        """Count a connection that is closed for something it did."""
        self._metrics.count_dropped_connection(cause)
        if self._lines.has_room():
            more = {"count": omitted} if (omitted := self._lines.take_omitted()) else {}
            self._log.info("connection dropped", cause=cause, **more)


class WebConnection(HttpToolsProtocol):
    """One connection."""

    def __init__(self, config: Config, state: ServerState, connections: Connections) -> None:
        super().__init__(config, state, {})
        self.access_log = False
        self._all = connections
        self._fault = "malformed"
        self._unparsed = 0
        """Bytes that have come since headers are waited for."""
        self._head_size = 0
        """Bytes of the request line and the headers that were parsed."""

    def connection_made(self, transport: Any) -> None:
        """See asyncio."""
        if not self._all.admit(self):
            self.transport = transport
            transport.abort()
            return
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._all.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        if self.transport.is_closing():
            return
        if not self._is_answering:
            # Whatever comes between two requests is the beginning of one.
            if self not in self._all.waiting:
                self._all.idle.pop(self, None)
                self._all.waiting[self] = self._all.now()
                self._unparsed = 0
            self._unparsed += len(data)
        super().data_received(data)
        if self in self._all.waiting and self._unparsed > MAX_HEADER_BYTES and not self.transport.is_closing():
            self._fault = "headers"
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Begin a request. Raise ValueError for one that does not wait for the answer to the one before."""
        if self._is_answering:
            raise ValueError("requests come one after the other")
        self._head_size = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the request line. Raise ValueError if it is too long."""
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. Raise ValueError if all are too long."""
        self._count_head(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._all.waiting.pop(self, None)
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        if not self.transport.is_closing():
            self._all.idle[self] = self._all.now()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, and close the connection."""
        self._all.count_drop(self._fault)
        if self._is_answering:
            self.transport.abort()
            return
        status = _CLOSED_STATUS[self._fault]
        self.transport.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()

    def pause_writing(self) -> None:
        """See asyncio."""
        self._all.unread[self] = self._all.now()
        super().pause_writing()

    def resume_writing(self) -> None:
        """See asyncio."""
        self._all.unread.pop(self, None)
        super().resume_writing()

    def drop(self, cause: str) -> None:
        """Close the connection at once."""
        self._all.count_drop(cause)
        self._all.leave(self)
        self.transport.abort()

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _count_head(self, size: int) -> None:
        self._head_size += size
        if self._head_size > MAX_HEADER_BYTES:
            self._fault = "headers"
            raise ValueError("the headers are too long")
