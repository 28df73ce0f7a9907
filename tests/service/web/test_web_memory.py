from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from buraco_service.serving.web.connections import WebConnection
from tests.service.announcing import PATIENCE, Announcing
from tests.service.table_server import Replica, serving, start
from tests.service.web.http import TABLES, frame, web_address

NOWHERE = b'{"tableId": "' + b"0" * 32 + b'"}'


@pytest.fixture
async def replica(tmp_path: Path, log_stream: Announcing) -> AsyncIterator[Replica]:
    """A server with a web port."""
    async with serving(tmp_path / "tables.db", web_port=0, message_timeout=1.0) as running:
        yield running


@pytest.fixture
def without_collector(replica: Replica) -> Iterator[None]:
    """The garbage collector frees nothing."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def left() -> list[str]:
    """What is in memory of connections."""
    kinds = (WebConnection, RequestResponseCycle)
    return [type(thing).__name__ for thing in gc.get_objects() if isinstance(thing, kinds)]


@pytest.mark.parametrize("after", ["answer", "refusal", "malformed", "half a body", "too much", "a stream", "deadline"])
@pytest.mark.usefixtures("without_collector")
async def test_connections_are_freed_at_once(replica: Replica, log_stream: Announcing, after: str) -> None:
    """A closed connection leaves nothing for the garbage collector, which comes seldom: TLS holds large buffers."""
    request = json.dumps({"tableId": (await start(replica))[0].table_id}).encode()
    method, kind, body, more = {
        "answer": ("GetTable", "application/json", request, ""),
        "refusal": ("GetTable", "application/json", NOWHERE, ""),
        "malformed": ("GetTable", "application/json", b"{", ""),
        "half a body": ("GetTable", "application/json", b"{", "content-length: 100\r\n"),
        "too much": ("GetTable", "application/json", b" " * 140_000, ""),
        "a stream": ("WatchTable", "application/connect+json", frame(request), ""),
        "deadline": ("WatchTable", "application/connect+json", frame(request), "connect-timeout-ms: 100\r\n"),
    }[after]
    length = "" if "length" in more else f"content-length: {len(body)}\r\n"
    head = f"POST /{TABLES}/{method} HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\n{length}{more}\r\n"
    for _ in range(3):
        reader, writer = await asyncio.open_connection(*web_address(replica).split(":"))
        writer.write(head.encode() + body)
        async with asyncio.timeout(PATIENCE):
            await reader.readuntil(b"\r\n\r\n")
        if after == "deadline":
            async with asyncio.timeout(PATIENCE):
                await reader.readuntil(b"\r\n0\r\n\r\n")
        writer.close()
    await log_stream.wait_for(lambda: len([line for line in log_stream.lines("call") if method in str(line)]) == 3)
    async with asyncio.timeout(PATIENCE):
        while left():  # noqa: ASYNC110 - nothing says when
            await asyncio.sleep(0.01)
