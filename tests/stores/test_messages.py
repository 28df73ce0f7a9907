"""What every store promises of the messages beside a table."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from buraco_service.stores.base import MessageKnown, TableNotFound, TooManyMessages
from buraco_service.stores.messages import KEPT_MESSAGES, NewMessage, StoredMessage
from tests.stores.samples import PATIENCE, advance, create, soon

if TYPE_CHECKING:
    from buraco_service.stores.base import Store, Subscription
    from tests.stores.samples import StoreFactory


def message(
    request_id: str,
    *,
    table_id: str = "t",
    sender: int = 0,
    now: float = 2000.0,
    payload: bytes = b"payload",
    most: int = KEPT_MESSAGES,
    since: float = 1e10,
) -> NewMessage:
    """A message, of which so many may be sent as the test sends."""
    return NewMessage(table_id, request_id, sender, now, payload, most, since)


async def wait_for_message(subscription: Subscription) -> int | None:
    """Wait until a message may have come, and return its number (None: not known)."""
    async with asyncio.timeout(PATIENCE):
        while (number := subscription.take_newest_message()) == 0:
            await subscription.wait()
    return number


async def test_messages_are_numbered_and_read_in_pages(store: Store) -> None:
    """Messages of a table are numbered from 1, and are read in order after any of them, byte by byte."""
    await create(store, "t")
    payloads = [b"", b"\0 \0:\xff", b"third", "vierte ♥".encode()]
    for number, payload in enumerate(payloads, 1):
        assert await store.append_message(message(f"request {number}", payload=payload)) == number
    stored = [StoredMessage(number, payload) for number, payload in enumerate(payloads, 1)]
    assert await store.read_messages("t", 0, 10) == stored
    assert await store.read_messages("t", -7, 2) == stored[:2]
    assert await store.read_messages("t", 1, 2) == stored[1:3]
    assert await store.read_messages("t", 4, 10) == []
    assert await store.read_messages("t", 2**40, 10) == []


async def test_table_without_messages(store: Store) -> None:
    """A table to which nobody sent anything has no messages; one that is not there is not found."""
    await create(store, "t")
    await create(store, "other")
    await store.append_message(message("request", table_id="other"))
    assert await store.read_messages("t", 0, 10) == []
    for missing in ("nobody", "", "x" * 300):
        with pytest.raises(TableNotFound):
            await store.read_messages(missing, 0, 10)
        with pytest.raises(TableNotFound):
            await store.append_message(message("request", table_id=missing))


async def test_message_leaves_its_table_as_it_is(store: Store) -> None:
    """A message changes neither state, revision nor time of the table, and commits go on."""
    await create(store, "t")
    before = await store.load("t")
    await store.append_message(message("request"))
    assert await store.load("t") == before
    await advance(store, "t", 2, 3)
    assert await store.append_message(message("another")) == 2


async def test_repeat_gets_the_first_message(store: Store) -> None:
    """A request that has a message gets it, whatever else it says, and writes nothing."""
    await create(store, "t")
    await store.append_message(message("first", payload=b"one"))
    await store.append_message(message("second", payload=b"\0two"))
    with pytest.raises(MessageKnown) as known:
        await store.append_message(message("second", payload=b"three", most=1, since=0.0))
    assert known.value.stored == StoredMessage(2, b"\0two")
    assert len(await store.read_messages("t", 0, 10)) == 2


async def test_newest_messages_are_kept(store: Store) -> None:
    """The newest KEPT_MESSAGES are kept; numbers go on when older ones are dropped."""
    await create(store, "t")
    for number in range(1, KEPT_MESSAGES + 4):
        assert await store.append_message(message(f"request {number}")) == number
    kept = await store.read_messages("t", 0, 1000)
    assert [stored.number for stored in kept] == list(range(4, KEPT_MESSAGES + 4))
    assert [stored.number for stored in await store.read_messages("t", 2, 2)] == [4, 5]


async def test_sender_may_send_so_many(store: Store) -> None:
    """A sender with too many late messages is refused, with the time of the oldest of them; others are not."""
    await create(store, "t")
    for now in (100.0, 101.5, 103.0):
        await store.append_message(message(f"request {now}", sender=1, now=now))
    with pytest.raises(TooManyMessages) as refused:
        await store.append_message(message("next", sender=1, most=2, since=101.25))
    assert refused.value.oldest_at == 101.5
    assert await store.append_message(message("other", sender=0, most=2, since=101.25)) == 4
    assert await store.append_message(message("next", sender=1, most=2, since=101.5)) == 5


async def test_racing_messages_have_numbers_without_gap(store_factory: StoreFactory) -> None:
    """Messages that replicas append at once get each number once, and each request one message."""
    here, there = await store_factory(), await store_factory()
    await create(here, "t")

    async def send(store: Store, request_id: str) -> int:
        try:
            return await store.append_message(message(request_id, payload=request_id.encode()))
        except MessageKnown as known:
            return known.stored.number

    requests = [f"request {number}" for number in range(20)]
    numbers = await asyncio.gather(*[send(store, name) for name in requests for store in (here, there)])
    assert numbers[::2] == numbers[1::2]
    assert sorted(numbers[::2]) == list(range(1, 21))
    kept = await there.read_messages("t", 0, 100)
    assert {stored.number: stored.payload.decode() for stored in kept} == dict(zip(numbers[::2], requests, strict=True))


async def test_rate_holds_over_replicas(store_factory: StoreFactory) -> None:
    """Of many messages that a sender sends through two replicas at once, no more pass than may."""
    here, there = await store_factory(), await store_factory()
    await create(here, "t")
    sending = [
        store.append_message(message(f"{store is here} {number}", most=3, since=1000.0))
        for number in range(8)
        for store in (here, there)
    ]
    outcomes = await asyncio.gather(*sending, return_exceptions=True)
    assert sorted([outcome for outcome in outcomes if isinstance(outcome, int)]) == [1, 2, 3]
    assert len([outcome for outcome in outcomes if isinstance(outcome, TooManyMessages)]) == 13


async def test_messages_beside_racing_commits(store_factory: StoreFactory) -> None:
    """Messages and commits of a table at once disturb each other in nothing."""
    here, there = await store_factory(), await store_factory()
    await create(here, "t")
    sending = [there.append_message(message(f"message {number}")) for number in range(20)]
    numbers, _ = await asyncio.gather(asyncio.gather(*sending), advance(here, "t", 2, 21))
    assert sorted(numbers) == list(range(1, 21))
    assert await there.load_revision("t") == 21


async def test_messages_go_with_their_table(store: Store) -> None:
    """An expired table takes its messages along: one that is created again under its id has none."""
    await create(store, "t")
    await create(store, "kept", now=5000.0)
    for table_id in ("t", "kept"):
        await store.append_message(message("request", table_id=table_id))
    assert await store.expire(3000.0, 10) == 1
    with pytest.raises(TableNotFound):
        await store.read_messages("t", 0, 10)
    await create(store, "t")
    assert await store.read_messages("t", 0, 10) == []
    assert await store.append_message(message("request")) == 1
    assert [stored.number for stored in await store.read_messages("kept", 0, 10)] == [1]


async def test_message_wakes_those_who_want_messages(store_factory: StoreFactory) -> None:
    """A new message ends the wait of subscriptions to messages on every replica, and of no others."""
    here, there = await store_factory(), await store_factory()
    await create(here, "t")
    await here.append_message(message("before"))
    async with (
        here.subscribe("t", messages=True) as own,
        there.subscribe("t", messages=True) as foreign,
        there.subscribe("t") as without,
    ):
        for number in (2, 3):
            await here.append_message(message(f"request {number}"))
            for subscription in (own, foreign):
                newest: int | None = 0
                while newest is not None and newest < number:
                    newest = await wait_for_message(subscription)
                if newest is not None:
                    assert newest == number
        # What a subscription begins with, as far as the store has that.
        while True:
            try:
                await asyncio.wait_for(without.wait(), 0.2)
            except TimeoutError:
                break
        await here.append_message(message("unheard"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(without.wait(), 0.2)
        assert without.take_newest_message() == 0


async def test_change_is_no_message(store_factory: StoreFactory) -> None:
    """A commit ends the wait of a subscription to messages, and says that no message came."""
    here, there = await store_factory(), await store_factory()
    await create(here, "t")
    async with there.subscribe("t", messages=True) as subscription:
        # A subscription may begin with changes and messages that are not known.
        number = await here.append_message(message("request 1"))
        while await wait_for_message(subscription) != number:
            number = await here.append_message(message(f"request {number + 1}"))
        await advance(here, "t", 2, 2)
        while await soon(subscription.wait()) != 2:
            pass
        assert subscription.take_newest_message() == 0


@pytest.mark.parametrize(
    "broken",
    [
        message(""),
        message("r\0"),
        message("r", sender=-1),
        message("r", now=-1.0),
        message("r", most=0),
        message("r", most=KEPT_MESSAGES + 1),
        message("r", payload=bytes(17 << 20)),
    ],
    ids=["empty request", "NUL", "sender", "time", "none allowed", "more than kept", "too large"],
)
async def test_broken_messages_are_refused(store: Store, broken: NewMessage) -> None:
    """Fields out of range are mistakes of the caller."""
    await create(store, "t")
    with pytest.raises(ValueError, match=r".+"):
        await store.append_message(broken)
    assert await store.read_messages("t", 0, 1) == []
