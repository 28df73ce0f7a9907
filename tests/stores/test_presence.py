"""Leases of seats, on every store."""

from __future__ import annotations

import pytest

from buraco_service.stores.base import Lease, Store
from tests.stores.samples import StoreFactory, create, step


def by_seat(leases: list[Lease]) -> list[Lease]:
    """Leases in an order that tests can compare."""
    return sorted(leases, key=lambda lease: (lease.table_id, lease.seat))


async def test_leases_are_seen_by_all(store_factory: StoreFactory) -> None:
    """A lease that one replica wrote is there for the others, until it is written anew."""
    here, there = await store_factory(), await store_factory()
    for table_id in ("t", "u"):
        await create(here, table_id)
    assert await there.presence(["t", "u"]) == []
    await here.renew_presence([Lease("t", 0, 1000.25), Lease("t", 3, 1001.5, 2000.5), Lease("u", 1, 7.0)])
    assert by_seat(await there.presence(["t"])) == [Lease("t", 0, 1000.25), Lease("t", 3, 1001.5, 2000.5)]
    await there.renew_presence([Lease("t", 0, 900.0)])
    found = by_seat(await here.presence(["t", "u", "none"]))
    assert found == [Lease("t", 0, 900.0), Lease("t", 3, 1001.5, 2000.5), Lease("u", 1, 7.0)]
    assert await here.presence([]) == []


async def test_lease_keeps_what_is_not_given(store: Store) -> None:
    """A time that is None leaves the one that is stored."""
    await create(store, "t")
    await store.renew_presence([Lease("t", 1, None, 50.0)])
    assert await store.presence(["t"]) == [Lease("t", 1, None, 50.0)]
    await store.renew_presence([Lease("t", 1, 40.0)])
    assert await store.presence(["t"]) == [Lease("t", 1, 40.0, 50.0)]
    await store.renew_presence([Lease("t", 1, None, 60.0)])
    assert await store.presence(["t"]) == [Lease("t", 1, 40.0, 60.0)]


async def test_leases_are_no_part_of_tables(store: Store) -> None:
    """A lease makes no revision, and no table live longer; a commit leaves it as it is."""
    await create(store, "t", now=1000.0)
    await store.renew_presence([Lease("t", 0, 1e9, 2e9)])
    assert await store.load_revision("t") == 1
    assert (await store.load("t")).updated_at == 1000.0
    await store.commit(step("t", 1, now=2000.0))
    assert await store.presence(["t"]) == [Lease("t", 0, 1e9, 2e9)]
    assert await store.expire(2001.0, 10) == 1


async def test_tables_with_lapsed_leases(store: Store) -> None:
    """A table is listed once from the first time on at which a seat is absent, until that is ended."""
    for table_id in ("t", "u", "v"):
        await create(store, table_id)
    await store.renew_presence(
        [Lease("t", 0, 5.0, 10.0), Lease("t", 1, 5.0, 10.5), Lease("u", 0, 5.0, 20.0), Lease("v", 2, 5.0)]
    )
    assert await store.lapsed(9.9, 10) == []
    assert await store.lapsed(10.0, 10) == ["t"]
    assert sorted(await store.lapsed(100.0, 10)) == ["t", "u"]
    assert len(await store.lapsed(100.0, 1)) == 1
    await store.end_presence("t", 10.2)
    assert await store.lapsed(10.4, 10) == []
    assert await store.lapsed(10.5, 10) == ["t"]
    assert Lease("t", 0, 5.0) in await store.presence(["t"])
    await store.renew_presence([Lease("t", 1, 15.0, 30.0)])
    assert await store.lapsed(20.0, 10) == ["u"]
    await store.end_presence("t", 20.0)
    await store.end_presence("none", 20.0)
    assert sorted(await store.lapsed(30.0, 10)) == ["t", "u"]


async def test_removed_tables_leave_no_leases(store: Store) -> None:
    """Leases go with their table, and none is written for a table that is not there."""
    await create(store, "t", now=1000.0)
    await store.renew_presence([Lease("t", 0, 5.0, 10.0), Lease("none", 0, 5.0, 10.0)])
    assert await store.presence(["none"]) == []
    assert await store.lapsed(100.0, 10) == ["t"]
    assert await store.expire(1001.0, 10) == 1
    await store.renew_presence([Lease("t", 0, 6.0, 11.0)])
    assert await store.lapsed(100.0, 10) == []
    await create(store, "t")
    assert await store.presence(["t"]) == []


async def test_many_leases_at_once(store: Store) -> None:
    """A replica renews the leases of all its streams in one write, and reads them in one."""
    names = [f"table {number}" for number in range(200)]
    for name in names:
        await create(store, name)
    leases = [Lease(name, seat, 5.0 + seat, 10.0) for name in names for seat in range(4)]
    await store.renew_presence(leases)
    assert by_seat(await store.presence(names)) == by_seat(leases)
    assert sorted(await store.lapsed(10.0, 500)) == sorted(names)
    await store.renew_presence([])


@pytest.mark.parametrize(
    "lease",
    [Lease("t", 4, 1.0), Lease("t", -1, 1.0), Lease("", 0, 1.0), Lease("t", 0, -1.0), Lease("t", 0, 1.0, 1e11)],
    ids=str,
)
async def test_leases_that_cannot_be(store: Store, lease: Lease) -> None:
    """A lease out of range is refused, with all that are written with it."""
    await create(store, "t")
    with pytest.raises(ValueError, match=r"not a|a seat has to be"):
        await store.renew_presence([Lease("t", 1, 1.0), lease])
    assert await store.presence(["t"]) == []


async def test_a_seat_has_one_lease_in_a_write(store: Store) -> None:
    """Two leases of one seat in one write are a mistake of the caller."""
    await create(store, "t")
    with pytest.raises(ValueError, match="two leases"):
        await store.renew_presence([Lease("t", 1, 1.0), Lease("t", 1, 2.0)])
