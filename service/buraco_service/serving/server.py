"""A grpc.aio server with all that belongs around the services: health, reflection, metrics, an orderly end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from buraco_service.configuration.settings import Settings
from buraco_service.observing import logs
from buraco_service.observing.metrics import Metrics, MetricsServer
from buraco_service.observing.tracing import Tracing
from buraco_service.serving.interceptor import CallInterceptor
from buraco_service.serving.listening import StartError, cannot_listen, check_free, joined, serve_metrics
from buraco_service.serving.protection import Protection
from buraco_service.stores.base import Store

Register: TypeAlias = Callable[[grpc.aio.Server], None]
OnDrain: TypeAlias = Callable[[], Awaitable[None]]

# Calls beyond our own limits that grpc lets in: probes, and those about to be refused with a proper answer.
_HEADROOM = 256
# Messages up to so many times our own limit are received, to be refused with a proper answer; larger ones grpc refuses.
_RECEIVED = 2
_KEEPALIVE_MS = 30_000
_KEEPALIVE_TIMEOUT_MS = 10_000
# Seconds that the last answers get to reach their callers once no call is served any more; and between looks at that.
_LAST_ANSWERS = 2.0
_LOOK = 0.1
# Clients may ping this often; more is taken for an attack.
_LEAST_PING_MS = 10_000

_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class BuracoServer:
    """One server. `services` maps the full name of each service to the function that registers its servicer.

    The server owns the store from the start on: it closes it when it stops. With `shared_port` other processes
    may serve on the same port: the kernel spreads the connections over them.
    """

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        store: Store,
        services: Mapping[str, Register],
        on_drain: Sequence[OnDrain] = (),
        protection: Protection | None = None,
        *,
        shared_port: bool = False,
        tracing: Tracing | None = None,
    ) -> None:
        self._settings = settings
        self._protection = protection or Protection(settings)
        self._shared_port = shared_port
        self._metrics = metrics
        self._store = store
        self._services = dict(services)
        self._on_drain = tuple(on_drain)
        self._health = _Health()
        self._calls = CallInterceptor(metrics, settings.limits(), self._protection.api_keys, tracing)
        self._server: grpc.aio.Server | None = None
        self._metrics_server: MetricsServer | None = None
        # What goes on beside the calls.
        self._chores: list[asyncio.Task[None]] = []
        self._stopping = False
        self._stopped = False
        self._log = logs.get_logger()
        self.address: str | None = None
        self.metrics_address: str | None = None

    async def start(self) -> int:
        """Binds the ports and serves. Returns the port of the services; raises StartError."""
        server = self._made()
        names = self._registered(cast(grpc.aio.Server, _GenericOnly(server)))
        for name in names:
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        port = self._bind(server)
        try:
            self._serve_metrics()
        except StartError:
            await server.stop(None)
            raise
        await server.start()
        self._server = server
        self._chores = [
            asyncio.create_task(self._metrics.observe_loop_lag()),
            asyncio.create_task(self._protection.follow()),
        ]
        self._log.info(
            "serving",
            address=self.address,
            metrics_address=self.metrics_address,
            store=self._settings.store_shown,
            tls=self._settings.tls,
            loop=type(asyncio.get_running_loop()).__module__.partition(".")[0],
        )
        return port

    def _made(self) -> grpc.aio.Server:
        limits = self._settings.limits()
        return grpc.aio.server(
            interceptors=(self._calls,),
            options=(
                # Otherwise a second server starts happily on a taken port and steals half of the connections.
                ("grpc.so_reuseport", int(self._shared_port)),
                ("grpc.max_receive_message_length", _RECEIVED * limits.max_message_bytes),
                ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
                ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_ping_interval_without_data_ms", _LEAST_PING_MS),
                *_ages(self._settings),
            ),
            maximum_concurrent_rpcs=limits.max_concurrent_calls + limits.max_watches + _HEADROOM,
        )

    def _registered(self, server: grpc.aio.Server) -> tuple[str, ...]:
        """Registers everything that is served; returns the names of the services."""
        for register in self._services.values():
            register(server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        names = (*self._services, health.SERVICE_NAME)
        if self._settings.reflection:
            names = (*names, reflection.SERVICE_NAME)
            add_reflection: Callable[..., None] = reflection_pb2_grpc.add_ServerReflectionServicer_to_server
            add_reflection(reflection.aio.ReflectionServicer(names), server)
        return names

    def _bind(self, server: grpc.aio.Server) -> int:
        host, port = self._settings.host, self._settings.port
        if not self._shared_port:
            check_free(host, port)
        try:
            if self._protection.tls is None:
                bound = server.add_insecure_port(joined(host, port))
            else:
                bound = server.add_secure_port(joined(host, port), self._protection.tls.credentials)
        except RuntimeError as error:
            raise StartError(cannot_listen(host, port, error)) from None
        self.address = joined(host, bound)
        return bound

    def _serve_metrics(self) -> None:
        host = self._settings.metrics_host
        self._metrics_server = serve_metrics(self._metrics.registry, host, self._settings.metrics_port)
        if self._metrics_server is not None:
            self.metrics_address = f"{host}:{self._metrics_server.port}"

    async def wait(self) -> None:
        """Returns when the server no longer serves, for whatever reason."""
        if self._server is not None:
            await self._server.wait_for_termination()

    async def stop(self) -> None:
        """Stops in order: tells health watchers and table watchers, lets calls finish (drain_grace at most), closes
        everything.

        A second call while the first is under way cuts the calls off that are still running.
        """
        if self._stopping:
            if self._server is not None and not self._stopped:
                self._log.warning("stopping at once")
                await self._server.stop(None)
            return
        self._stopping = True
        self._log.info("stopping", grace=self._settings.drain_grace)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._settings.drain_grace
        await self._health.drain()
        for tell in self._on_drain:
            try:
                async with asyncio.timeout_at(deadline):
                    await tell()
            except Exception:  # noqa: BLE001 - whatever fails, the rest is to be stopped
                self._log.exception("watchers were not told")
        if self._server is not None:
            await self._last_calls(self._server, deadline)
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        try:
            await self._store.close()
        except Exception:  # noqa: BLE001 - as above
            self._log.exception("the store did not close")
        if self._metrics_server is not None:
            await asyncio.to_thread(self._metrics_server.close)
        self._stopped = True
        self._log.info("stopped")
        logs.flush()

    async def _last_calls(self, server: grpc.aio.Server, deadline: float) -> None:
        """Lets calls finish until the deadline. Those left when none is served any more are cut off soon.

        Nothing can come of them: their request never came, or grpc itself has lost them on the way to us, as happens
        now and then to one that comes in the moment of the stop. Their callers had to wait for us, and we for them.
        """
        loop = asyncio.get_running_loop()
        stopping = asyncio.create_task(server.stop(max(0.0, deadline - loop.time())))
        busy_at = loop.time()
        while not stopping.done():
            await asyncio.wait([stopping], timeout=_LOOK)
            if self._calls.busy:
                busy_at = loop.time()
            elif loop.time() > busy_at + _LAST_ANSWERS:
                await server.stop(None)
        await stopping


def _ages(settings: Settings) -> tuple[tuple[str, int], ...]:
    """The options for the age of connections.

    A client is told (GOAWAY) to leave a connection that has reached its age, and finishes there what it has begun.
    Streams are told to reconnect in time (see `Feeds`): what is cut off after the grace is only what does not listen.
    """
    if not settings.max_connection_age:
        return ()
    grace = settings.max_stream_age + settings.heartbeat + settings.drain_grace
    return (
        ("grpc.max_connection_age_ms", math.ceil(settings.max_connection_age * 1000)),
        ("grpc.max_connection_age_grace_ms", math.ceil(grace * 1000)),
    )


class _GenericOnly:
    """What servicers register with: passes their handlers on, but not as registered methods.

    grpc.aio waits for each registered method separately, so every call pays for every method there is: 15
    microseconds with the 19 methods here. The generic handlers hold the same methods and cost the same
    whatever their number.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, generic_rpc_handlers: Any) -> None:
        self._server.add_generic_rpc_handlers(tuple(generic_rpc_handlers))

    def add_registered_method_handlers(self, service_name: str, method_handlers: Any) -> None:
        """Left out on purpose."""


class _Health(health.aio.HealthServicer):
    """The standard health service, but its watches end when the server drains: they would keep it from stopping."""

    def __init__(self) -> None:
        super().__init__()
        self._draining = asyncio.Event()

    async def drain(self) -> None:
        """Everything is NOT_SERVING from here on; watchers are told, and their streams end."""
        await self.enter_graceful_shutdown()
        self._draining.set()

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Any) -> None:
        """Tells every change of a service's status, and that it is NOT_SERVING at the end."""
        told: Any = _Told(context)
        watching = asyncio.ensure_future(super().Watch(request, told))
        draining = asyncio.ensure_future(self._draining.wait())
        try:
            await asyncio.wait((watching, draining), return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                await watching
                return
            # A write under way is finished first: a stream takes one at a time.
            async with told.writing:
                watching.cancel()
        finally:
            draining.cancel()
            watching.cancel()
            await asyncio.wait((watching, draining))
        if told.last != _NOT_SERVING:
            await told.write(health_pb2.HealthCheckResponse(status=_NOT_SERVING))


class _Told:
    """What a health watcher has been told, in place of its context."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.writing = asyncio.Lock()
        self.last: int | None = None

    async def write(self, response: health_pb2.HealthCheckResponse) -> None:
        """Tell a status."""
        async with self.writing:
            await self._context.write(response)
            self.last = response.status
