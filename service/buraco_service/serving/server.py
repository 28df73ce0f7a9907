"""The server around the services: ports, health, reflection, metrics, a graceful stop."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from buraco_service.access.limits import MESSAGE_HEADROOM
from buraco_service.configuration.settings import Settings
from buraco_service.observing import logs
from buraco_service.observing.metrics import Metrics
from buraco_service.observing.metrics_server import MetricsServer
from buraco_service.observing.tracing import Tracing
from buraco_service.serving.calls import Calls
from buraco_service.serving.grpc_server import GrpcServer
from buraco_service.serving.health import Health
from buraco_service.serving.listening import (
    StartError,
    check_free,
    describe_listen_error,
    format_address,
    limit_connections,
    serve_metrics,
)
from buraco_service.serving.protection import Protection
from buraco_service.stores.base import Store

if TYPE_CHECKING:
    from buraco_service.serving.web.server import WebServer

Register: TypeAlias = Callable[[Any], None]
"""Registers a servicer with a server."""
OnDrain: TypeAlias = Callable[[], Awaitable[None]]

# Calls and streams of one connection beyond those that a peer may have: they are refused with a proper answer.
_HEADROOM = 256
# For TLS and the first frames of HTTP/2.
_HANDSHAKE_TIMEOUT_MS = 10_000
_KEEPALIVE_MS = 30_000
_KEEPALIVE_TIMEOUT_MS = 10_000
# Seconds that the last answers have to reach their callers once no call is served any more, and between checks of that.
_LAST_ANSWERS = 2.0
_CHECK_INTERVAL = 0.1
# Clients may ping this often; more is taken for an attack.
_MIN_PING_INTERVAL_MS = 10_000


class BuracoServer:
    """One server. `services` maps the full name of each service to the function that registers its servicer.

    The server closes the store when it stops. With `shared_port` other processes may serve on the same port: the kernel
    spreads the connections over them.
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
        names = (*self._services, health.SERVICE_NAME)
        self._names = (*names, reflection.SERVICE_NAME) if settings.reflection else names
        self._health = Health(self._names)
        self._calls = Calls(metrics, settings.limits(), self._protection.api_keys, tracing)
        self._server: GrpcServer | None = None
        self._metrics_server: MetricsServer | None = None
        self._web: WebServer | None = None
        self._background: list[asyncio.Task[None]] = []
        self._stopping = False
        self._stopped = False
        self._log = logs.get_logger()
        self.address: str | None = None
        self.metrics_address: str | None = None
        self.web_address: str | None = None

    async def start(self) -> int:
        """Bind the ports and serve. Return the port of the services. Raise StartError."""
        server = self._make_server()
        self._register(server)
        port = self._bind(server)
        try:
            self._bind_web()
            self._serve_metrics()
        except StartError:
            if self._web is not None:
                self._web.close_socket()
            await server.stop(None)
            raise
        await server.start()
        self._server = server
        if self._web is not None:
            await self._web.start()
        self._background = [
            asyncio.create_task(self._metrics.observe_loop_lag()),
            asyncio.create_task(self._protection.watch_files()),
            asyncio.create_task(self._calls.end_overdue()),
        ]
        self._log.info(
            "serving",
            address=self.address,
            metrics_address=self.metrics_address,
            web_address=self.web_address,
            store=self._settings.redacted_store,
            tls=self._settings.tls,
            loop=type(asyncio.get_running_loop()).__module__.partition(".")[0],
        )
        return port

    def _make_server(self) -> GrpcServer:
        limits = self._settings.limits()
        return GrpcServer(
            self._calls,
            (
                # Otherwise a second server starts without an error on a taken port and takes half of the connections.
                ("grpc.so_reuseport", int(self._shared_port)),
                ("grpc.max_receive_message_length", MESSAGE_HEADROOM * limits.max_message_bytes),
                ("grpc.max_concurrent_streams", limits.max_peer_calls + limits.max_peer_watches + _HEADROOM),
                ("grpc.max_allowed_incoming_connections", self._max_connections()),
                ("grpc.server_handshake_timeout_ms", _HANDSHAKE_TIMEOUT_MS),
                ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
                ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_ping_interval_without_data_ms", _MIN_PING_INTERVAL_MS),
                *_age_options(self._settings),
            ),
        )

    def _register(self, server: Any) -> None:
        for register in self._services.values():
            register(server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        if self._settings.reflection:
            add_reflection: Callable[..., None] = reflection_pb2_grpc.add_ServerReflectionServicer_to_server
            add_reflection(reflection.aio.ReflectionServicer(self._names), server)

    def _bind(self, server: GrpcServer) -> int:
        host, port = self._settings.host, self._settings.port
        if not self._shared_port:
            check_free(host, port)
        try:
            if self._protection.tls is None:
                bound = server.add_insecure_port(format_address(host, port))
            else:
                bound = server.add_secure_port(format_address(host, port), self._protection.tls.credentials)
        except RuntimeError as error:
            raise StartError(describe_listen_error(host, port, error)) from None
        self.address = format_address(host, bound)
        return bound

    def _max_connections(self) -> int:
        """Return how many connections each port may have."""
        ports = 1 if self._settings.web_port < 0 else 2
        return max(1, limit_connections(ports * self._settings.max_connections) // ports)

    def _bind_web(self) -> None:
        """Take the web port, if one is set, for the services and health."""
        settings, tls = self._settings, self._protection.tls
        if settings.web_port < 0:
            return
        try:
            from buraco_service.serving.web.application import WebApplication
            from buraco_service.serving.web.server import WebServer
        except ImportError as error:
            raise StartError(f"--web-port needs the extra `web`, which is not installed ({error})") from None
        names = (*self._services, health.SERVICE_NAME)
        limits = settings.limits()
        application = WebApplication(
            self._calls, self._metrics, names, limits.max_message_bytes, settings.web_origins, settings.web_root
        )
        make_tls = None if tls is None else tls.files.make_context
        self._web = web = WebServer(application, settings, self._metrics, self._max_connections(), make_tls)
        self.web_address = web.bind(settings.host, settings.web_port, shared=self._shared_port)
        if tls is not None:
            tls.on_reload = web.reload_tls

    def _serve_metrics(self) -> None:
        host = self._settings.metrics_host
        self._metrics_server = serve_metrics(self._metrics.registry, host, self._settings.metrics_port)
        if self._metrics_server is not None:
            self.metrics_address = f"{host}:{self._metrics_server.port}"

    async def crashed(self) -> BaseException:
        """Wait until the server accepts no calls any more although nobody stopped it; return why."""
        assert self._server is not None, "started before"
        waiting = [asyncio.ensure_future(self._server.crashed())]
        if self._web is not None:
            waiting.append(asyncio.ensure_future(self._web.crashed()))
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return next(iter(done)).result()
        finally:
            for wait in waiting:
                wait.cancel()

    async def stop(self, grace: float | None = None) -> None:
        """Drain and close everything: health and table watchers are notified, and calls may finish.

        That takes at most `grace` seconds (None: the setting drain_grace). A second call meanwhile cancels the calls
        that still run.
        """
        if self._stopping:
            if self._server is not None and not self._stopped:
                self._log.warning("stopping at once")
                await asyncio.gather(self._server.stop(None), self._stop_web(0.0))
            return
        self._stopping = True
        grace = self._settings.drain_grace if grace is None else grace
        self._log.info("stopping", grace=grace)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace
        await self._drain(deadline)
        if self._server is not None:
            await asyncio.gather(self._stop_calls(self._server, deadline), self._stop_web(deadline))
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        try:
            await self._store.close()
        except Exception:  # noqa: BLE001 - the rest still has to be stopped
            self._log.exception("store not closed")
        if self._metrics_server is not None:
            await asyncio.to_thread(self._metrics_server.close)
        self._stopped = True
        self._log.info("stopped")
        logs.flush()

    async def _stop_web(self, deadline: float) -> None:
        if self._web is not None:
            await self._web.stop(deadline)

    async def _drain(self, deadline: float) -> None:
        """Notify the watchers of health and tables."""
        self._health.drain()
        for notify in self._on_drain:
            try:
                async with asyncio.timeout_at(deadline):
                    await notify()
            except Exception:  # noqa: BLE001 - the rest still has to be stopped
                self._log.exception("watchers not notified")

    async def _stop_calls(self, server: GrpcServer, deadline: float) -> None:
        """Let calls finish until the deadline. Cancel what is left soon after the last served call has ended.

        That never ends by itself: its request never came, or grpc lost it on the way to its handler, as happens now and
        then to a call that comes in the moment of the stop.
        """
        loop = asyncio.get_running_loop()
        stopping = asyncio.create_task(server.stop(max(0.0, deadline - loop.time())))
        busy_at = loop.time()
        while not stopping.done():
            await asyncio.wait([stopping], timeout=_CHECK_INTERVAL)
            if self._calls.is_busy:
                busy_at = loop.time()
            elif loop.time() > busy_at + _LAST_ANSWERS:
                await server.stop(None)
        await stopping


def _age_options(settings: Settings) -> tuple[tuple[str, int], ...]:
    """Return the options for the age of connections.

    A connection that has reached its age gets GOAWAY: its client finishes there what it has begun. Streams are asked to
    reconnect in time (see `Feeds`), so that after the grace only clients that do not react are cut off.
    """
    if not settings.max_connection_age:
        return ()
    grace = settings.max_stream_age + settings.heartbeat + settings.drain_grace
    return (
        ("grpc.max_connection_age_ms", math.ceil(settings.max_connection_age * 1000)),
        ("grpc.max_connection_age_grace_ms", math.ceil(grace * 1000)),
    )
