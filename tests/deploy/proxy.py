"""Envoy, and the list of replicas that a control plane would give it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import string
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Final

from tests.deploy.programs import envoy
from tests.servers.processes import free_port

_PATIENCE: Final = 30.0
_CONFIGURATION: Final = Path(__file__).with_name("envoy.yaml")
_ASSIGNMENT: Final = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"


class Proxy:
    """One address that spreads calls over a list of replicas."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self.address = f"127.0.0.1:{port}"

    def tell(self, endpoints: Iterable[tuple[str, int]]) -> None:
        """Replace the list of replicas."""
        sockets = [{"socket_address": {"address": host, "port_value": port}} for host, port in endpoints]
        lb_endpoints = [{"endpoint": {"address": address}} for address in sockets]
        resource = {"@type": _ASSIGNMENT, "cluster_name": "buraco", "endpoints": [{"lb_endpoints": lb_endpoints}]}
        unfinished = self._folder / "endpoints.new"
        unfinished.write_text(json.dumps({"resources": [resource]}))
        # Envoy reads the list when the file is replaced.
        unfinished.replace(self._folder / "endpoints.yaml")


@contextlib.asynccontextmanager
async def proxy(folder: Path, endpoints: Iterable[tuple[str, int]]) -> AsyncIterator[Proxy]:
    """Run an Envoy."""
    port = free_port()
    configuration = _configured(folder, port)
    made = Proxy(folder, port)
    made.tell(endpoints)
    async with running(configuration, port):
        yield made


@contextlib.asynccontextmanager
async def running(configuration: Path, port: int) -> AsyncIterator[None]:
    """Run an Envoy with this configuration, which listens at the port; its log is beside the configuration."""
    text = configuration.with_name("log")
    with text.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(envoy(), "--config-path", configuration, "--concurrency", "1", "--disable-hot-restart"),
            *("--log-level", "warning"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        async with asyncio.timeout(_PATIENCE):
            while not _listens(port):
                assert process.returncode is None, text.read_text()[-2000:]
                await asyncio.sleep(0.05)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _configured(folder: Path, port: int) -> Path:
    folder.mkdir(parents=True)
    configuration = folder / "envoy.yaml"
    configuration.write_text(string.Template(_CONFIGURATION.read_text()).substitute(port=port, folder=folder))
    return configuration


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
