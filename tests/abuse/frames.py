"""An HTTP/2 connection on which anything can be sent, or not be sent."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Iterable
from typing import Final, NamedTuple

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

Headers = Iterable[tuple[bytes, bytes]]

GET_TABLE: Final = b"/buraco.v1.TableService/GetTable"
PLAY_TABLE: Final = b"/buraco.v1.TableService/PlayTable"
WATCH_HEALTH: Final = b"/grpc.health.v1.Health/Watch"
REFLECT: Final = b"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
NOT_UTF8: Final = b"/\xff/x"
_CONFIGURATION: Final = h2.config.H2Configuration(
    client_side=True,
    header_encoding=None,
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
    validate_inbound_headers=False,
    normalize_inbound_headers=False,
)


class End(NamedTuple):
    """How a call ended: its trailing headers, none where the stream was reset."""

    headers: dict[bytes, bytes]

    @property
    def status(self) -> bytes:
        """The number of the gRPC status."""
        return self.headers.get(b"grpc-status", b"")


class RawConnection:
    """One connection. What is sent goes out with the next `flush`; what comes is read in the background."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http2 = h2.connection.H2Connection(_CONFIGURATION)
        self.ends: dict[int, asyncio.Future[End]] = {}
        self.closed = False

    def begin(self, window: int | None) -> None:
        """Send what a connection begins with."""
        self._http2.initiate_connection()
        if window is not None:
            self._http2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})

    async def call(self, path: bytes, more: Headers = (), *, end: bool = False) -> int:
        """Send the headers of a call, and no message. Return its stream."""
        stream: int = self._http2.get_next_available_stream_id()
        headers = {
            b":method": b"POST",
            b":scheme": b"http",
            b":path": path,
            b":authority": b"localhost",
            b"te": b"trailers",
            b"content-type": b"application/grpc",
            **dict(more),
        }
        self.ends[stream] = asyncio.get_running_loop().create_future()
        self._http2.send_headers(stream, headers.items(), end_stream=end)
        await self.flush()
        return stream

    async def data(self, stream: int, data: bytes) -> None:
        """Send bytes of a message, as fast as the server takes them."""
        while data:
            room = min(self._http2.local_flow_control_window(stream), self._http2.max_outbound_frame_size, len(data))
            if room <= 0:
                await asyncio.sleep(0.005)
                continue
            self._http2.send_data(stream, data[:room])
            data = data[room:]
            await self.flush()

    async def reset(self, stream: int) -> None:
        """Cancel a call."""
        self._http2.reset_stream(stream)
        await self.flush()

    async def end(self, stream: int) -> End:
        """Return how a call ended, once it has."""
        return await self.ends[stream]

    @property
    def open(self) -> int:
        """How many calls have not ended."""
        return sum([not end.done() for end in self.ends.values()])

    async def flush(self) -> None:
        """Send what waits to be sent. Raise ConnectionError where the server has closed the connection."""
        self._writer.write(self._http2.data_to_send())
        await self._writer.drain()

    async def read(self) -> None:
        """Take what the server sends, until it closes the connection."""
        try:
            while data := await self._reader.read(65_536):
                for event in self._http2.receive_data(data):
                    self._take(event)
                await self.flush()
        except (OSError, h2.exceptions.ProtocolError):
            pass
        finally:
            self.closed = True
            for end in self.ends.values():
                if not end.done():
                    end.set_result(End({}))

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.ResponseReceived | h2.events.TrailersReceived):
            headers = dict(event.headers or ())
            if b"grpc-status" in headers:
                self._ended(event.stream_id, End(headers))
        elif isinstance(event, h2.events.StreamReset):
            self._ended(event.stream_id, End({}))
        elif isinstance(event, h2.events.DataReceived) and event.flow_controlled_length:
            self._http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)

    def _ended(self, stream: int | None, end: End) -> None:
        waiting = self.ends.get(stream or 0)
        if waiting is not None and not waiting.done():
            waiting.set_result(end)


@contextlib.asynccontextmanager
async def connected(
    address: str, tls: ssl.SSLContext | None = None, *, window: int | None = None
) -> AsyncIterator[RawConnection]:
    """Connect to a server, which may send `window` bytes on each stream before more is asked for."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=tls)
    connection = RawConnection(reader, writer)
    connection.begin(window)
    await connection.flush()
    reading = asyncio.create_task(connection.read())
    try:
        yield connection
    finally:
        reading.cancel()
        writer.transport.abort()
        await asyncio.gather(reading, return_exceptions=True)


def half_message(declared: int, missing: int) -> bytes:
    """Return a message of so many bytes as gRPC frames it, without its last `missing` ones."""
    return b"\0" + declared.to_bytes(4) + b"\0" * (declared - missing)


def http2_over_tls(authority: bytes) -> ssl.SSLContext:
    """Return what trusts a CA (PEM) and speaks HTTP/2."""
    context = ssl.create_default_context(cadata=authority.decode())
    context.set_alpn_protocols(["h2"])
    return context
