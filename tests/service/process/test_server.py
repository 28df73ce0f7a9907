from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import grpc
import grpc.aio
import pytest
from click.testing import CliRunner
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from buraco_service.commands.cli import distribution_version, main
from buraco_service.configuration.settings import Settings
from buraco_service.observing.metrics import Metrics
from buraco_service.serving.listening import StartError
from buraco_service.serving.server import BuracoServer
from buraco_service.stores.base import NewTable, Store, StoreUnavailable
from buraco_service.stores.urls import open_store
from buraco_service.tables.expiry import expire_tables
from tests.service.announcing import PATIENCE, Announcing
from tests.service.echo import SERVICE, Caller, Echo, text
from tests.service.programs import Program, get, reflected

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SETTINGS = Settings(port=0, metrics_port=-1, drain_grace=PATIENCE)
WITH_METRICS = dataclasses.replace(SETTINGS, metrics_port=0)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A store of its own; the server closes it."""
    made = await open_store(f"sqlite:///{tmp_path / 'buraco.db'}")
    yield made
    await made.close()


class Running:
    """A server with the echo service, and a client of it."""

    def __init__(self, settings: Settings, store: Store, *, shared_port: bool = False) -> None:
        self.echo = Echo()
        self.metrics = Metrics()
        self.drained = asyncio.Event()
        self.serving_when_drained: int | None = None
        services = {SERVICE: self.echo.register}
        self.server = BuracoServer(settings, self.metrics, store, services, (self._drain,), shared_port=shared_port)
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.port = await self.server.start()
        self._stack.push_async_callback(self.server.stop)
        self.channel = await self._stack.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{self.port}"))
        self.caller = Caller(self.channel)
        self.health: Any = health_pb2_grpc.HealthStub(self.channel)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _drain(self) -> None:
        self.serving_when_drained = (await self.health.Check(health_pb2.HealthCheckRequest())).status
        self.drained.set()


@pytest.fixture
async def running(store: Store, log_stream: Announcing) -> AsyncIterator[Running]:
    """A running server."""
    async with Running(SETTINGS, store) as made:
        yield made


async def refused(call: Any) -> grpc.StatusCode:
    """The code with which a call ends."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code()


async def test_serves(running: Running) -> None:
    """A started server knows its address and serves its services there."""
    assert running.server.address == f"127.0.0.1:{running.port}"
    assert (await running.caller.say(text("hello"))).value == "hello"


async def test_health_of_each_service(running: Running) -> None:
    """Health answers for the server and for each service, and is NOT_FOUND for others."""
    for name in ("", SERVICE, "grpc.health.v1.Health"):
        answer = await running.health.Check(health_pb2.HealthCheckRequest(service=name))
        assert answer.status == SERVING
    assert await refused(running.health.Check(health_pb2.HealthCheckRequest(service="no.Service"))) == (
        grpc.StatusCode.NOT_FOUND
    )


async def test_reflection(running: Running, store: Store) -> None:
    """Reflection lists the services, unless it is switched off."""

    async def names(of: Running) -> list[str]:
        stream = reflected(of.channel)
        await stream.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        answer = await stream.read()
        stream.cancel()
        return [service.name for service in answer.list_services_response.service]

    assert SERVICE in await names(running)
    async with Running(dataclasses.replace(SETTINGS, reflection=False), store) as without:
        # Nothing is written: a stream that ends during a write does not say why.
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await reflected(without.channel).read()
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


async def test_metrics_port(store: Store, log_stream: Announcing) -> None:
    """The metrics are served on their own port and show the calls."""
    async with Running(WITH_METRICS, store) as running:
        await running.caller.say(text("hello"))
        found = await asyncio.to_thread(get, f"http://{running.server.metrics_address}/metrics")
    labels = 'grpc_code="OK",grpc_method="Say",grpc_service="test.Echo",grpc_type="UNARY"'
    assert f"grpc_server_handled_total{{{labels}}} 1.0" in found


async def test_no_metrics_port(store: Store, log_stream: Announcing) -> None:
    """With the port -1 no metrics are served."""
    assert SETTINGS.metrics_port == -1
    async with Running(SETTINGS, store) as running:
        assert running.server.metrics_address is None
        assert (await running.caller.say(text("hello"))).value == "hello"


@pytest.mark.parametrize("more", [1, 2 * SETTINGS.max_message_bytes])
async def test_large_messages(running: Running, more: int) -> None:
    """A message over the limit is RESOURCE_EXHAUSTED and does not reach the service; one below it does."""
    limit = SETTINGS.max_message_bytes
    assert await refused(running.caller.say(text("x" * (limit - 4 + more)))) == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert running.echo.request_ids == []
    assert len((await running.caller.say(text("x" * (limit - 4)))).value) == limit - 4


async def test_too_many_calls(store: Store, log_stream: Announcing) -> None:
    """Streams over their limit are RESOURCE_EXHAUSTED while calls and probes still get their answers."""
    settings = dataclasses.replace(SETTINGS, max_concurrent_calls=1, max_watches=2)
    async with Running(settings, store) as running:
        streams = [running.caller.spell(text("a…")) for _ in range(2)]
        for stream in streams:
            await stream.read()
        assert await refused(running.caller.spell(text("a")).read()) == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (await running.caller.say(text("hello"))).value == "hello"
        assert (await running.health.Check(health_pb2.HealthCheckRequest())).status == SERVING
        running.echo.release.set()


async def test_calls_finish_before_the_end(running: Running) -> None:
    """On stop health changes first, then watchers reconnect, new calls are refused, and running ones finish."""
    call = running.caller.hang(text("hello"))
    await asyncio.wait_for(running.echo.hanging.wait(), PATIENCE)
    stopping = asyncio.create_task(running.server.stop())
    await asyncio.wait_for(running.drained.wait(), PATIENCE)
    assert running.serving_when_drained == NOT_SERVING
    assert not stopping.done()
    running.echo.release.set()
    assert (await call).value == "hello"
    await asyncio.wait_for(stopping, PATIENCE)
    assert await refused(running.caller.say(text("late"), timeout=PATIENCE)) == grpc.StatusCode.UNAVAILABLE


async def test_the_end_closes_everything(store: Store, log_stream: Announcing) -> None:
    """After a stop the store is closed, the metrics port is free again, and the log is complete."""
    async with Running(WITH_METRICS, store) as running:
        port = int((running.server.metrics_address or "").rpartition(":")[2])
        await running.server.stop()
    with pytest.raises(StoreUnavailable):
        await store.ping()
    socket.create_server(("127.0.0.1", port)).close()
    events = [line["event"] for line in log_stream.lines() if line["level"] == "info"]
    assert events == ["serving", "stopping", "stopped"]


async def test_grace_runs_out(store: Store, log_stream: Announcing) -> None:
    """A call that does not finish within the grace is cut off."""
    async with Running(dataclasses.replace(SETTINGS, drain_grace=0.05), store) as running:
        call = running.caller.hang(text("hello"))
        await asyncio.wait_for(running.echo.hanging.wait(), PATIENCE)
        await asyncio.wait_for(running.server.stop(), PATIENCE)
        assert await refused(call) in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        assert running.echo.ended.is_set()


async def test_calls_without_a_request_do_not_delay_the_end(store: Store, log_stream: Announcing) -> None:
    """A call whose message never came is cut off when all others have ended, long before the grace runs out."""
    async with Running(dataclasses.replace(SETTINGS, drain_grace=600.0), store) as running:
        silent: Any = running.channel.stream_unary(f"/{SERVICE}/Say")()
        await silent.wait_for_connection()
        served = running.caller.hang(text("hello"))
        await asyncio.wait_for(running.echo.hanging.wait(), PATIENCE)
        stopping = asyncio.create_task(running.server.stop())
        await asyncio.wait_for(running.drained.wait(), PATIENCE)
        assert not stopping.done()
        running.echo.release.set()
        assert (await served).value == "hello"
        await asyncio.wait_for(stopping, PATIENCE)
        assert await refused(silent) in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


async def test_second_stop_forces(store: Store, log_stream: Announcing) -> None:
    """A second stop does not wait for the grace of the first."""
    async with Running(dataclasses.replace(SETTINGS, drain_grace=600.0), store) as running:
        call = running.caller.hang(text("hello"))
        await asyncio.wait_for(running.echo.hanging.wait(), PATIENCE)
        first = asyncio.create_task(running.server.stop())
        await asyncio.wait_for(running.drained.wait(), PATIENCE)
        await asyncio.wait_for(running.server.stop(), PATIENCE)
        await asyncio.wait_for(first, PATIENCE)
        assert await refused(call) in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


async def test_health_watches_do_not_delay_the_end(running: Running) -> None:
    """A watcher of the health gets NOT_SERVING and its stream ends, so that it does not keep the server alive."""
    watch = running.health.Watch(health_pb2.HealthCheckRequest(service=SERVICE))
    assert (await watch.read()).status == SERVING
    stopping = asyncio.create_task(running.server.stop())
    assert (await watch.read()).status == NOT_SERVING
    await asyncio.wait_for(stopping, PATIENCE / 2)


async def test_failing_drain(store: Store, log_stream: Announcing) -> None:
    """If a drain callback fails, the server still stops in order, and the failure is logged."""

    async def fail() -> None:
        raise RuntimeError("cannot tell")

    server = BuracoServer(SETTINGS, Metrics(), store, {}, (fail,))
    await server.start()
    await server.stop()
    assert "cannot tell" in log_stream.lines("watchers not notified")[0]["exception"]
    assert log_stream.lines("stopped")


@pytest.mark.parametrize("names", [("host", "port"), ("metrics_host", "metrics_port")])
async def test_taken_ports(store: Store, capfd: pytest.CaptureFixture[str], names: tuple[str, str]) -> None:
    """A port that is taken stops the start with a message that names address, settings and cause."""
    flags = ", ".join("--" + name.replace("_", "-") for name in names)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = dataclasses.replace(SETTINGS, **{names[1]: port})
        with pytest.raises(StartError) as caught:
            await BuracoServer(settings, Metrics(), store, {}).start()
    assert str(caught.value) == f"cannot listen at 127.0.0.1:{port} ({flags}): Address already in use"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("host", ["192.0.2.1", "host.invalid"])
async def test_foreign_host(store: Store, host: str) -> None:
    """A host that is not this machine, or does not exist, stops the start with a message that names it."""
    settings = dataclasses.replace(SETTINGS, host=host, port=7)
    with pytest.raises(StartError, match=rf"^cannot listen at {host}:7 \(--host, --port\): \w+"):
        await BuracoServer(settings, Metrics(), store, {}).start()


async def test_version_six(store: Store, log_stream: Announcing) -> None:
    """An IPv6 address is served with or without brackets."""
    for host in ("::1", "[::1]"):
        server = BuracoServer(dataclasses.replace(SETTINGS, host=host), Metrics(), store, {})
        port = await server.start()
        assert server.address == f"[::1]:{port}"
        await server.stop()


async def test_connections_grow_old(store: Store, log_stream: Announcing) -> None:
    """Clients leave connections of the set age, and so find servers that came later; what runs there ends there."""
    aging = dataclasses.replace(SETTINGS, max_connection_age=0.05)
    async with Running(aging, store, shared_port=True) as first:
        running = asyncio.ensure_future(first.caller.hang(text("long")))
        await first.echo.hanging.wait()
        shared = dataclasses.replace(aging, port=first.port)
        async with Running(shared, store, shared_port=True) as second, asyncio.timeout(PATIENCE):
            while not (first.echo.request_ids and second.echo.request_ids):
                await first.caller.say(text("hello"))
        first.echo.release.set()
        assert (await running).value == "long"


async def test_untouched_tables_expire(store: Store, log_stream: Announcing) -> None:
    """Tables that nobody touched for the given time are removed, the others stay."""
    now = time.time()
    await store.create(NewTable("old", b"state", "finished", now - 61, b"entry", None, b"answer"))
    await store.create(NewTable("new", b"state", "playing", now, b"entry", None, b"answer"))
    expiring = asyncio.create_task(expire_tables(store, 60.0))
    await log_stream.wait_for(lambda: bool(log_stream.lines("expired tables removed")))
    expiring.cancel()
    assert [table.table_id for table in await store.list_tables(None, 10, None)] == ["new"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_program_from_start_to_end(tmp_path: Path, programs: list[Program], number: signal.Signals) -> None:
    """`buraco serve` writes where it serves, serves all services, and on a signal stops in order with status 0."""
    programs.append(program := Program(tmp_path))
    ready = await program.ready()
    assert ready["pid"] == program.process.pid
    async with grpc.aio.insecure_channel(ready["address"]) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        for name in ("buraco.v1.RulesService", "buraco.v1.TableService", "buraco.v1.AccountService"):
            assert (await health.Check(health_pb2.HealthCheckRequest(service=name))).status == SERVING
    assert "buraco_build_info" in await asyncio.to_thread(get, f"http://{ready['metrics_address']}/metrics")
    program.process.send_signal(number)
    status, out, err = await program.end()
    events = [json.loads(line)["event"] for line in err.splitlines()]
    assert (status, out) == (0, "")
    assert events[-1] == "stopped"
    assert any("no signing keys" in event for event in events)
    assert not (tmp_path / "ready.json").exists()
    assert (tmp_path / "buraco.db").exists()


@pytest.mark.parametrize(
    ("arguments", "installed", "loop"),
    [((), True, "uvloop"), (("--uvloop",), False, "asyncio"), (("--no-uvloop",), True, "asyncio")],
)
async def test_event_loop(
    tmp_path: Path, programs: list[Program], arguments: tuple[str, ...], installed: bool, loop: str
) -> None:
    """The server runs on uvloop where that is installed and not switched off, and logs on which loop it runs."""
    if not installed:
        # The program starts in this folder, so that this is what it finds.
        (tmp_path / "uvloop.py").write_text("raise ImportError")
    programs.append(program := Program(tmp_path, *arguments))
    ready = await program.ready()
    async with grpc.aio.insecure_channel(ready["address"]) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        assert (await health.Check(health_pb2.HealthCheckRequest())).status == SERVING
    program.process.send_signal(signal.SIGTERM)
    status, _, err = await program.end()
    assert status == 0
    assert [line["loop"] for line in map(json.loads, err.splitlines()) if line["event"] == "serving"] == [loop]


async def test_second_signal(tmp_path: Path, programs: list[Program]) -> None:
    """A second signal ends the program although a stream is still open and the grace is long."""
    programs.append(program := Program(tmp_path, "--drain-grace", "600"))
    ready = await program.ready()
    async with grpc.aio.insecure_channel(ready["address"]) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        watch = health.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == SERVING
        stream = reflected(channel)
        await stream.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        await stream.read()
        program.process.send_signal(signal.SIGTERM)
        assert (await watch.read()).status == NOT_SERVING
        program.process.send_signal(signal.SIGTERM)
        status, _, err = await program.end()
    events = [json.loads(line)["event"] for line in err.splitlines()]
    assert status == 0
    assert "stopping at once" in events
    assert events[-1] == "stopped"


async def test_ready_file_that_cannot_be_written(tmp_path: Path, programs: list[Program]) -> None:
    """A ready file that cannot be written stops the program, since somebody waits for it."""
    programs.append(program := Program(tmp_path, "--ready-file", str(tmp_path / "missing" / "ready.json")))
    status, _, err = await program.end()
    assert status == 1
    assert err.splitlines()[-1].startswith("buraco serve: cannot write the ready file ")
    assert "Traceback" not in err


async def test_program_with_bad_settings(tmp_path: Path, programs: list[Program]) -> None:
    """Bad settings stop the start with status 2 and one message that names them all, without a traceback."""
    programs.append(program := Program(tmp_path, "--heartbeat", "soon", BURACO_MODE="production", BURACO_PORT="x"))
    status, out, err = await program.end()
    assert (status, out) == (2, "")
    assert err.splitlines() == [
        "buraco serve: the settings cannot be used:",
        "  BURACO_PORT 'x' is not a whole number (0 to 65535)",
        "  --heartbeat 'soon' is not a number (0.1 to 300 seconds)",
        "  BURACO_SIGNING_KEYS or BURACO_SIGNING_KEYS_FILE is needed in production mode",
        "  BURACO_TLS is needed in production mode: tls, mtls, or off where something in front encrypts",
    ]


async def test_program_on_a_taken_port(tmp_path: Path, programs: list[Program]) -> None:
    """A taken port stops the start with status 1 and a message, without a traceback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        programs.append(program := Program(tmp_path, "--port", str(port)))
        status, _, err = await program.end()
    assert status == 1
    assert err.splitlines()[-1].startswith(f"buraco serve: cannot listen at 127.0.0.1:{port} (--host, --port): ")
    assert "Traceback" not in err


async def test_program_without_a_usable_store(tmp_path: Path, programs: list[Program]) -> None:
    """A store that cannot be opened stops the start with status 1 and a message that shows no password."""
    programs.append(program := Program(tmp_path, BURACO_STORE="nosuch://ann:hunter2@host/0"))
    status, _, err = await program.end()
    assert status == 1
    assert err.splitlines()[-1].startswith("buraco serve: ")
    assert "Traceback" not in err
    assert "hunter2" not in err


def test_version() -> None:
    """`buraco --version` prints the version of the distribution."""
    result = CliRunner().invoke(main, ["--version"])
    assert (result.exit_code, result.output) == (0, f"buraco, version {distribution_version()}\n")


def test_commands_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The group lists its commands, and one whose dependencies are missing prints what to install when called."""
    monkeypatch.setitem(sys.modules, "buraco_service.commands.serve", None)
    runner = CliRunner()
    listing = runner.invoke(main, ["--help"])
    assert listing.exit_code == 0
    assert "serve" in listing.output
    called = runner.invoke(main, ["serve", "--port", "1"])
    assert called.exit_code == 1
    assert "pip install '.[server]' in a checkout, or 'WHEEL[server]'" in called.output
    assert runner.invoke(main, ["nonsense"]).exit_code == 2
