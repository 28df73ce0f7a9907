from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import random
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from buraco_codec.moves import moves_from_pb
from buraco_service.serving.web import connections, server
from buraco_service.serving.web.connections import MAX_HEADER_BYTES
from tests.service.announcing import PATIENCE, Announcing
from tests.service.table_server import Replica, serving, start
from tests.service.web.http import TABLES, Response, ask, ask_json, failed, frame, web_address

CALL = f"POST /{TABLES}/ListTables HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def replica(tmp_path: Path, log_stream: Announcing) -> AsyncIterator[Replica]:
    """A server with a web port that waits a second for what should have come."""
    async with serving(tmp_path / "tables.db", web_port=0, message_timeout=1.0) as running:
        yield running


@contextlib.asynccontextmanager
async def connected(replica: Replica) -> AsyncIterator[Stream]:
    """A connection of its own."""
    reader, writer = await asyncio.open_connection(*web_address(replica).split(":"))
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def read_all(stream: Stream) -> bytes:
    """What comes until the server closes the connection."""
    async with asyncio.timeout(PATIENCE):
        try:
            return await stream[0].read()
        except ConnectionError:
            return b""


def dropped(replica: Replica, cause: str) -> float:
    """How many connections were closed for something they did."""
    labels = {"cause": cause}
    return replica.metrics.registry.get_sample_value("buraco_web_connections_dropped_total", labels) or 0.0


def limit_reached(replica: Replica, limit: str) -> float:
    """How often a limit has refused a call."""
    labels = {"reason": "LIMIT_REACHED", "limit": limit}
    return replica.metrics.registry.get_sample_value("buraco_refusals_total", labels) or 0.0


async def assert_serves(replica: Replica) -> None:
    """Others are answered."""
    assert (await ask_json(web_address(replica), "ListTables", {})).status == 200


@pytest.mark.parametrize("begun", ["", "P", "\r\n", CALL, CALL + "x-more: "])
async def test_headers_that_do_not_come(replica: Replica, begun: str) -> None:
    """A connection on which no headers are completed is closed in time."""
    async with connected(replica) as stream:
        stream[1].write(begun.encode())
        assert await read_all(stream) == b""
        assert dropped(replica, "headers_overdue") == 1
        await assert_serves(replica)


async def test_headers_that_come_byte_by_byte(replica: Replica) -> None:
    """Sending a little now and then does not keep a connection open."""

    async def drip(stream: Stream) -> None:
        for byte in (CALL + "x: " + "y" * MAX_HEADER_BYTES).encode():
            stream[1].write(bytes([byte]))
            await stream[1].drain()
            await asyncio.sleep(0.05)

    async with connected(replica) as stream, asyncio.timeout(PATIENCE):
        with pytest.raises(ConnectionError):
            await drip(stream)
    assert dropped(replica, "headers_overdue") == 1


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"])
async def test_headers_that_are_too_large(replica: Replica, end: bytes) -> None:
    """Headers that are too large, complete or not, are refused by a status of HTTP."""
    async with connected(replica) as stream:
        for _ in range(20):
            stream[1].write(
                b"" if stream[1].is_closing() else CALL.encode() if _ == 0 else b"x: " + b"y" * 4096 + b"\r\n"
            )
            await asyncio.sleep(0)
        stream[1].write(b"z: " + b"y" * MAX_HEADER_BYTES + end)
        answered = await read_all(stream)
        assert answered == b"" or answered.startswith(b"HTTP/1.1 431 ")
        assert dropped(replica, "headers") == 1
        await assert_serves(replica)


async def test_a_large_header_alone(replica: Replica) -> None:
    """One large header is refused with 431."""
    response = await ask(web_address(replica), f"/{TABLES}/ListTables", b"{}", x_large="x" * MAX_HEADER_BYTES)
    assert response.status == 431


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET http:// HTTP/1.1\r\n\r\n"]
)
async def test_what_is_no_request(replica: Replica, sent: bytes) -> None:
    """What is no request of HTTP is refused, counted, and logged without its bytes."""
    async with connected(replica) as stream:
        stream[1].write(sent)
        assert (await read_all(stream)).startswith(b"HTTP/1.1 400 ")
        assert dropped(replica, "malformed") == 1


async def test_requests_at_once(replica: Replica) -> None:
    """A request that does not wait for the answer to the one before closes the connection."""
    async with connected(replica) as stream:
        stream[1].write((f"{CALL}content-length: 2\r\n\r\n{{}}" * 100).encode())
        await read_all(stream)
        assert dropped(replica, "malformed") == 1
        await assert_serves(replica)


async def test_half_bodies(replica: Replica) -> None:
    """A call whose body does not come to its end is refused in time, with the reason, and its connection closed."""
    async with connected(replica) as stream:
        stream[1].write(f"{CALL}content-length: 100\r\n\r\n{{".encode())
        head, _, body = (await read_all(stream)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 429 ")
        assert b"connection: close" in head
        error = body.split(b"\r\n")[1]
        refusal = failed(Response(429, {}, error))
        assert (refusal.code, refusal.reason) == ("resource_exhausted", "LIMIT_REACHED")
        assert limit_reached(replica, "message_timeout") == 1


async def test_half_bodies_of_streams(replica: Replica, log_stream: Announcing) -> None:
    """The same holds for the request of a stream, and a client that leaves meanwhile is only counted."""
    head = f"POST /{TABLES}/WatchTable HTTP/1.1\r\nhost: x\r\ncontent-type: application/connect+json\r\n"
    async with connected(replica) as stream:
        stream[1].write(f"{head}content-length: 100\r\n\r\n".encode() + b"\0\0\0")
        assert b'"code": "resource_exhausted"' in await read_all(stream)
        async with connected(replica) as leaving:
            leaving[1].write(f"{head}content-length: 100\r\n\r\n".encode() + b"\0\0\0")
            leaving[1].close()
            await log_stream.wait_for(
                lambda: [line["code"] for line in log_stream.lines("call")] == ["RESOURCE_EXHAUSTED", "CANCELLED"]
            )
            assert limit_reached(replica, "message_timeout") == 1


@pytest.mark.parametrize("size", [70_000, 200_000, 5_000_000])
@pytest.mark.parametrize("content_type", ["application/json", "application/proto"])
async def test_bodies_that_are_too_large(replica: Replica, size: int, content_type: str) -> None:
    """A body that is too large is refused while it is read, with the limit."""
    async with connected(replica) as stream:
        head = f"POST /{TABLES}/ListTables HTTP/1.1\r\nhost: x\r\ncontent-type: {content_type}\r\n"
        stream[1].write(f"{head}content-length: {size}\r\n\r\n".encode() + b" " * min(size, 140_000))
        async with asyncio.timeout(PATIENCE):
            answered = await stream[0].readuntil(b"\r\n\r\n")
            body = await stream[0].readuntil(b"\r\n0\r\n\r\n")
        stream[1].close()
        assert answered.startswith(b"HTTP/1.1 429 ")
        assert failed(Response(429, {}, body.split(b"\r\n")[1])).reason == "LIMIT_REACHED"
        assert limit_reached(replica, "message_bytes") == 1


async def test_bombs(replica: Replica) -> None:
    """What grows without measure when it is decompressed is refused before that, by every protocol."""
    bomb = gzip.compress(bytes(50_000_000))
    path = f"/{TABLES}/ListTables"
    packed = {"content_type": "application/proto", "content_encoding": "gzip"}
    response = await ask(web_address(replica), path, bomb, **packed)
    assert (response.status, failed(response).reason) == (429, "LIMIT_REACHED")
    framed = {"content_type": "application/grpc-web+proto", "grpc_encoding": "gzip"}
    response = await ask(web_address(replica), path, frame(bomb, 1), **framed)
    assert b"grpc-status: 8" in response.body
    assert limit_reached(replica, "message_bytes") == 2


@pytest.mark.parametrize(
    "body", [b"", b"\0", b"\0\0\0\0\7{}", b"\0\0\0\0\2{}\0\0\0\0\2{}", b"\x7f\0\0\0\2{}", b"\0\xff\xff\xff\xff"]
)
async def test_frames_that_are_none(replica: Replica, body: bytes) -> None:
    """A body whose frames are broken, none or too many ends the call with a reason."""
    path = f"/{TABLES}/WatchTable"
    response = await ask(web_address(replica), path, body, content_type="application/connect+json")
    error = json.loads(response.body[5:])["error"]
    assert error["code"] in ("invalid_argument", "unimplemented", "resource_exhausted")
    assert error["details"][0]["type"] == "google.rpc.ErrorInfo"


async def test_a_stream_that_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_stream: Announcing
) -> None:
    """A stream that its client does not read is ended, and holds no more in memory than a buffer."""
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.5)
    monkeypatch.setattr(server, "_SEND_BUFFER_BYTES", 4096)
    async with serving(tmp_path / "tables.db", web_port=0) as replica:
        players, chance = await start(replica), random.Random(1)
        async with deaf(replica, players[0].table_id):
            while not dropped(replica, "unread"):
                mover = players[(await players[0].view()).seat_to_move]
                await mover.submit(chance.choice(moves_from_pb((await mover.legal()).moves)))
            await log_stream.wait_for(lambda: "WatchTable" in str(log_stream.lines("call")))
            assert replica.metrics.registry.get_sample_value("buraco_watches") == 0


@contextlib.asynccontextmanager
async def deaf(replica: Replica, table_id: str) -> AsyncIterator[None]:
    """A client that watches a table and reads nothing."""
    loop, (host, port) = asyncio.get_running_loop(), web_address(replica).split(":")
    request = frame(json.dumps({"tableId": table_id, "views": True}).encode())
    head = f"POST /{TABLES}/WatchTable HTTP/1.1\r\nhost: x\r\ncontent-type: application/connect+json\r\n"
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, (host, int(port)))
        await loop.sock_sendall(client, f"{head}content-length: {len(request)}\r\n\r\n".encode() + request)
        yield


async def test_too_many_connections(tmp_path: Path) -> None:
    """Where there are too many connections, the one that has been silent longest makes room, not one in use."""
    async with serving(tmp_path / "tables.db", web_port=0, max_connections=4) as replica:
        async with contextlib.AsyncExitStack() as stack:
            silent = [await stack.enter_async_context(connected(replica)) for _ in range(4)]
            await assert_serves(replica)
            assert await read_all(silent[0]) == b""
        assert dropped(replica, "connections") >= 1


async def test_too_many_idle_connections(tmp_path: Path) -> None:
    """Connections that have been answered and are kept open make room, too."""
    async with serving(tmp_path / "tables.db", web_port=0, max_connections=2) as replica:
        async with connected(replica) as first, connected(replica) as second:
            for stream in (first, second):
                stream[1].write(f"{CALL}content-length: 2\r\n\r\n{{}}".encode())
                assert (await stream[0].readuntil(b"\r\n0\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            await assert_serves(replica)
            assert await read_all(first) == b""
        assert dropped(replica, "connections") == 1


async def test_lines_about_dropped_connections_are_few(replica: Replica, log_stream: Announcing) -> None:
    """However many connections misbehave, the log has a few lines a second about them, and the number left out."""
    for _ in range(40):
        async with connected(replica) as stream:
            stream[1].write(b"\x16\x03\x01\r\n\r\n")
            await read_all(stream)
    assert dropped(replica, "malformed") == 40
    assert len(log_stream.lines("connection dropped")) < 40
