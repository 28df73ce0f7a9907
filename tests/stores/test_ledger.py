"""The ledger of every store."""

from __future__ import annotations

import asyncio
import random

import pytest

from buraco_service.stores.base import Store, StoreUnavailable
from buraco_service.stores.ledger import LedgerEntry, Posted
from tests.stores.samples import StoreFactory


async def test_entries_are_appended_in_order(store: Store) -> None:
    """An entry is written if its number is the next, and all are read back, the newest first, in pages."""
    ledger = store.ledger
    assert await ledger.entries("ann", 10) == []
    for number in range(1, 6):
        entry = LedgerEntry(number, b"entry %d \0\xff" % number)
        assert await ledger.append("ann", number, f"key {number}", entry.payload) == Posted(entry, is_new=True)
    numbers = [entry.number for entry in await ledger.entries("ann", 10)]
    assert numbers == [5, 4, 3, 2, 1]
    assert await ledger.entries("ann", 2) == [LedgerEntry(5, b"entry 5 \0\xff"), LedgerEntry(4, b"entry 4 \0\xff")]
    assert [entry.number for entry in await ledger.entries("ann", 2, 4)] == [3, 2]
    assert [entry.number for entry in await ledger.entries("ann", 2, 2**70)] == [5, 4]
    for before in (1, 0, -(2**70)):
        assert await ledger.entries("ann", 2, before) == []


@pytest.mark.parametrize("number", [-(2**70), -1, 0, 1, 2, 4, 2**31, 2**70])
async def test_only_the_next_number_is_written(store: Store, number: int) -> None:
    """An entry with another number than the next is not written."""
    await store.ledger.append("ann", 1, "one", b"1")
    await store.ledger.append("ann", 2, "two", b"2")
    assert await store.ledger.append("ann", number, "other", b"x") is None
    assert await store.ledger.entries("ann", 9) == [LedgerEntry(2, b"2"), LedgerEntry(1, b"1")]
    assert await store.ledger.find("ann", ["other"]) == {}


async def test_key_is_used_once(store: Store) -> None:
    """Whatever else is given, the entry under a key is the first one; keys count for an account."""
    await store.ledger.append("ann", 1, "key", b"first")
    first = Posted(LedgerEntry(1, b"first"), is_new=False)
    for number in (1, 2, 7):
        assert await store.ledger.append("ann", number, "key", b"second") == first
    assert await store.ledger.append("ben", 1, "key", b"his") == Posted(LedgerEntry(1, b"his"), is_new=True)
    assert len(await store.ledger.entries("ann", 9)) == 1


async def test_entries_are_found_by_their_keys(store: Store) -> None:
    """Those of the keys that the account has are found."""
    await store.ledger.append("ann", 1, "a", b"1")
    await store.ledger.append("ann", 2, "b", b"2")
    await store.ledger.append("ben", 1, "c", b"3")
    found = await store.ledger.find("ann", ["b", "c", "a", "d"])
    assert found == {"a": LedgerEntry(1, b"1"), "b": LedgerEntry(2, b"2")}
    assert await store.ledger.find("ann", []) == await store.ledger.find("cid", ["a"]) == {}


async def test_ids_are_taken_as_they_are(store: Store) -> None:
    """Accounts with braces, colons, quotes and letters of any script are accounts of their own."""
    names = ["{0}", "{1}:entries", "a:b", "a'b", "ö", "the house", "x" * 200]
    for name in names:
        await store.ledger.append(name, 1, name, name.encode())
    for name in names:
        assert await store.ledger.entries(name, 9) == [LedgerEntry(1, name.encode())]
        assert list(await store.ledger.find(name, names)) == [name]


@pytest.mark.parametrize("unfit", ["", "x" * 201, "a\0b", "\ud800"])
async def test_ids_that_cannot_be_are_refused(store: Store, unfit: str) -> None:
    """An id or a key that not every store can keep is a mistake of the caller, and so is a page without entries."""
    for call in (
        store.ledger.append(unfit, 1, "key", b""),
        store.ledger.append("ann", 1, unfit, b""),
        store.ledger.find(unfit, ["key"]),
        store.ledger.find("ann", [unfit]),
        store.ledger.entries(unfit, 1),
        store.ledger.entries("ann", 0),
    ):
        with pytest.raises(ValueError, match=r"not an id|limit has to be"):
            await call
    assert await store.ledger.entries("ann", 1) == []


async def test_one_of_many_gets_a_number(store_factory: StoreFactory) -> None:
    """Of entries that race for a number one is written; with retries all are, each once and without a gap."""
    stores = [await store_factory() for _ in range(3)]
    outcomes = await asyncio.gather(*[stores[n % 3].ledger.append("ann", 1, f"key {n}", b"%d" % n) for n in range(12)])
    assert sum([posted is not None for posted in outcomes]) == 1

    async def post(store: Store, key: str) -> bool:
        while True:
            number = (await store.ledger.entries("ben", 1) or [LedgerEntry(0, b"")])[0].number + 1
            posted = await store.ledger.append("ben", number, key, key.encode())
            if posted is not None:
                return posted.is_new
            await asyncio.sleep(random.uniform(0, 0.01))

    # Each key from two replicas.
    fresh = await asyncio.gather(*[post(store, f"key {n}") for n in range(10) for store in stores[:2]])
    assert sum(fresh) == 10
    entries = await stores[2].ledger.entries("ben", 100)
    assert [entry.number for entry in entries] == list(range(10, 0, -1))
    assert {entry.payload for entry in entries} == {b"key %d" % n for n in range(10)}


async def test_closed_store_has_no_ledger(store: Store) -> None:
    """A ledger closes with its store."""
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.ledger.entries("ann", 1)
