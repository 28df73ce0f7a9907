from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from buraco.v1 import table_service_pb2 as pb
from buraco_service.access.limits import Limits
from tests.abuse.attacks import ATTACKS, CALLS
from tests.abuse.frames import GET_TABLE, NOT_UTF8, PLAY_TABLE, WATCH_HEALTH, connected, half_message
from tests.abuse.trial import WAYS, trial
from tests.service.programs import Program
from tests.service.refusals import refused
from tests.service.table_server import PATIENCE, Replica, bearing, get, serving, start, watch

ROOT = Path(__file__).parents[3]
RESOURCE_EXHAUSTED = str(grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]).encode()
UNIMPLEMENTED = str(grpc.StatusCode.UNIMPLEMENTED.value[0]).encode()


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A server that waits for messages longer than any test takes."""
    async with serving(tmp_path / "tables.db", message_timeout=PATIENCE) as running:
        yield running


def address_of(replica: Replica) -> str:
    """Where a replica listens."""
    assert replica.server.address is not None
    return replica.server.address


def refusals(replica: Replica, limit: str) -> float:
    """How often a limit has refused a call."""
    labels = {"reason": "LIMIT_REACHED", "limit": limit}
    return replica.metrics.registry.get_sample_value("buraco_refusals_total", labels) or 0.0


async def health(replica: Replica) -> int:
    """What the replica says of its health."""
    stub: Any = health_pb2_grpc.HealthStub(replica.channel)
    answer: health_pb2.HealthCheckResponse = await stub.Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
    return answer.status


@pytest.mark.parametrize("attack", ATTACKS)
async def test_nobody_else_notices(tmp_path: Path, attack: str) -> None:
    """Under each attack others play, look, and probe without an error; memory stays bounded, and metrics show it."""
    outcome = await trial(tmp_path, "plain", attack, 1.0)
    assert outcome.faults == []


@pytest.mark.parametrize("way", [way for way in WAYS if way != "plain"])
async def test_nobody_else_notices_elsewhere(tmp_path: Path, way: str) -> None:
    """The same with TLS, and with several workers."""
    outcome = await trial(tmp_path, way, "paths_that_are_no_text", 1.0)
    assert outcome.faults == []


async def test_paths_that_are_no_text(replica: Replica) -> None:
    """A path that is no UTF-8 is an unknown method; open streams and later calls go on."""
    players = await start(replica)
    stream = watch(replica, players[0].table_id)
    await stream.expect("state")
    async with connected(address_of(replica)) as hostile:
        for path in (NOT_UTF8, b"\xff", b"/buraco.v1.TableService/\xc3\x28", b""):
            async with asyncio.timeout(PATIENCE):
                end = await hostile.end(await hostile.call(path))
            assert end.status in (UNIMPLEMENTED, b"")
        assert (await get(replica, players[0].table_id)).id == players[0].table_id
    await players[0].leave()
    assert (await stream.expect("events")).revision == 4


@pytest.mark.parametrize("path", CALLS)
async def test_calls_without_a_message_end(tmp_path: Path, path: bytes) -> None:
    """A call of any kind whose message does not come in time is refused with the reason, and counted."""
    async with serving(tmp_path / "tables.db", message_timeout=0.1, reflection=True) as replica:
        players = await start(replica)
        token = dict(bearing(players[0].token))
        async with connected(address_of(replica)) as hostile, asyncio.timeout(PATIENCE):
            stream = await hostile.call(path, [(b"authorization", token["authorization"].encode())])
            end = await hostile.end(stream)
        assert end.status == RESOURCE_EXHAUSTED
        assert b"did not come within 0.1 seconds" in end.headers[b"grpc-message"]
        assert b"grpc-status-details-bin" in end.headers
        assert refusals(replica, "message_timeout") == 1


async def test_oldest_call_without_a_message_goes_first(replica: Replica) -> None:
    """One call more than a peer may have without a message ends its oldest; calls that send theirs go on."""
    most = Limits().max_peer_unsent
    async with connected(address_of(replica)) as hostile, asyncio.timeout(PATIENCE):
        oldest = [await hostile.call(GET_TABLE) for _ in range(3)]
        # Calls that wait to be accepted are not always accepted in their order.
        while replica.metrics.registry.get_sample_value("buraco_unsent_messages") != len(oldest):
            await health(replica)
        for _ in range(most):
            await hostile.call(GET_TABLE)
        ended = [await hostile.end(call) for call in oldest]
        assert [end.status for end in ended] == [RESOURCE_EXHAUSTED] * 3
        players = await start(replica)
        assert (await get(replica, players[0].table_id)).id == players[0].table_id
        assert hostile.open <= most
        assert refusals(replica, "peer_unsent_messages") >= 3


async def test_health_has_room(replica: Replica) -> None:
    """Health is answered whatever is held open at the same address: calls, streams, health watches, half messages."""
    most = Limits().max_peer_unsent
    async with connected(address_of(replica)) as hostile, asyncio.timeout(PATIENCE):
        for path in (GET_TABLE, PLAY_TABLE, WATCH_HEALTH, b"/grpc.health.v1.Health/Check"):
            for _ in range(most):
                await hostile.call(path)
        stream = await hostile.call(GET_TABLE)
        await hostile.data(stream, half_message(65_536, 100))
        for _ in range(3):
            assert await health(replica) == health_pb2.HealthCheckResponse.SERVING


async def test_calls_of_a_peer(tmp_path: Path) -> None:
    """A peer has so many calls open at a time, counted from their headers on."""
    async with (
        serving(tmp_path / "tables.db", max_peer_calls=2, message_timeout=PATIENCE) as replica,
        asyncio.timeout(PATIENCE),
        connected(address_of(replica)) as hostile,
    ):
        calls = [await hostile.call(GET_TABLE) for _ in range(3)]
        assert (await hostile.end(calls[2])).status == RESOURCE_EXHAUSTED
        refusal = await refused(get(replica, "0" * 32))
        assert refusal.short == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
        assert refusal.metadata == {"limit": "peer_calls", "maximum": "2"}
        assert refusal.retry_after
        await hostile.reset(calls[0])
        while refusal.reason != "TABLE_UNKNOWN":
            refusal = await refused(get(replica, "0" * 32))


async def test_play_stream_without_a_message_does_not_hold_up_a_stop(tmp_path: Path) -> None:
    """A stop waits for calls that are served, not for a stream on which nothing was ever sent."""
    async with serving(tmp_path / "tables.db", drain_grace=600, message_timeout=300) as replica:
        players = await start(replica)
        silent = replica.tables.PlayTable(metadata=players[0].metadata)
        async with asyncio.timeout(PATIENCE):
            while replica.metrics.method("BIDI_STREAM", "buraco.v1.TableService", "PlayTable").started == 0:
                await get(replica, players[0].table_id)
            await replica.server.stop()
            assert await silent.code() is not grpc.StatusCode.OK


async def test_watcher_of_health_that_reads_nothing(tmp_path: Path) -> None:
    """A watcher of health that takes no message keeps neither the others waiting nor the server from stopping."""
    async with serving(tmp_path / "tables.db", drain_grace=600) as replica, asyncio.timeout(PATIENCE):
        request = health_pb2.HealthCheckRequest().SerializeToString()
        async with connected(address_of(replica), window=0) as hostile:
            stream = await hostile.call(WATCH_HEALTH)
            await hostile.data(stream, b"\0" + len(request).to_bytes(4) + request)
            stub: Any = health_pb2_grpc.HealthStub(replica.channel)
            watching = stub.Watch(health_pb2.HealthCheckRequest())
            assert (await watching.read()).status == health_pb2.HealthCheckResponse.SERVING
            stopping = asyncio.create_task(replica.server.stop())
            assert (await watching.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
            await stopping


async def test_server_that_accepts_no_calls_ends(tmp_path: Path) -> None:
    """Should calls be accepted no more for whatever cause, the process says so and ends, open streams or not."""
    program = Program(tmp_path, "--store", "sqlite:///tables.db", module="tests.service.deaf", PYTHONPATH=str(ROOT))
    place = await program.ready()
    async with grpc.aio.insecure_channel(place["address"]) as channel:
        watching: Any = channel.unary_stream("/grpc.health.v1.Health/Watch")
        stream = watching(b"")
        await stream.read()
        failing: Any = channel.unary_unary("/buraco.v1.TableService/ListTables")
        with contextlib.suppress(grpc.aio.AioRpcError):
            await failing(pb.ListTablesRequest().SerializeToString(), timeout=PATIENCE)
        status, _, log = await program.end()
    assert status == 1
    assert not (tmp_path / "ready.json").exists()
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    (line,) = [line for line in lines if line["event"] == "no more calls are accepted"]
    assert line["level"] == "critical"
    assert "nothing is accepted any more" in line["exception"]
    assert "the server could not accept calls any more" in log
