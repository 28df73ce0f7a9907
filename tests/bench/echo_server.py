"""The peer: a grpc.aio server that answers with as many bytes as asked, and if asked keeps them first.

Its argument is the URL of the store. It prints its port, and ends with its input.
"""

import asyncio
import itertools
import sys
import time
import uuid
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any

import grpc.aio

from buraco_service.stores.base import Commit, NewTable, Store
from buraco_service.stores.urls import open_store

SERVICE = "bench.Echo"
ANSWER = b"!"
"""What an answer begins with on one of two streams."""
_STATE, _ENTRY = bytes(540), bytes(22)
"""As much as an ordinary move leaves in the store beside its answer, by the median of some thousand."""


class Table:
    """Something in the store that is committed to as a table is, but knows no game."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._id = uuid.uuid4().hex
        self._revisions = itertools.count()

    async def open(self) -> None:
        """Make it. To be called once, before anything is kept."""
        now, request_id = time.time(), uuid.uuid4().hex
        await self._store.create(NewTable(self._id, _STATE, "playing", now, _ENTRY, request_id, b""))
        next(self._revisions)

    async def keep(self, answer: bytes) -> None:
        """Commit an answer and what belongs to it."""
        revision, request_id = next(self._revisions), str(uuid.uuid4())
        await self._store.commit(Commit(self._id, revision, _STATE, "playing", time.time(), _ENTRY, request_id, answer))


class Pair:
    """Two streams at one table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._seats: list[tuple[Any, asyncio.Lock]] = []

    def join(self, context: Any) -> None:
        """One more stream."""
        self._seats.append((context, asyncio.Lock()))

    async def tell(self, answered: bytes, context: Any) -> None:
        """Answer on the stream that asked, and tell the other one the same."""
        for stream, writing in self._seats:
            async with writing:
                await stream.write(ANSWER + answered[1:] if stream is context else answered)


class Echo:
    """The methods. What keeps waits until its answer is durable in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._free: list[Table] = []
        self._pairs: dict[bytes, Pair] = {}

    async def once(self, request: bytes, context: Any) -> bytes:
        """An answer to each call."""
        return _answer(request)

    async def kept_once(self, request: bytes, context: Any) -> bytes:
        """As `once`, kept first; calls at the same time have tables of their own."""
        table = self._free.pop() if self._free else await self._opened()
        answer = _answer(request)
        await table.keep(answer)
        self._free.append(table)
        return answer

    async def stream(self, requests: AsyncIterator[bytes], context: Any) -> None:
        """An answer to each message."""
        while (request := await context.read()) is not grpc.aio.EOF:
            await context.write(_answer(request))

    async def pair(self, requests: AsyncIterator[bytes], context: Any) -> None:
        """Streams whose first messages are alike: what is said on one is answered there, and told on the other."""
        pair = await self._joined(context)
        while (request := await context.read()) is not grpc.aio.EOF:
            await pair.tell(_answer(request), context)

    async def kept_pair(self, requests: AsyncIterator[bytes], context: Any) -> None:
        """As `pair`, kept first."""
        pair = await self._joined(context)
        while (request := await context.read()) is not grpc.aio.EOF:
            answer = _answer(request)
            await pair.table.keep(answer)
            await pair.tell(answer, context)

    async def _joined(self, context: Any) -> Pair:
        name = await context.read()
        if name not in self._pairs:
            self._pairs[name] = Pair(await self._opened())
        self._pairs[name].join(context)
        return self._pairs[name]

    async def _opened(self) -> Table:
        table = Table(self._store)
        await table.open()
        return table


async def serve(store_url: str) -> None:
    """Serve until standard input is closed."""
    store = await open_store(store_url)
    echo = Echo(store)
    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, _handlers(echo)),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(None)
    await store.close()


def _handlers(echo: Echo) -> dict[str, Any]:
    unary, streams = grpc.unary_unary_rpc_method_handler, grpc.stream_stream_rpc_method_handler
    return {
        "Once": unary(echo.once),
        "KeptOnce": unary(echo.kept_once),
        "Stream": streams(echo.stream),
        "Pair": streams(echo.pair),
        "KeptPair": streams(echo.kept_pair),
    }


@lru_cache
def _bytes(size: bytes) -> bytes:
    return bytes(int(size))


def _answer(request: bytes) -> bytes:
    return _bytes(request.partition(b" ")[0])


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
