"""`buraco serve` as an operator runs it: as a program."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import grpc
import grpc.aio
from grpc_reflection.v1alpha import reflection_pb2_grpc

from tests.servers import service
from tests.servers.service import START


class Program:
    """`buraco serve` in a process of its own."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        log: Path | None = None,
        prefix: Sequence[str] = (),
        module: str = "buraco_service",
        **environment: str,
    ) -> None:
        """`log`: a file that the logs are added to; who logs more than a pipe holds needs one. `prefix`: a command
        that runs the program. `module`: what is run instead of the service's own.
        """
        self._ready = folder / "ready.json"
        with contextlib.ExitStack() as until_started:
            self.process = service.start(
                self._ready,
                *arguments,
                output=subprocess.PIPE,
                log=subprocess.PIPE if log is None else until_started.enter_context(log.open("a")),
                folder=folder,
                prefix=prefix,
                module=module,
                environment={"BURACO_PORT": "0", "BURACO_METRICS_PORT": "0", **environment},
            )

    async def ready(self) -> dict[str, Any]:
        """What the ready file says, once the program serves."""
        return await asyncio.to_thread(service.when_ready, self.process, self._ready)

    async def end(self) -> tuple[int, str, str]:
        """Exit status, output and logs, once the program has ended."""
        out, err = await asyncio.to_thread(self.process.communicate, timeout=START)
        return self.process.returncode, out, err


def get(url: str) -> str:
    """What is served at a URL."""
    with urllib.request.urlopen(url, timeout=START) as answer:  # noqa: S310 - http on loopback
        found: bytes = answer.read()
    return found.decode()


def reflected(channel: grpc.aio.Channel) -> Any:
    """A stream of questions about the contract."""
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(cast(grpc.Channel, channel))
    return stub.ServerReflectionInfo()
