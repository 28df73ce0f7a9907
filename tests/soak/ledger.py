"""What the service acknowledged, and what it took."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from buraco.v1 import move_pb2
from buraco_client import BuracoError, RevisionStale

_LONGEST_PAUSE: Final = 5.0
"""In means."""


class Over(Exception):
    """The load is at its end: no more moves."""


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
    """The book of one load. A bot thinks for `pause` seconds on average before it moves."""

    def __init__(self, pause: float, rng: random.Random) -> None:
        self.tables: dict[str, list[Acknowledged]] = {}
        """Of every table whose creation was acknowledged, the moves that were."""
        self.finished: set[str] = set()
        """Tables whose players all saw the end of the match."""
        self.moves: list[Timed] = []
        self.attempts: Counter[str] = Counter()
        """Calls and moves on streams, and how each try ended."""
        self.errors: Counter[str] = Counter()
        """What bots were told in spite of the client's own tries."""
        self.conflicts = 0
        """Moves that came too late, as bots are told: another holder of the seat was faster."""
        self.streams = 0
        """Streams that bots wanted; those that were opened are among the attempts."""
        self.received = 0
        """Bytes of updates on play streams, and how many moves were made on these."""
        self.played = 0
        self.closing = False
        """No more moves are begun."""
        self._pause = pause
        self._rng = rng
        self._under_way = 0
        self._idle = asyncio.Event()

    async def move(
        self, table_id: str, seat: int, moves: Sequence[move_pb2.Move], send: Callable[[], Awaitable[int]]
    ) -> int:
        """Think, make a move by `send`, which returns its revision, and note it. Raises Over at the end."""
        await asyncio.sleep(min(self._rng.expovariate(1.0), _LONGEST_PAUSE) * self._pause)
        if self.closing:
            raise Over
        begin = time.monotonic()
        self._under_way += 1
        try:
            revision = await send()
        except RevisionStale:
            self.conflicts += 1
            raise
        finally:
            self._under_way -= 1
            self._tell_when_idle()
        self.moves.append(Timed(begin, time.monotonic()))
        (move,) = moves
        self.tables[table_id].append(Acknowledged(revision, seat, move.SerializeToString(deterministic=True)))
        return revision

    def failed(self, error: BuracoError) -> None:
        """A bot was told of an error."""
        self.errors[name_of(error)] += 1

    async def close(self) -> None:
        """Begin no more moves, and return when those under way are answered."""
        self.closing = True
        self._tell_when_idle()
        await self._idle.wait()

    def _tell_when_idle(self) -> None:
        if self.closing and not self._under_way:
            self._idle.set()


def name_of(error: BuracoError) -> str:
    """Status and reason."""
    return f"{error.code.name} {error.reason}".rstrip()
