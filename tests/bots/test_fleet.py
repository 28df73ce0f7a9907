from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from buraco.v1 import event_pb2, table_pb2
from buraco_bots.bot import BotFactory
from buraco_bots.bot_threads import overdue_threads
from buraco_bots.fleet import MAX_OVERDUE, Fleet, Limits
from buraco_bots.fleet_command import fleet as fleet_command
from buraco_bots.fleet_metrics import FleetMetrics
from buraco_bots.greedy import GreedyBot
from buraco_bots.local_server import RunningServer
from buraco_bots.player import play_seat
from buraco_bots.programs import programs_running
from buraco_bots.random_bot import RandomBot
from buraco_bots.registry import load_factory
from buraco_bots.scraping import scrape
from buraco_bots.thinking import DEFAULT_TOLERANCE, Tolerance
from buraco_client import BuracoClient
from buraco_rules import Move, View

BURACO = Path(sysconfig.get_path("scripts")) / "buraco"
GREEDY: list[tuple[str, BotFactory]] = [("greedy", GreedyBot)]
PATIENCE = 60.0
"""Seconds, on a busy machine, for what should take one."""


def limits_of(
    seats: int, courtesy: float, waiting: float, grace: float, tolerance: Tolerance = DEFAULT_TOLERANCE
) -> Limits:
    """Limits of a fleet that searches often."""
    return Limits(seats, courtesy, waiting, grace, tolerance, search_interval=0.02)


EAGER = limits_of(seats=4, courtesy=0.0, waiting=60.0, grace=10.0)


@pytest.fixture(autouse=True)
async def no_other_table(client: BuracoClient) -> AsyncIterator[None]:
    """A fleet takes any seat it finds, so no other table may wait while it is tested."""
    yield
    async for table in client.list_tables():
        if table.state != table_pb2.TABLE_STATE_FINISHED:
            for seat in table.seats:
                if not seat.player_name:
                    await client.join_table(table.id, "leftover", seat=seat.seat, bot_level=seat.bot_level)


@contextlib.asynccontextmanager
async def running(
    client: BuracoClient,
    limits: Limits,
    bots: Sequence[tuple[str, BotFactory]] = GREEDY,
    metrics: FleetMetrics | None = None,
) -> AsyncIterator[Fleet]:
    """A running fleet, which stops at the end."""
    fleet, stop = Fleet(client, bots, limits, metrics), asyncio.Event()
    task = asyncio.create_task(fleet.run(stop))
    try:
        yield fleet
    finally:
        stop.set()
        await task


async def until(client: BuracoClient, table_id: str, players: Sequence[str]) -> None:
    """Waits until these players sit at the table; an empty name is a free seat."""
    async with client.watch(table_id) as watch:
        async for _ in watch:
            table = await client.get_table(table_id)
            if [seat.player_name for seat in table.seats] == list(players):
                return


async def finished(client: BuracoClient, table_id: str) -> table_pb2.Table:
    """The table once its match is over."""
    async with client.watch(table_id) as watch:
        async for _ in watch:
            pass
    return await client.get_table(table_id)


async def test_plays_waiting_tables(client: BuracoClient) -> None:
    """A fleet fills the tables that wait, plays them to the end, and then the next."""
    async with running(client, EAGER, [("one", GreedyBot), ("two", GreedyBot)]) as fleet:
        for seats in (4, 2):
            table = await client.create_table("buraco-plus-classic", seats, target_score=0)
            over = await finished(client, table.id)
            assert over.state == table_pb2.TABLE_STATE_FINISHED
            assert [seat.player_name for seat in over.seats] == ["one", "two", "one", "two"][:seats]
    assert fleet.seats_held == 0


async def test_programs_take_seats(client: BuracoClient) -> None:
    """A bot that is a program takes seats as any other, one process for each, and ends with its match."""
    factory = load_factory(f"exec:{sys.executable} {Path(__file__).parents[2] / 'bots/examples/line_bot.py'}")
    async with running(client, EAGER, [("program", factory)]):
        table = await client.create_table("buraco-plus-classic", 2, target_score=0)
        over = await finished(client, table.id)
        assert [seat.player_name for seat in over.seats] == ["program", "program"]
    assert not programs_running()


async def test_what_a_fleet_counts(client: BuracoClient) -> None:
    """Seats are counted while they are held, choices by bot, and how each bot's time at a table ended."""
    metrics = FleetMetrics()

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, labels)

    table = await client.create_table("buraco-plus-classic", 2, target_score=0)
    person = await client.join_table(table.id, "person")
    async with running(client, limits_of(2, 0.0, 60.0, 10.0), metrics=metrics):
        moves = asyncio.create_task(play_seat(person, GreedyBot(Random(1))))
        await finished(client, table.id)
        await moves
        waiting = await client.create_table("buraco-plus-classic", 4, target_score=0)
        await until(client, waiting.id, ["greedy", "greedy", "", ""])
        assert value("buraco_fleet_seats") == 2
    assert value("buraco_fleet_seats") == 0
    assert value("buraco_fleet_sittings_total", outcome="finished") == 1
    assert value("buraco_fleet_sittings_total", outcome="stopped") == 2
    assert (value("buraco_bot_think_seconds_count", bot="greedy") or 0) > 10


async def test_metrics_are_served() -> None:
    """The metrics of a fleet can be scraped for as long as they are served; a taken port is an error."""
    metrics = FleetMetrics()
    metrics.observe_choice("greedy", 0.01)
    with metrics.serve("127.0.0.1", 0) as port:
        assert (await asyncio.to_thread(scrape, f"127.0.0.1:{port}"))["buraco_bot_think_seconds_count"] == 1
        with pytest.raises(OSError, match="in use"), metrics.serve("127.0.0.1", port):
            pass
        taken = CliRunner().invoke(fleet_command, ["--server", "127.0.0.1:1", "--metrics-port", str(port)])
    assert taken.exit_code == 1
    assert "cannot serve metrics" in taken.output
    assert await asyncio.to_thread(scrape, f"127.0.0.1:{port}") == {}


async def test_plays_with_people(client: BuracoClient) -> None:
    """The free seats of a table at which somebody sits are taken, and no other."""
    table = await client.create_table("buraco-plus-classic", 4, target_score=0)
    person = await client.join_table(table.id, "person", seat=2)
    async with running(client, EAGER):
        assert await play_seat(person, GreedyBot(Random(1))) > 0
        over = await finished(client, table.id)
    assert [seat.player_name for seat in over.seats] == ["greedy", "greedy", "person", "greedy"]


async def test_person_resigns(client: BuracoClient) -> None:
    """A match that a person ends is over for the bot as any other, and the person's client has all of it."""
    metrics = FleetMetrics()
    table = await client.create_table("buraco-plus-classic", 2, target_score=0)
    person = await client.join_table(table.id, "person")
    async with running(client, limits_of(2, 0.0, 60.0, 10.0), metrics=metrics):
        await until(client, table.id, ["person", "greedy"])
        offered = await person.offer_draw()
        assert [offer.seat for offer in offered.offers] == [person.seat]
        assert not (await person.offer_draw(withdraw=True)).offers
        over = await person.resign()
        assert (over.result.winner, over.result.how) == (1, event_pb2.MATCH_END_RESIGNED)
        cut_off = await client.get_cut_off_deal(table.id)
        assert cut_off is not None
        assert cut_off.seed
        again = await person.rematch()
        assert again.table_id == over.rematch_table_id
        await until(client, again.table_id, ["person", "greedy"])
        assert (await again.abort()).result.how == event_pb2.MATCH_END_ABORTED
    assert metrics.registry.get_sample_value("buraco_fleet_sittings_total", {"outcome": "finished"}) == 2


async def test_limit(client: BuracoClient) -> None:
    """No more seats are held than the limit allows; those of a table that waits are given back at the end."""
    table = await client.create_table("buraco-plus-classic", 4, target_score=0)
    async with running(client, limits_of(2, 0.0, 60.0, 10.0)) as fleet:
        await until(client, table.id, ["greedy", "greedy", "", ""])
        assert fleet.seats_held == 2
    after = await client.get_table(table.id)
    assert after.state == table_pb2.TABLE_STATE_WAITING
    assert [seat.player_name for seat in after.seats] == [""] * 4


async def test_courtesy(client: BuracoClient) -> None:
    """A new table is left to people for a while."""
    table = await client.create_table("buraco-plus-classic", 2, target_score=0)
    stop = asyncio.Event()
    stop.set()  # one look, and no more
    await Fleet(client, GREEDY, limits_of(4, 3600.0, 60.0, 10.0)).run(stop)
    assert (await client.get_table(table.id)).revision == table.revision
    await Fleet(client, GREEDY, EAGER).run(stop)
    assert (await client.get_table(table.id)).revision > table.revision


async def test_match_that_never_starts(client: BuracoClient) -> None:
    """A bot gives its seat back if no match starts, and does not take another there at once."""
    table = await client.create_table("buraco-plus-classic", 4, target_score=0)
    async with running(client, limits_of(1, 0.0, 1.0, 10.0)):
        await until(client, table.id, ["greedy", "", "", ""])
        await until(client, table.id, [""] * 4)
        left = (await client.get_table(table.id)).revision
        other = await client.create_table("buraco-plus-classic", 2, target_score=0)
        await until(client, other.id, ["greedy", ""])
        assert (await client.get_table(table.id)).revision == left


async def test_takes_over(client: BuracoClient) -> None:
    """The seat of a player who left a running match is taken over."""
    table = await client.create_table("buraco-plus-classic", 2, target_score=0)
    stays, leaves = [await client.join_table(table.id, name) for name in ("stays", "leaves")]
    await leaves.leave()
    async with running(client, EAGER):
        assert await play_seat(stays, GreedyBot(Random(1))) > 0
    assert [seat.player_name for seat in (await client.get_table(table.id)).seats] == ["stays", "greedy"]


async def test_leaves_running_match_after_grace(client: BuracoClient) -> None:
    """A fleet that stops waits for a running match as long as it may, and then gives its seat back."""
    table = await client.create_table("buraco-plus-classic", 2, target_score=0)
    await client.join_table(table.id, "idle", seat=0)
    async with running(client, limits_of(1, 0.0, 60.0, 0.1)):
        await until(client, table.id, ["idle", "greedy"])
    after = await client.get_table(table.id)
    assert after.state == table_pb2.TABLE_STATE_PLAYING
    assert [seat.player_name for seat in after.seats] == ["idle", ""]


async def test_broken_bot(client: BuracoClient, caplog: pytest.LogCaptureFixture) -> None:
    """A bot that fails gives its seat back, and the fleet goes on."""

    class Broken:
        def __init__(self, random: Random) -> None: ...

        def choose(self, view: View, moves: Sequence[Move]) -> Move:
            raise RuntimeError("out of ideas")

    table = await client.create_table("buraco-plus-classic", 2, target_score=0)
    async with running(client, limits_of(4, 0.0, 60.0, 0.1), [("broken", Broken)]):
        await until(client, table.id, ["broken", "broken"])
        async with client.watch(table.id) as watch:
            async for _ in watch:
                if "" in [seat.player_name for seat in (await client.get_table(table.id)).seats]:
                    break
        assert "Broken failed: RuntimeError: out of ideas" in caplog.text


async def test_bot_that_hangs_too_often(client: BuracoClient, caplog: pytest.LogCaptureFixture) -> None:
    """A bot of which too many calls hang takes no more seats until they return; others of the fleet do."""
    release = threading.Event()

    class Hangs(RandomBot):
        def choose(self, view: View, moves: Sequence[Move]) -> Move:
            assert release.wait(PATIENCE)
            return moves[-1]

    async def seated(name: str, bots: Sequence[tuple[str, BotFactory]]) -> None:
        async with running(client, limits_of(2, 0.0, 60.0, 0.0, Tolerance(PATIENCE)), bots):
            table = await client.create_table("buraco-plus-classic", 2, target_score=0)
            await until(client, table.id, [name, name])

    hasty = limits_of(40, 0.0, 60.0, 0.0, Tolerance(0.02))
    async with running(client, hasty, [("hangs", Hangs)]):
        while len(overdue_threads("hangs")) < MAX_OVERDUE:
            table = await client.create_table("buraco-plus-classic", 2, target_score=0)
            await asyncio.to_thread(wait_for_log, caplog, rf"hangs at seat . of table {table.id}: leaving")
    assert f"hangs takes no more seats while {MAX_OVERDUE} of its calls have not returned" in caplog.text
    await seated("random", [("hangs", Hangs), ("random", RandomBot)])
    release.set()
    for thread in overdue_threads("hangs"):
        await asyncio.to_thread(thread.join, PATIENCE)
    await seated("hangs", [("hangs", Hangs)])


def wait_for_log(caplog: pytest.LogCaptureFixture, pattern: str) -> None:
    """Return once a line like this is logged."""
    deadline = time.monotonic() + PATIENCE
    while not re.search(pattern, caplog.text):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_command_stops(server: RunningServer) -> None:
    """`buraco fleet` takes a seat, logs it, and on SIGTERM gives it back and ends with exit code 0."""
    with subprocess.Popen(
        [BURACO, "fleet", "--server", server.address, "--seats-limit", "1", "--courtesy", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    ) as process:
        table_id = asyncio.run(_open_table(server))
        assert process.stderr
        line = process.stderr.readline()
        assert re.search(rf"INFO greedy at seat 0 of table {table_id}$", line)
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=60)
    assert process.returncode == 0, rest
    assert "Traceback" not in rest


async def _open_table(server: RunningServer) -> str:
    async with BuracoClient(server.address) as client:
        return (await client.create_table("buraco-plus-classic", 2, target_score=0)).id


def test_command_misused() -> None:
    """An unknown bot is answered with what there is, and exit code 2."""
    result = CliRunner().invoke(fleet_command, ["--server", "localhost:1", "--bots", "clever"])
    assert result.exit_code == 2
    assert "known are cheater, greedy, random, search" in result.output
