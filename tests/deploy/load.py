"""Players who move without a pause; every call that fails is noticed, since none is repeated."""

from __future__ import annotations

import asyncio
import contextlib
import random
import uuid
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc.aio

from buraco.v1 import table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco.v1 import table_service_pb2_grpc as pb_grpc

_DEADLINE: Final = 20.0
_PATIENCE: Final = 60.0
_OWN_CONNECTION: Final = (("grpc.use_local_subchannel_pool", 1),)

Metadata = tuple[tuple[str, str], ...]


class Load:
    """Tables at which moves are made through one connection, one call at a time for each."""

    def __init__(self, channel: grpc.aio.Channel, metadata: Metadata) -> None:
        self._tables: Any = pb_grpc.TableServiceStub(channel)
        self._metadata = metadata
        self._stop = asyncio.Event()
        self._goal = 0
        self._reached = asyncio.Event()
        self.calls = 0
        """Calls that were answered as they should be."""
        self.failed: list[str] = []
        """What went wrong with each of the others."""
        self.acknowledged: dict[str, int] = {}
        """The newest revision that an answer named, by table."""

    async def more(self, calls: int) -> None:
        """Wait until so many more calls are answered. Raise if one has failed."""
        self._goal = self.calls + calls
        self._reached.clear()
        async with asyncio.timeout(_PATIENCE):
            await self._reached.wait()
        assert not self.failed, self.failed

    async def play(self, seed: int) -> None:
        """Play one match after the other until the end."""
        chance = random.Random(seed)
        with contextlib.suppress(grpc.aio.AioRpcError):  # counted already
            while not self._stop.is_set():
                await self._match(chance)

    async def verify(self) -> None:
        """Raise if an acknowledged move is missing."""
        for table_id, revision in self.acknowledged.items():
            answer = await self._tables.GetTable(pb.GetTableRequest(table_id=table_id), timeout=_DEADLINE)
            assert answer.table.revision >= revision, (table_id, answer.table.revision, revision)

    def end(self) -> None:
        """End play at all tables."""
        self._stop.set()

    async def _match(self, chance: random.Random) -> None:
        request = pb.CreateTableRequest(
            rule_set_id="buraco-plus-classic", seats=2, target_score=0, request_id=_new_id()
        )
        table: table_pb2.Table = (await self._call(self._tables.CreateTable, request, self._metadata)).table
        tokens = []
        for name in ("Ada", "Bo"):
            join = pb.JoinTableRequest(table_id=table.id, player_name=name, request_id=_new_id())
            tokens.append((await self._call(self._tables.JoinTable, join)).token)
        seat, idle = 0, 0
        while not self._stop.is_set() and idle < len(tokens):
            bearer = (("authorization", f"Bearer {tokens[seat]}"),)
            offered = await self._call(
                self._tables.ListLegalMoves, pb.TableServiceListLegalMovesRequest(table_id=table.id), bearer
            )
            if not offered.moves:
                seat, idle = 1 - seat, idle + 1
                continue
            idle = 0
            submit = pb.SubmitMovesRequest(
                table_id=table.id,
                moves=[chance.choice(offered.moves)],
                revision=offered.revision,
                request_id=_new_id(),
            )
            self.acknowledged[table.id] = (await self._call(self._tables.SubmitMoves, submit, bearer)).revision

    async def _call(self, method: Any, request: Any, metadata: Metadata = ()) -> Any:
        try:
            answer = await method(request, metadata=metadata, timeout=_DEADLINE)
        except grpc.aio.AioRpcError as error:
            self.failed.append(f"{type(request).__name__}: {error.code()} {error.details()}")
            self._reached.set()
            raise
        self.calls += 1
        if self.calls >= self._goal:
            self._reached.set()
        return answer


@contextlib.asynccontextmanager
async def load(address: str, *, tables: int, api_key: str) -> AsyncIterator[Load]:
    """Play at so many tables. At the end no call has failed and no acknowledged move is lost."""
    async with grpc.aio.insecure_channel(address, options=_OWN_CONNECTION) as channel:
        made = Load(channel, (("x-api-key", api_key),))
        players = [asyncio.create_task(made.play(seed)) for seed in range(tables)]
        try:
            yield made
        finally:
            made.end()
            await asyncio.gather(*players)
        assert not made.failed, made.failed
        await made.verify()


def _new_id() -> str:
    return str(uuid.uuid4())
