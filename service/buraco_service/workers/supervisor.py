"""Runs several workers on one port: starts and replaces them, and exports their metrics as one service's.

The supervisor serves no calls. It binds the port, so that nobody else takes it while a worker is being replaced; each
worker listens there itself, and the kernel spreads new connections over them. The first worker starts alone, so that
an error that stops the start is reported once, and a new store is created by one process.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry

from buraco_service.access.seat_tokens import MIN_SECRET_BYTES
from buraco_service.configuration.settings import Settings
from buraco_service.observing import logs
from buraco_service.serving.listening import StartError, format_address, reserve_port, serve_metrics, write_ready_file
from buraco_service.workers.link import KILL_MARGIN
from buraco_service.workers.metrics import EndedWorkers, Family, SumCollector, SupervisorMetrics, export_families
from buraco_service.workers.process import WorkerProcess
from buraco_service.workers.restarts import Restarts
from buraco_service.workers.stop_signals import CUT_SHORT, handle_stop_signals

# Seconds. When a worker is killed, what it counted since the last refresh is lost.
_REFRESH_PERIOD: Final = 2.0
_SCRAPE_TIMEOUT: Final = 10.0
# Seconds before another attempt when the system cannot run another process.
_SPAWN_RETRY_DELAY: Final = 30.0


class Supervisor:
    """The workers of one service. `environment` holds the same settings for them (see `loading.to_environment`)."""

    def __init__(self, settings: Settings, environment: Mapping[str, str]) -> None:
        self._settings = settings
        self._environment = dict(environment)
        self._workers: set[WorkerProcess] = set()
        self._restarts = Restarts(range(1, settings.workers + 1))
        self._ended = EndedWorkers()
        self._metrics = SupervisorMetrics()
        self._metrics.workers.set_function(lambda: sum(worker.is_serving for worker in self._workers))
        self._log = logs.get_logger()

    async def run(self) -> None:
        """Serve until a stop signal, then stop the workers gracefully; a second signal cuts the wait short.

        Raise StartError if it cannot start, if the workers keep failing, or if one does not stop gracefully.
        """
        settings, loop = self._settings, asyncio.get_running_loop()
        stop_requested = handle_stop_signals(lambda: self._signal_all(CUT_SHORT), is_worker=False)
        registry = CollectorRegistry()
        registry.register(SumCollector(lambda: self._collect_from_thread(loop)))
        with reserve_port(settings.host, settings.port) as port, self._reserve_web_port() as web_port:
            self._environment |= self._worker_settings(port, web_port)
            metrics_server = serve_metrics(registry, settings.metrics_host, settings.metrics_port)
            metrics_address = f"{settings.metrics_host}:{metrics_server.port}" if metrics_server is not None else None
            web_address = None if web_port is None else format_address(settings.host, web_port)
            serving = loop.create_task(self._serve(format_address(settings.host, port), metrics_address, web_address))
            stopping = loop.create_task(stop_requested.wait())
            try:
                await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
            finally:
                serving.cancel()
                stopping.cancel()
                await asyncio.wait((serving, stopping))
                problems = await self._stop()
                if metrics_server is not None:
                    await asyncio.to_thread(metrics_server.close)
        if not serving.cancelled():
            serving.result()
        if problems:
            raise StartError(f"workers did not stop in order: {', '.join(problems)}")

    def _reserve_web_port(self) -> contextlib.AbstractContextManager[int | None]:
        """Reserve the web port if there is one, for the workers."""
        if self._settings.web_port < 0:
            return contextlib.nullcontext()
        return reserve_port(self._settings.host, self._settings.web_port, "--host, --web-port")

    def _worker_settings(self, port: int, web_port: int | None) -> dict[str, str]:
        """Return the environment variables that differ for workers."""
        changes = {"BURACO_PORT": str(port), "BURACO_METRICS_PORT": "-1", "BURACO_READY_FILE": "", "BURACO_WORKERS": ""}
        if web_port is not None:
            changes["BURACO_WEB_PORT"] = str(web_port)
        if not self._settings.signing_keys:
            # All workers need the same one. Only this user can read the environment of a process.
            changes["BURACO_SIGNING_KEYS"] = f"random-{secrets.token_hex(4)}:{secrets.token_hex(MIN_SECRET_BYTES)}"
        return changes

    async def _serve(self, address: str, metrics_address: str | None, web_address: str | None) -> None:
        """Start the workers and replace those that end; never return. Raise StartError."""
        try:
            first = await self._start_worker(1)
            async with asyncio.TaskGroup() as starting:
                others = [starting.create_task(self._start_worker(n)) for n in range(2, self._settings.workers + 1)]
            with write_ready_file(self._settings.ready_file, address, metrics_address, web_address):
                self._log.info(
                    "serving",
                    address=address,
                    metrics_address=metrics_address,
                    web_address=web_address,
                    store=self._settings.redacted_store,
                    workers=len(self._workers),
                )
                async with asyncio.TaskGroup() as running:
                    for worker in (first, *(other.result() for other in others)):
                        running.create_task(self._keep_running(worker))
                    running.create_task(self._refresh_metrics_regularly())
        except ExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _spawn(self, number: int) -> WorkerProcess:
        worker = await WorkerProcess.start(number, self._environment)
        self._workers.add(worker)
        return worker

    async def _start_worker(self, number: int) -> WorkerProcess:
        """Return a new worker as soon as it serves. Raise StartError if it does not."""
        try:
            worker = await self._spawn(number)
        except OSError as error:
            raise StartError(f"cannot start a worker: {error.strerror}") from None
        if not await worker.wait_until_serving():
            status = await worker.wait_until_ended()
            raise StartError(worker.failure or f"worker {number} ended before it served: {_describe_exit(status)}")
        return worker

    async def _keep_running(self, worker: WorkerProcess) -> None:
        """Replace the worker whenever it ends; never return. Raise StartError when all workers keep failing."""
        number = worker.number
        while True:
            status = await worker.wait_until_ended()
            delay = self._record_end(worker, status)
            if self._restarts.should_give_up(other.age for other in self._workers if other.is_serving):
                cause = worker.failure or _describe_exit(status)
                raise StartError(f"the workers keep ending, worker {number} last: {cause}")
            await asyncio.sleep(delay)
            worker = await self._spawn_with_retries(number)
            self._metrics.restarts.inc()

    def _record_end(self, worker: WorkerProcess, status: int) -> float:
        """Count and log a worker's end; return the seconds to wait before its replacement starts."""
        self._workers.discard(worker)
        self._ended.add(worker.families)
        delay = self._restarts.count_end(worker.number, worker.has_served, worker.age)
        log = self._log.error if status else self._log.warning
        log(
            "worker ended",
            worker=worker.number,
            worker_pid=worker.pid,
            exit=_describe_exit(status),
            cause=worker.failure,
            restart_after=delay,
        )
        return delay

    async def _spawn_with_retries(self, number: int) -> WorkerProcess:
        while True:
            try:
                return await self._spawn(number)
            except OSError as error:
                self._log.error(
                    "worker not started", worker=number, cause=error.strerror, restart_after=_SPAWN_RETRY_DELAY
                )
                await asyncio.sleep(_SPAWN_RETRY_DELAY)

    async def _stop(self) -> list[str]:
        """Stop the workers, and kill those that take too long; return a message for each that did not stop in order."""
        self._log.info("stopping", grace=self._settings.drain_grace)
        self._signal_all(signal.SIGTERM)
        ends = {asyncio.ensure_future(worker.wait_until_ended()): worker for worker in self._workers}
        if ends:
            _, late = await asyncio.wait(ends, timeout=self._settings.drain_grace + KILL_MARGIN)
            for end in late:
                ends[end].send_signal(signal.SIGKILL)
            await asyncio.wait(ends)
        self._log.info("stopped")
        logs.flush()
        return [
            f"worker {worker.number} ended with {_describe_exit(end.result())}"
            for end, worker in ends.items()
            # A worker that could not start has reported it. While it starts or ends, a signal may end it at once.
            if worker.has_served and end.result() not in (0, -signal.SIGTERM, -CUT_SHORT)
        ]

    def _signal_all(self, number: signal.Signals) -> None:
        for worker in self._workers:
            worker.send_signal(number)

    async def _refresh_metrics_regularly(self) -> None:
        while True:
            await asyncio.sleep(_REFRESH_PERIOD)
            await self._collect()

    async def _collect(self) -> list[list[Family]]:
        """Return the metrics of all processes, and of the workers that have ended."""
        await asyncio.gather(*[worker.refresh_metrics() for worker in self._workers if worker.is_serving])
        own = export_families(self._metrics.registry)
        return [own, self._ended.families, *[worker.families for worker in self._workers]]

    def _collect_from_thread(self, loop: asyncio.AbstractEventLoop) -> list[list[Family]]:
        return asyncio.run_coroutine_threadsafe(self._collect(), loop).result(_SCRAPE_TIMEOUT)


def _describe_exit(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    # Not every signal has a name.
    names = {number.value: number.name for number in signal.Signals}
    return f"signal {names.get(-status, -status)}"
