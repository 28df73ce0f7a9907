"""A proxy on loopback that delays, edits or breaks the traffic between a client and a server."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Sequence

Edit = Callable[[bytes], bytes]


class Proxy:
    """Passes bytes to the first port that accepts, and the answers through `edit`; clients may have to use TLS."""

    def __init__(self, targets: Sequence[int], tls: ssl.SSLContext | None, edit: Edit) -> None:
        self.port = 0
        self.delay = 0.0
        """Seconds by which each piece is delayed, in both directions."""
        self.taken: list[int] = []
        """The port of each connection so far."""
        self._targets = targets
        self._tls = tls
        self._edit = edit
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def end(self) -> None:
        """Break every connection and wait for its end."""
        self.cut()
        await asyncio.gather(*self._tasks)

    def cut(self) -> None:
        """Break every connection."""
        for writer in self._writers:
            writer.transport.abort()

    async def serve(self) -> asyncio.Server:
        """Listen at `port`."""
        server = await asyncio.start_server(self._forward, "127.0.0.1", 0, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        answers, requests = await self._connect()
        self._writers |= {writer, requests}
        await asyncio.gather(self._copy(reader, requests, bytes), self._copy(answers, writer, self._edit))
        self._writers -= {writer, requests}

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        *preferred, last = self._targets
        for port in preferred:
            with contextlib.suppress(ConnectionRefusedError):
                connection = await asyncio.open_connection("127.0.0.1", port)
                self.taken.append(port)
                return connection
        self.taken.append(last)
        return await asyncio.open_connection("127.0.0.1", last)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, edit: Edit) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if self.delay:
                    await asyncio.sleep(self.delay)
                writer.write(edit(data))
                await writer.drain()
        writer.transport.abort()


@contextlib.asynccontextmanager
async def proxy(*targets: int, tls: ssl.SSLContext | None = None, edit: Edit = bytes) -> AsyncIterator[Proxy]:
    """Run a proxy to the first of these ports that accepts, for each connection anew."""
    made = Proxy(targets, tls, edit)
    server = await made.serve()
    try:
        yield made
    finally:
        server.close()
        await made.end()
