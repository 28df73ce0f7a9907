"""`buraco serve`: reads the settings, builds the server and runs it until a stop signal."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import click

from buraco.v1 import account_service_pb2_grpc, rules_service_pb2_grpc, table_service_pb2_grpc
from buraco_rules import PRESETS
from buraco_service.access.operators import Operators
from buraco_service.access.tls import TlsError
from buraco_service.commands.cli import distribution_version
from buraco_service.configuration.loading import SettingsError, find_unknown_variables, load, to_environment
from buraco_service.configuration.settings import Settings
from buraco_service.configuration.specs import add_options
from buraco_service.observing import logs
from buraco_service.observing.metrics import Metrics
from buraco_service.observing.tracing import TracingError, create_tracing
from buraco_service.serving import garbage
from buraco_service.serving.account_servicer import AccountServicer
from buraco_service.serving.listening import StartError, write_ready_file
from buraco_service.serving.protection import Protection
from buraco_service.serving.rules_servicer import RulesServicer
from buraco_service.serving.server import BuracoServer, OnDrain, Register
from buraco_service.serving.table_servicer import TableServicer
from buraco_service.stores.base import Store, StoreError
from buraco_service.stores.instrumented import InstrumentedStore, TracingObserver
from buraco_service.stores.urls import open_store
from buraco_service.tables.counting import count_tables
from buraco_service.tables.deadlines import Deadlines
from buraco_service.tables.expiry import expire_tables
from buraco_service.tables.feeds import Feeds
from buraco_service.tables.state import ChatMode
from buraco_service.tables.tables import Tables
from buraco_service.workers.link import WorkerLink
from buraco_service.workers.stop_signals import handle_stop_signals, ignore_stop_signals
from buraco_service.workers.supervisor import Supervisor

# Seconds that running calls get to finish when the server cannot accept new ones any more.
_CRASH_GRACE = 0.5


@dataclass(frozen=True, slots=True)
class Application:
    """The services by full name, what the server calls before it stops, and what carries out due times."""

    services: Mapping[str, Register]
    on_drain: tuple[OnDrain, ...]
    deadlines: Deadlines


def compose(
    settings: Settings,
    metrics: Metrics,
    store: Store,
    protection: Protection,
    *,
    clock: Callable[[], float] = time.time,
) -> Application:
    """Build the services. Nothing else in the program knows them all."""
    rules = RulesServicer(metrics)
    owned, ttl = settings.max_key_tables, settings.table_ttl
    tables = Tables(
        *(store, protection.tokens, metrics),
        clock=clock,
        max_owned=owned,
        max_player_tables=settings.player_tables,
        table_ttl=ttl,
        credits=settings.credits,
        initial_credits=settings.initial_credits,
    )
    feeds = Feeds(tables, heartbeat=settings.heartbeat, max_age=settings.max_stream_age)
    operators = Operators(protection.api_keys, development=settings.mode == "development")
    table = TableServicer(tables, feeds, protection.players, operators, chat=ChatMode[settings.chat.upper()])
    account = AccountServicer(tables, protection.players, operators, enabled=settings.credits)
    return Application(
        services={
            "buraco.v1.RulesService": partial(rules_service_pb2_grpc.add_RulesServiceServicer_to_server, rules),
            "buraco.v1.TableService": partial(table_service_pb2_grpc.add_TableServiceServicer_to_server, table),
            "buraco.v1.AccountService": partial(account_service_pb2_grpc.add_AccountServiceServicer_to_server, account),
        },
        on_drain=(feeds.drain,),
        deadlines=Deadlines(tables, metrics, tolerance=settings.clock_tolerance),
    )


@click.command("serve", context_settings={"help_option_names": ["-h", "--help"]})
@add_options
def serve(**flags: str | bool | None) -> None:
    """Serve Buraco over gRPC until SIGTERM or SIGINT.

    Every option is also an environment variable, named in brackets; the option wins. Signing keys come from
    the environment (BURACO_SIGNING_KEYS) or a file, since command lines are no place for secrets.
    """
    try:
        settings = load(os.environ, flags)
    except SettingsError as error:
        lines = "".join(f"\n  {problem}" for problem in error.problems)
        _exit_with_error(f"the settings cannot be used:{lines}", status=2)
    logs.configure(settings.log_level, settings.log_format, settings.table_id_in_logs)
    for name in find_unknown_variables(os.environ):
        logs.get_logger().warning("unknown setting", variable=name)
    if not settings.signing_keys:
        logs.get_logger().warning("no signing keys: seat tokens are void when this process ends, and on other replicas")
    try:
        if settings.workers > 1:
            _run_in_loop(Supervisor(settings, to_environment(os.environ, flags)).run())
        else:
            run_until_stopped(settings)
    except (StartError, StoreError, TracingError) as error:
        _exit_with_error(str(error), status=1)


def run_until_stopped(settings: Settings, link: WorkerLink | None = None) -> None:
    """Serve until a stop signal, on uvloop if that is set and installed. A worker has a link to its supervisor.

    Raise StartError, StoreError and TracingError.
    """
    _run_in_loop(_run(settings, link), _find_uvloop() if settings.uvloop else None)


def _find_uvloop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the function that makes uvloop's event loops; None where it is not installed, as on Windows."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _run_in_loop(
    main: Coroutine[Any, Any, None], new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        try:
            runner.run(main)
        finally:
            ignore_stop_signals()


async def _run(settings: Settings, link: WorkerLink | None) -> None:
    protection = _create_protection(settings)
    metrics = Metrics((rule_set.id for rule_set in PRESETS), distribution_version())
    tracing = create_tracing(os.environ, distribution_version())
    observer = metrics if tracing is None else TracingObserver(metrics)
    store = InstrumentedStore(await open_store(settings.store), observer)
    application = compose(settings, metrics, store, protection)
    server = BuracoServer(
        *(settings, metrics, store, application.services, application.on_drain, protection),
        shared_port=link is not None,
        tracing=tracing,
    )
    cuts: set[asyncio.Task[None]] = set()
    stop_requested = handle_stop_signals(
        lambda: cuts.add(asyncio.create_task(server.stop())), is_worker=link is not None
    )
    try:
        await server.start()
    except BaseException:
        await store.close()
        raise
    garbage.tune_garbage_collector()
    chores = [
        asyncio.create_task(expire_tables(store, settings.table_ttl)),
        asyncio.create_task(count_tables(metrics, store)),
        asyncio.create_task(application.deadlines.run()),
    ]
    crash: BaseException | None = None
    try:
        if link is not None:
            link.report_ready(metrics.registry)
        with write_ready_file(settings.ready_file, server.address, server.metrics_address, server.web_address):
            crash = await _wait_for_end(server, stop_requested)
    finally:
        for chore in chores:
            chore.cancel()
        # After a crash nobody can connect: clients are better off with a server that has ended.
        await server.stop(grace=None if crash is None else _CRASH_GRACE)
        await asyncio.wait((*chores, *cuts))
        if tracing is not None:
            await asyncio.to_thread(tracing.close)
    if crash is not None:
        raise StartError("the server could not accept calls any more")


async def _wait_for_end(server: BuracoServer, stop_requested: asyncio.Event) -> BaseException | None:
    """Wait until a stop is requested; return None. Return the error, once logged, if the server crashes before."""
    stopping = asyncio.create_task(stop_requested.wait())
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


def _create_protection(settings: Settings) -> Protection:
    try:
        return Protection(settings)
    except (TlsError, ValueError) as error:
        raise StartError(f"certificates or keys cannot be used any more: {error}") from None


def _exit_with_error(message: str, status: int) -> NoReturn:
    """Print a message on standard error, without a traceback, and end the program."""
    logs.flush()
    click.echo(f"buraco serve: {message}", err=True)
    raise SystemExit(status)
