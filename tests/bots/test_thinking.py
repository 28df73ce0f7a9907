from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from buraco.v1 import event_pb2
from buraco_bots.bot import Bot, BotFault, choose_plain_move
from buraco_bots.bot_threads import BotThread, overdue_threads
from buraco_bots.fleet_metrics import FleetMetrics
from buraco_bots.thinking import Thinker, Tolerance
from buraco_rules import Discard, Move, View, legal_moves, view_of
from tests.rules.positions import CLASSIC, position

DEAL = position(CLASSIC, hand="3s 4s Kd 9c")
VIEW = view_of(DEAL, 0)
NEXT_TURN = VIEW._replace(turn_number=VIEW.turn_number + 2)
MOVES = legal_moves(DEAL)
KING = Discard(39)
PLAIN = (choose_plain_move(MOVES),)
PATIENCE = 60.0
AT_ONCE = 0.05


class Absorbed:
    """Hangs until it is released, then discards its king."""

    def __init__(self, random: Random | None = None) -> None:
        self.began, self.released = threading.Event(), threading.Event()
        self.asked = 0

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        self.asked += 1
        self.began.set()
        assert self.released.wait(PATIENCE)
        return KING


class Raises:
    """Raises an error."""

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        raise LookupError


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """No test leaves a thread to the next."""
    yield
    for thread in overdue_threads():
        thread.join(PATIENCE)
    assert not overdue_threads()


def thinker(seconds: float, faults: float = 0, metrics: FleetMetrics | None = None) -> Thinker:
    """One for a bot called `mine`."""
    return Thinker("mine", "mine at seat 0", Tolerance(seconds, faults), metrics)


async def until_ended() -> None:
    """Wait until no abandoned thread runs any more."""
    for thread in overdue_threads():
        await asyncio.to_thread(thread.join, PATIENCE)


async def test_late() -> None:
    """A choice that takes too long is a fault, and what it comes to is of no more interest."""
    bot, one = Absorbed(), thinker(AT_ONCE)
    with pytest.raises(BotFault, match=r"mine took longer than 0\.05 s to choose a move") as caught:
        await one.choose(bot, VIEW, MOVES, 0)
    assert caught.value.kind == "late"
    bot.released.set()
    await until_ended()


async def test_not_asked_while_it_hangs() -> None:
    """A bot that hangs is not asked a second time beside that, but again once it has returned."""
    bot, one = Absorbed(), thinker(AT_ONCE, faults=3)
    assert await one.choose(bot, VIEW, MOVES, 0) == PLAIN != (KING,)
    assert await one.choose(bot, NEXT_TURN, MOVES, 0) == PLAIN
    assert (bot.asked, len(overdue_threads("mine")), len(overdue_threads("other"))) == (1, 1, 0)
    bot.released.set()
    await until_ended()
    await one.choose(bot, VIEW._replace(turn_number=VIEW.turn_number + 4), MOVES, 0)
    one.close()
    assert bot.asked == 2


async def test_turn_is_finished(caplog: pytest.LogCaptureFixture) -> None:
    """The whole turn of a fault that is tolerated is finished by plain moves, and one fault more ends its play."""
    metrics = FleetMetrics()
    one = thinker(PATIENCE, faults=1, metrics=metrics)
    assert await one.choose(Raises(), VIEW, MOVES, 0) == PLAIN
    assert await one.choose(Raises(), VIEW, MOVES, 1) == PLAIN
    with pytest.raises(BotFault, match="Raises failed: LookupError"):
        await one.choose(Raises(), NEXT_TURN, MOVES, 0)
    one.close()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith("mine at seat 0: its turn is finished by plain moves: Raises failed")
    assert metrics.registry.get_sample_value("buraco_bot_faults_total", {"bot": "mine", "fault": "error"}) == 2


async def test_what_is_counted() -> None:
    """Faults are counted by bot and kind, and calls that are overdue for as long as they run."""
    metrics, bot = FleetMetrics(), Absorbed()

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, labels)

    with pytest.raises(BotFault):
        await thinker(AT_ONCE, metrics=metrics).choose(bot, VIEW, MOVES, 0)
    assert value("buraco_bot_faults_total", bot="mine", fault="late") == 1
    assert value("buraco_bot_overdue_calls") == 1
    bot.released.set()
    await until_ended()
    assert value("buraco_bot_overdue_calls") == 0


async def test_made_in_time() -> None:
    """To be made a bot gets no more time than for a choice."""
    release = threading.Event()

    def factory(random: Random) -> Bot:
        assert release.wait(PATIENCE)
        return Absorbed()

    with pytest.raises(BotFault, match=r"mine took longer than 0\.05 s to be made"):
        await thinker(AT_ONCE).make(factory, Random(1))
    release.set()


async def test_nobody_waits() -> None:
    """A choice is also abandoned when the task that waits for it is cancelled."""
    bot = Absorbed()
    asking = asyncio.create_task(thinker(PATIENCE).choose(bot, VIEW, MOVES, 0))
    assert await asyncio.to_thread(bot.began.wait, PATIENCE)
    asking.cancel()
    await asyncio.wait([asking])
    assert asking.cancelled()
    assert len(overdue_threads("mine")) == 1
    bot.released.set()


@pytest.mark.parametrize("swallows", [False, True])
def test_busy_loop_is_ended(swallows: bool) -> None:
    """An abandoned thread that runs Python code ends, even where the error of it is caught."""
    began = threading.Event()

    def loop() -> None:
        try:
            while True:
                began.set()
        except BaseException:
            if not swallows:
                raise

    thread = BotThread("busy")
    thread.start()
    thread.calls.put(loop)
    assert began.wait(PATIENCE)
    thread.abandon()
    thread.join(PATIENCE)
    assert not thread.is_alive()


async def test_late_answer_after_the_loop() -> None:
    """An answer that comes when the event loop is closed raises no error in its thread."""
    bot = Absorbed()

    def play() -> None:
        with pytest.raises(BotFault):
            asyncio.run(thinker(AT_ONCE).choose(bot, VIEW, MOVES, 0))

    await asyncio.to_thread(play)
    bot.released.set()
    await until_ended()


class Watches:
    """Fails at its first choice, notes what it sees, and whether it was closed."""

    def __init__(self) -> None:
        self.seen: list[str | None] = []
        self.choices = self.closed = 0

    def observe(self, event: event_pb2.Event) -> None:
        self.seen.append(event.WhichOneof("event"))

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        self.choices += 1
        if self.choices == 1:
            raise LookupError
        return KING

    def close(self) -> None:
        self.closed += 1


async def test_events_of_a_failed_turn() -> None:
    """A bot whose turn was finished by plain moves sees afterwards what happened meanwhile."""
    bot, one = Watches(), thinker(PATIENCE, faults=1)
    drawn, discarded = event_pb2.Event(drew=event_pb2.Drew()), event_pb2.Event(discarded=event_pb2.Discarded())
    assert await one.choose(bot, VIEW, MOVES, 0, [drawn]) == PLAIN
    assert await one.choose(bot, VIEW, MOVES, 1, [discarded]) == PLAIN
    assert bot.seen == ["drew"]
    assert await one.choose(bot, NEXT_TURN, MOVES, 0, [drawn]) == (KING,)
    assert bot.seen == ["drew", "discarded", "drew"]
    one.close()
    assert bot.closed == 1


async def test_late_bot_is_closed() -> None:
    """A bot that is late is closed at once, so that what it waits for can end, and is not asked again."""

    class Blocked(Absorbed):
        def close(self) -> None:
            self.released.set()

    bot, one = Blocked(), thinker(AT_ONCE, faults=1)
    assert await one.choose(bot, VIEW, MOVES, 0) == PLAIN
    await until_ended()
    with pytest.raises(BotFault, match="mine was closed after it had been late"):
        await one.choose(bot, NEXT_TURN, MOVES, 0)
    assert bot.asked == 1


async def test_refused_plan() -> None:
    """A plan that the table refuses counts as a fault, after which plain moves finish the turn if it is tolerated."""
    one, fault = thinker(PATIENCE, faults=1), BotFault("illegal", "mine planned too much")
    assert one.tolerate(fault, VIEW, MOVES) == PLAIN
    with pytest.raises(BotFault, match="mine planned too much"):
        one.tolerate(fault, NEXT_TURN, MOVES)
