from __future__ import annotations

import asyncio

import pytest

from buraco_service.stores.base import StoreUnavailable
from buraco_service.stores.notify import TableSubscription, Watchers
from tests.stores.samples import soon


class Interest:
    """Notes which tables have become and ceased to be of interest."""

    def __init__(self) -> None:
        self.changes: list[str] = []
        self.watchers = Watchers(
            lambda table: self.changes.append(f"+{table}"), lambda table: self.changes.append(f"-{table}")
        )


async def told(subscription: TableSubscription) -> int | None:
    """What waiting answers when it ends at once, -1 when it does not."""
    waiting = asyncio.ensure_future(subscription.changed())
    for _ in range(5):
        await asyncio.sleep(0)
    if waiting.done():
        return await waiting
    waiting.cancel()
    return -1


async def test_wake_ends_one_wait() -> None:
    """A wake-up ends one wait of every subscription of its table, and none of another's."""
    watchers = Interest().watchers
    async with watchers.subscribe("t") as one, watchers.subscribe("t") as two, watchers.subscribe("u") as other:
        assert await told(one) == -1
        watchers.wake("t", 5)
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
    watchers = Interest().watchers
    async with watchers.subscribe("t") as subscription:
        for revision in heard:
            if revision == 0:
                subscription.wake()
            else:
                watchers.wake("t", revision)
        assert await told(subscription) == answer
        watchers.wake("t", 1)
        assert await told(subscription) == 1


async def test_subscription_counts_from_its_entering() -> None:
    """Wake-ups before entering are not for the subscription, those before waiting are."""
    watchers = Interest().watchers
    subscription = watchers.subscribe("t")
    watchers.wake("t", 2)
    async with subscription:
        assert await told(subscription) == -1
        watchers.wake("t", 3)
        assert await told(subscription) == 3


async def test_interest_begins_and_ends_with_the_first_and_last_subscription() -> None:
    """The store hears once that a table is of interest, however many wait for it, and once that it is no more."""
    interest = Interest()
    async with interest.watchers.subscribe("t"):
        async with interest.watchers.subscribe("t"), interest.watchers.subscribe("u"):
            assert interest.changes == ["+t", "+u"]
        assert interest.changes == ["+t", "+u", "-u"]
    assert interest.changes == ["+t", "+u", "-u", "-t"]
    async with interest.watchers.subscribe("t"):
        assert interest.changes[4:] == ["+t"]


@pytest.mark.parametrize(("heard", "answer"), [(5, -1), (4, -1), (6, 6), (None, None)])
async def test_changes_are_held_back(heard: int | None, answer: int | None) -> None:
    """Whoever makes a change itself is not woken by it, but by what came after, and only when it has made it."""
    watchers = Interest().watchers
    async with watchers.subscribe("t") as subscription:
        subscription.hold()
        watchers.wake("t", heard)
        assert await told(subscription) == -1
        subscription.release(5)
        assert await told(subscription) == answer
        watchers.wake("t", 7)
        assert await told(subscription) == 7


async def test_holding_back_changes_holds_nothing_else_back() -> None:
    """Who holds changes back can be woken to look at something else, and is told of the end of the store."""
    watchers = Interest().watchers
    async with watchers.subscribe("t") as subscription:
        subscription.hold()
        subscription.wake()
        assert await told(subscription) == 0
        watchers.close()
        with pytest.raises(StoreUnavailable):
            await soon(subscription.changed())


async def test_all_can_be_woken() -> None:
    """When changes may have gone unheard, every subscription returns, with a revision that is not known."""
    watchers = Interest().watchers
    async with watchers.subscribe("t") as first, watchers.subscribe("u") as second:
        watchers.wake("t", 3)
        watchers.wake_all()
        assert await soon(first.changed()) is None
        assert await soon(second.changed()) is None


async def test_close_ends_waits() -> None:
    """Closing ends the waits under way with StoreUnavailable, and lets nobody begin another."""
    watchers = Interest().watchers
    async with watchers.subscribe("t") as subscription:
        waiting = asyncio.ensure_future(subscription.changed())
        await asyncio.sleep(0)
        watchers.close()
        with pytest.raises(StoreUnavailable):
            await soon(waiting)
        with pytest.raises(StoreUnavailable):
            await subscription.changed()
    with pytest.raises(StoreUnavailable):
        async with watchers.subscribe("t"):
            pass
