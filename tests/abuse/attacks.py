"""The attacks: each takes the address of a server and lasts for so many seconds."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final, NamedTuple

import h2.exceptions

from tests.abuse.frames import (
    GET_TABLE,
    NOT_UTF8,
    PLAY_TABLE,
    REFLECT,
    WATCH_HEALTH,
    RawConnection,
    connected,
    half_message,
)

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]

CALLS: Final = (GET_TABLE, PLAY_TABLE, WATCH_HEALTH, REFLECT)
_LONGEST_REQUEST: Final = 2.0
_WEB_CALL: Final = b"POST " + GET_TABLE + b" HTTP/1.1\r\nhost: x\r\ncontent-type: application/proto\r\n"
_STRANGE: Final = (
    (b":path", b"/" + b"x" * 3000),
    (b":path", b"/buraco.v1.TableService/\xf0\x28\x8c\xbc"),
    (b":authority", b"\xff\xfe"),
    (b":method", b"GET"),
    (b"content-type", b"\xff"),
    (b"te", b"\xff"),
    (b"user-agent", b"\xff\xff"),
    (b"grpc-timeout", b"99999999999H"),
    (b"grpc-encoding", b"\xff"),
    (b"grpc-accept-encoding", b"\xff,gzip"),
    (b"x-request-id", b"\xff" * 64),
    (b"x-api-key", b"\xff\x00"),
    (b"authorization", b"Bearer \xff\xff"),
    (b"x-forwarded-for", b"\xff"),
    (b"traceparent", b"\xff"),
    (b"some-bin", b"\xff"),
    (b"x-huge", b"x" * 60_000),
)


class Target(NamedTuple):
    """What is attacked."""

    address: str
    metrics_address: str
    web_address: str
    tls: ssl.SSLContext | None
    max_message_bytes: int


Attack = Callable[[Target, float], Coroutine[None, None, None]]


async def paths_that_are_no_text(target: Target, seconds: float) -> None:
    """Ten requests a second whose path is no UTF-8, on a connection each."""

    async def send() -> None:
        with contextlib.suppress(OSError, TimeoutError, h2.exceptions.ProtocolError):
            async with asyncio.timeout(_LONGEST_REQUEST), connected(target.address, target.tls) as connection:
                await connection.end(await connection.call(NOT_UTF8))

    async with asyncio.TaskGroup() as requests:
        for _ in range(round(10 * seconds)):
            requests.create_task(send())
            await asyncio.sleep(0.1)


async def strange_headers(target: Target, seconds: float) -> None:
    """Calls with bytes in their headers that do not belong there."""

    async def send(connection: RawConnection) -> None:
        header = next(headers)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_REQUEST):
                await connection.end(await connection.call(GET_TABLE, [header], end=True))

    headers = itertools.cycle(_STRANGE)
    await _again_and_again(target, seconds, send, connections=4)


async def headers_alone(target: Target, seconds: float) -> None:
    """Calls of every kind whose message never comes, as many as the server lets stand."""
    paths = itertools.cycle(CALLS)

    async def send(connection: RawConnection) -> None:
        if connection.open < 1000:
            await connection.call(next(paths))
        await asyncio.sleep(0.001)

    await _again_and_again(target, seconds, send, connections=3)


async def half_messages(target: Target, seconds: float) -> None:
    """Calls that stop a hundred bytes before the end of the largest message that is received."""
    part = half_message(2 * target.max_message_bytes, 100)

    async def send(connection: RawConnection) -> None:
        if connection.open >= 150:
            await asyncio.sleep(0.01)
            return
        await connection.data(await connection.call(GET_TABLE), part)

    await _again_and_again(target, seconds, send, connections=2)


async def resets(target: Target, seconds: float) -> None:
    """Calls that are cancelled as soon as they have begun."""

    async def send(connection: RawConnection) -> None:
        await connection.reset(await connection.call(GET_TABLE))
        await asyncio.sleep(0.001)

    await _again_and_again(target, seconds, send, connections=2)


async def silent_connections(target: Target, seconds: float) -> None:
    """600 connections to each port on which nothing is ever sent."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(seconds + 30):
        with contextlib.ExitStack() as stack:
            for address in (target.address, target.metrics_address, target.web_address):
                host, _, port = address.rpartition(":")
                for _ in range(600):
                    silent = stack.enter_context(socket.socket())
                    silent.setblocking(False)
                    with contextlib.suppress(OSError):
                        await loop.sock_connect(silent, (host, int(port)))
            await asyncio.sleep(seconds)


async def web_headers_drop_by_drop(target: Target, seconds: float) -> None:
    """Requests to the web port whose headers never end, a few bytes a second."""

    async def send(stream: Stream) -> None:
        stream[1].write(b"x: y\r\n")
        await stream[1].drain()
        await asyncio.sleep(0.1)

    await _again_and_again_over_web(target, seconds, b"POST / HTTP/1.1\r\n", send, connections=200)


async def web_half_bodies(target: Target, seconds: float) -> None:
    """Calls to the web port that stop a hundred bytes before the end of the largest message that is received."""
    size = 2 * target.max_message_bytes

    async def send(stream: Stream) -> None:
        stream[1].write(bytes(size - 100))
        await stream[1].drain()
        await stream[0].read()

    head = _WEB_CALL + f"content-length: {size}\r\n\r\n".encode()
    await _again_and_again_over_web(target, seconds, head, send, connections=160)


async def web_bombs(target: Target, seconds: float) -> None:
    """Calls to the web port whose message grows a thousandfold when it is decompressed."""
    bomb = gzip.compress(bytes(64 * 1024 * 1024))

    async def send(stream: Stream) -> None:
        stream[1].write(bomb)
        await stream[0].read(1)
        stream[1].close()

    head = _WEB_CALL + f"content-encoding: gzip\r\ncontent-length: {len(bomb)}\r\n\r\n".encode()
    await _again_and_again_over_web(target, seconds, head, send, connections=8)


ATTACKS: Final[dict[str, Attack]] = {
    attack.__name__: attack
    for attack in (
        paths_that_are_no_text,
        strange_headers,
        headers_alone,
        half_messages,
        resets,
        silent_connections,
        web_headers_drop_by_drop,
        web_half_bodies,
        web_bombs,
    )
}


async def _again_and_again(
    target: Target, seconds: float, send: Callable[[RawConnection], Awaitable[None]], connections: int
) -> None:
    """Send on so many connections at a time, each of them opened anew when the server has closed it."""

    async def one() -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while loop.time() < until:
            with contextlib.suppress(OSError, h2.exceptions.ProtocolError):
                async with connected(target.address, target.tls) as connection:
                    while loop.time() < until and not connection.closed:
                        await send(connection)
            await asyncio.sleep(0.05)

    async with asyncio.timeout(seconds + 30):
        await asyncio.gather(*[one() for _ in range(connections)])


async def _again_and_again_over_web(
    target: Target, seconds: float, head: bytes, send: Callable[[Stream], Awaitable[None]], connections: int
) -> None:
    """The same over HTTP/1.1: each connection begins with the head of a request."""
    tls = None if target.tls is None else _http1(target.tls)

    async def one() -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        host, _, port = target.web_address.rpartition(":")
        while loop.time() < until:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout_at(until):
                    stream = await asyncio.open_connection(host, int(port), ssl=tls)
                    try:
                        stream[1].write(head)
                        while not stream[1].is_closing():
                            await send(stream)
                    finally:
                        stream[1].close()
            await asyncio.sleep(0.05)

    async with asyncio.timeout(seconds + 30):
        await asyncio.gather(*[one() for _ in range(connections)])


def _http1(tls: ssl.SSLContext) -> ssl.SSLContext:
    """Return a context that asks for no HTTP/2, and trusts the same."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for authority in tls.get_ca_certs(binary_form=True):
        context.load_verify_locations(cadata=authority)
    return context
