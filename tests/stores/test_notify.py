from __future__ import annotations

import asyncio

import pytest

from buraco_service.stores.base import StoreUnavailable
from buraco_service.stores.notify import Subscriptions, TableSubscription
from tests.stores.samples import soon


async def told(subscription: TableSubscription) -> int | None:
    """What waiting answers when it ends at once, -1 when it does not."""
    waiting = asyncio.ensure_future(subscription.wait())
    for _ in range(5):
        await asyncio.sleep(0)
    if waiting.done():
        return await waiting
    waiting.cancel()
    return -1


async def test_wake_ends_one_wait() -> None:
    """A wake-up ends one wait of every subscription of its table, and none of another's."""
    subscriptions = Subscriptions()
    async with (
        subscriptions.subscribe("t") as one,
        subscriptions.subscribe("t") as two,
        subscriptions.subscribe("u") as other,
    ):
        assert await told(one) == -1
        subscriptions.notify("t", 5)
        for subscription in (one, two):
            assert await told(subscription) == 5
            assert await told(subscription) == -1
        assert await told(other) == -1


@pytest.mark.parametrize(
    ("heard", "answer"),
    [([5, 7, 6], 7), ([5, None, 7], None), ([None], None), ([0], 0), ([0, 5, 0], 5)],
)
async def test_wake_ups_fold_into_the_newest_revision(heard: list[int | None], answer: int | None) -> None:
    """Several wake-ups end one wait with the highest revision, or None if any was not known; nothing is left over."""
    subscriptions = Subscriptions()
    async with subscriptions.subscribe("t") as subscription:
        for revision in heard:
            if revision == 0:
                subscription.wake()
            else:
                subscriptions.notify("t", revision)
        assert await told(subscription) == answer
        subscriptions.notify("t", 1)
        assert await told(subscription) == 1


async def test_subscription_counts_from_its_entering() -> None:
    """Wake-ups before entering are not for the subscription, those before waiting are."""
    subscriptions = Subscriptions()
    subscription = subscriptions.subscribe("t")
    subscriptions.notify("t", 2)
    async with subscription:
        assert await told(subscription) == -1
        subscriptions.notify("t", 3)
        assert await told(subscription) == 3


async def test_interest_begins_and_ends_with_the_first_and_last_subscription() -> None:
    """The store hears once that a table is of interest, however many wait for it, and once that it is no more."""
    changes: list[str] = []
    subscriptions = Subscriptions()
    subscriptions.on_first = lambda table_id: changes.append(f"+{table_id}")
    subscriptions.on_last = lambda table_id: changes.append(f"-{table_id}")
    async with subscriptions.subscribe("t"):
        async with subscriptions.subscribe("t"), subscriptions.subscribe("u"):
            assert changes == ["+t", "+u"]
        assert changes == ["+t", "+u", "-u"]
    assert changes == ["+t", "+u", "-u", "-t"]
    async with subscriptions.subscribe("t"):
        assert changes[4:] == ["+t"]


@pytest.mark.parametrize(("heard", "answer"), [(5, -1), (4, -1), (6, 6), (None, None)])
async def test_changes_are_held_back(heard: int | None, answer: int | None) -> None:
    """Whoever makes a change itself is not woken by it, but by what came after, and only when it has made it."""
    subscriptions = Subscriptions()
    async with subscriptions.subscribe("t") as subscription:
        subscription.hold()
        subscriptions.notify("t", heard)
        assert await told(subscription) == -1
        subscription.release(5)
        assert await told(subscription) == answer
        subscriptions.notify("t", 7)
        assert await told(subscription) == 7


async def test_holding_back_changes_holds_nothing_else_back() -> None:
    """Who holds changes back can be woken to look at something else, and is told of the end of the store."""
    subscriptions = Subscriptions()
    async with subscriptions.subscribe("t") as subscription:
        subscription.hold()
        subscription.wake()
        assert await told(subscription) == 0
        subscriptions.close()
        with pytest.raises(StoreUnavailable):
            await soon(subscription.wait())


async def test_all_can_be_woken() -> None:
    """When changes may have gone unheard, every subscription returns, with a revision that is not known."""
    subscriptions = Subscriptions()
    async with subscriptions.subscribe("t") as first, subscriptions.subscribe("u") as second:
        subscriptions.notify("t", 3)
        subscriptions.notify_all()
        assert await soon(first.wait()) is None
        assert await soon(second.wait()) is None


async def test_close_ends_waits() -> None:
    """Closing ends the waits under way with StoreUnavailable, and lets nobody begin another."""
    subscriptions = Subscriptions()
    async with subscriptions.subscribe("t") as subscription:
        waiting = asyncio.ensure_future(subscription.wait())
        await asyncio.sleep(0)
        subscriptions.close()
        with pytest.raises(StoreUnavailable):
            await soon(waiting)
        with pytest.raises(StoreUnavailable):
            await subscription.wait()
    with pytest.raises(StoreUnavailable):
        async with subscriptions.subscribe("t"):
            pass
