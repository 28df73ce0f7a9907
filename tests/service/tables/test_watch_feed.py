from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from buraco.v1 import table_service_pb2 as pb
from buraco_service.errors import ApiError
from buraco_service.stores.base import Store
from buraco_service.stores.urls import open_store
from buraco_service.tables.feed import Feed
from tests.clock import LoopClock
from tests.service.scripts import SeatTurn, deals_played, dealt, plain_turns, turns
from tests.service.table_server import QUIET, new_id
from tests.service.usecases import UseCases

TARGET = 1_000_000


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A store of its own."""
    made = await open_store(f"sqlite:///{tmp_path / 'tables.db'}")
    yield made
    await made.close()


def kind(update: bytes) -> str | None:
    """Which kind of message this is."""
    return pb.PlayTableResponse.FromString(update).WhichOneof("update")


def kinds(updates: Sequence[bytes]) -> list[str | None]:
    """Which kinds of messages these are."""
    return [kind(update) for update in updates]


def long_match() -> list[SeatTurn]:
    """Two deals, move by move far more than the log keeps."""
    deals = deals_played(dealt(target=TARGET), random.Random(8))
    return [turn for _ in range(2) for turn in turns(next(deals))]


async def test_history_lost_while_watching(store: Store) -> None:
    """A watcher that fell so far behind that the log was dropped learns so, gets the state, and goes on from there."""
    here, there = UseCases(store), UseCases(store)
    table_id, claims = await there.start(target=TARGET)
    async with here.feeds.open(table_id, claims[0]) as feed:
        assert kinds(await feed.begin(None)) == ["state"]
        await there.play_singly(claims, long_match())
        assert kinds(await feed.catch_up()) == ["history_gone", "state"]
        assert feed.revision == (await here.tables.repository.get(table_id)).revision
        assert await feed.catch_up() == []
        deal = (await here.tables.repository.get(table_id)).deal
        assert deal is not None
        await there.play_singly(claims, list(plain_turns(deal, 1)))
        assert kinds(await feed.catch_up()) == ["events", "events"]


async def test_seat_lost_with_history(store: Store) -> None:
    """Where the log no longer shows that a seat was given back, its old player is not shown the new one's cards."""
    here, there = UseCases(store), UseCases(store)
    table_id, claims = await there.start(target=TARGET)
    async with here.feeds.open(table_id, claims[0]) as feed:
        await feed.begin(None)
        await there.tables.leave(table_id, claims[0], new_id())
        substitute = await there.join(table_id)
        await there.play_singly([substitute, claims[1]], long_match())
        with pytest.raises(ApiError) as caught:
            await feed.catch_up()
        assert caught.value.reason == "SEAT_NOT_YOURS"


async def test_seat_lost_before_the_state(store: Store) -> None:
    """Who gave the seat back is refused, whatever the watch asks for and whether the seat is another's by now."""
    here, there = UseCases(store), UseCases(store)
    table_id, claims = await there.start()
    # A copy from before: the watch must not be let in by it.
    await here.tables.repository.get(table_id)
    await there.tables.leave(table_id, claims[0], new_id())
    for taken in (False, True):
        if taken:
            await there.join(table_id)
        for after in (None, 0, 3, 99):
            async with here.feeds.open(table_id, claims[0]) as feed:
                with pytest.raises(ApiError) as caught:
                    await feed.begin(after)
                assert caught.value.reason == "SEAT_NOT_YOURS"


async def woken_until_heartbeat(feed: Feed, clock: LoopClock) -> int:
    """How often a feed that is woken for nothing finds nothing before it sends a heartbeat, due after three times."""
    woken = 0
    while True:
        if woken == 3:
            clock.advance(QUIET)
        feed._subscription.wake()
        await feed.wait()
        assert not feed.is_behind()
        if feed.is_heartbeat_due():
            return woken
        woken += 1


async def test_woken_for_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wake-ups for nothing, however many, do not keep heartbeats from being sent."""
    replica, clock = UseCases(store, heartbeat=QUIET), LoopClock(monkeypatch)
    table_id, _ = await replica.start()
    async with replica.feeds.open(table_id, None) as feed:
        await feed.begin(None)
        assert await woken_until_heartbeat(feed, clock) == 3
        assert kind(feed.heartbeat()) == "heartbeat"
        assert await woken_until_heartbeat(feed, clock) == 3


async def test_a_change_while_a_heartbeat_is_due(store: Store) -> None:
    """A change that comes when it is time for a heartbeat is sent at once, not only with the next change."""
    replica = UseCases(store, heartbeat=0)
    table_id, claims = await replica.start()
    async with replica.feeds.open(table_id, None) as feed, aclosing(replica.feeds.follow(feed, None)) as updates:
        assert kind(await anext(updates)) == "state"
        assert kind(await anext(updates)) == "heartbeat"
        for turn in plain_turns(dealt(), 3):
            await replica.play_singly(claims, [turn])
            sent = [kind(await anext(updates)) for _ in range(8)]
            assert sent.count("events") == len(turn.moves)
