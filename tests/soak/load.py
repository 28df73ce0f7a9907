"""Bots that play at a number of tables at a time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Final

from buraco_bots.bot import Bot, make_bot
from buraco_bots.registry import load_factory
from buraco_client import BuracoClient, BuracoError
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_rules import PRESETS
from tests.service.scripts import short_rules
from tests.soak.ledger import Ledger, LoadEnded
from tests.soak.seats import NotedSeat, play_by_calls, play_on_stream
from tests.soak.wire import Wire

TABLES_PER_CLIENT: Final = 25
_SHORT: Final = rule_set_to_pb(short_rules(24))
_BOTS: Final = [load_factory(name) for name in ("random", "random", "random", "greedy")]
_OPENED_TOGETHER: Final = 8
_AFTER_ERROR: Final = 1.0

Play = Callable[[NotedSeat, Bot], Coroutine[None, None, None]]


KINDS: Final[dict[str, tuple[tuple[Play, ...], tuple[Play, ...]]]] = {
    "streams": ((play_on_stream,), (play_on_stream,)),
    "calls": ((play_by_calls,), (play_by_calls,)),
    "mixed": ((play_on_stream,), (play_by_calls,)),
    "contested": ((play_on_stream, play_by_calls), (play_on_stream,)),
}
"""By kind of table, how its even and its odd seats are played; with two ways, a seat has two bots with one token."""


class Load:
    """Bots at tables of the service at a gRPC target."""

    def __init__(self, target: str, ledger: Ledger, seed: str) -> None:
        self._target = target
        self._ledger = ledger
        self._seed = seed
        self._clients: list[BuracoClient] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._opening = asyncio.Semaphore(_OPENED_TOGETHER)
        self._opened = 0

    @property
    def client(self) -> BuracoClient:
        """One of the clients."""
        return self._clients[0]

    def begin(self, tables: int, kinds: Sequence[str]) -> None:
        """Open and play tables of these kinds in turn; each finished one is followed by a new one."""
        wire = Wire(self._ledger.attempts)
        for number in range(tables):
            if number % TABLES_PER_CLIENT == 0:
                # Channels to the same addresses would share connections otherwise.
                self._clients.append(BuracoClient(self._target, options={"grpc.use_local_subchannel_pool": 1}))
                wire.observe(self._clients[-1])
            self._tasks.append(asyncio.create_task(self._play_on(self._clients[-1], kinds[number % len(kinds)])))

    async def end(self) -> None:
        """Wait for the moves under way, and end the bots. Raise an error of a bot that is no BuracoError."""
        await self._ledger.close()
        for task in self._tasks:
            task.cancel()
        ends = await asyncio.gather(*self._tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def close(self) -> None:
        """Close the connections."""
        for client in self._clients:
            await client.close()

    async def _play_on(self, client: BuracoClient, kind: str) -> None:
        while not self._ledger.closing:
            try:
                await self._play(client, kind)
            except* BuracoError as group:
                for error in _flatten(group):
                    self._ledger.note_error(error)
                await asyncio.sleep(_AFTER_ERROR)
            except* LoadEnded:
                pass

    async def _play(self, client: BuracoClient, kind: str) -> None:
        """Open a table and play its match."""
        number = self._opened
        self._opened += 1
        rng = random.Random(f"{self._seed}/{number}")
        async with self._opening:
            seats = await self._open_table(client, number)
        table_id = seats[0].table_id
        async with asyncio.TaskGroup() as players:
            for seat in seats:
                for play in KINDS[kind][seat.seat % 2]:
                    bot = make_bot(_BOTS[(number + seat.seat) % len(_BOTS)], random.Random(rng.random()))
                    players.create_task(play(seat, bot))
        self._ledger.finished.add(table_id)

    async def _open_table(self, client: BuracoClient, number: int) -> Sequence[NotedSeat]:
        """Create a table and join all seats. Of every three tables one plays a short deal, the others a whole match."""
        rules = _SHORT if number % 3 == 0 else PRESETS[number % len(PRESETS)].id
        table = await client.create_table(rules, 4 if number % 2 else 2, target_score=0 if number % 3 == 0 else None)
        self._ledger.tables[table.id] = []
        return [
            NotedSeat(await client.join_table(table.id, f"bot {seat.seat}", seat=seat.seat), self._ledger)
            for seat in table.seats
        ]


def _flatten(group: BaseExceptionGroup[BuracoError]) -> list[BuracoError]:
    found: list[BuracoError] = []
    for error in group.exceptions:
        found += _flatten(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
