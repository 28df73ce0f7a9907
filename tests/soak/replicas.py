"""Replicas in processes of their own, which can be killed and started again at the same port."""

from __future__ import annotations

import asyncio
import json
import secrets
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from buraco_bots.scraping import scrape
from tests.bench.processes import processor_seconds, resident_bytes
from tests.servers import service

_LIMITS = {"max-watches": 100_000, "max-peer-watches": 100_000, "max-concurrent-calls": 100_000}
_STOP = 60.0


class Sample(NamedTuple):
    """The memory of a replica at one time."""

    at: float
    resident: int
    life: int
    """How often the replica had been started by then."""


class Replica:
    """`buraco serve`, started any number of times at the same address. Times are by `time.monotonic`."""

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
        self._counters: Counter[str] = Counter()
        self._wrong_ends: list[str] = []

    def start(self) -> None:
        """Start, and return once it serves."""
        self._ready.unlink(missing_ok=True)
        ports = [address.rpartition(":")[2] for address in (self.address, self.metrics_address)]
        where = ("--port", ports[0], "--metrics-port", ports[1])
        with self._log.open("ab") as output:
            self._process = service.start(
                self._ready, *where, *self._options, environment=self._environment, output=output, log=output
            )
        ready = service.when_ready(self._process, self._ready)
        self.address, self.metrics_address = ready["address"], ready["metrics_address"]
        self.lives += 1
        self._used_at_start = processor_seconds(self._process.pid)
        self.sample()

    def stop(self, *, kill: bool = False) -> None:
        """End the process by SIGTERM, or with `kill` by SIGKILL, and return once it has ended."""
        if self._process is None:
            return
        self.sample()
        self._used = self.processor_seconds
        self._counters = self.read_counters()
        if kill:
            self._process.kill()
        else:
            self._process.terminate()
        try:
            status = self._process.wait(_STOP)
            if status != 0 and not kill:
                self._wrong_ends.append(f"{self.name} ended with status {status} when it was stopped")
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._process = None

    async def restart(self, *, kill: bool) -> None:
        """Stop and start without blocking the event loop."""
        await asyncio.to_thread(self.stop, kill=kill)
        await asyncio.to_thread(self.start)

    def sample(self) -> None:
        """Note the memory of the process."""
        if self._process is not None and (resident := resident_bytes(self._process.pid)):
            self.samples.append(Sample(time.monotonic(), resident, self.lives))

    @property
    def processor_seconds(self) -> float:
        """Processor time of all its processes, without their start."""
        running = 0.0 if self._process is None else processor_seconds(self._process.pid) - self._used_at_start
        return self._used + running

    def read_counters(self) -> Counter[str]:
        """Return the counters in the metrics of all its processes, summed over labels. Blocks."""
        if self._process is None:
            return self._counters
        now = {name: value for name, value in scrape(self.metrics_address).items() if name.endswith("_total")}
        return self._counters + Counter({name: round(value) for name, value in now.items()})

    def error_lines(self) -> list[str]:
        """Return logged errors, output that is no log line, and ends with a wrong status."""
        found = list(self._wrong_ends)
        for line in self._log.read_text(errors="replace").splitlines():
            try:
                harmless = json.loads(line).get("level") not in ("error", "critical")
            except ValueError:
                harmless = False
            if not harmless:
                found.append(line)
        return found


@contextmanager
def running_replicas(
    folder: Path, store: str, count: int = 2, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[list[Replica]]:
    """Run `count` replicas on one store, with one signing key. `settings` are environment variables."""
    environment = {"BURACO_SIGNING_KEYS": f"soak:{secrets.token_hex(32)}", "BURACO_STORE": store, **settings}
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
