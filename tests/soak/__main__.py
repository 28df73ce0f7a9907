"""`make soak`: bots play at many tables of two replicas, one of which is killed now and then. Is anything lost?

For each store: a replica is killed (SIGKILL) or stopped (SIGTERM) now and then and started again, never both at once,
for the first part of the time; the last part has no faults, to show the growth of memory. Bots play through PlayTable
or SubmitMoves with WatchTable, at some tables two of them for one seat; each finished table is followed by a new one.
In the end every table whose creation was acknowledged has to be in the store, sound, with every acknowledged move in
its place, and no other. The status is 1 if not, or if an error reached a bot in spite of its client's retries.

Then the same with tables of the kind that people play at: with stakes in accounts, a clock, scores to be confirmed and
chat, of players who resign, and who stay away and come back. No credit and no message may be lost either, and no stake
may be left unsettled.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from buraco_service.stores.urls import open_store
from tests.bench.stores import PLACES
from tests.servers import postgres, valkey
from tests.soak.audit import Findings, audit
from tests.soak.faults import Faults
from tests.soak.growth import measure_growth
from tests.soak.ledger import Ledger
from tests.soak.load import KINDS, Load
from tests.soak.memory import measure_memory
from tests.soak.meters import make_meter
from tests.soak.online import SETTINGS, OnlineLoad
from tests.soak.online_audit import audit_online
from tests.soak.replicas import Replica, running_replicas
from tests.soak.report import Outcome, report
from tests.soak.storage import measure_storage

_REASON_MISSING: Final[dict[str, Callable[[], str | None]]] = {
    "sqlite": lambda: None,
    "valkey": valkey.missing,
    "postgresql": postgres.missing,
}
"""By store, the function that returns why its server is not available; None if it is."""
_FAULTLESS_PART = 0.35
"""The last part of the time, which has no faults."""


def main() -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", choices=_REASON_MISSING, action="append", help="this store alone; may be repeated")
    parser.add_argument("--seconds", type=float, default=75.0, help="time of the load on each store (default 75)")
    parser.add_argument("--tables", type=int, default=100, help="tables played at a time (default 100)")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds a bot thinks, on average (default 0.5)")
    parser.add_argument("--fault-every", type=float, default=8.0, help="seconds between faults, 0: none (default 8)")
    parser.add_argument("--kind", choices=KINDS, action="append", help="tables of this kind alone; may be repeated")
    parser.add_argument("--seed", default="soak", help="of bots, pauses and faults")
    parser.add_argument("--matches", type=int, default=2, help="matches at a time while growth is measured (default 2)")
    parser.add_argument(
        "--only",
        choices=("load", "online", "growth", "memory", "storage"),
        help="what is measured (default: load, then online, each for --seconds); growth: whether the memory of a"
        " replica is level, of which --seconds 3600 can tell",
    )
    arguments = parser.parse_args()
    if arguments.only == "memory":
        asyncio.run(measure_memory())
        return 0
    stores = [store for store in arguments.store or _REASON_MISSING if _is_available(store)]
    if arguments.only == "storage":
        for store in stores:
            asyncio.run(measure_storage(store, PLACES[store]))
        return 0
    if arguments.only == "growth":
        level = [asyncio.run(_growth(store, arguments)) for store in stores]
        return 0 if all(level) else 1
    passed = True
    for store in stores:
        for kind in (arguments.only,) if arguments.only else ("load", "online"):
            outcome = asyncio.run(_soak(store, arguments, is_online=kind == "online"))
            print(report(outcome), end="\n\n", flush=True)
            passed = passed and outcome.has_passed
    return 0 if passed else 1


def _is_available(store: str) -> bool:
    reason = _REASON_MISSING[store]()
    if reason is not None:
        print(f"{store} is left out: {reason}")
    return reason is None


async def _growth(store: str, arguments: argparse.Namespace) -> bool:
    return await measure_growth(
        store, PLACES[store], seconds=arguments.seconds, matches=arguments.matches, seed=arguments.seed
    )


async def _soak(store: str, arguments: argparse.Namespace, *, is_online: bool) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="buraco-soak-") as name:
        folder = Path(name)
        place = folder / "store"
        place.mkdir()
        with (
            PLACES[store](place) as url,
            running_replicas(folder, url, settings=SETTINGS if is_online else {}) as replicas,
        ):
            meter = make_meter(url)
            before = await meter.read()
            used = sum(replica.processor_seconds for replica in replicas)
            driver = time.process_time()
            ledger = Ledger(arguments.pause, random.Random(f"{arguments.seed}/pauses"))
            target = "ipv4:" + ",".join(replica.address for replica in replicas)
            load = (OnlineLoad if is_online else Load)(target, ledger, arguments.seed)
            faults = Faults(replicas, arguments.fault_every, random.Random(f"{arguments.seed}/faults"))
            begun = time.monotonic()
            load.begin(arguments.tables, arguments.kind or list(KINDS))
            sampling = asyncio.create_task(_sample(replicas))
            calm = begun + (1 - _FAULTLESS_PART) * arguments.seconds
            if arguments.fault_every:
                await faults.run(calm)
            await asyncio.sleep(begun + arguments.seconds - time.monotonic())
            await load.end()
            seconds = time.monotonic() - begun
            sampling.cancel()
            used = sum(replica.processor_seconds for replica in replicas) - used
            driver = time.process_time() - driver
            after = await meter.read()
            counters = sum([await asyncio.to_thread(replica.read_counters) for replica in replicas], Counter[str]())
            if isinstance(load, OnlineLoad):
                await load.settle()
            await load.close()
            opened = await open_store(url)
            if isinstance(load, OnlineLoad):
                findings: Findings = await audit_online(opened, ledger, load.notes)
            else:
                findings = await audit(opened, ledger)
            await opened.close()
        error_lines = [line for replica in replicas for line in replica.error_lines()]
    return Outcome(
        *(store, arguments.tables, seconds, calm, ledger, faults, replicas, before, after, used, driver),
        *(counters, findings, error_lines),
    )


async def _sample(replicas: Sequence[Replica]) -> None:
    while True:
        for replica in replicas:
            replica.sample()
        await asyncio.sleep(1.0)


sys.exit(main())
