"""Pods as processes: started, probed and stopped as a kubelet does by the manifest, each at an address of its own.

Substitutes for what only a cluster has: a pod's address is one of the loopback network, and the folders that a pod
mounts are folders of the test.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.deploy.chart import plain_environment

Files = Mapping[str, Mapping[str, str]]
"""What is in Secrets: texts by name and key."""

_SERVING: Final = health_pb2.HealthCheckResponse.SERVING
# Channels to one address would share a connection otherwise.
_OWN_CONNECTION: Final = (("grpc.use_local_subchannel_pool", 1),)


class Pod:
    """A pod of a Deployment. Its folders are created in `folder`; Secrets come from `secrets`."""

    def __init__(self, deployment: Mapping[str, Any], host: str, folder: Path, secrets: Files) -> None:
        self._spec = deployment["spec"]["template"]["spec"]
        (self.container,) = self._spec["containers"]
        self.host = host
        self._folder = folder
        self._folders = self._mounted(secrets)
        plain = {f"{name}/{key}": text for name, keys in secrets.items() for key, text in keys.items()}
        told = {name: self._here(value) for name, value in plain_environment(self.container, plain).items()}
        # An address in place of all: here others share them.
        self._environment = {name: host if value == "0.0.0.0" else value for name, value in told.items()}  # noqa: S104
        self.ports = {port["name"]: port["containerPort"] for port in self.container.get("ports", ())}
        self._process: asyncio.subprocess.Process | None = None

    @property
    def endpoint(self) -> tuple[str, int]:
        """Return the address of the service."""
        return self.host, self.ports["grpc"]

    @property
    def process(self) -> asyncio.subprocess.Process:
        """Return the program. It has been started."""
        assert self._process is not None
        return self._process

    @property
    def log(self) -> str:
        """Return what it has written."""
        return (self._folder / "log").read_text(errors="replace")

    def arguments_for(self, *others: str) -> list[str]:
        """Return the manifest's arguments, with others in place of those of the same options."""
        replaced = {other.partition("=")[0] for other in others}
        kept = [self._here(argument) for argument in self.container["args"]]
        return [argument for argument in kept if argument.partition("=")[0] not in replaced] + list(others)

    def mounted(self, path: str) -> Path:
        """Return where a file is that the pod has at this path below /etc/buraco."""
        return Path(self._here(f"/etc/buraco/{path}"))

    async def start(self, *arguments: str) -> None:
        """Start the program; `arguments` replace the manifest's."""
        chosen = arguments or self.arguments_for()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("BURACO_")}
        with (self._folder / "log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "buraco_service", *chosen),
                cwd=self._folder,
                env=kept | self._environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    async def up(self) -> None:
        """Start it; return when it is ready by its startup and readiness probes."""
        await self.start()
        probe = self.container["startupProbe"]
        for _ in range(probe["failureThreshold"]):
            if await self.answers("startupProbe"):
                break
            assert self.process.returncode is None, self.log
            await asyncio.sleep(probe["periodSeconds"])
        else:
            raise AssertionError(f"the pod did not start within its time: {self.log}")
        assert await self.answers("readinessProbe"), self.log

    async def answers(self, probe: str) -> bool:
        """Return True if a probe succeeds within its timeout."""
        described = self.container[probe]
        try:
            async with asyncio.timeout(described["timeoutSeconds"]):
                if "grpc" in described:
                    return await self._asked(described["grpc"]["port"], described["grpc"].get("service", ""))
                if "exec" in described:
                    return await self._executed(described["exec"]["command"])
                if "httpGet" in described:
                    get = described["httpGet"]
                    return await asyncio.to_thread(self._got, self.ports[get["port"]], get["path"])
                return await self._connected(self.ports[described["tcpSocket"]["port"]])
        except TimeoutError:
            return False

    async def stop(self) -> float:
        """Stop it as the kubelet does; return the seconds that took. Fail if it had to be killed."""
        began = time.monotonic()
        with contextlib.suppress(KeyError):
            await asyncio.sleep(self.container["lifecycle"]["preStop"]["sleep"]["seconds"])
        self.process.send_signal(signal.SIGTERM)
        left = self._spec["terminationGracePeriodSeconds"] - (time.monotonic() - began)
        try:
            async with asyncio.timeout(left):
                status = await self.process.wait()
        except TimeoutError:
            await self.kill()
            raise AssertionError(f"the pod did not stop within its time: {self.log[-2000:]}") from None
        assert status == 0, self.log[-2000:]
        return time.monotonic() - began

    async def kill(self) -> None:
        """Kill it, as a node that fails would."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def _mounted(self, secrets: Files) -> dict[str, Path]:
        volumes = {volume["name"]: volume for volume in self._spec["volumes"]}
        found = {}
        for mount in self.container["volumeMounts"]:
            folder = self._folder / mount["name"]
            folder.mkdir(parents=True)
            if source := volumes[mount["name"]].get("secret"):
                keys = secrets[source["secretName"]]
                for key in [item["key"] for item in source["items"]] if "items" in source else keys:
                    (folder / key).write_text(keys[key])
            found[mount["mountPath"]] = folder
        return found

    def _here(self, text: str) -> str:
        for place, folder in self._folders.items():
            text = text.replace(place, str(folder))
        return text

    async def _asked(self, port: int, service: str) -> bool:
        async with grpc.aio.insecure_channel(f"{self.host}:{port}", options=_OWN_CONNECTION) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            with contextlib.suppress(grpc.aio.AioRpcError):
                answer = await stub.Check(health_pb2.HealthCheckRequest(service=service), wait_for_ready=False)
                return bool(answer.status == _SERVING)
        return False

    async def _executed(self, command: list[str]) -> bool:
        program = await asyncio.create_subprocess_exec(*map(self._here, command))
        return await program.wait() == 0

    def _got(self, port: int, path: str) -> bool:
        connection = HTTPConnection(self.host, port, timeout=10)
        try:
            connection.request("GET", path)
            return 200 <= connection.getresponse().status < 400
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    async def _connected(self, port: int) -> bool:
        with socket.socket() as probe:
            probe.setblocking(False)
            with contextlib.suppress(OSError):
                await asyncio.get_running_loop().sock_connect(probe, (self.host, port))
                return True
        return False
