"""Bots in threads of their own: how long they may take, and what happens if they fail."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final, Protocol, TypeVar

import click

from buraco.v1 import event_pb2
from buraco_bots.bot import Bot, BotFactory, BotFault, FaultKind, ask_for_moves, choose_plain_move, close_bot, make_bot
from buraco_bots.bot_threads import BotThread
from buraco_rules import Move, View

THINKING_LIMIT: Final = 30.0
"""Seconds that a bot may take for a choice by default."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How much time and how many faults a bot is allowed."""

    seconds: float = THINKING_LIMIT
    """The time for one choice, and for making the bot."""
    faults: float = 0
    """Faults in a match after which plain moves finish the turn; the next fault ends the bot's play."""


DEFAULT_TOLERANCE: Final = Tolerance()
"""30 seconds, and no fault."""

thinking_limit_option = click.option(
    "--thinking-limit",
    type=click.FloatRange(0, 86_400, min_open=True),
    default=THINKING_LIMIT,
    metavar="SECONDS",
    help="Time that a bot may take to choose a move.",
)
"""The click option of commands that run bots with a time limit."""


class Meter(Protocol):
    """Counts what bots do, such as the metrics of a fleet."""

    def observe_choice(self, bot: str, seconds: float) -> object:
        """Record how long a bot took to choose a move."""

    def count_fault(self, bot: str, kind: FaultKind) -> object:
        """Count a fault of a bot."""


class Thinker:
    """Makes the bot of one seat and asks it for its moves, with a time limit and in a thread that only this bot uses.

    A call that exceeds the limit is abandoned with its thread. The bot is not asked again before that thread has ended,
    so there is at most one such thread a seat. A bot that can be closed is closed then, and not asked again at all.
    """

    def __init__(self, bot: str, seat: str, tolerance: Tolerance, meter: Meter | None = None) -> None:
        """`bot`: the name for the meter and threads; `seat`: the bot and its seat, for the log."""
        self._bot = bot
        self._seat = seat
        self._tolerance = tolerance
        self._meter = meter
        self._made: Bot | None = None
        self._is_closed = False
        self._thread: BotThread | None = None
        self._faults = 0
        self._failed_turn: tuple[int, int] | None = None
        self._unseen: list[event_pb2.Event] = []

    async def make(self, factory: BotFactory, random: Random) -> Bot:
        """Return a bot of its factory. Raise BotFault, which is never tolerated here but counts as a fault."""
        try:
            self._made = await self._run(partial(make_bot, factory, random), "to be made")
        except BotFault as fault:
            self._count(fault)
            raise
        return self._made

    async def choose(
        self, bot: Bot, view: View, moves: Sequence[Move], moves_made: int, events: Sequence[event_pb2.Event] = ()
    ) -> Sequence[Move]:
        """Return what the bot plays next, or a plain move after a fault that is tolerated. Raise BotFault.

        Plain moves finish the whole turn in which a bot fails. Arguments are those of `ask_for_moves`.
        """
        self._made = bot
        self._unseen += events
        if self._failed_turn == _turn_of(view):
            return (choose_plain_move(moves),)
        if self._is_closed:
            return self.tolerate(BotFault("late", f"{self._bot} was closed after it had been late"), view, moves)
        unseen, self._unseen = tuple(self._unseen), []
        try:
            chosen, seconds = await self._run(
                partial(_ask_timed, bot, view, moves, moves_made, unseen), "to choose a move"
            )
        except BotFault as fault:
            return self.tolerate(fault, view, moves)
        if self._meter is not None:
            self._meter.observe_choice(self._bot, seconds)
        return chosen

    def tolerate(self, fault: BotFault, view: View, moves: Sequence[Move]) -> Sequence[Move]:
        """Return a plain move after a fault of the bot. Raise the fault if it was one too many."""
        self._count(fault)
        if self._faults > self._tolerance.faults:
            raise fault
        _log.warning("%s: its turn is finished by plain moves: %s", self._seat, fault.describe())
        self._failed_turn = _turn_of(view)
        return (choose_plain_move(moves),)

    def close(self) -> None:
        """Close the bot, and end the thread as soon as it has no call to run; do not wait for that."""
        self._is_closed = True
        if self._made is not None:
            close_bot(self._made)
        if self._thread is not None:
            self._thread.calls.put(None)

    def _count(self, fault: BotFault) -> None:
        self._faults += 1
        if self._meter is not None:
            self._meter.count_fault(self._bot, fault.kind)

    async def _run(self, call: Callable[[], T], purpose: str) -> T:
        """Return the result of a call in the bot's thread. Raise BotFault."""
        if self._thread is not None and self._thread.is_abandoned:
            if self._thread.is_alive():
                raise BotFault("late", f"{self._bot} has not returned from an earlier call")
            self._thread = None
        if self._thread is None:
            self._thread = BotThread(self._bot)
            self._thread.start()
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._thread.calls.put(partial(_call_and_settle, call, result))
        try:
            await asyncio.wait([result], timeout=self._tolerance.seconds)
        finally:
            if result.cancel():  # False if the result has come
                self._thread.abandon()
                if hasattr(self._made, "close"):
                    self.close()
        if result.cancelled():
            raise BotFault("late", f"{self._bot} took longer than {self._tolerance.seconds:g} s {purpose}")
        return result.result()


def _turn_of(view: View) -> tuple[int, int]:
    return view.match.deal_number, view.turn_number


def _ask_timed(
    bot: Bot, view: View, moves: Sequence[Move], moves_made: int, events: Sequence[event_pb2.Event]
) -> tuple[Sequence[Move], float]:
    start = time.perf_counter()
    return ask_for_moves(bot, view, moves, moves_made, events), time.perf_counter() - start


def _call_and_settle(call: Callable[[], T], result: asyncio.Future[T]) -> None:
    """Run a call and pass its outcome to the event loop that waits for it."""
    settle: Callable[[], None]
    try:
        settle = partial(result.set_result, call())
    except BotFault as fault:
        settle = partial(result.set_exception, fault)
    except KeyboardInterrupt as error:  # raised by the bot: signals reach the main thread alone
        settle = partial(result.set_exception, BotFault("error", f"the bot raised {error!r}", error))
    with contextlib.suppress(RuntimeError):  # the loop is closed
        result.get_loop().call_soon_threadsafe(lambda: None if result.done() else settle())
