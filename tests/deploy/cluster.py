"""Replicas of the chart's Deployment behind a proxy, changed as Kubernetes changes them."""

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
    """The pods, oldest first, behind one proxy."""

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
        """Return what the headless Service resolves to."""
        return "ipv4:" + ",".join(f"{host}:{port}" for host, port in (pod.endpoint for pod in self.pods))

    async def add(self) -> Pod:
        """Start one more replica; add it to the proxy once it is ready."""
        number = next(self._numbers)
        pod = Pod(one(self.manifests, "Deployment"), f"127.0.0.{number}", self._folder / f"pod-{number}", self._secrets)
        self._made.append(pod)
        await pod.up()
        self.pods.append(pod)
        self._tell()
        return pod

    async def remove(self, pod: Pod) -> float:
        """Stop one replica, and remove it from the proxy late. Return the seconds that it took to stop."""
        settle = pod.container["lifecycle"]["preStop"]["sleep"]["seconds"]
        stopping = asyncio.create_task(pod.stop())
        # No wait for a condition: this is the delay that the pause before the stop has to cover.
        await asyncio.sleep(0.6 * settle)
        self.pods.remove(pod)
        self._tell()
        return await stopping

    async def restart(self) -> list[float]:
        """Replace each replica as the Deployment's strategy does; return the seconds that each took to stop."""
        assert one(self.manifests, "Deployment")["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
        taken = []
        for old in list(self.pods):
            await self.add()
            taken.append(await self.remove(old))
        return taken

    async def kill_all(self) -> None:
        """Kill the replicas that still run."""
        for pod in self._made:
            await pod.kill()

    def _tell(self) -> None:
        self.proxy.tell(pod.endpoint for pod in self.pods)


@contextlib.asynccontextmanager
async def cluster(folder: Path, store: str, *, replicas: int) -> AsyncIterator[Cluster]:
    """Run replicas of the overlay for Redis, on the store of the URL."""
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
    """Return how many calls of a method a replica has answered, by status."""
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
