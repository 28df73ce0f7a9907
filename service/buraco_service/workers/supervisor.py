"""Several workers on one port: starts them, starts others in place of those that end, shows their metrics as one.

The supervisor serves no calls. It keeps the port, so that it stays the service's while a worker is away, and hands it
to workers that each listen themselves: the kernel spreads new connections over them. The first worker starts alone:
what stops the start stops it once, and a new store is made by one. Should the supervisor itself be killed, the workers
stop by themselves.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry

from buraco_service.access.seat_tokens import MIN_SECRET_BYTES
from buraco_service.configuration.settings import Settings
from buraco_service.observing import logs
from buraco_service.serving.listening import StartError, format_address, reserve_port, serve_metrics, write_ready_file
from buraco_service.workers.link import HURRY, MARGIN
from buraco_service.workers.metrics import Family, Gone, SupervisorMetrics, Together, families
from buraco_service.workers.process import WorkerProcess
from buraco_service.workers.restarts import Restarts

# Seconds between two questions for what workers have counted: at most so much is lost when one is killed.
_ASK_PERIOD: Final = 2.0
_SCRAPE_LIMIT: Final = 10.0
# Seconds to wait when the system has no room for another process.
_NO_ROOM_DELAY: Final = 30.0


class Supervisor:
    """The workers of one service. `environment` says for them what the settings say here."""

    def __init__(self, settings: Settings, environment: Mapping[str, str]) -> None:
        self._settings = settings
        self._environment = dict(environment)
        self._living: set[WorkerProcess] = set()
        self._restarts = Restarts(range(1, settings.workers + 1))
        self._gone = Gone()
        self._metrics = SupervisorMetrics()
        self._metrics.workers.set_function(lambda: sum(worker.serves for worker in self._living))
        self._log = logs.get_logger()

    async def run(self) -> None:
        """Serves until a signal comes, then stops the workers in order; a second signal cuts the wait short.

        Raises StartError, also when the workers keep ending soon after their start, or do not stop in order.
        """
        loop = asyncio.get_running_loop()
        told = asyncio.Event()

        def on_signal() -> None:
            if told.is_set():
                self._send_all(HURRY)
            told.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, on_signal)
        settings = self._settings
        registry = CollectorRegistry()
        registry.register(Together(lambda: self._counted(loop)))
        with reserve_port(settings.host, settings.port) as port:
            self._environment |= self._changes(port)
            metrics_server = serve_metrics(registry, settings.metrics_host, settings.metrics_port)
            metrics_address = f"{settings.metrics_host}:{metrics_server.port}" if metrics_server is not None else None
            serving = loop.create_task(self._serve(format_address(settings.host, port), metrics_address))
            stopping = loop.create_task(told.wait())
            try:
                await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
            finally:
                serving.cancel()
                stopping.cancel()
                await asyncio.wait((serving, stopping))
                disorder = await self._stop()
                if metrics_server is not None:
                    await asyncio.to_thread(metrics_server.close)
        if not serving.cancelled():
            serving.result()
        if disorder:
            raise StartError(f"workers did not stop in order: {', '.join(disorder)}")

    def _changes(self, port: int) -> dict[str, str]:
        """What is another matter for the workers than for the supervisor."""
        changes = {"BURACO_PORT": str(port), "BURACO_METRICS_PORT": "-1", "BURACO_READY_FILE": "", "BURACO_WORKERS": ""}
        if not self._settings.signing_keys:
            # All have to know it, and the environment is for the eyes of this user alone.
            changes["BURACO_SIGNING_KEYS"] = f"random-{secrets.token_hex(4)}:{secrets.token_hex(MIN_SECRET_BYTES)}"
        return changes

    async def _serve(self, address: str, metrics_address: str | None) -> None:
        """Starts the workers and keeps their number; never returns."""
        try:
            first = await self._started(1)
            async with asyncio.TaskGroup() as starting:
                others = [starting.create_task(self._started(n)) for n in range(2, self._settings.workers + 1)]
            with write_ready_file(self._settings.ready_file, address, metrics_address):
                self._log.info(
                    "serving",
                    address=address,
                    metrics_address=metrics_address,
                    store=self._settings.store_shown,
                    workers=len(self._living),
                )
                async with asyncio.TaskGroup() as keeping:
                    for worker in (first, *(other.result() for other in others)):
                        keeping.create_task(self._keep(worker))
                    keeping.create_task(self._ask_now_and_then())
        except ExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _spawned(self, number: int) -> WorkerProcess:
        worker = await WorkerProcess.start(number, self._environment)
        self._living.add(worker)
        return worker

    async def _started(self, number: int) -> WorkerProcess:
        """A worker that serves. Raises StartError."""
        try:
            worker = await self._spawned(number)
        except OSError as error:
            raise StartError(f"cannot start a worker: {error.strerror}") from None
        if not await worker.started():
            raise StartError(worker.failure or f"worker {number} ended before it served: {_end(await worker.ended())}")
        return worker

    async def _keep(self, worker: WorkerProcess) -> None:
        """Has others take the worker's place, one after the other. Raises StartError when all is in vain."""
        place = worker.number
        while True:
            status = await worker.ended()
            delay = self._buried(worker, status)
            if self._restarts.in_vain(other.age for other in self._living if other.serves):
                raise StartError(f"the workers keep ending, worker {place} last: {worker.failure or _end(status)}")
            await asyncio.sleep(delay)
            worker = await self._spawned_at_last(place)
            self._metrics.restarts.inc()

    def _buried(self, worker: WorkerProcess, status: int) -> float:
        """Takes note of a worker's end; returns the seconds until another is to take its place."""
        self._living.discard(worker)
        self._gone.add(worker.families)
        delay = self._restarts.delay(worker.number, worker.served, worker.age)
        tell = self._log.error if status else self._log.warning
        tell(
            "worker ended",
            worker=worker.number,
            worker_pid=worker.pid,
            how=_end(status),
            cause=worker.failure,
            restart_after=delay,
        )
        return delay

    async def _spawned_at_last(self, number: int) -> WorkerProcess:
        while True:
            try:
                return await self._spawned(number)
            except OSError as error:
                self._log.error("worker not started", worker=number, cause=error.strerror, again_after=_NO_ROOM_DELAY)
                await asyncio.sleep(_NO_ROOM_DELAY)

    async def _stop(self) -> list[str]:
        """Stops the workers, by force those that take too long; returns what went wrong."""
        self._log.info("stopping", grace=self._settings.drain_grace)
        self._send_all(signal.SIGTERM)
        ends = {asyncio.ensure_future(worker.ended()): worker for worker in self._living}
        if ends:
            _, late = await asyncio.wait(ends, timeout=self._settings.drain_grace + MARGIN)
            for end in late:
                ends[end].send_signal(signal.SIGKILL)
            await asyncio.wait(ends)
        self._log.info("stopped")
        logs.flush()
        return [
            f"worker {worker.number} ended with {_end(end.result())}"
            for end, worker in ends.items()
            # One that could not start has said so. One that is only starting, or all but done, has no ear for signals.
            if worker.served and end.result() not in (0, -signal.SIGTERM, -HURRY)
        ]

    def _send_all(self, number: signal.Signals) -> None:
        for worker in self._living:
            worker.send_signal(number)

    async def _ask_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(_ASK_PERIOD)
            await self._ask_all()

    async def _ask_all(self) -> list[list[Family]]:
        await asyncio.gather(*[worker.ask() for worker in self._living if worker.serves])
        told = [worker.families for worker in self._living]
        return [families(self._metrics.registry), self._gone.families, *told]

    def _counted(self, loop: asyncio.AbstractEventLoop) -> list[list[Family]]:
        """What all processes have counted, for the thread that serves the metrics."""
        return asyncio.run_coroutine_threadsafe(self._ask_all(), loop).result(_SCRAPE_LIMIT)


def _end(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    # Not every signal has a name.
    names = {number.value: number.name for number in signal.Signals}
    return f"signal {names.get(-status, -status)}"
