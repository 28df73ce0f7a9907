"""Pauses before the moves of a bot, as people make them: an opponent that answers at once is hard to follow."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from random import Random
from typing import Final, Self

from buraco.v1 import view_pb2

MAX_PAUSE: Final = 60.0
"""Seconds."""
SHARE_OF_TURN: Final = 0.25
"""The part of what is left of a turn that a pause may take at a table with a clock."""

_RANGE: Final = re.compile(r"(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?")


@dataclass(frozen=True, slots=True)
class PauseRange:
    """The bounds of a pause, in seconds; by default none is made."""

    shortest: float = 0.0
    longest: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the range that a text describes: two numbers, or one for pauses of the same length.

        Raise ValueError if it is none, or exceeds MAX_PAUSE.

        >>> PauseRange.parse("0.5-2"), PauseRange.parse("1")
        (PauseRange(shortest=0.5, longest=2.0), PauseRange(shortest=1.0, longest=1.0))
        """
        found = _RANGE.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no time: give seconds, such as 1, or two bounds, such as 0.5-2")
        shortest, longest = float(found[1]), float(found[2] or found[1])
        if not shortest <= longest <= MAX_PAUSE:
            raise ValueError(f"{text!r} is no range: the lower bound comes first, and {MAX_PAUSE:g} is the highest")
        return cls(shortest, longest)


NO_PAUSE: Final = PauseRange()
"""No pause."""


class Pauses:
    """The pauses of one bot, at random within a range, by a generator that the bot does not use."""

    def __init__(self, within: PauseRange, random: Random) -> None:
        self._within = within
        self._random = random

    def next_pause(self, view: view_pb2.View) -> float:
        """Return how long after a view of its turn the bot may move, in seconds.

        At a table with a clock at most SHARE_OF_TURN of what is left of the turn, and nothing of the reserve.
        """
        seconds = self._random.uniform(self._within.shortest, self._within.longest)
        seat = view.seats[view.seat_to_move]
        if not seat.HasField("clock_remaining"):
            return seconds
        return min(seconds, SHARE_OF_TURN * seat.clock_remaining.ToTimedelta().total_seconds())

    async def wait(self, view: view_pb2.View, since: float) -> None:
        """Wait for what is left of the next pause. It began with the view, at the time `since` of the event loop."""
        await asyncio.sleep(since + self.next_pause(view) - asyncio.get_running_loop().time())
