from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from prometheus_client.parser import text_string_to_metric_families

from buraco.v1 import table_service_pb2 as pb
from buraco.v1 import table_service_pb2_grpc as pb_grpc
from buraco_codec.moves import move_to_pb
from buraco_rules import DrawStock
from buraco_service.configuration.loading import load
from buraco_service.serving.listening import StartError, reserve_port
from buraco_service.workers import restarts, supervisor
from buraco_service.workers.supervisor import Supervisor
from tests.servers.service import START
from tests.service.announcing import PATIENCE, Announcing
from tests.service.programs import Program, get, reflected

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux spreads connections over the listeners")

# That all of so many connections go to one of two workers happens once in a billion times.
CONNECTIONS: Final = 31
READ: Final = pb.ListTablesRequest(page_size=1)


@contextlib.asynccontextmanager
async def connections(address: str, number: int = CONNECTIONS) -> AsyncIterator[list[grpc.aio.Channel]]:
    """So many connections, each a TCP connection of its own."""
    async with contextlib.AsyncExitStack() as stack:
        channels = [
            grpc.aio.insecure_channel(address, options=(("grpc.use_local_subchannel_pool", 1),)) for _ in range(number)
        ]
        for channel in channels:
            await stack.enter_async_context(channel)
        yield channels


def tables(channel: grpc.aio.Channel) -> Any:
    """The stub of a connection."""
    return pb_grpc.TableServiceStub(channel)


async def scraped(ready: dict[str, Any]) -> dict[str, float]:
    """The metrics: the sum of each name's samples."""
    text = await asyncio.to_thread(get, f"http://{ready['metrics_address']}/metrics")
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


def read_proc(pid: int, name: str) -> str:
    """Return what Linux knows about a process."""
    return Path(f"/proc/{pid}/{name}").read_text()


def workers_of(pid: int) -> set[int]:
    """The workers that a process has started: it may have other children, such as another test's server."""
    children = map(int, read_proc(pid, f"task/{pid}/children").split())
    return {child for child in children if "buraco_service.commands.worker" in read_proc(child, "cmdline").split("\0")}


def lines_of(log: str, event: str) -> list[dict[str, Any]]:
    """The lines of a log about an event."""
    return [line for line in map(json.loads, log.splitlines()) if line["event"] == event]


async def started_table(channel: grpc.aio.Channel) -> tuple[str, str]:
    """A table for two that has begun: its id, and the token of the seat to move."""
    stub = tables(channel)
    created = await stub.CreateTable(
        pb.CreateTableRequest(rule_set_id="open", seats=2, target_score=0, request_id=str(uuid.uuid4()))
    )
    seats = [
        await stub.JoinTable(
            pb.JoinTableRequest(table_id=created.table.id, player_name=name, request_id=str(uuid.uuid4()))
        )
        for name in ("Ada", "Blaise")
    ]
    view = await stub.GetView(pb.TableServiceGetViewRequest(table_id=created.table.id))
    return created.table.id, seats[view.view.seat_to_move].token


async def test_all_workers_serve_and_one_that_dies_is_replaced(tmp_path: Path, programs: list[Program]) -> None:
    """Connections reach all workers, their counts add up and survive one's death, and another takes its place."""
    programs.append(program := Program(tmp_path, "--workers", "2"))
    ready = await program.ready()
    assert ready["pid"] == program.process.pid
    before = workers_of(ready["pid"])
    assert len(before) == 2
    async with connections(ready["address"]) as channels:
        for channel in channels:
            await tables(channel).ListTables(READ, wait_for_ready=True)
    metrics = await scraped(ready)
    assert metrics["grpc_server_handled_total"] == metrics["grpc_server_handling_seconds_count"] == CONNECTIONS
    assert (metrics["buraco_workers"], metrics["buraco_worker_restarts_total"]) == (2, 0)
    victim = min(before)
    os.kill(victim, signal.SIGKILL)
    async with asyncio.timeout(PATIENCE * 3):
        while (metrics["buraco_workers"], metrics["buraco_worker_restarts_total"]) != (2, 1):
            metrics = await scraped(ready)
            assert metrics["grpc_server_handled_total"] == CONNECTIONS
    after = workers_of(ready["pid"])
    assert len(after) == 2
    assert before & after == before - {victim}
    async with connections(ready["address"]) as channels:
        for channel in channels:
            await tables(channel).ListTables(READ, wait_for_ready=True)
    assert (await scraped(ready))["grpc_server_handled_total"] == 2 * CONNECTIONS
    program.process.send_signal(signal.SIGTERM)
    status, _, log = await program.end()
    assert status == 0
    (death,) = lines_of(log, "worker ended")
    assert (death["worker_pid"], death["exit"], death["level"]) == (victim, "signal SIGKILL", "error")
    assert {line["worker"] for line in lines_of(log, "call")} == {1, 2}
    assert not (tmp_path / "ready.json").exists()


async def test_a_table_is_everywhere_until_the_orderly_end(tmp_path: Path, programs: list[Program]) -> None:
    """A table made through one worker is seen and watched through all, tokens hold on all, and SIGTERM ends all."""
    programs.append(program := Program(tmp_path, "--workers", "2", "--drain-grace", "600"))
    ready = await program.ready()
    async with connections(ready["address"]) as channels:
        first, *others = channels
        table_id, token = await started_table(first)
        mine = (("authorization", f"Bearer {token}"),)
        watches = []
        for channel in others:
            view = await tables(channel).GetView(pb.TableServiceGetViewRequest(table_id=table_id), metadata=mine)
            assert view.view.hand
            watches.append(tables(channel).WatchTable(pb.WatchTableRequest(table_id=table_id)))
            assert (await watches[-1].read()).HasField("state")
        assert (await scraped(ready))["buraco_watches"] == len(others)
        answer = await tables(first).SubmitMoves(
            pb.SubmitMovesRequest(table_id=table_id, moves=[move_to_pb(DrawStock())], request_id=str(uuid.uuid4())),
            metadata=mine,
        )
        async with asyncio.timeout(PATIENCE):
            for watch in watches:
                assert (await watch.read()).events.revision == answer.revision
        program.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            for watch in watches:
                assert (await watch.read()).HasField("reconnect")
                assert await watch.read() is grpc.aio.EOF
            status, _, log = await program.end()
    assert status == 0
    watched = [line["worker"] for line in lines_of(log, "call") if line["method"].endswith("/WatchTable")]
    assert set(watched) == {1, 2}
    assert len(lines_of(log, "stopped")) == 3
    assert token not in log


async def test_a_second_signal(tmp_path: Path, programs: list[Program]) -> None:
    """A second signal to the supervisor ends all workers although a stream is open and the grace is long.

    A second one to a worker does not: a process group that is stopped gets it together with the first.
    """
    programs.append(program := Program(tmp_path, "--workers", "2", "--drain-grace", "600"))
    ready = await program.ready()
    workers = workers_of(ready["pid"])
    async with connections(ready["address"], 1) as (channel,):
        health: Any = health_pb2_grpc.HealthStub(channel)
        watch = health.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        # Questions about the contract may come at any time: nothing ends their stream.
        stream = reflected(channel)
        await stream.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        await stream.read()
        program.process.send_signal(signal.SIGINT)
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        for _ in range(3):
            await stream.write(reflection_pb2.ServerReflectionRequest(list_services=""))
            assert (await stream.read()).HasField("list_services_response")
        program.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE):
            status, _, log = await program.end()
    assert status == 0
    assert lines_of(log, "stopping at once")


async def test_no_worker_outlives_its_supervisor(tmp_path: Path, programs: list[Program]) -> None:
    """When the supervisor is killed outright, its workers stop in order, open watches or not."""
    programs.append(program := Program(tmp_path, "--workers", "2", "--drain-grace", "600"))
    ready = await program.ready()
    async with connections(ready["address"]) as channels:
        table_id, _ = await started_table(channels[0])
        watches = [tables(channel).WatchTable(pb.WatchTableRequest(table_id=table_id)) for channel in channels]
        for watch in watches:
            assert (await watch.read()).HasField("state")
        program.process.kill()
        async with asyncio.timeout(PATIENCE):
            for watch in watches:
                assert (await watch.read()).HasField("reconnect")
            # The workers write to the same stream: it ends with the last of them.
            status, _, log = await program.end()
    assert status == -signal.SIGKILL
    assert sorted(line["worker"] for line in lines_of(log, "stopped")) == [1, 2]


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"BURACO_STORE": "sqlite:///missing/buraco.db"}, "missing is no directory"),
        ({"BURACO_PORT": "{taken}"}, "cannot listen at 127.0.0.1:{taken} (--host, --port): Address already in use"),
        ({"BURACO_METRICS_PORT": "{taken}"}, "cannot listen at 127.0.0.1:{taken} (--metrics-host, --metrics-port)"),
        ({"BURACO_READY_FILE": "{folder}/missing/ready.json"}, "cannot write the ready file"),
    ],
    ids=["store", "port", "metrics port", "ready file"],
)
async def test_a_start_that_fails(
    tmp_path: Path, programs: list[Program], environment: dict[str, str], message: str
) -> None:
    """What stops the start is reported once, and the status is 1."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        known = {"taken": str(holder.getsockname()[1]), "folder": str(tmp_path)}
        given: dict[str, Any] = {name: value.format(**known) for name, value in environment.items()}
        flags = ["--ready-file", given.pop("BURACO_READY_FILE")] if "BURACO_READY_FILE" in given else []
        programs.append(program := Program(tmp_path, "--workers", "3", *flags, **given))
        status, out, err = await program.end()
    assert (status, out) == (1, "")
    (message_line,) = (line for line in err.splitlines() if not line.startswith("{"))
    assert message_line.startswith("buraco serve: ")
    assert message.format(**known) in message_line


async def test_a_port_of_other_workers_is_taken(tmp_path: Path, programs: list[Program]) -> None:
    """A second service cannot share the port of the first one's workers, with workers itself or without."""
    programs.append(Program(tmp_path, "--workers", "2"))
    ready = await programs[0].ready()
    port = ready["address"].rpartition(":")[2]
    for number in ("1", "2"):
        (folder := tmp_path / number).mkdir()
        programs.append(program := Program(folder, "--workers", number, "--port", port))
        status, _, err = await program.end()
        assert status == 1
        assert "Address already in use" in err


def supervised(folder: Path, **more: str) -> Supervisor:
    """A supervisor in this process, its workers in others."""
    given = {
        "BURACO_WORKERS": "2",
        "BURACO_PORT": "0",
        "BURACO_METRICS_PORT": "-1",
        "BURACO_STORE": f"sqlite:///{folder}/buraco.db",
        **more,
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BURACO_")}
    return Supervisor(load(given, {}), kept | given)


async def serving(log_stream: Announcing) -> set[int]:
    """Return the process ids of the workers, once a supervisor in this process has logged that they serve."""
    await log_stream.wait_for(lambda: bool(log_stream.lines("serving")), START)
    return workers_of(os.getpid())


def test_a_port_of_a_single_process_before() -> None:
    """Connections that a single process has just closed do not keep the port from the workers that follow it."""
    with socket.create_server(("127.0.0.1", 0)) as before:
        port: int = before.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            served, _ = before.accept()
            served.close()  # whoever closes first has to wait
            assert client.recv(1) == b""
    with reserve_port("127.0.0.1", port) as found:
        assert found == port


async def test_giving_up(tmp_path: Path, log_stream: Announcing, monkeypatch: pytest.MonkeyPatch) -> None:
    """When no worker can start any more the supervisor gives up, with the reason that the workers report."""
    monkeypatch.setattr(restarts, "MAX_FAILURES", 2)
    monkeypatch.setattr(restarts, "MIN_HEALTHY_UPTIME", 1000.0)  # however slow the machine is
    (store := tmp_path / "store").mkdir()
    running = asyncio.create_task(supervised(store).run())
    workers = await serving(log_stream)
    store.rename(tmp_path / "elsewhere")
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(StartError, match=r"^the workers keep ending, worker [12] last: .*store is no directory"):
        await asyncio.wait_for(running, PATIENCE * 3)
    delays = [line["restart_after"] for line in log_stream.lines("worker ended") if line["worker"] == 1]
    assert delays == [0.2, 0.4][: len(delays)]
    assert workers_of(os.getpid()) == set()


async def test_a_worker_that_does_not_stop(
    tmp_path: Path, log_stream: Announcing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that does not stop within grace and margin is killed, and that is an error."""
    monkeypatch.setattr(supervisor, "KILL_MARGIN", 0.5)
    running = asyncio.create_task(supervised(tmp_path, BURACO_DRAIN_GRACE="0").run())
    os.kill(min(await serving(log_stream)), signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(StartError, match=r"^workers did not stop in order: worker [12] ended with signal SIGKILL"):
        await asyncio.wait_for(running, PATIENCE * 3)
    assert workers_of(os.getpid()) == set()


async def test_no_secret_on_a_command_line(tmp_path: Path, log_stream: Announcing) -> None:
    """The random key of development goes to the workers through their environment, the same to all."""
    running = asyncio.create_task(supervised(tmp_path).run())
    workers = await serving(log_stream)
    keys = {key for pid in workers for key in re.findall(r"BURACO_SIGNING_KEYS=([^\0]+)", read_proc(pid, "environ"))}
    lines = [read_proc(pid, "cmdline") for pid in workers]
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(running, PATIENCE * 3)
    (key,) = keys
    secret = key.partition(":")[2]
    assert len(secret) >= 64
    assert not any(secret in line for line in [*lines, log_stream.getvalue()])


def test_a_worker_that_ignores_signals() -> None:
    """A worker whose supervisor has ended exits by force when it does not stop in time."""
    program = (
        "import signal, socket, sys, threading; from buraco_service.workers import link;"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); link.KILL_MARGIN = 0.1;"
        "link.WorkerLink(socket.socket(fileno=int(sys.argv[1]))).stop_with_supervisor(0.1);"
        "print('ready', flush=True); threading.Event().wait()"
    )
    ours, theirs = socket.socketpair()
    with ours, theirs:
        descriptor = theirs.fileno()
        command = [sys.executable, "-c", program, str(descriptor)]
        with subprocess.Popen(command, pass_fds=[descriptor], stdout=subprocess.PIPE, text=True) as process:
            theirs.close()
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            assert process.poll() is None
            ours.close()
            assert process.wait(START) == 1
