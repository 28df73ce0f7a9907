"""A fleet: bots that sit down at a server's tables wherever seats are free, play, and look for the next."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from buraco.v1 import table_pb2, table_service_pb2
from buraco_bots.bot import Bot, BotFactory, BotFault
from buraco_bots.fleet_metrics import FleetMetrics, Outcome
from buraco_bots.player import play_seat
from buraco_bots.thinking import USUAL, Thinker, Tolerance, overdue
from buraco_client import Backoff, BuracoClient, BuracoError, DeadlineExceeded, PlayUpdate, Seat, Unavailable

LOOK_EVERY: Final = 1.0
"""Seconds between two looks at the waiting tables."""
TAKE_OVER_EVERY: Final = 15
"""Looks at the waiting tables for one at the running matches, in which a player may have left."""
MAX_OVERDUE: Final = 8
"""While so many calls of a bot past their time have not returned, it takes no more seats."""
_LONGEST_PAUSE: Final = 30.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a fleet goes. Times are in seconds."""

    seats: int
    """Seats held at a time."""
    courtesy: float
    """For so long after it was first seen, a table's seats are left to people."""
    waiting: float
    """For so long a bot waits at a table for its match to start."""
    grace: float
    """So long running matches get to end when the fleet is told to stop."""
    tolerance: Tolerance = USUAL
    """How much each bot is allowed in a match."""


@dataclass(slots=True)
class _Sitting:
    """A bot at a table."""

    name: str
    seat: Seat
    started: bool = False

    def __str__(self) -> str:
        return f"{self.name} at seat {self.seat.seat} of table {self.seat.table_id}"


class Fleet:
    """Bots at the tables of one server. `bots`, each a name and what makes it, sit down in turn."""

    def __init__(
        self,
        client: BuracoClient,
        bots: Sequence[tuple[str, BotFactory]],
        limits: Limits,
        metrics: FleetMetrics | None = None,
    ) -> None:
        self._client = client
        self._metrics = metrics or FleetMetrics()
        self._kinds = len(bots)
        self._bots = itertools.cycle(bots)
        self._limits = limits
        self._sittings: dict[asyncio.Task[None], _Sitting] = {}
        self._first_seen: dict[int, dict[str, float]] = {}
        self._avoided: dict[str, float] = {}

    @property
    def seats_held(self) -> int:
        """Seats held now."""
        return len(self._sittings)

    async def run(self, stop: asyncio.Event) -> None:
        """Takes seats and plays until told to stop; then leaves the tables that wait, and lets running matches end.

        A server that is away is tried again, for however long it is.
        """
        backoff, failures = Backoff(cap=_LONGEST_PAUSE), 0
        for look in itertools.count():
            pause = LOOK_EVERY
            try:
                await self._look(take_over=look % TAKE_OVER_EVERY == 0)
                failures = 0
            except BuracoError as error:
                failures += 1
                pause += backoff.delay(failures)
                _log.warning("cannot look for tables: %s", error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)
            if stop.is_set():
                break
        await self._wind_up()

    async def _look(self, *, take_over: bool) -> None:
        """Sits down at free seats, as far as the limit allows."""
        now = asyncio.get_running_loop().time()
        self._avoided = {table_id: until for table_id, until in self._avoided.items() if until > now}
        for state in [table_pb2.TABLE_STATE_WAITING, *([table_pb2.TABLE_STATE_PLAYING] if take_over else [])]:
            before, seen = self._first_seen.get(state, {}), {}
            async for table in self._client.list_tables(state):
                free = [seat.seat for seat in table.seats if not seat.player_name]
                if free and table.id not in self._avoided:
                    seen[table.id] = before.get(table.id, now)
                    if seen[table.id] + self._limits.courtesy <= now:
                        await self._fill(table, free)
            self._first_seen[state] = seen

    async def _fill(self, table: table_pb2.Table, seats: Sequence[int]) -> None:
        for free in seats:
            if self.seats_held >= self._limits.seats:
                return
            bot = self._next_bot()
            if bot is None:
                return
            name, factory = bot
            try:
                seat = await self._client.join_table(table.id, name, seat=free)
            except BuracoError as error:
                _log.info("seat %d of table %s was not to be had: %s", free, table.id, error)
                return
            sitting = _Sitting(name, seat)
            self._metrics.sat_down()
            _log.info("%s", sitting)
            task = asyncio.create_task(self._sit(sitting, factory))
            self._sittings[task] = sitting
            task.add_done_callback(self._sittings.pop)
            if seat.table is not None and seat.table.state == table_pb2.TABLE_STATE_PLAYING:
                for one in self._sittings.values():
                    one.started = one.started or one.seat.table_id == table.id

    def _next_bot(self) -> tuple[str, BotFactory] | None:
        """Return who sits down next; None where too many calls of all of them hang."""
        turn = itertools.islice(self._bots, self._kinds)
        return next(((name, factory) for name, factory in turn if len(overdue(name)) < MAX_OVERDUE), None)

    async def _sit(self, sitting: _Sitting, factory: BotFactory) -> None:
        """Plays a match to its end, or leaves where none starts or the bot fails."""
        outcome: Outcome = "stopped"
        thinker = Thinker(sitting.name, str(sitting), self._limits.tolerance, self._metrics)
        try:
            bot = await thinker.make(factory, Random(secrets.randbits(64)))
            async with asyncio.timeout(self._limits.waiting) as waiting:

                def notice(update: PlayUpdate) -> None:
                    if waiting.when() is not None and _has_started(update):
                        sitting.started = True
                        waiting.reschedule(None)

                await self._play(sitting, bot, notice, thinker)
            outcome = "finished"
            _log.info("%s: the match is over", sitting)
        except TimeoutError:
            outcome = "not_started"
            _log.info("%s: no match has started, leaving", sitting)
            await self._leave(sitting)
        except BotFault as fault:
            outcome = "bot_failed"
            _log.error("%s: leaving: %s", sitting, fault.told())
            if (hung := len(overdue(sitting.name))) >= MAX_OVERDUE:
                _log.error("%s takes no more seats while %d of its calls have not returned", sitting.name, hung)
            await self._leave(sitting)
        except BuracoError as error:
            outcome = "seat_lost"
            _log.warning("%s: the seat is lost: %s", sitting, error)
        except Exception:  # noqa: BLE001 - whatever it is, the seat must not stay taken
            outcome = "bot_failed"
            _log.exception("%s: leaving", sitting)
            await self._leave(sitting)
        finally:
            thinker.close()
            self._metrics.got_up(outcome)

    async def _play(self, sitting: _Sitting, bot: Bot, notice: Callable[[PlayUpdate], None], thinker: Thinker) -> None:
        """Plays on however often the server is away: nobody else can take the seat."""
        failures = 0
        while True:
            try:
                await play_seat(sitting.seat, bot, notice, thinker)
            except (Unavailable, DeadlineExceeded) as error:
                failures += 1
                _log.warning("%s: trying again: %s", sitting, error)
                await asyncio.sleep(Backoff(first=1.0, cap=_LONGEST_PAUSE).delay(failures))
            else:
                return

    async def _leave(self, sitting: _Sitting) -> None:
        """Gives the seat back, and keeps away from the table for a while."""
        self._avoided[sitting.seat.table_id] = asyncio.get_running_loop().time() + self._limits.waiting
        with contextlib.suppress(BuracoError):
            await sitting.seat.leave()

    async def _wind_up(self) -> None:
        """Leaves what has not started, waits for what has, and leaves what takes too long."""
        await self._part([task for task, sitting in self._sittings.items() if not sitting.started])
        if self._sittings:
            _log.info("stopping: %d seats in running matches, waiting up to %g s", self.seats_held, self._limits.grace)
            await asyncio.wait(list(self._sittings), timeout=self._limits.grace)
        await self._part(list(self._sittings))

    async def _part(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Ends play in these seats and gives them back, so that others can take them."""
        sittings = [self._sittings[task] for task in tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*[self._leave(sitting) for sitting in sittings])


def _has_started(update: PlayUpdate) -> bool:
    """Whether an update is one of a running match."""
    if isinstance(update, table_service_pb2.TableUpdate):
        return update.HasField("view")
    if isinstance(update, table_pb2.Events):
        return any(event.HasField("dealt") for event in update.events)
    return isinstance(update, table_service_pb2.PlayTurn)
