"""Bots that play for absent players, and players who take their seats back, while replicas are killed."""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration

from buraco.v1 import table_pb2
from buraco_client import BuracoClient, RuleBroken, Seat, SeatNotYours, TableRefused
from buraco_codec.moves import move_to_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_service.stores.base import Store
from buraco_service.stores.urls import open_store
from buraco_service.tables.entries import parse_entry
from buraco_service.tables.finishing import finish_turn
from buraco_service.tables.labels import bot_label, labels_of
from buraco_service.tables.state import TableState, TableValue
from buraco_service.tables.stored import parse_table
from tests.faults.conftest import MakeReplica
from tests.faults.crowd import PATIENCE
from tests.faults.test_due import TURN, Replicas
from tests.faults.test_moving import target_of
from tests.service.scripts import short_rules

LEVEL = "greedy"
LONGEST = 0.3
"""Seconds within which a player comes back and a replica is killed."""


async def read(store: Store, table_id: str) -> TableValue:
    """The table as it is stored."""
    stored = await store.load(table_id)
    return parse_table(stored.state, stored.revision)


class Story:
    """One table, on which a bot and a player want the same seat again and again."""

    def __init__(self, client: BuracoClient, store: Store, seats: list[Seat], rng: random.Random) -> None:
        self._client = client
        self._store = store
        self._seats = seats
        self._rng = rng
        self.table_id = seats[0].table_id
        self.played: list[tuple[int, bool]] = []
        """The revisions of acknowledged turns, and whether a bot made them."""

    async def table(self) -> TableValue:
        """The table as it is stored."""
        return await read(self._store, self.table_id)

    async def play(self, seat: Seat, *, by_bot: bool = False) -> None:
        """Play a turn if it is the seat's, and note it once it is acknowledged."""
        deal = (await self.table()).deal
        if deal is not None and deal.seat_to_move == seat.seat and not deal.ending:
            answer = await seat.submit([move_to_pb(move) for move in finish_turn(deal)], timeout=PATIENCE)
            self.played.append((answer.revision, by_bot))

    async def substitute(self) -> None:
        """Join as a bot, and play for the absent player until that is refused."""
        # Refused where the player was there first.
        with contextlib.suppress(RuleBroken, SeatNotYours, TableRefused):
            bot = await self._client.join_table(self.table_id, bot_level=LEVEL, timeout=PATIENCE)
            for _ in range(20):
                await self.play(bot, by_bot=True)
                await asyncio.sleep(0.02)

    async def come_back(self, seat: Seat) -> None:
        """Come back after a while, by a move or a stream."""
        await asyncio.sleep(self._rng.uniform(0, LONGEST))
        if self._rng.random() < 0.5:
            with contextlib.suppress(RuleBroken):  # the bot was faster
                await self.play(seat)
        async with seat.watch() as updates:
            async for _ in updates:
                return

    async def until_absent(self, seat: int) -> None:
        """Wait until the clock has made a seat absent."""
        async with asyncio.timeout(PATIENCE):
            while not (await self.table()).is_absent(seat):  # noqa: ASYNC110 - it is another process that does it
                await asyncio.sleep(0.05)

    async def find_problems(self) -> list[str]:
        """What is wrong with the log, which has all changes since the deal, and with the labels."""
        table = await self.table()
        problems, substituted, made = [], set[int](), dict[int, bool]()
        for logged in await self._store.read_log(self.table_id, table.deal_revision - 1, 10_000):
            for event in table_pb2.StoredEntry.FromString(logged.payload).events:
                kind = event.WhichOneof("event")
                if kind == "substitute_joined":
                    if event.substitute_joined.seat in substituted:
                        problems.append(f"{logged.revision}: a second bot")
                    substituted.add(event.substitute_joined.seat)
                elif kind == "substitute_left":
                    substituted.discard(event.substitute_left.seat)
                elif kind == "seat_returned":
                    substituted.discard(event.seat_returned.seat)
                elif kind == "drew":
                    made[logged.revision] = event.drew.seat in substituted
            assert parse_entry(logged.revision, logged.payload)
        for revision, by_bot in self.played:
            if revision in made and made[revision] != by_bot:
                problems.append(f"{revision}: made by {'a bot' if by_bot else 'a player'} in the other's time")
        held = {number for number, seat in enumerate(table.seats) if seat.substitute_token_id}
        if held != substituted:
            problems.append(f"bots at {held}, by the log at {substituted}")
        listed = {stored.table_id for stored in await self._store.list_labelled(bot_label(LEVEL), 10, None)}
        if (self.table_id in listed) != (bot_label(LEVEL) in labels_of(table)):
            problems.append("listed otherwise than it is")
        return problems


@pytest.mark.parametrize("rounds", [3, pytest.param(40, marks=pytest.mark.slow)])
async def test_seat_has_one_holder(sampled_store_url: str, replica: MakeReplica, tmp_path: Path, rounds: int) -> None:
    """Whatever is killed while a bot joins, plays, and its player comes back, each turn is made by who had the seat."""
    replicas = Replicas(sampled_store_url, replica, tmp_path)
    rng = random.Random(seed := secrets.token_hex(4))
    await replicas.start()
    options = table_pb2.TableOptions(
        turn_time=Duration(seconds=TURN),
        absent_after_turns=1,
        absence=table_pb2.ABSENCE_POLICY_BOT,
        substitute_level=LEVEL,
    )
    store = await open_store(sampled_store_url)
    async with BuracoClient(target_of(replicas.all), timeout=PATIENCE) as client:
        rules = rule_set_to_pb(short_rules(1000))
        created = await client.create_table(rules, 2, target_score=10_000, options=options)
        seats = [await client.join_table(created.id, name) for name in ("Ada", "Bo")]
        story = Story(client, store, seats, rng)

        async def kill() -> None:
            victim = rng.choice(replicas.all)
            await asyncio.sleep(rng.uniform(0, LONGEST))
            await victim.kill()
            await victim.start()

        for _ in range(rounds):
            table = await story.table()
            if table.state is TableState.FINISHED or table.deal is None:
                break
            away = seats[table.deal.seat_to_move]
            other = seats[1 - away.seat]
            replicas.jump(TURN + 1.0)
            await story.until_absent(away.seat)
            await story.play(other)
            await asyncio.gather(story.substitute(), story.come_back(away), kill())
            assert await story.find_problems() == [], f"seed {seed}"
            assert not (await story.table()).is_absent(away.seat)
        assert len(story.played) > rounds
    await store.close()
