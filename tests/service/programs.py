"""`buraco serve` as an operator runs it: as a program."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

import grpc
import grpc.aio
from grpc_reflection.v1alpha import reflection_pb2_grpc

START: Final = 60.0
"""Seconds that a program may take to start, on a machine that does much else."""


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
        kept = {name: value for name, value in os.environ.items() if not name.startswith("BURACO_")}
        with contextlib.ExitStack() as until_started:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, "-m", module, "serve", "--ready-file", str(self._ready), *arguments],
                cwd=folder,
                env={**kept, "BURACO_PORT": "0", "BURACO_METRICS_PORT": "0", **environment},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if log is None else until_started.enter_context(log.open("a")),
                text=True,
            )

    async def ready(self) -> dict[str, Any]:
        """What the ready file says, once the program serves."""
        async with asyncio.timeout(START):
            while not self._ready.exists():
                assert self.process.poll() is None, self.process.communicate()[1]
                await asyncio.sleep(0.02)
        found: dict[str, Any] = json.loads(self._ready.read_text())
        return found

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
