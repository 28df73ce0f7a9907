"""The memory of a replica: idle, with watches, with tables in its cache."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import tempfile
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

import grpc.aio

from buraco.v1 import table_service_pb2, table_service_pb2_grpc
from buraco_codec.moves import move_to_pb
from tests.bench.scripted import Scripted
from tests.soak.replicas import Replica, running_replicas

_MIB: Final = 1 << 20
_AT_ONCE: Final = 50
_WARMING: Final = 16
_DEALT: Final = 1000
_MOVES: Final = 40
_PLAYED: Final = 400
_CONNECTIONS: Final = 20
_WATCHES: Final = 2000
_SINGLE: Final = 1000
# Channels to one address would share a connection otherwise.
_OWN_CONNECTION: Final = (("grpc.use_local_subchannel_pool", 1),)


async def measure_memory() -> None:
    """Print the memory of a replica on SQLite, a new one for each part, since freed memory would be used again."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print("memory of a replica, MiB (resident)")
    async with _replica() as (replica, stub):
        _print_row("idle, nothing served yet", await _resident(replica))
        await _play(stub, await _open(stub, _WARMING), 150)
        _print_row(f"idle, after the first {_WARMING} deals", await _resident(replica))
        await _measure_tables(stub, replica)
    for watches, connections in ((_WATCHES, _CONNECTIONS), (_SINGLE, _SINGLE)):
        async with _replica() as (replica, stub):
            tables = await _play(stub, await _open(stub, _WARMING), 150)
            await _measure_watches(replica, tables, watches, connections)
    print()


@contextlib.asynccontextmanager
async def _replica() -> AsyncIterator[tuple[Replica, Any]]:
    """A new replica on an empty store, and a stub to call it."""
    with tempfile.TemporaryDirectory(prefix="buraco-soak-") as name:
        folder = Path(name)
        with running_replicas(folder, f"sqlite:///{folder}/tables.db", count=1) as (replica,):
            async with grpc.aio.insecure_channel(replica.address) as channel:
                yield replica, table_service_pb2_grpc.TableServiceStub(channel)


async def _measure_tables(stub: Any, replica: Replica) -> None:
    before = await _resident(replica)
    await _open(stub, _DEALT)
    after = await _resident(replica)
    _print_row("for 1,000 tables in the cache, just dealt", (after - before) * 1000 / _DEALT)
    await _play(stub, await _open(stub, _PLAYED), _MOVES)
    whole = (await _resident(replica) - after) * 1000 / _PLAYED
    _print_row(f"for 1,000 tables in the cache, after {_MOVES} moves", whole)


async def _measure_watches(replica: Replica, tables: Sequence[Scripted], watches: int, connections: int) -> None:
    before = await _resident(replica)
    each = watches // connections
    async with contextlib.AsyncExitStack() as stack:
        calls = []
        for _ in range(connections):
            channel = grpc.aio.insecure_channel(replica.address, options=_OWN_CONNECTION)
            calls += await _watch(await stack.enter_async_context(channel), tables, each)
        grown = await _resident(replica) - before
        _print_row(f"for 1,000 watches, {each} a connection ({watches} open)", grown * 1000 / watches)
        for call in calls:
            call.cancel()


async def _watch(channel: grpc.aio.Channel, tables: Sequence[Scripted], count: int) -> list[Any]:
    """Open watches of the public view, and wait for the first message of each."""
    stub: Any = table_service_pb2_grpc.TableServiceStub(channel)
    calls = [
        stub.WatchTable(table_service_pb2.WatchTableRequest(table_id=tables[number % len(tables)].id))
        for number in range(count)
    ]
    for first in await asyncio.gather(*[call.read() for call in calls]):
        assert first.HasField("state")
    return calls


async def _open(stub: Any, count: int) -> list[Scripted]:
    opened: list[Scripted] = []
    while len(opened) < count:
        some = range(min(_AT_ONCE, count - len(opened)))
        opened += await asyncio.gather(*[Scripted.open(stub) for _ in some])
    return opened


async def _play(stub: Any, tables: list[Scripted], moves: int) -> list[Scripted]:
    """Make `moves` moves at each table, one in a call."""

    async def play_at(table: Scripted) -> None:
        for _ in range(moves):
            seat, move = table.next_move()
            request = table_service_pb2.SubmitMovesRequest(
                table_id=table.id, moves=[move_to_pb(move)], request_id=str(uuid.uuid4())
            )
            await stub.SubmitMoves(request, metadata=table.bearer(seat))

    for first in range(0, len(tables), _AT_ONCE):
        await asyncio.gather(*[play_at(table) for table in tables[first : first + _AT_ONCE]])
    return tables


async def _resident(replica: Replica) -> float:
    """Return the resident memory in MiB, once it is stable."""
    readings: list[float] = []
    while len(readings) < 3 or max(readings[-3:]) - min(readings[-3:]) > 0.25:
        await asyncio.sleep(0.5)
        replica.sample()
        readings.append(replica.samples[-1].resident / _MIB)
    return readings[-1]


def _print_row(what: str, mebibytes: float) -> None:
    print(f"  {what:<52}{mebibytes:>8.1f}", flush=True)
