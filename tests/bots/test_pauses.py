from __future__ import annotations

import asyncio
from random import Random

import pytest
from click.testing import CliRunner
from google.protobuf.duration_pb2 import Duration

from buraco.v1 import table_pb2, view_pb2
from buraco_bots.fleet import Limits
from buraco_bots.fleet_command import fleet as fleet_command
from buraco_bots.fleet_metrics import FleetMetrics
from buraco_bots.greedy import GreedyBot
from buraco_bots.pauses import NO_PAUSE, PauseRange, Pauses
from buraco_bots.player import play_seat
from buraco_client import BuracoClient
from tests.bots.test_fleet import EAGER, PATIENCE, finished, no_other_table, running, until

__all__ = ["no_other_table"]

TURN_TIME = 5.0
LONG = PauseRange(60.0, 60.0)


def turn(clock: float | None = None) -> view_pb2.View:
    """A view of seat 1, whose turn it is, with this rest of its time."""
    seats = [view_pb2.SeatView(seat=0), view_pb2.SeatView(seat=1)]
    if clock is not None:
        seats[1].clock_remaining.FromMilliseconds(round(clock * 1000))
    return view_pb2.View(seat=1, seat_to_move=1, seats=seats)


def test_pauses_are_at_random() -> None:
    """Pauses spread over the whole range, the same for the same generator."""
    drawn = [Pauses(PauseRange(0.5, 2.0), Random(seed)).next_pause(turn()) for seed in range(100)]
    assert drawn == [Pauses(PauseRange(0.5, 2.0), Random(seed)).next_pause(turn()) for seed in range(100)]
    assert 0.5 <= min(drawn) < 0.7
    assert 1.8 < max(drawn) <= 2.0
    assert Pauses(NO_PAUSE, Random(1)).next_pause(turn()) == 0.0


@pytest.mark.parametrize(("clock", "seconds"), [(None, 60.0), (240.0, 60.0), (4.0, 1.0), (0.0, 0.0)])
def test_clock_shortens_a_pause(clock: float | None, seconds: float) -> None:
    """A pause takes at most a quarter of what is left of a turn, and none of the reserve."""
    assert Pauses(LONG, Random(1)).next_pause(turn(clock)) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1", "1-", "2-1", "1-61", "61", "1e1", "nan", "0.5 - 2", "1-2-3"])
def test_what_is_no_pause(text: str) -> None:
    """What is no time, or no range of times, is refused with how to give one."""
    with pytest.raises(ValueError, match=r"is no (time|range): "):
        PauseRange.parse(text)
    refused = CliRunner().invoke(fleet_command, ["--server", "localhost:1", f"--pause={text}"])
    assert refused.exit_code == 2
    assert "'--pause': " in refused.output


class Measured(Pauses):
    """Keeps how long pauses would be, by deal and turn, and makes none."""

    def __init__(self) -> None:
        super().__init__(LONG, Random(1))
        self.by_turn: dict[tuple[int, int], list[float]] = {}

    async def wait(self, view: view_pb2.View, since: float) -> None:
        self.by_turn.setdefault((view.match.deal_number, view.turn_number), []).append(self.next_pause(view))


async def test_no_clock_runs_out(client: BuracoClient) -> None:
    """At a table with a clock there is a pause before every choice, none longer than a quarter of the turn's time."""
    options = table_pb2.TableOptions(turn_time=Duration(seconds=int(TURN_TIME)))
    table = await client.create_table("buraco-plus-classic", 2, target_score=0, options=options)
    seats = [await client.join_table(table.id, name) for name in ("one", "two")]
    pauses = [Measured(), Measured()]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(
            *[play_seat(seat, GreedyBot(Random(1)), pauses=pause) for seat, pause in zip(seats, pauses, strict=True)]
        )
    turns = [*pauses[0].by_turn.values(), *pauses[1].by_turn.values()]
    assert min(map(min, turns)) > 0
    assert max(map(max, turns)) <= TURN_TIME / 4
    assert max(map(len, turns)) >= 2


class Held(Pauses):
    """A pause that lasts until it is let go."""

    def __init__(self) -> None:
        super().__init__(NO_PAUSE, Random(1))
        self.has_begun, self.is_over = asyncio.Event(), asyncio.Event()

    async def wait(self, view: view_pb2.View, since: float) -> None:
        self.has_begun.set()
        await self.is_over.wait()


async def test_match_ends_in_a_pause(client: BuracoClient) -> None:
    """A player may end the match while a bot pauses: that is the end for the bot, which makes no move any more."""
    table = await client.create_table("buraco-plus-classic", 2, target_score=0)
    seats = [await client.join_table(table.id, name) for name in ("one", "two")]
    first = (await seats[0].get_view()).view.seat_to_move
    bot, person, pause = seats[first], seats[1 - first], Held()
    playing = asyncio.create_task(play_seat(bot, GreedyBot(Random(1)), pauses=pause))
    async with asyncio.timeout(PATIENCE):
        await pause.has_begun.wait()
        await person.resign()
        pause.is_over.set()
        assert await playing == 0


async def test_pauses_hold_up_no_other_table(client: BuracoClient) -> None:
    """While bots pause others play; a pause is no time to think, and ends where the fleet stops."""
    slow = Limits(2, 0.0, 60.0, 0.0, search_interval=0.02, pause=LONG)
    metrics = FleetMetrics()

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, labels)

    held = await client.create_table("buraco-plus-classic", 2, target_score=0)
    async with asyncio.timeout(PATIENCE):
        async with running(client, slow, [("slow", GreedyBot)], metrics):
            await until(client, held.id, ["slow", "slow"])
            async with running(client, EAGER):
                free = await client.create_table("buraco-plus-classic", 2, target_score=0)
                over = await finished(client, free.id)
            while value("buraco_bot_think_seconds_count", bot="slow") is None:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.02)
        assert [seat.player_name for seat in over.seats] == ["greedy", "greedy"]
        after = await client.get_table(held.id)
    assert value("buraco_bot_think_seconds_count", bot="slow") == 1
    assert value("buraco_bot_think_seconds_bucket", bot="slow", le="5.0") == 1
    assert value("buraco_fleet_sittings_total", outcome="stopped") == 2
    assert (after.state, [seat.player_name for seat in after.seats]) == (table_pb2.TABLE_STATE_PLAYING, ["", ""])
