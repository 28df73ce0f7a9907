"""Everybody else: players, watchers and probes who use the server as they should, with the retries of their client."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from buraco_bots.player import play_seat
from buraco_bots.random_bot import RandomBot
from buraco_client import BuracoClient, BuracoError

PAUSE: Final = 0.02
_PROBE_SECONDS: Final = 5.0


class Crowd:
    """What became of them: how much was done, what failed, and the longest that one had to wait, in seconds."""

    def __init__(self) -> None:
        self.done: dict[str, int] = {}
        self.failures: list[str] = []
        self.longest = 0.0

    def did(self, kind: str) -> None:
        """Note something that was done."""
        self.done[kind] = self.done.get(kind, 0) + 1

    async def note(self, kind: str, action: Awaitable[object]) -> None:
        """Await something and note how it went."""
        begun = time.monotonic()
        try:
            await action
        except (BuracoError, grpc.aio.AioRpcError, OSError) as error:
            self.failures.append(f"{kind}: {error!r}")
        else:
            self.did(kind)
        self.longest = max(self.longest, time.monotonic() - begun)


@contextlib.asynccontextmanager
async def crowd(
    address: str, metrics_address: str, credentials: grpc.ChannelCredentials | None = None
) -> AsyncIterator[Crowd]:
    """Let them use the server as long as the context lasts."""
    noted = Crowd()
    async with BuracoClient(address, credentials=credentials) as client:
        tasks = [
            asyncio.create_task(member)
            for member in (
                _play(noted, client),
                _look(noted, client),
                _watch(noted, client),
                _probe(noted, address, credentials),
                _scrape(noted, metrics_address),
            )
        ]
        try:
            yield noted
        finally:
            for task in tasks:
                task.cancel()
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(ended, Exception):
                    noted.failures.append(repr(ended))


async def _play(noted: Crowd, client: BuracoClient) -> None:
    """Play one deal after the other, each on two streams."""
    for number in range(1_000_000):
        table = await client.create_table("burraco-fibur", 2, target_score=0)
        seats = [await client.join_table(table.id, f"player {seat}") for seat in range(2)]
        bots = [RandomBot(random.Random(f"{number} {seat}")) for seat in range(2)]
        try:
            async with asyncio.TaskGroup() as players:
                for seat, bot in zip(seats, bots, strict=True):
                    players.create_task(play_seat(seat, bot, lambda _: noted.did("updates of players")))
        except* BuracoError as failed:
            noted.failures.extend([f"play: {error!r}" for error in failed.exceptions])


async def _look(noted: Crowd, client: BuracoClient) -> None:
    table = await client.create_table("burraco-fibur", 2)
    await _forever(noted, "looks", lambda: client.get_table(table.id))


async def _watch(noted: Crowd, client: BuracoClient) -> None:
    """Watch a table at which nothing happens: a stream that breaks is resumed by the client."""
    table = await client.create_table("burraco-fibur", 2)
    async with client.watch(table.id) as updates:
        async for _ in updates:
            noted.did("updates of watchers")


async def _probe(noted: Crowd, address: str, credentials: grpc.ChannelCredentials | None) -> None:
    """Ask for the server's health as a probe of Kubernetes does: on a connection of its own, without retries."""
    options = (("grpc.use_local_subchannel_pool", 1),)

    async def check() -> None:
        channel = (
            grpc.aio.insecure_channel(address, options=options)
            if credentials is None
            else grpc.aio.secure_channel(address, credentials, options=options)
        )
        async with channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            await stub.Check(health_pb2.HealthCheckRequest(), timeout=_PROBE_SECONDS)

    await _forever(noted, "probes", check)


async def _scrape(noted: Crowd, address: str) -> None:
    def scrape() -> None:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=_PROBE_SECONDS) as answer:
            answer.read()

    await _forever(noted, "scrapes", lambda: asyncio.to_thread(scrape))


async def _forever(noted: Crowd, kind: str, act: Callable[[], Awaitable[object]]) -> None:
    while True:
        await noted.note(kind, act())
        await asyncio.sleep(PAUSE)
