"""`buraco serve`: settings in, everything wired, running until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

import click

from buraco.v1 import rules_service_pb2_grpc, table_service_pb2_grpc
from buraco_rules.presets import PRESETS
from buraco_service import logs
from buraco_service import settings as settings_module
from buraco_service.cli import distribution_version
from buraco_service.identity import SeatTokens
from buraco_service.metrics import Metrics
from buraco_service.protection import Protection
from buraco_service.rules_servicer import RulesServicer
from buraco_service.server import BuracoServer, OnDrain, Register, StartError
from buraco_service.settings import Settings, SettingsError
from buraco_service.stores.base import Store, StoreError
from buraco_service.stores.instrumented import InstrumentedStore
from buraco_service.stores.urls import open_store
from buraco_service.table_servicer import TableServicer
from buraco_service.tables.feed import Feeds
from buraco_service.tables.tables import Tables
from buraco_service.tls import TlsError

_EXPIRY_BATCH = 200
_LONGEST_EXPIRY_PERIOD = 3600.0


@dataclass(frozen=True, slots=True)
class Application:
    """What the server is to serve, by full service name, and whom it tells before it stops."""

    services: Mapping[str, Register]
    on_drain: tuple[OnDrain, ...]


def compose(settings: Settings, metrics: Metrics, store: Store, tokens: SeatTokens) -> Application:
    """Wires the services. Nothing else in the program knows them all."""
    rules = RulesServicer(metrics)
    tables = Tables(store, tokens, metrics, most_owned=settings.max_key_tables)
    feeds = Feeds(tables, heartbeat=settings.heartbeat)
    table = TableServicer(tables, feeds)
    return Application(
        services={
            "buraco.v1.RulesService": partial(rules_service_pb2_grpc.add_RulesServiceServicer_to_server, rules),
            "buraco.v1.TableService": partial(table_service_pb2_grpc.add_TableServiceServicer_to_server, table),
        },
        on_drain=(feeds.drain,),
    )


@click.command("serve", context_settings={"help_option_names": ["-h", "--help"]})
@settings_module.options
def serve(**flags: str | bool | None) -> None:
    """Serve Buraco over gRPC until SIGTERM or SIGINT.

    Every option is also an environment variable, named in brackets; the option wins. Signing keys come from
    the environment (BURACO_SIGNING_KEYS) or a file, since command lines are no place for secrets.
    """
    try:
        settings = settings_module.load(os.environ, flags)
    except SettingsError as error:
        lines = "".join(f"\n  {problem}" for problem in error.problems)
        _refuse(f"the settings cannot be used:{lines}", status=2)
    logs.configure(settings.log_level, settings.log_format, settings.table_id_in_logs)
    try:
        if settings.uvloop:
            import uvloop

            uvloop.run(run(settings))
        else:
            asyncio.run(run(settings))
    except (StartError, StoreError) as error:
        _refuse(str(error), status=1)


async def run(settings: Settings) -> None:
    """Serves until a signal comes, then stops in order; a second signal cuts the wait short.

    Raises StartError and StoreError.
    """
    log = logs.get_logger()
    for name in settings_module.unknown_variables(os.environ):
        log.warning("no such setting", variable=name)
    protection = _protection(settings)
    metrics = Metrics((rule_set.id for rule_set in PRESETS), distribution_version())
    store = InstrumentedStore(await open_store(settings.store), metrics)
    application = compose(settings, metrics, store, protection.tokens)
    server = BuracoServer(settings, metrics, store, application.services, application.on_drain, protection)
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    hurry: set[asyncio.Task[None]] = set()

    def on_signal() -> None:
        if told.is_set():
            hurry.add(loop.create_task(server.stop()))
        told.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    try:
        await server.start()
    except BaseException:
        await store.close()
        raise
    expiring = loop.create_task(expire_tables(store, settings.table_ttl))
    ended = loop.create_task(server.wait())
    stopping = loop.create_task(told.wait())
    try:
        with _ready_file(settings.ready_file, server):
            await asyncio.wait((ended, stopping), return_when=asyncio.FIRST_COMPLETED)
        crashed = ended.done()
    finally:
        expiring.cancel()
        await server.stop()
        stopping.cancel()
        await asyncio.wait((expiring, ended, stopping, *hurry))
    if crashed:
        raise StartError("the server ended without having been told to")


def _protection(settings: Settings) -> Protection:
    try:
        return Protection(settings)
    except (TlsError, ValueError) as error:
        raise StartError(f"certificates or keys cannot be used any more: {error}") from None


async def expire_tables(store: Store, ttl: float) -> None:
    """Removes tables untouched for `ttl` seconds, now and then, until cancelled. Replicas may all do so."""
    log = logs.get_logger()
    while True:
        try:
            removed = _EXPIRY_BATCH
            while removed == _EXPIRY_BATCH:
                removed = await store.expire(time.time() - ttl, _EXPIRY_BATCH)
                if removed:
                    log.info("expired tables removed", count=removed)
        except StoreError as error:
            log.warning("expired tables were not removed", cause=str(error))
        await asyncio.sleep(min(ttl / 10, _LONGEST_EXPIRY_PERIOD))


@contextlib.contextmanager
def _ready_file(path: Path | None, server: BuracoServer) -> Iterator[None]:
    """Keeps a file in place that says where the server is. It appears whole or not at all."""
    if path is None:
        yield
        return
    content = {"address": server.address, "metrics_address": server.metrics_address, "pid": os.getpid()}
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(content) + "\n")
        unfinished.replace(path)
    except OSError as error:
        raise StartError(f"cannot write the ready file {path}: {error.strerror}") from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _refuse(message: str, status: int) -> NoReturn:
    """Ends the program with a message on standard error, and no traceback."""
    logs.flush()
    click.echo(f"buraco serve: {message}", err=True)
    raise SystemExit(status)
