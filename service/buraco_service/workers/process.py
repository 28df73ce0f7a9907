"""The supervisor's side of one worker, from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import sys
import time
from collections.abc import Mapping
from typing import Final, Self

from buraco_service.workers.link import METRICS_REQUEST
from buraco_service.workers.metrics import Family

# Bytes. A worker's metrics take a fraction of it at most.
_MAX_MESSAGE_BYTES: Final = 2**24
# Seconds. A worker that has not answered by then keeps the metrics of its last answer.
_ANSWER_TIMEOUT: Final = 2.0


class WorkerProcess:
    """One worker's process: a program of its own, never a fork of the supervisor."""

    def __init__(
        self,
        number: int,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.number = number
        self.pid = process.pid
        # True once it has served, also after its end.
        self.has_served = False
        # Its own message about why it could not start.
        self.failure: str | None = None
        # The metrics of its last answer.
        self.families: list[Family] = []
        self._process = process
        self._reader = reader
        self._writer = writer
        self._started_at = time.monotonic()
        # Done at the next message.
        self._message: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Reads messages until the process ends; its result is the exit status.
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, number: int, environment: Mapping[str, str]) -> Self:
        """Start a worker. Raise OSError if the system cannot run another process."""
        ours, theirs = socket.socketpair()
        with theirs:
            reader, writer = await asyncio.open_unix_connection(sock=ours, limit=_MAX_MESSAGE_BYTES)
            try:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", "buraco_service.commands.worker", str(number), str(theirs.fileno())),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    env=environment,
                    # Ctrl-C reaches a terminal's whole foreground group, but only the supervisor stops workers.
                    process_group=0,
                )
            except BaseException:
                writer.close()
                raise
        return cls(number, process, reader, writer)

    @property
    def age(self) -> float:
        """Return the seconds since its start."""
        return time.monotonic() - self._started_at

    @property
    def is_serving(self) -> bool:
        """Return True while it serves."""
        return self.has_served and not self._reading.done()

    async def wait_until_serving(self) -> bool:
        """Return True as soon as it serves, False if it ends before."""
        while not self.has_served and not self._reading.done():
            await self._wait_for_message()
        return self.has_served

    async def wait_until_ended(self) -> int:
        """Return the exit status (-N: by the signal N) when the process has ended and all its messages are read."""
        return await asyncio.shield(self._reading)

    async def refresh_metrics(self) -> None:
        """Request its metrics and wait for them, two seconds at most; without an answer the last ones stay."""
        before = self.families
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_ANSWER_TIMEOUT):
                self._writer.write(METRICS_REQUEST)
                await self._writer.drain()
                while self.families is before and not self._reading.done():
                    await self._wait_for_message()

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal; do nothing if the process has ended."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def _wait_for_message(self) -> None:
        await asyncio.wait((self._message, self._reading), return_when=asyncio.FIRST_COMPLETED)

    async def _read(self) -> int:
        # A connection that breaks has ended.
        with contextlib.suppress(OSError):
            while (line := await self._reader.readline()).endswith(b"\n"):
                self._handle(line)
        self._writer.close()
        return await self._process.wait()

    def _handle(self, line: bytes) -> None:
        for name, value in json.loads(line).items():
            if name == "ready":
                self.has_served = True
            elif name == "failed":
                self.failure = value
            else:
                self.families = value
        message, self._message = self._message, asyncio.get_running_loop().create_future()
        message.set_result(None)
