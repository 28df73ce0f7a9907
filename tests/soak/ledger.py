"""What the service acknowledged, with times and errors."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, NamedTuple

from buraco.v1 import move_pb2
from buraco_client import BuracoError, RevisionStale

_LONGEST_PAUSE: Final = 5.0
"""In multiples of the mean."""


class LoadEnded(Exception):
    """The load has ended: no move may begin any more."""


class Acknowledged(NamedTuple):
    """A move that was answered with its revision."""

    revision: int
    seat: int
    move: bytes


class Timed(NamedTuple):
    """How long a move took, from the bot's decision to the answer, all tries together; times of `time.monotonic`."""

    begin: float
    end: float


class Ledger:
    """Notes of one load. A bot thinks for `pause` seconds on average before it moves."""

    def __init__(self, pause: float, rng: random.Random) -> None:
        self.tables: dict[str, list[Acknowledged]] = {}
        """By table whose creation was acknowledged, its acknowledged moves."""
        self.finished: set[str] = set()
        """Tables whose match ended for all players."""
        self.moves: list[Timed] = []
        self.attempts: Counter[str] = Counter()
        """Calls and moves on streams, by method and status, each attempt counted."""
        self.errors: Counter[str] = Counter()
        """Errors that reached bots in spite of the client's retries."""
        self.conflicts = 0
        """Moves refused as stale, because another bot of the seat was faster."""
        self.streams = 0
        """Streams that bots asked for; each opening of one is among the attempts."""
        self.received = 0
        """Bytes of updates on play streams."""
        self.played = 0
        """Moves made on play streams."""
        self.closing = False
        """Whether no move may begin any more."""
        self._pause = pause
        self._rng = rng
        self._under_way = 0
        self._idle = asyncio.Event()

    async def move(
        self, table_id: str, seat: int, moves: Sequence[move_pb2.Move], send: Callable[[], Awaitable[int]]
    ) -> int:
        """Think, make a move by `send`, which returns its revision, and note it. Raise LoadEnded once closing."""
        await asyncio.sleep(min(self._rng.expovariate(1.0), _LONGEST_PAUSE) * self._pause)
        begin = time.monotonic()
        with self.under_way():
            try:
                revision = await send()
            except RevisionStale:
                self.conflicts += 1
                raise
        self.moves.append(Timed(begin, time.monotonic()))
        (move,) = moves
        self.tables[table_id].append(Acknowledged(revision, seat, move.SerializeToString(deterministic=True)))
        return revision

    @contextlib.contextmanager
    def under_way(self) -> Iterator[None]:
        """Let the end of the load wait for the block. Raise LoadEnded once closing."""
        if self.closing:
            raise LoadEnded
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._set_idle()

    def note_error(self, error: BuracoError) -> None:
        """Count an error that reached a bot."""
        self.errors[describe_error(error)] += 1

    async def close(self) -> None:
        """Let no move begin any more, and wait for those under way."""
        self.closing = True
        self._set_idle()
        await self._idle.wait()

    def _set_idle(self) -> None:
        if self.closing and not self._under_way:
            self._idle.set()


def describe_error(error: BuracoError) -> str:
    """Return status and reason."""
    return f"{error.code.name} {error.reason}".rstrip()
