"""The chart's replicas behind a proxy: calls are spread, and neither restarts nor crashes lose one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
import trustme

from buraco_bots.match import MatchSetup, play_match
from buraco_bots.random_bot import RandomBot
from buraco_client import BuracoClient, Tls, Unavailable
from tests.deploy import chart
from tests.deploy.chart import one
from tests.deploy.cluster import API_KEY, SECRETS, Cluster, cluster, handled
from tests.deploy.load import Load, load
from tests.deploy.pods import Pod
from tests.deploy.programs import Missing, envoy
from tests.servers import valkey
from tests.servers.processes import free_port

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

TABLES: Final = 4
MATCHES: Final = 2


@pytest.fixture(autouse=True)
def needed() -> None:
    """Fail, instead of skip, if a program is missing."""
    if (reason := chart.missing()) is not None:
        pytest.fail(reason)
    try:
        envoy()
    except Missing as missing:
        pytest.fail(str(missing))


@pytest.fixture(params=["sqlite_url", "redis_url", "postgres_url"])
async def two(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Cluster]:
    """Two replicas on each store."""
    async with cluster(tmp_path / "cluster", request.getfixturevalue(request.param), replicas=2) as made:
        yield made


@contextlib.asynccontextmanager
async def matches(made: Cluster) -> AsyncIterator[None]:
    """Bots that play over streams; each match has to end, and its records have to replay to its result."""
    async with BuracoClient(made.proxy.address, api_key=API_KEY) as client:
        setups = [
            MatchSetup(("a", "b"), (RandomBot, RandomBot), "buraco-plus-classic", 1000, f"match {number}")
            for number in range(MATCHES)
        ]
        playing = [asyncio.create_task(play_match(client, setup)) for setup in setups]
        try:
            yield
            for report in await asyncio.gather(*playing):
                assert report.deals
        finally:
            for match in playing:
                match.cancel()
            await asyncio.gather(*playing, return_exceptions=True)


async def called(players: Load, *pods: Pod) -> None:
    """Wait until moves have reached each of the replicas."""
    for pod in pods:
        while "OK" not in await handled(pod, "SubmitMoves"):
            await players.more(10)


async def test_calls_of_one_connection_are_spread(two: Cluster) -> None:
    """Behind the proxy each replica answers half of the calls that come over one connection."""
    async with load(two.proxy.address, tables=TABLES, api_key=API_KEY) as players:
        await called(players, *two.pods)
        before = [(await handled(pod, "SubmitMoves"))["OK"] for pod in two.pods]
        await players.more(400)
        after = [(await handled(pod, "SubmitMoves"))["OK"] for pod in two.pods]
    counts = [now - then for now, then in zip(after, before, strict=True)]
    assert min(counts) > 0.35 * sum(counts), counts


async def test_rolling_restart_fails_no_call(two: Cluster) -> None:
    """While every replica is replaced no call fails, matches continue, and each replica stops in its time."""
    before = {pod.host for pod in two.pods}
    async with matches(two), load(two.proxy.address, tables=TABLES, api_key=API_KEY) as players:
        await called(players, *two.pods)
        await two.restart()
        await called(players, *two.pods)
    assert len(two.pods) == 2
    assert not before & {pod.host for pod in two.pods}


async def test_crash_fails_no_call(two: Cluster) -> None:
    """A replica that is ended by kill -9 loses no call and no acknowledged move, and can come back."""
    async with matches(two), load(two.proxy.address, tables=TABLES, api_key=API_KEY) as players:
        await called(players, *two.pods)
        for pod in list(two.pods):
            await pod.kill()
            # The list of the proxy does not change: it has to notice by itself, since Kubernetes notices late.
            await players.more(100)
            await pod.up()
            await called(players, pod)


async def test_client_balances_calls_itself(two: Cluster) -> None:
    """A client with the addresses of the headless Service spreads its calls and survives the loss of one."""
    async with BuracoClient(two.every_address, api_key=API_KEY) as client:
        table = await client.create_table("buraco-plus-classic", 2)
        # One call after the other reaches both once there is a connection to each.
        for _ in range(200):
            await client.get_table(table.id)
        counts = [(await handled(pod, "GetTable")).get("OK", 0) for pod in two.pods]
        assert min(counts) > 0.25 * sum(counts), counts
        await two.pods[0].kill()
        for _ in range(50):
            assert (await client.get_table(table.id)).id == table.id


async def test_health_outlives_the_store(tmp_path: Path) -> None:
    """Without the store every probe still succeeds and calls are UNAVAILABLE; with it they succeed again."""
    async with contextlib.AsyncExitStack() as stack:
        store = stack.enter_context(valkey.running(tmp_path / "valkey", *valkey.DURABLE))
        made = await stack.enter_async_context(cluster(tmp_path / "cluster", store.url, replicas=1))
        (pod,) = made.pods
        async with BuracoClient(made.proxy.address, api_key=API_KEY) as client:
            table = await client.create_table("buraco-plus-classic", 2)
            store.stop()
            with pytest.raises(Unavailable):
                await client.get_table(table.id, timeout=1)
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                assert await pod.answers(probe), probe
            store.start()
            assert (await client.get_table(table.id, timeout=20)).id == table.id
        assert pod.process.returncode is None


async def test_pods_start_with_certificates(tmp_path: Path, sqlite_url: str) -> None:
    """With mutual TLS a replica starts and stops by probes without gRPC, and the fleet is admitted with its files."""
    authority = trustme.CA()
    own, bots = (authority.issue_cert(name) for name in ("buraco", "fleet"))
    secrets = {
        **SECRETS,
        "buraco-store": {"url": sqlite_url},
        "tls": {"tls.crt": pem(*own.cert_chain_pems), "tls.key": pem(own.private_key_pem)},
        "bots": {"tls.crt": pem(*bots.cert_chain_pems), "tls.key": pem(bots.private_key_pem)},
        "ca": {"ca.crt": pem(authority.cert_pem)},
    }
    manifests = chart.rendered(
        "redis",
        f"--set=service.port={free_port()},metrics.port={free_port()},fleet.metricsPort={free_port()}",
        "--set=tls.mode=mtls,tls.existingSecret=tls,tls.clientCa.existingSecret=ca",
        "--set=fleet.tls.caSecret=ca,fleet.tls.clientSecret=bots",
    )
    replica = Pod(one(manifests, "Deployment"), "127.0.0.11", tmp_path / "pod", secrets)
    fleet = Pod(one(manifests, "Deployment", "buraco-fleet"), "127.0.0.1", tmp_path / "fleet", secrets)
    host, port = replica.endpoint
    try:
        await replica.up()
        assert await replica.answers("livenessProbe")
        await fleet.start(*fleet.arguments_for(f"--server={host}:{port}", "--courtesy=0"))
        ca, certificate, key = (fleet.mounted(path) for path in ("ca/ca.crt", "tls/tls.crt", "tls/tls.key"))
        files = Tls(ca, certificate, key, "buraco")
        async with BuracoClient(f"{host}:{port}", tls=files, api_key=API_KEY) as client:
            table = await client.create_table("buraco-plus-classic", 2, target_score=0)
            async for _ in client.watch(table.id):
                pass  # until the match is over
        await fleet.stop()
        await replica.stop()
        assert not await replica.answers("readinessProbe")
        assert not await replica.answers("livenessProbe")
    finally:
        await fleet.kill()
        await replica.kill()


def pem(*blobs: trustme.Blob) -> str:
    """Return the contents of a file of certificates or keys."""
    return "".join(blob.bytes().decode() for blob in blobs)


async def test_draining_replica_is_not_ready(tmp_path: Path, sqlite_url: str) -> None:
    """A replica that stops fails its readiness probe, and is no longer called."""
    async with cluster(tmp_path / "cluster", sqlite_url, replicas=1) as made:
        (pod,) = made.pods
        assert await pod.answers("readinessProbe")
        pod.process.terminate()
        async with asyncio.timeout(20):
            while await pod.answers("readinessProbe"):
                pass
            assert await pod.process.wait() == 0


async def until_answered(pod: Pod, probe: str) -> None:
    """Wait until a probe succeeds."""
    async with asyncio.timeout(60):
        while not await pod.answers(probe):
            assert pod.process.returncode is None, pod.log


async def test_fleet_plays_as_it_is_deployed(tmp_path: Path, sqlite_url: str) -> None:
    """The bots of the fleet's Deployment are ready by its probes, take a table's seats, play, and stop gracefully.

    Where the service cannot be reached they are live, and not ready.
    """
    async with cluster(tmp_path / "cluster", sqlite_url, replicas=2) as made:
        fleet = Pod(one(made.manifests, "Deployment", "buraco-fleet"), "127.0.0.1", tmp_path / "fleet", {})
        try:
            # The name of the headless Service does not resolve here: its addresses are used instead.
            await fleet.start(*fleet.arguments_for(f"--server=127.0.0.1:{free_port()}"))
            await until_answered(fleet, "startupProbe")
            assert await fleet.answers("livenessProbe")
            assert not await fleet.answers("readinessProbe")
            await fleet.stop()
            await fleet.start(*fleet.arguments_for(f"--server={made.every_address}", "--courtesy=0"))
            await until_answered(fleet, "readinessProbe")
            async with BuracoClient(made.proxy.address, api_key=API_KEY) as client:
                table = await client.create_table("buraco-plus-classic", 2, target_score=0)
                async for _ in client.watch(table.id):
                    pass  # until the match is over
                assert (await client.get_table(table.id)).HasField("result")
            await fleet.stop()
        finally:
            await fleet.kill()
