"""Bots that fail in every way, for tests of the arena: workers import them by their address."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Sequence
from random import Random

from buraco_bots.random_bot import RandomBot
from buraco_rules import Discard, Move, View


class Last:
    """Plays the last legal move, with a parameter and a version."""

    version = "1.5"

    def __init__(self, random: Random, skip: int = 0) -> None:
        self.skip = skip

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        return moves[-1 - min(self.skip, len(moves) - 1)]


class Raises(RandomBot):
    """Raises an error."""

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        raise RuntimeError("out of ideas")


class Unmade(RandomBot):
    """Cannot be made."""

    def __init__(self, random: Random) -> None:
        raise RuntimeError("no book")


class Cheats(RandomBot):
    """Chooses a card that it does not have."""

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        return Discard(99)


class CheatsLater(RandomBot):
    """Plans an illegal later move: it discards more jokers than there are."""

    def plan(self, view: View, moves: Sequence[Move]) -> Sequence[Move]:
        return [moves[0], *[Discard(53)] * 9]


class Slow(RandomBot):
    """Takes a second for a choice."""

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        time.sleep(1.0)
        return super().choose(view, moves)


class SlowToMake(Last):
    """Takes a second to be made."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        time.sleep(1.0)


class Sleeps(RandomBot):
    """Never returns."""

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        while True:
            with contextlib.suppress(BaseException):
                time.sleep(1e6)


class HangsInC(RandomBot):
    """Never returns from C code, which keeps all other threads of its process from running."""

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        re.match("(a+)+b", "a" * 64)
        return moves[0]


class Exits(RandomBot):
    """Ends its process without a word."""

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        os._exit(7)


class Crashes(RandomBot):
    """Crashes its process, as faulty C code does."""

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        os.kill(os.getpid(), signal.SIGSEGV)
        return moves[0]
