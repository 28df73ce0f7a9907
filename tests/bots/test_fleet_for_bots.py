"""A fleet at seats that wait for bots: those kept for them, and those of absent players."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from random import Random

import pytest
from google.protobuf.duration_pb2 import Duration

from buraco.v1 import table_pb2, table_service_pb2
from buraco_bots.awaiting import seats_for_bots, seats_for_players
from buraco_bots.bot import BotFactory
from buraco_bots.fleet import Fleet, Limits
from buraco_bots.fleet_metrics import FleetMetrics
from buraco_bots.greedy import GreedyBot
from buraco_bots.pauses import PauseRange
from buraco_bots.player import play_seat
from buraco_bots.random_bot import RandomBot
from buraco_client import BuracoClient, Seat
from buraco_codec.moves import move_from_pb, move_to_pb
from buraco_codec.views import view_from_pb
from buraco_rules import Discard, Move, Phase, View
from tests.bots.test_fleet import PATIENCE, finished, limits_of, no_other_table, running, until

__all__ = ["no_other_table"]

PATIENT = limits_of(4, 3600.0, 60.0, 10.0)
"""Leaves all seats of players to people."""
LEVEL = "greedy"
SITTINGS = "buraco_fleet_sittings_total"


def kept_for_bots(*seats: int, level: str = LEVEL) -> table_pb2.TableOptions:
    """Options of a table that keeps seats for bots."""
    return table_pb2.TableOptions(bots=[table_pb2.BotSeat(seat=seat, level=level) for seat in seats])


async def test_person_and_three_bots(client: BuracoClient) -> None:
    """At a table with one person and three seats for bots the match starts by itself, and is played to its end."""
    options = kept_for_bots(0, 1, 3)
    table = await client.create_table("buraco-plus-classic", 4, target_score=0, options=options)
    person = await client.join_table(table.id, "person")
    assert person.seat == 2
    async with running(client, PATIENT) as fleet:
        async with asyncio.timeout(PATIENCE):
            assert await play_seat(person, GreedyBot(Random(1))) > 0
        over = await finished(client, table.id)
    assert [seat.player_name for seat in over.seats] == ["greedy", "greedy", "person", "greedy"]
    assert fleet.seats_held == 0


async def test_fleets_beside_each_other(client: BuracoClient) -> None:
    """Several fleets may search at once: each seat is taken by one bot, of the level asked for."""
    options = kept_for_bots(1)
    options.bots.append(table_pb2.BotSeat(seat=3, level="random"))
    options.bots.append(table_pb2.BotSeat(seat=2, level="cleverer"))
    table = await client.create_table("buraco-plus-classic", 4, target_score=0, options=options)
    bots: list[tuple[str, BotFactory]] = [("greedy", GreedyBot), ("random", RandomBot)]
    async with running(client, PATIENT, bots), running(client, PATIENT, bots), running(client, PATIENT, bots):
        async with asyncio.timeout(PATIENCE):
            await until(client, table.id, ["", "greedy", "", "random"])
        await asyncio.sleep(0.2)
        assert (await client.get_table(table.id)).revision == 3
    assert [seat.player_name for seat in (await client.get_table(table.id)).seats] == [""] * 4


async def test_bots_for_free_seats(client: BuracoClient) -> None:
    """Bots that are not for free seats take those of their level only; a fleet may leave all free seats to people."""
    bots: list[tuple[str, BotFactory]] = [("random", RandomBot), ("greedy", GreedyBot)]
    table = await client.create_table(
        "buraco-plus-classic", 4, target_score=0, options=kept_for_bots(3, level="random")
    )
    stop = asyncio.Event()
    stop.set()  # one look, and no more
    await Fleet(client, bots[1:], limits_of(4, 0.0, 60.0, 10.0), free_seats=[]).run(stop)
    assert (await client.get_table(table.id)).revision == table.revision
    async with running(client, limits_of(4, 0.0, 60.0, 10.0), bots, free_seats=["greedy"]), asyncio.timeout(PATIENCE):
        await until(client, table.id, ["greedy", "greedy", "greedy", "random"])


async def test_fleets_share_many_tables(client: BuracoClient) -> None:
    """Two fleets hold the seats of many tables at once, each up to its limit, and play them all to their end."""
    tables = [
        await client.create_table("buraco-plus-classic", 2, target_score=0, options=kept_for_bots(1)) for _ in range(6)
    ]
    slow = Limits(6, 0.0, 60.0, 0.0, search_interval=0.02, pause=PauseRange(60.0, 60.0))
    async with asyncio.timeout(PATIENCE):
        async with running(client, slow) as one, running(client, slow) as other:
            for table in tables:
                await until(client, table.id, [LEVEL, LEVEL])
            assert (one.seats_held, other.seats_held) == (6, 6)
            states = [(await client.get_table(table.id)).state for table in tables]
            assert states == [table_pb2.TABLE_STATE_PLAYING] * 6
        counts = FleetMetrics(), FleetMetrics()
        limits = limits_of(6, 0.0, 60.0, 10.0)
        async with running(client, limits, metrics=counts[0]), running(client, limits, metrics=counts[1]):
            for table in tables:
                assert (await finished(client, table.id)).HasField("result")
    played = [count.registry.get_sample_value(SITTINGS, {"outcome": "finished"}) or 0 for count in counts]
    assert sum(played) == 12
    assert min(played) >= 1


class Pausing(GreedyBot):
    """Waits in the middle of its first turn until it is let go."""

    paused = threading.Event()
    going = threading.Event()

    def choose(self, view: View, moves: Sequence[Move]) -> Move:
        """See Bot."""
        if view.phase is not Phase.DRAW:
            self.paused.set()
            self.going.wait(PATIENCE)
        return super().choose(view, moves)


async def test_player_takes_the_seat_back(client: BuracoClient) -> None:
    """A bot plays for a player who stays away, and the player takes the seat back in the middle of a turn."""
    options = table_pb2.TableOptions(
        turn_time=Duration(seconds=5),
        absent_after_turns=1,
        absence=table_pb2.ABSENCE_POLICY_BOT,
        substitute_level=LEVEL,
    )
    table = await client.create_table("buraco-plus-classic", 2, target_score=0, options=options)
    metrics = FleetMetrics()
    away, other = await client.join_table(table.id, "away"), await client.join_table(table.id, "other")
    playing = asyncio.create_task(play_seat(other, GreedyBot(Random(1))))
    Pausing.paused.clear()
    Pausing.going.clear()
    async with running(client, PATIENT, [(LEVEL, Pausing)], metrics) as fleet, asyncio.timeout(PATIENCE):
        assert await asyncio.to_thread(Pausing.paused.wait, PATIENCE)
        seat = (await client.get_table(table.id)).seats[away.seat]
        assert (seat.player_name, seat.absent, seat.substitute_level) == ("away", True, LEVEL)
        view = (await other.get_view()).view
        assert (view.seats[away.seat].is_bot, view_from_pb(view).seat_to_move) == (True, away.seat)
        await finish_turn(away)
        Pausing.going.set()
        await until_idle(fleet)
        seat = (await client.get_table(table.id)).seats[away.seat]
        assert (seat.absent, seat.substitute_level) == (False, "")
        await asyncio.gather(play_seat(away, GreedyBot(Random(2))), playing)
    assert metrics.registry.get_sample_value(SITTINGS, {"outcome": "relieved"}) == 1


async def until_idle(fleet: Fleet) -> None:
    """Wait until the fleet holds no seat."""
    while fleet.seats_held:  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.02)


async def finish_turn(seat: Seat) -> None:
    """Play the rest of a turn that a bot has begun."""
    bot = GreedyBot(Random(3))
    async with seat.play() as session:
        async for update in session:
            if not isinstance(update, table_service_pb2.PlayTurn):
                continue
            view = view_from_pb(update.view)
            if view.phase is Phase.DRAW:
                return
            move = bot.choose(view, [move_from_pb(move) for move in update.moves])
            await session.submit([move_to_pb(move)], update.revision)
            if isinstance(move, Discard):
                return


@pytest.mark.parametrize("state", [table_pb2.TABLE_STATE_WAITING, table_pb2.TABLE_STATE_PLAYING])
def test_seats_that_wait(state: table_pb2.TableState.ValueType) -> None:
    """Of a table the free seats for bots of the level count, and those of absent players while it is played."""
    seats = [
        table_pb2.TableSeat(seat=0, player_name="Ada", absent=True),
        table_pb2.TableSeat(seat=1, bot_level=LEVEL),
        table_pb2.TableSeat(seat=2),
        table_pb2.TableSeat(seat=3, player_name="greedy", bot_level=LEVEL),
        table_pb2.TableSeat(seat=4, player_name="Bo", absent=True, substitute_level=LEVEL),
    ]
    options = table_pb2.TableOptions(substitute_level=LEVEL)
    table = table_pb2.Table(seats=seats, state=state, options=options)
    assert seats_for_players(table) == [2]
    assert seats_for_bots(table, LEVEL) == ([1, 0] if state == table_pb2.TABLE_STATE_PLAYING else [1])
    assert seats_for_bots(table, "random") == []
