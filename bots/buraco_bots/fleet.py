"""A fleet: bots that take seats at the tables of a server, play, and look for the next table.

They take the seats that tables keep for bots of their level, play for absent players where tables ask for it, and take
free seats of players. Any number of fleets may search at once: a seat that another was faster to take is passed over.
"""

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
from buraco_bots.awaiting import level_of, seats_for_bots, seats_for_players
from buraco_bots.bot import Bot, BotFactory, BotFault
from buraco_bots.bot_threads import overdue_threads
from buraco_bots.fleet_metrics import FleetMetrics, Outcome
from buraco_bots.pauses import NO_PAUSE, PauseRange, Pauses
from buraco_bots.player import play_seat
from buraco_bots.thinking import DEFAULT_TOLERANCE, Thinker, Tolerance
from buraco_client import (
    Backoff,
    BuracoClient,
    BuracoError,
    DeadlineExceeded,
    PlayUpdate,
    Seat,
    SeatNotYours,
    Unavailable,
)

SEARCH_INTERVAL: Final = 1.0
"""Seconds between two searches for seats, unless another time is set."""
SEARCHES_PER_TAKEOVER: Final = 15
"""Every so many searches include the seats of players in running matches, in which a player may have left."""
MAX_OVERDUE: Final = 8
"""The number of overdue calls of a bot from which it takes no more seats."""
_MAX_RETRY_DELAY: Final = 30.0
"""Seconds."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a fleet. Times are in seconds."""

    seats: int
    """Seats held at a time."""
    courtesy: float
    """Time after a table was first seen, during which its seats are left to people."""
    waiting: float
    """Time that a bot waits at a table for its match to start."""
    grace: float
    """Time that running matches get to end when the fleet stops."""
    tolerance: Tolerance = DEFAULT_TOLERANCE
    """How much time and how many faults each bot is allowed in a match."""
    search_interval: float = SEARCH_INTERVAL
    """Time between two searches for seats."""
    pause: PauseRange = NO_PAUSE
    """The time that a bot takes at least to move."""


@dataclass(slots=True)
class _Sitting:
    """A bot in its seat at a table."""

    name: str
    seat: Seat
    has_started: bool = False
    is_substitute: bool = False
    """It plays for an absent player, who takes the seat back by coming back."""

    def __str__(self) -> str:
        return f"{self.name} at seat {self.seat.seat} of table {self.seat.table_id}"


class Fleet:
    """Bots at the tables of one server."""

    def __init__(
        self,
        client: BuracoClient,
        bots: Sequence[tuple[str, BotFactory]],
        limits: Limits,
        metrics: FleetMetrics | None = None,
        *,
        free_seats: Sequence[str] | None = None,
    ) -> None:
        """`bots`: each a name, which players see, and its factory.

        `free_seats`: the names of those that take free seats of players, in turn; None: all.
        """
        self._client = client
        self._metrics = metrics or FleetMetrics()
        for_players = [(name, factory) for name, factory in bots if free_seats is None or name in free_seats]
        self._bot_count = len(for_players)
        self._bots = itertools.cycle(for_players)
        self._by_level = {level: (name, factory) for name, factory in bots if (level := level_of(name)) is not None}
        self._limits = limits
        self._sittings: dict[asyncio.Task[None], _Sitting] = {}
        self._first_seen: dict[int, dict[str, float]] = {}
        self._avoided: dict[str, float] = {}
        self._is_searching = False

    @property
    def seats_held(self) -> int:
        """The number of seats held now."""
        return len(self._sittings)

    @property
    def is_searching(self) -> bool:
        """True while the fleet looks for seats and its server answers: after the first search, until it stops."""
        return self._is_searching

    async def run(self, stop: asyncio.Event) -> None:
        """Take seats and play until `stop` is set; then leave the tables that wait, and let running matches end.

        An unavailable server is tried again without end.
        """
        backoff, failures = Backoff(cap=_MAX_RETRY_DELAY), 0
        for search in itertools.count():
            pause = self._limits.search_interval
            try:
                await self._take_seats_for_bots()
                await self._take_seats(take_over=search % SEARCHES_PER_TAKEOVER == 0)
                self._is_searching, failures = True, 0
            except BuracoError as error:
                self._is_searching = False
                failures += 1
                pause += backoff.delay(failures)
                _log.warning("cannot search for tables: %s", error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)
            if stop.is_set():
                break
        self._is_searching = False
        await self._shut_down()

    async def _take_seats_for_bots(self) -> None:
        """Take the seats that wait for a bot of a level here, up to the limit."""
        for level, (name, factory) in self._by_level.items():
            if self.seats_held >= self._limits.seats or len(overdue_threads(name)) >= MAX_OVERDUE:
                continue
            async for table in self._client.list_tables(bot_level=level):
                if table.id in self._avoided:
                    continue
                for seat in seats_for_bots(table, level):
                    if self.seats_held >= self._limits.seats:
                        return
                    if not await self._take_seat(table, seat, name, factory, level):
                        break

    async def _take_seats(self, *, take_over: bool) -> None:
        """Take free seats of players up to the limit; with `take_over` those of running matches too."""
        now = asyncio.get_running_loop().time()
        self._avoided = {table_id: until for table_id, until in self._avoided.items() if until > now}
        if not self._bot_count:
            return
        for state in [table_pb2.TABLE_STATE_WAITING, *([table_pb2.TABLE_STATE_PLAYING] if take_over else [])]:
            before, seen = self._first_seen.get(state, {}), {}
            async for table in self._client.list_tables(state):
                free = seats_for_players(table)
                if free and table.id not in self._avoided:
                    seen[table.id] = before.get(table.id, now)
                    if seen[table.id] + self._limits.courtesy <= now:
                        await self._take_seats_at(table, free)
            self._first_seen[state] = seen

    async def _take_seats_at(self, table: table_pb2.Table, seats: Sequence[int]) -> None:
        for free in seats:
            if self.seats_held >= self._limits.seats:
                return
            bot = self._next_bot()
            if bot is None:
                return
            if not await self._take_seat(table, free, *bot):
                return

    async def _take_seat(
        self, table: table_pb2.Table, number: int, name: str, factory: BotFactory, level: str = ""
    ) -> bool:
        """Take a seat and play there, as a player or as a bot of a level; return False if it could not be taken."""
        try:
            seat = await self._client.join_table(table.id, name, seat=number, bot_level=level)
        except BuracoError as error:
            _log.info("seat %d of table %s could not be taken: %s", number, table.id, error)
            return False
        sitting = _Sitting(name, seat, is_substitute=bool(level) and not table.seats[number].bot_level)
        self._metrics.count_seat_taken()
        _log.info("%s", sitting)
        task = asyncio.create_task(self._play_match(sitting, factory))
        self._sittings[task] = sitting
        task.add_done_callback(self._sittings.pop)
        if seat.table is not None and seat.table.state == table_pb2.TABLE_STATE_PLAYING:
            for other in self._sittings.values():
                other.has_started = other.has_started or other.seat.table_id == table.id
        return True

    def _next_bot(self) -> tuple[str, BotFactory] | None:
        """Return the next bot in turn, or None if too many calls of every bot are overdue."""
        for name, factory in itertools.islice(self._bots, self._bot_count):
            if len(overdue_threads(name)) < MAX_OVERDUE:
                return name, factory
        return None

    async def _play_match(self, sitting: _Sitting, factory: BotFactory) -> None:
        """Play a match to its end, or leave if none starts or the bot fails."""
        outcome: Outcome = "stopped"
        thinker = Thinker(sitting.name, str(sitting), self._limits.tolerance, self._metrics)
        try:
            bot = await thinker.make(factory, Random(secrets.randbits(64)))
            async with asyncio.timeout(self._limits.waiting) as waiting:

                def on_update(update: PlayUpdate) -> None:
                    if waiting.when() is not None and _shows_running_match(update):
                        sitting.has_started = True
                        waiting.reschedule(None)

                await self._play_seat(sitting, bot, on_update, thinker)
            outcome = "finished"
            _log.info("%s: the match is over", sitting)
        except TimeoutError:
            outcome = "not_started"
            _log.info("%s: no match has started, leaving", sitting)
            await self._leave(sitting)
        except BotFault as fault:
            outcome = "bot_failed"
            _log.error("%s: leaving: %s", sitting, fault.describe())
            if (overdue := len(overdue_threads(sitting.name))) >= MAX_OVERDUE:
                _log.error("%s takes no more seats while %d of its calls have not returned", sitting.name, overdue)
            await self._leave(sitting)
        except BuracoError as error:
            is_relieved = sitting.is_substitute and isinstance(error, SeatNotYours)
            outcome = "relieved" if is_relieved else "seat_lost"
            level = logging.INFO if is_relieved else logging.WARNING
            _log.log(level, "%s: the seat is %s: %s", sitting, "the player's again" if is_relieved else "lost", error)
        except Exception:  # noqa: BLE001 - whatever it is, the seat must not stay taken
            outcome = "bot_failed"
            _log.exception("%s: leaving", sitting)
            await self._leave(sitting)
        finally:
            thinker.close()
            self._metrics.count_seat_left(outcome)

    async def _play_seat(
        self, sitting: _Sitting, bot: Bot, on_update: Callable[[PlayUpdate], None], thinker: Thinker
    ) -> None:
        """Play on however often the server is unavailable: nobody else can take the seat."""
        pauses = Pauses(self._limits.pause, Random(secrets.randbits(64)))
        failures = 0
        while True:
            try:
                await play_seat(sitting.seat, bot, on_update, thinker, pauses)
            except (Unavailable, DeadlineExceeded) as error:
                failures += 1
                _log.warning("%s: trying again: %s", sitting, error)
                await asyncio.sleep(Backoff(first=1.0, cap=_MAX_RETRY_DELAY).delay(failures))
            else:
                return

    async def _leave(self, sitting: _Sitting) -> None:
        """Give the seat back, and avoid the table for a while."""
        self._avoided[sitting.seat.table_id] = asyncio.get_running_loop().time() + self._limits.waiting
        with contextlib.suppress(BuracoError):
            await sitting.seat.leave()

    async def _shut_down(self) -> None:
        """Leave matches that have not started, wait for the others, and leave those that take too long."""
        await self._stop_playing([task for task, sitting in self._sittings.items() if not sitting.has_started])
        if self._sittings:
            _log.info("stopping: %d seats in running matches, waiting up to %g s", self.seats_held, self._limits.grace)
            await asyncio.wait(list(self._sittings), timeout=self._limits.grace)
        await self._stop_playing(list(self._sittings))

    async def _stop_playing(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """End play in these seats and give them back, so that others can take them."""
        sittings = [self._sittings[task] for task in tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*[self._leave(sitting) for sitting in sittings])


def _shows_running_match(update: PlayUpdate) -> bool:
    if isinstance(update, table_service_pb2.TableUpdate):
        return update.HasField("view")
    if isinstance(update, table_pb2.Events):
        return any(event.HasField("dealt") for event in update.events)
    return isinstance(update, table_service_pb2.PlayTurn)
