"""`buraco serve`: settings in, everything wired, running until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import click

from buraco.v1 import rules_service_pb2_grpc, table_service_pb2_grpc
from buraco_rules import PRESETS
from buraco_service.access.seat_tokens import SeatTokens
from buraco_service.access.tls import TlsError
from buraco_service.commands.cli import distribution_version
from buraco_service.configuration.loading import SettingsError, as_environment, load, unknown_variables
from buraco_service.configuration.settings import Settings
from buraco_service.configuration.specs import options
from buraco_service.observing import logs
from buraco_service.observing.metrics import Metrics
from buraco_service.observing.tracing import TracingError, tracing_of
from buraco_service.serving import garbage
from buraco_service.serving.listening import StartError, write_ready_file
from buraco_service.serving.protection import Protection
from buraco_service.serving.rules_servicer import RulesServicer
from buraco_service.serving.server import BuracoServer, OnDrain, Register
from buraco_service.serving.table_servicer import TableServicer
from buraco_service.stores.base import Store, StoreError
from buraco_service.stores.instrumented import InstrumentedStore, TracedOperations
from buraco_service.stores.urls import open_store
from buraco_service.tables.counting import count_tables
from buraco_service.tables.expiry import expire_tables
from buraco_service.tables.feed import Feeds
from buraco_service.tables.tables import Tables
from buraco_service.workers.link import HURRY, WorkerLink
from buraco_service.workers.supervisor import Supervisor

# Seconds that running calls get once no new ones can be accepted.
_CRASH_GRACE = 0.5


@dataclass(frozen=True, slots=True)
class Application:
    """What the server is to serve, by full service name, and whom it tells before it stops."""

    services: Mapping[str, Register]
    on_drain: tuple[OnDrain, ...]


def compose(settings: Settings, metrics: Metrics, store: Store, tokens: SeatTokens) -> Application:
    """Wires the services. Nothing else in the program knows them all."""
    rules = RulesServicer(metrics)
    tables = Tables(store, tokens, metrics, max_owned=settings.max_key_tables, table_ttl=settings.table_ttl)
    feeds = Feeds(tables, heartbeat=settings.heartbeat, max_age=settings.max_stream_age)
    table = TableServicer(tables, feeds)
    return Application(
        services={
            "buraco.v1.RulesService": partial(rules_service_pb2_grpc.add_RulesServiceServicer_to_server, rules),
            "buraco.v1.TableService": partial(table_service_pb2_grpc.add_TableServiceServicer_to_server, table),
        },
        on_drain=(feeds.drain,),
    )


@click.command("serve", context_settings={"help_option_names": ["-h", "--help"]})
@options
def serve(**flags: str | bool | None) -> None:
    """Serve Buraco over gRPC until SIGTERM or SIGINT.

    Every option is also an environment variable, named in brackets; the option wins. Signing keys come from
    the environment (BURACO_SIGNING_KEYS) or a file, since command lines are no place for secrets.
    """
    try:
        settings = load(os.environ, flags)
    except SettingsError as error:
        lines = "".join(f"\n  {problem}" for problem in error.problems)
        _refuse(f"the settings cannot be used:{lines}", status=2)
    logs.configure(settings.log_level, settings.log_format, settings.table_id_in_logs)
    for name in unknown_variables(os.environ):
        logs.get_logger().warning("no such setting", variable=name)
    if not settings.signing_keys:
        logs.get_logger().warning("no signing keys: seat tokens are void when this process ends, and on other replicas")
    try:
        if settings.workers > 1:
            _run_to_the_end(Supervisor(settings, as_environment(os.environ, flags)).run())
        else:
            run_until_told(settings)
    except (StartError, StoreError, TracingError) as error:
        _refuse(str(error), status=1)


def run_until_told(settings: Settings, link: WorkerLink | None = None) -> None:
    """Serves on an event loop of the kind that is set (see `run`)."""
    _run_to_the_end(run(settings, link), _uvloop() if settings.uvloop else None)


def _uvloop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes uvloop's event loops; None where it is not installed, as on Windows."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _run_to_the_end(
    main: Coroutine[Any, Any, None], new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        try:
            runner.run(main)
        finally:
            # All is done. A signal that comes while asyncio closes its loop would have Python write plain text among
            # the lines of the log.
            for number in (signal.SIGTERM, signal.SIGINT, HURRY):
                signal.signal(number, signal.SIG_IGN)


async def run(settings: Settings, link: WorkerLink | None = None) -> None:
    """Serves until a signal comes, then stops in order; a second signal cuts the wait short.

    With a link it is one of several workers on one port. Raises StartError, StoreError and TracingError.
    """
    protection = _protection(settings)
    metrics = Metrics((rule_set.id for rule_set in PRESETS), distribution_version())
    tracing = tracing_of(os.environ, distribution_version())
    observer = metrics if tracing is None else TracedOperations(metrics)
    store = InstrumentedStore(await open_store(settings.store), observer)
    application = compose(settings, metrics, store, protection.tokens)
    server = BuracoServer(
        *(settings, metrics, store, application.services, application.on_drain, protection),
        shared_port=link is not None,
        tracing=tracing,
    )
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    hurry: set[asyncio.Task[None]] = set()

    def cut_short() -> None:
        if told.is_set():
            hurry.add(loop.create_task(server.stop()))

    def on_signal() -> None:
        # A worker may hear twice that it is to stop: of its supervisor, and with it, from whoever stops them all.
        if link is None:
            cut_short()
        told.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    if link is not None:
        loop.add_signal_handler(HURRY, cut_short)
    try:
        await server.start()
    except BaseException:
        await store.close()
        raise
    garbage.tune_garbage_collector()
    chores = [
        loop.create_task(expire_tables(store, settings.table_ttl)),
        loop.create_task(count_tables(metrics, store)),
    ]
    crash: BaseException | None = None
    try:
        if link is not None:
            link.ready(metrics.registry)
        with write_ready_file(settings.ready_file, server.address, server.metrics_address):
            crash = await _first_of(told, server)
    finally:
        for chore in chores:
            chore.cancel()
        # Nobody new is heard after a crash: clients are better off with a server that has ended.
        await server.stop(grace=None if crash is None else _CRASH_GRACE)
        await asyncio.wait((*chores, *hurry))
        if tracing is not None:
            await asyncio.to_thread(tracing.close)
    if crash is not None:
        raise StartError("the server could not accept calls any more")


async def _first_of(told: asyncio.Event, server: BuracoServer) -> BaseException | None:
    """Wait until the server is told to stop (None), or accepts no calls any more: return why, once it is logged."""
    stopping = asyncio.create_task(told.wait())
    crashed = asyncio.create_task(server.crashed())
    try:
        await asyncio.wait((stopping, crashed), return_when=asyncio.FIRST_COMPLETED)
        if not crashed.done():
            return None
        logs.get_logger().critical("no more calls are accepted", exc_info=crashed.result())
        return crashed.result()
    finally:
        stopping.cancel()
        crashed.cancel()


def _protection(settings: Settings) -> Protection:
    try:
        return Protection(settings)
    except (TlsError, ValueError) as error:
        raise StartError(f"certificates or keys cannot be used any more: {error}") from None


def _refuse(message: str, status: int) -> NoReturn:
    """Ends the program with a message on standard error, and no traceback."""
    logs.flush()
    click.echo(f"buraco serve: {message}", err=True)
    raise SystemExit(status)
