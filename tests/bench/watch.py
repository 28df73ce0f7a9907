"""From a move sent to one replica to the watchers who see it, at this replica and at another one on the same store."""

import asyncio
import random
import statistics
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import grpc.aio

from buraco.v1 import table_service_pb2, table_service_pb2_grpc
from buraco_codec.moves import move_to_pb
from buraco_service.observing import logs
from tests.bench.kept import kept
from tests.bench.processes import service_process
from tests.bench.scripted import Scripted
from tests.bench.stores import PLACES

MOVES = 100
"""Of each round."""
_LONGEST_PAUSE = 0.05
"""Seconds between moves: by chance, so that they do not fall into step with a store that is looked at now and then."""


async def measure_watch(rounds: int) -> None:
    """Print how long a move takes from being sent until its sender has the answer, and until watchers see it."""
    logs.configure("error")
    print(f"watch: ms from a move's sending to its answer and to a watcher, {MOVES * rounds} moves, two processes")
    print(f"  {'':34}{'answer':>16}{'same replica':>16}{'other replica':>16}")
    print(f"  {'':34}" + f"{'median':>10}{'p99':>6}" * 3)
    for place in PLACES.values():
        with tempfile.TemporaryDirectory() as folder, place(Path(folder)) as url:
            with service_process(url) as (one, _), service_process(url) as (other, _):
                columns = await _measure(one, other, MOVES * rounds)
            figures = "".join(f"{statistics.median(times):>10.1f}{_late(times):>6.1f}" for times in columns)
            print(f"  {await kept(url):34}{figures}", flush=True)
    print()


async def _measure(one: str, other: str, moves: int) -> tuple[list[float], list[float], list[float]]:
    chance = random.Random(1)
    columns: tuple[list[float], list[float], list[float]] = ([], [], [])
    async with grpc.aio.insecure_channel(one) as here, grpc.aio.insecure_channel(other) as there:
        stub: Any = table_service_pb2_grpc.TableServiceStub(here)
        table = await Scripted.open(stub)
        watches = [_watch(channel, table.id) for channel in (here, there)]
        for watch in watches:
            await watch.read()
        for _ in range(moves):
            await asyncio.sleep(chance.uniform(0, _LONGEST_PAUSE))
            seat, move = table.next_move()
            request = table_service_pb2.SubmitMovesRequest(
                table_id=table.id, moves=[move_to_pb(move)], request_id=str(uuid.uuid4())
            )
            sent = time.perf_counter()
            answered, *seen = await asyncio.gather(
                _answered(stub, request, table.bearer(seat)), *[_seen(watch) for watch in watches]
            )
            assert {revision for revision, _ in seen} == {answered[0]}
            for column, (_, at) in zip(columns, (answered, *seen), strict=True):
                column.append((at - sent) * 1000)
        for watch in watches:
            watch.cancel()
    return columns


def _watch(channel: grpc.aio.Channel, table_id: str) -> Any:
    stub: Any = table_service_pb2_grpc.TableServiceStub(channel)
    return stub.WatchTable(table_service_pb2.WatchTableRequest(table_id=table_id))


async def _answered(stub: Any, request: table_service_pb2.SubmitMovesRequest, bearer: Any) -> tuple[int, float]:
    answer = await stub.SubmitMoves(request, metadata=bearer)
    return answer.revision, time.perf_counter()


async def _seen(watch: Any) -> tuple[int, float]:
    while not (message := await watch.read()).HasField("events"):
        pass
    return message.events.revision, time.perf_counter()


def _late(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]
