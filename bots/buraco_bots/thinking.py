"""Bots in threads of their own: how long they may take, and what happens where they fail."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from random import Random
from typing import TYPE_CHECKING, Final, TypeVar

import click

from buraco_bots.bot import Bot, BotFactory, BotFault, ask, make, plain_move
from buraco_rules import Move, View

if TYPE_CHECKING:
    from buraco_bots.fleet_metrics import FleetMetrics

THINKING_LIMIT: Final = 30.0
"""Seconds that a bot may take for a choice, unless another limit is given."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How much a bot is allowed."""

    seconds: float = THINKING_LIMIT
    """For one choice, and to be made."""
    faults: float = 0
    """Faults in a match after which its turn is finished by plain moves; the next one ends its play."""


USUAL: Final = Tolerance()
"""Where nothing else is asked for."""

thinking_limit_option = click.option(
    "--thinking-limit",
    type=click.FloatRange(0, 86_400, min_open=True),
    default=THINKING_LIMIT,
    metavar="SECONDS",
    help="Time that a bot may take to choose a move.",
)
"""The option of the commands that run bots with a time limit."""


class BotThread(threading.Thread):
    """A daemon thread that runs calls for one bot: no call that hangs keeps the interpreter from exiting."""

    def __init__(self, bot: str) -> None:
        super().__init__(name=f"bot {bot}", daemon=True)
        self.bot: Final = bot
        self.calls: Final[SimpleQueue[Callable[[], object] | None]] = SimpleQueue()
        """What to run, in this order; None ends the thread."""
        self.abandoned = False

    def run(self) -> None:
        """Run the calls."""
        with contextlib.suppress(SystemExit):
            while (call := self.calls.get()) is not None:
                call()

    def abandon(self) -> None:
        """End the thread: at once where it runs Python code, else as soon as its call returns."""
        self.abandoned = True
        # A busy loop would take processor time from all other bots for as long as the process lives.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident or 0), ctypes.py_object(SystemExit))
        self.calls.put(None)


def overdue(bot: str | None = None) -> set[BotThread]:
    """Return the abandoned threads of a bot (None: of all) that still run."""
    threads = [thread for thread in threading.enumerate() if isinstance(thread, BotThread)]
    return {thread for thread in threads if thread.abandoned and bot in (None, thread.bot)}


class Thinker:
    """Makes the bot of one seat and asks it for its moves, in a thread that is nobody else's and with a time limit.

    A call that exceeds the limit is abandoned with its thread. The bot is not asked again before that thread has ended,
    so there is at most one such thread a seat.
    """

    def __init__(self, bot: str, seat: str, tolerance: Tolerance, metrics: FleetMetrics | None = None) -> None:
        """`bot`: the name for metrics and threads; `seat`: the bot and its seat, for the log."""
        self._bot = bot
        self._seat = seat
        self._tolerance = tolerance
        self._metrics = metrics
        self._thread: BotThread | None = None
        self._faults = 0
        self._lost_turn: tuple[int, int] | None = None

    async def make(self, factory: BotFactory, random: Random) -> Bot:
        """Return a bot of its factory. Raise BotFault."""
        try:
            return await self._run(partial(make, factory, random), "to be made")
        except BotFault as fault:
            self._count(fault)
            raise

    async def choose(self, bot: Bot, view: View, moves: Sequence[Move], moves_made: int) -> Move:
        """Return the bot's choice, or after a fault that is tolerated a plain move. Raise BotFault.

        The whole turn in which a bot fails is finished by plain moves.
        """
        turn = view.match.deal_number, view.turn_number
        if turn == self._lost_turn:
            return plain_move(moves)
        try:
            move, seconds = await self._run(partial(_timed, bot, view, moves, moves_made), "to choose a move")
        except BotFault as fault:
            self._count(fault)
            if self._faults > self._tolerance.faults:
                raise
            _log.warning("%s: its turn is finished by plain moves: %s", self._seat, fault.told())
            self._lost_turn = turn
            return plain_move(moves)
        if self._metrics is not None:
            self._metrics.thought(self._bot, seconds)
        return move

    def close(self) -> None:
        """End the thread once it has nothing to do."""
        if self._thread is not None:
            self._thread.calls.put(None)

    def _count(self, fault: BotFault) -> None:
        self._faults += 1
        if self._metrics is not None:
            self._metrics.failed(self._bot, fault.kind)

    async def _run(self, call: Callable[[], T], purpose: str) -> T:
        """Return what a call returns in the bot's thread. Raise BotFault."""
        if self._thread is not None and self._thread.abandoned:
            if self._thread.is_alive():
                raise BotFault("late", f"{self._bot} has not returned from an earlier call")
            self._thread = None
        if self._thread is None:
            self._thread = BotThread(self._bot)
            self._thread.start()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._thread.calls.put(partial(_answer, call, answer))
        try:
            await asyncio.wait([answer], timeout=self._tolerance.seconds)
        finally:
            if answer.cancel():  # which does nothing to one that has come
                self._thread.abandon()
        if answer.cancelled():
            raise BotFault("late", f"{self._bot} took longer than {self._tolerance.seconds:g} s {purpose}")
        return answer.result()


def _timed(bot: Bot, view: View, moves: Sequence[Move], moves_made: int) -> tuple[Move, float]:
    begun = time.perf_counter()
    return ask(bot, view, moves, moves_made), time.perf_counter() - begun


def _answer(call: Callable[[], T], answer: asyncio.Future[T]) -> None:
    """Run a call and give its outcome to the event loop that waits for it."""
    settle: Callable[[], None]
    try:
        settle = partial(answer.set_result, call())
    except BotFault as fault:
        settle = partial(answer.set_exception, fault)
    except KeyboardInterrupt as error:  # the bot's own: signals reach the main thread alone
        settle = partial(answer.set_exception, BotFault("error", f"the bot raised {error!r}", error))
    with contextlib.suppress(RuntimeError):  # the loop is closed
        answer.get_loop().call_soon_threadsafe(_unless_done, answer, settle)


def _unless_done(answer: asyncio.Future[T], settle: Callable[[], None]) -> None:
    if not answer.done():
        settle()
