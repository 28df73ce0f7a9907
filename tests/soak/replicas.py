"""Replicas of the service in processes of their own, which may be killed and come back at the same port."""

from __future__ import annotations

import asyncio
import json
import secrets
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from buraco_bots.scraping import scrape
from tests.bench.processes import processor_seconds, resident_bytes
from tests.servers import service

_LIMITS = {"max-watches": 100_000, "max-peer-watches": 100_000, "max-concurrent-calls": 100_000}
_STOP = 60.0


class Sample(NamedTuple):
    """The memory of a process at a time."""

    at: float
    resident: int
    life: int
    """How often the replica had been started."""


class Replica:
    """`buraco serve`, again and again at the same address. Times are those of `time.monotonic`."""

    def __init__(self, folder: Path, name: str, options: tuple[str, ...], environment: dict[str, str]) -> None:
        self.name = name
        self.samples: list[Sample] = []
        self.lives = 0
        self.address = "127.0.0.1:0"
        self.metrics_address = "127.0.0.1:0"
        self._options = options
        self._environment = environment
        self._ready = folder / f"{name}.ready"
        self._log = folder / f"{name}.log"
        self._process: subprocess.Popen[str] | None = None
        self._used = 0.0
        self._used_at_start = 0.0
        self._counted: Counter[str] = Counter()
        self._ends: list[str] = []

    def start(self) -> None:
        """Start it and return when it serves."""
        self._ready.unlink(missing_ok=True)
        ports = [address.rpartition(":")[2] for address in (self.address, self.metrics_address)]
        where = ("--port", ports[0], "--metrics-port", ports[1])
        with self._log.open("ab") as output:
            self._process = service.start(
                self._ready, *where, *self._options, environment=self._environment, output=output, log=output
            )
        said = service.when_ready(self._process, self._ready)
        self.address, self.metrics_address = said["address"], said["metrics_address"]
        self.lives += 1
        self._used_at_start = processor_seconds(self._process.pid)
        self.sample()

    def stop(self, *, kill: bool = False) -> None:
        """End it in order, or as a failing machine does, and return when it is gone."""
        if self._process is None:
            return
        self.sample()
        self._used = self.processor_seconds
        self._counted = self.counted()
        if kill:
            self._process.kill()
        else:
            self._process.terminate()
        try:
            status = self._process.wait(_STOP)
            if status != 0 and not kill:
                self._ends.append(f"{self.name} ended with status {status} when it was told to stop")
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._process = None

    async def restart(self, *, kill: bool) -> None:
        """`stop`, then `start`, while the event loop goes on."""
        await asyncio.to_thread(self.stop, kill=kill)
        await asyncio.to_thread(self.start)

    def sample(self) -> None:
        """Note its memory."""
        if self._process is not None and (resident := resident_bytes(self._process.pid)):
            self.samples.append(Sample(time.monotonic(), resident, self.lives))

    @property
    def processor_seconds(self) -> float:
        """What it has used in all its lives, without what starting took."""
        running = 0.0 if self._process is None else processor_seconds(self._process.pid) - self._used_at_start
        return self._used + running

    def counted(self) -> Counter[str]:
        """What its metrics have counted in all its lives, all labels of each added up. Blocks."""
        if self._process is None:
            return self._counted
        now = {name: value for name, value in scrape(self.metrics_address).items() if name.endswith("_total")}
        return self._counted + Counter({name: round(value) for name, value in now.items()})

    def complaints(self) -> list[str]:
        """What it logged as errors, what it said that is no log line, and ends that were not in order."""
        found = list(self._ends)
        for line in self._log.read_text(errors="replace").splitlines():
            try:
                harmless = json.loads(line).get("level") not in ("error", "critical")
            except ValueError:
                harmless = False
            if not harmless:
                found.append(line)
        return found


@contextmanager
def running_replicas(folder: Path, store: str, count: int = 2) -> Iterator[list[Replica]]:
    """So many replicas on one store, with one signing key."""
    environment = {"BURACO_SIGNING_KEYS": f"soak:{secrets.token_hex(32)}", "BURACO_STORE": store}
    options = [f"--{name}={value}" for name, value in _LIMITS.items()]
    options += ["--log-level=warning", "--log-format=json"]
    replicas = [Replica(folder, f"replica-{number}", tuple(options), environment) for number in range(1, count + 1)]
    try:
        for replica in replicas:
            replica.start()
        yield replicas
    finally:
        for replica in replicas:
            replica.stop()
