from __future__ import annotations

import asyncio

import pytest

from buraco_service.stores.base import StoreUnavailable
from buraco_service.stores.notify import Subscriptions, TableSubscription
from tests.stores.samples import soon


async def wait_now(subscription: TableSubscription) -> int | None:
    """Return the result of a wait that ends at once, -1 if it does not."""
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
        assert await wait_now(one) == -1
        subscriptions.notify("t", 5)
        for subscription in (one, two):
            assert await wait_now(subscription) == 5
            assert await wait_now(subscription) == -1
        assert await wait_now(other) == -1


@pytest.mark.parametrize(
    ("revisions", "answer"),
    [([5, 7, 6], 7), ([5, None, 7], None), ([None], None), ([0], 0), ([0, 5, 0], 5)],
)
async def test_wake_ups_fold_into_the_newest_revision(revisions: list[int | None], answer: int | None) -> None:
    """Several wake-ups end one wait with the highest revision, or None if any was not known; nothing is left over."""
    subscriptions = Subscriptions()
    async with subscriptions.subscribe("t") as subscription:
        for revision in revisions:
            if revision == 0:
                subscription.wake()
            else:
                subscriptions.notify("t", revision)
        assert await wait_now(subscription) == answer
        subscriptions.notify("t", 1)
        assert await wait_now(subscription) == 1


async def test_subscription_counts_from_its_entering() -> None:
    """Wake-ups before entering are not for the subscription, those before waiting are."""
    subscriptions = Subscriptions()
    subscription = subscriptions.subscribe("t")
    subscriptions.notify("t", 2)
    async with subscription:
        assert await wait_now(subscription) == -1
        subscriptions.notify("t", 3)
        assert await wait_now(subscription) == 3


async def test_interest_begins_and_ends_with_the_first_and_last_subscription() -> None:
    """The first subscription to a table is reported once, and so is the end of the last."""
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


@pytest.mark.parametrize(("revision", "answer"), [(5, -1), (4, -1), (6, 6), (None, None)])
async def test_changes_are_held_back(revision: int | None, answer: int | None) -> None:
    """Between `hold` and `release` no change wakes; a newer one than the revision seen wakes at `release`."""
    subscriptions = Subscriptions()
    async with subscriptions.subscribe("t") as subscription:
        subscription.hold()
        subscriptions.notify("t", revision)
        assert await wait_now(subscription) == -1
        subscription.release(5)
        assert await wait_now(subscription) == answer
        subscriptions.notify("t", 7)
        assert await wait_now(subscription) == 7


async def test_holding_back_changes_holds_nothing_else_back() -> None:
    """Between `hold` and `release`, `wake` and the close of the store still end a wait."""
    subscriptions = Subscriptions()
    async with subscriptions.subscribe("t") as subscription:
        subscription.hold()
        subscription.wake()
        assert await wait_now(subscription) == 0
        subscriptions.close()
        with pytest.raises(StoreUnavailable):
            await soon(subscription.wait())


async def test_all_can_be_woken() -> None:
    """When changes may have been missed, every subscription returns, with a revision that is not known."""
    subscriptions = Subscriptions()
    async with subscriptions.subscribe("t") as first, subscriptions.subscribe("u") as second:
        subscriptions.notify("t", 3)
        subscriptions.notify_all()
        assert await soon(first.wait()) is None
        assert await soon(second.wait()) is None


async def test_close_ends_waits() -> None:
    """Closing ends the waits under way with StoreUnavailable, and refuses new ones."""
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
