"""Replicas of the chart's Deployment, and the proxy that is told of them, changed as Kubernetes changes them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from tests.deploy.chart import Manifest, one, rendered
from tests.deploy.pods import Files, Pod
from tests.deploy.proxy import Proxy, proxy
from tests.servers.processes import free_port

API_KEY: Final = "a key of programs that create tables"
_SIGNING_KEYS: Final = "first the key of these tests is long enough for any algorithm there is\n"
SECRETS: Final[Files] = {
    "buraco-signing-keys": {"keys": _SIGNING_KEYS},
    "buraco-api-keys": {"keys": f"tests {API_KEY}\n"},
}


class Cluster:
    """The pods, in the order in which they were made, behind one proxy."""

    def __init__(self, manifests: tuple[Manifest, ...], folder: Path, secrets: Files, told: Proxy) -> None:
        self.manifests = manifests
        self.proxy = told
        self.pods: list[Pod] = []
        self._made: list[Pod] = []
        self._folder = folder
        self._secrets = secrets
        self._numbers = itertools.count(11)

    @property
    def every_address(self) -> str:
        """What the headless Service resolves to."""
        return "ipv4:" + ",".join(f"{host}:{port}" for host, port in (pod.endpoint for pod in self.pods))

    async def add(self) -> Pod:
        """One more replica; the proxy hears of it once it is ready."""
        number = next(self._numbers)
        pod = Pod(one(self.manifests, "Deployment"), f"127.0.0.{number}", self._folder / f"pod-{number}", self._secrets)
        self._made.append(pod)
        await pod.up()
        self.pods.append(pod)
        self._tell()
        return pod

    async def remove(self, pod: Pod) -> float:
        """One replica less: it is told to stop, and the proxy hears of that late. Returns the seconds it took."""
        settle = pod.container["lifecycle"]["preStop"]["sleep"]["seconds"]
        stopping = asyncio.create_task(pod.stop())
        # Not a wait for anything: the delay that the pause before the stop is there to bridge.
        await asyncio.sleep(0.6 * settle)
        self.pods.remove(pod)
        self._tell()
        return await stopping

    async def restart(self) -> list[float]:
        """Replaces each replica by a new one, as the Deployment's strategy has it; the seconds each took to go."""
        assert one(self.manifests, "Deployment")["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
        taken = []
        for old in list(self.pods):
            await self.add()
            taken.append(await self.remove(old))
        return taken

    async def kill_all(self) -> None:
        """Ends whatever still runs."""
        for pod in self._made:
            await pod.kill()

    def _tell(self) -> None:
        self.proxy.tell(pod.endpoint for pod in self.pods)


@contextlib.asynccontextmanager
async def cluster(folder: Path, store: str, *, replicas: int) -> AsyncIterator[Cluster]:
    """Replicas as the overlay for Redis has them, on whatever store the URL names."""
    ports = f"--set=service.port={free_port()},metrics.port={free_port()},fleet.metricsPort={free_port()}"
    manifests = tuple(rendered("redis", ports))
    secrets = {**SECRETS, "buraco-store": {"url": store}}
    async with proxy(folder / "proxy", ()) as told:
        made = Cluster(manifests, folder, secrets, told)
        try:
            for _ in range(replicas):
                await made.add()
            yield made
        finally:
            await made.kill_all()


async def handled(pod: Pod, method: str) -> dict[str, float]:
    """How many calls of a method a replica has answered, by status."""
    url = f"http://{pod.host}:{pod.ports['metrics']}/metrics"
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(await asyncio.to_thread(_read, url)):
        for sample in family.samples:
            if sample.name == "grpc_server_handled_total" and sample.labels["grpc_method"] == method:
                found[sample.labels["grpc_code"]] = sample.value
    return found


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - http on loopback
        content: Any = answer.read()
    return str(content, "utf-8")
