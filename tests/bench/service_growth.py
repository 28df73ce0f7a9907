"""What a move costs the service early and late in a match of its table."""

import asyncio
import statistics
import time
import uuid
from typing import Any, NamedTuple

import grpc.aio

from buraco.v1 import table_service_pb2, table_service_pb2_grpc
from buraco_codec.moves import move_to_pb
from tests.bench.processes import processor_seconds, service_process
from tests.bench.scripted import Scripted

TABLES = 8
_MEASURED = (2, 5, 10, 20, 30)
"""Deals that are played one move a call; those between go a turn a call."""


class _Played(NamedTuple):
    """One deal at all tables."""

    calls: int
    processor: float
    """Microseconds of the server for a call."""
    latency: float
    """Milliseconds from call to answer, the median."""


async def measure_service_growth() -> None:
    """Print what a call of SubmitMoves with one move costs at old tables, and right after it at new ones."""
    print(f"service: SubmitMoves, one move a call, {TABLES} tables in flight, SQLite with synchronous FULL")
    columns = ("µs CPU", "ms, median") * 2
    print(f"  {'':20}{'old tables':>24}{'new tables, deal 1':>24}")
    print(f"  {'number of the deal':20}{''.join([f'{column:>12}' for column in columns])}{'ratio':>8}{'calls':>8}")
    with service_process() as (target, pid):
        async with grpc.aio.insecure_channel(target) as channel:
            stub: Any = table_service_pb2_grpc.TableServiceStub(channel)
            await _play(stub, await _open(stub), pid)  # the first deals fill the meld book
            tables = await _open(stub)
            for number in range(1, max(_MEASURED) + 1):
                old = await _play(stub, tables, pid, by_turns=number not in _MEASURED)
                if number in _MEASURED:
                    _print(number, old, await _play(stub, await _open(stub), pid))
    print()


async def _open(stub: Any) -> list[Scripted]:
    return [await Scripted.open(stub) for _ in range(TABLES)]


async def _play(stub: Any, tables: list[Scripted], pid: int, *, by_turns: bool = False) -> _Played:
    """A deal to its end at all tables."""
    seconds: list[float] = []

    async def play_at(table: Scripted) -> None:
        number = table.deal_number
        while table.deal_number == number:
            seat, moves = table.next_moves(whole_turn=by_turns)
            request = table_service_pb2.SubmitMovesRequest(
                table_id=table.id, moves=list(map(move_to_pb, moves)), request_id=str(uuid.uuid4())
            )
            begun = time.perf_counter()
            await stub.SubmitMoves(request, metadata=table.bearer(seat))
            seconds.append(time.perf_counter() - begun)

    before = processor_seconds(pid)
    await asyncio.gather(*[play_at(table) for table in tables])
    used = processor_seconds(pid) - before
    return _Played(len(seconds), used / len(seconds) * 1e6, statistics.median(seconds) * 1e3)


def _print(number: int, old: _Played, new: _Played) -> None:
    print(
        f"  {number:<20}{old.processor:>12.0f}{old.latency:>12.2f}{new.processor:>12.0f}{new.latency:>12.2f}"
        f"{old.processor / new.processor if new.processor else 1:>8.2f}{old.calls:>8}",
        flush=True,
    )
