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

from buraco_service.workers.link import ASK
from buraco_service.workers.metrics import Family

# Bytes of a message at most. What a worker counts is bounded to a fraction of it.
_LONGEST: Final = 2**24
# Seconds that a worker gets to tell what it has counted; then what it told before has to do.
_ANSWER_LIMIT: Final = 2.0


class WorkerProcess:
    """One worker's process. A worker is never forked from here: it starts afresh, as a program of its own."""

    def __init__(
        self,
        number: int,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.number = number
        self.pid = process.pid
        # Whether it has come to serve.
        self.served = False
        # Why it could not, in words of its own.
        self.failure: str | None = None
        # What it has counted, as it told last.
        self.families: list[Family] = []
        self._process = process
        self._reader = reader
        self._writer = writer
        self._begun = time.monotonic()
        self._news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live())

    @classmethod
    async def start(cls, number: int, environment: Mapping[str, str]) -> Self:
        """Starts a worker. Raises OSError if the system has no room for it."""
        ours, theirs = socket.socketpair()
        with theirs:
            reader, writer = await asyncio.open_unix_connection(sock=ours, limit=_LONGEST)
            try:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", "buraco_service.commands.worker", str(number), str(theirs.fileno())),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    env=environment,
                    # Ctrl-C reaches a terminal's whole foreground group, but the supervisor is who stops workers.
                    process_group=0,
                )
            except BaseException:
                writer.close()
                raise
        return cls(number, process, reader, writer)

    @property
    def age(self) -> float:
        """Seconds since its start."""
        return time.monotonic() - self._begun

    @property
    def serves(self) -> bool:
        """Whether it serves now."""
        return self.served and not self._life.done()

    async def started(self) -> bool:
        """True as soon as it serves, False if it ends before."""
        while not self.served and not self._life.done():
            await self._next_message()
        return self.served

    async def ended(self) -> int:
        """The exit status (-N: by the signal N), once the process has ended and all that it told has been heard."""
        return await asyncio.shield(self._life)

    async def ask(self) -> None:
        """Has it tell what it has counted. Returns after a while even if it does not."""
        told = self.families
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_ANSWER_LIMIT):
                self._writer.write(ASK)
                await self._writer.drain()
                while self.families is told and not self._life.done():
                    await self._next_message()

    def send_signal(self, number: signal.Signals) -> None:
        """Passes a signal on; does nothing if the process has ended."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def _next_message(self) -> None:
        await asyncio.wait((self._news, self._life), return_when=asyncio.FIRST_COMPLETED)

    async def _live(self) -> int:
        # An error is as good as the end of the line.
        with contextlib.suppress(OSError):
            while (line := await self._reader.readline()).endswith(b"\n"):
                self._hear(line)
        self._writer.close()
        return await self._process.wait()

    def _hear(self, line: bytes) -> None:
        for name, value in json.loads(line).items():
            if name == "ready":
                self.served = True
            elif name == "failed":
                self.failure = value
            else:
                self.families = value
        news, self._news = self._news, asyncio.get_running_loop().create_future()
        news.set_result(None)
