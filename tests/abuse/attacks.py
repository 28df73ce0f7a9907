"""The attacks: each takes the address of a server and lasts for so many seconds."""

from __future__ import annotations

import asyncio
import contextlib
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

CALLS: Final = (GET_TABLE, PLAY_TABLE, WATCH_HEALTH, REFLECT)
_LONGEST_REQUEST: Final = 2.0
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
            for address in (target.address, target.metrics_address):
                host, _, port = address.rpartition(":")
                for _ in range(600):
                    silent = stack.enter_context(socket.socket())
                    silent.setblocking(False)
                    with contextlib.suppress(OSError):
                        await loop.sock_connect(silent, (host, int(port)))
            await asyncio.sleep(seconds)


ATTACKS: Final[dict[str, Attack]] = {
    attack.__name__: attack
    for attack in (
        paths_that_are_no_text,
        strange_headers,
        headers_alone,
        half_messages,
        resets,
        silent_connections,
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
