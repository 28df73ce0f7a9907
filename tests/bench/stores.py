"""The stores alone: commits of tables of their own, as many at a time as the service is measured with."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from buraco_service.observing import logs
from buraco_service.stores.base import Commit, NewTable, Store
from buraco_service.stores.urls import open_store
from tests.bench.kept import kept
from tests.servers import postgres, valkey

IN_FLIGHT = 16
_STATE, _ENTRY, _ANSWER = b"s" * 1000, b"e" * 300, b"a" * 200


async def measure_stores(seconds: float, rounds: int) -> None:
    """Print commits a second, and processor time of this process (the server has its own) for each commit."""
    logs.configure("error")
    print(f"stores: {IN_FLIGHT} commits of 1.5 KB in flight, each table's log pruned")
    print(f"  {'':34}{'commits/s':>10}{'µs CPU':>8}{'list of 50, ms':>16}")
    for place in PLACES.values():
        with tempfile.TemporaryDirectory() as folder, place(Path(folder)) as url:
            store = await open_store(url)
            measured = [await _measure(store, seconds) for _ in range(rounds)]
            listing = await _measure_list(store)
            await store.close()
            name = await kept(url)
        rate, cost = (statistics.median(column) for column in zip(*measured, strict=True))
        print(f"  {name:34}{rate:>10.0f}{cost:>8.0f}{listing * 1000:>16.1f}", flush=True)
    print()


async def _measure(store: Store, seconds: float) -> tuple[float, float]:
    end = time.perf_counter() + seconds

    async def play() -> int:
        table_id = str(uuid.uuid4())
        await store.create(NewTable(table_id, _STATE, "playing", time.time(), _ENTRY, str(uuid.uuid4()), _ANSWER))
        revision = 1
        while time.perf_counter() < end:
            request_id = f"3f0c1d52-9f0e-4d43-8f57-{revision:012}"
            revision = await store.commit(
                Commit(
                    *(table_id, revision, _STATE, "playing", time.time(), _ENTRY, request_id, _ANSWER),
                    keep_log_after=revision - 500,
                )
            )
        return revision

    begun, used = time.perf_counter(), time.process_time()
    done = sum(await asyncio.gather(*[play() for _ in range(IN_FLIGHT)]))
    return done / (time.perf_counter() - begun), (time.process_time() - used) / done * 1e6


async def _measure_list(store: Store) -> float:
    """Seconds that a page of tables takes, after more tables have been made."""
    for _ in range(200):
        await store.create(NewTable(str(uuid.uuid4()), _STATE, "waiting", time.time(), _ENTRY, None, _ANSWER))
    times = []
    for _ in range(20):
        begun = time.perf_counter()
        assert len(await store.list_tables("waiting", 50, None)) == 50
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


@contextlib.contextmanager
def _sqlite(folder: Path) -> Iterator[str]:
    yield f"sqlite:///{folder}/bench.db"


@contextlib.contextmanager
def _valkey(folder: Path) -> Iterator[str]:
    with valkey.running(folder, *valkey.DURABLE) as server:
        yield server.url


@contextlib.contextmanager
def _valkey_every_second(folder: Path) -> Iterator[str]:
    with valkey.running(folder, "--appendonly", "yes", "--appendfsync", "everysec") as server:
        yield server.url


@contextlib.contextmanager
def _valkey_cluster(folder: Path) -> Iterator[str]:
    with valkey.running_cluster(folder, *valkey.DURABLE) as cluster:
        yield cluster.url


@contextlib.contextmanager
def _postgres(folder: Path) -> Iterator[str]:
    with postgres.running_server(postgres.DURABLE) as server:
        yield server.url(server.emptied_database())


PLACES: dict[str, Callable[[Path], contextlib.AbstractContextManager[str]]] = {
    "sqlite": _sqlite,
    "valkey": _valkey,
    "valkey-everysec": _valkey_every_second,
    "valkey-cluster": _valkey_cluster,
    "postgresql": _postgres,
}
"""By name, what makes an empty store in a folder and gives its URL."""
