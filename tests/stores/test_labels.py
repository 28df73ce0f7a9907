"""Labels of tables, on every store."""

from __future__ import annotations

import pytest

from buraco_service.stores import limits
from buraco_service.stores.base import NewTable, RevisionConflict, Store
from tests.stores.samples import StoreFactory, create, step

ADA, BO = "player:ada", "player:bo"


async def create_labelled(store: Store, table_id: str, *labels: str, now: float = 1000.0) -> None:
    """Create a table with labels."""
    await store.create(NewTable(table_id, b"state", "waiting", now, b"entry", None, b"", labels=frozenset(labels)))


async def listed(store: Store, label: str, limit: int = 100, after: str | None = None) -> list[str]:
    """Return the ids of the tables with a label."""
    return [table.table_id for table in await store.list_labelled(label, limit, after)]


async def test_tables_are_listed_by_label(store: Store) -> None:
    """A label lists the tables that have it, and no other, in the order of their ids and in pages."""
    ids = [f"table-{number:02}" for number in range(12)]
    for number, table_id in enumerate(reversed(ids)):
        await create_labelled(store, table_id, ADA, *([BO] if number % 2 else []))
    await create(store, "without")
    await create_labelled(store, "another", f"{ADA}-lovelace", "player:ad")
    assert await listed(store, ADA) == ids
    assert await listed(store, BO) == ids[::2]
    assert await listed(store, ADA, 5) == ids[:5]
    assert await listed(store, ADA, 5, ids[4]) == ids[5:10]
    assert await listed(store, ADA, 5, ids[-1]) == []
    assert await listed(store, "player:nobody") == []


async def test_labelled_table_is_listed_as_loaded(store_factory: StoreFactory) -> None:
    """A table is listed with its newest state, at every replica."""
    here, there = await store_factory(), await store_factory()
    await create_labelled(here, "a", ADA)
    await here.commit(step("a", 1))
    assert await there.list_labelled(ADA, 10, None) == [await here.load("a")]


async def test_commit_replaces_labels(store: Store) -> None:
    """A commit with labels replaces all of them, one without keeps them, an empty set removes them."""
    await create_labelled(store, "a", ADA)
    await store.commit(step("a", 1)._replace(labels=frozenset({BO, "bot:greedy"})))
    assert [await listed(store, label) for label in (ADA, BO, "bot:greedy")] == [[], ["a"], ["a"]]
    await store.commit(step("a", 2, records=((1, b"record"),)))
    assert await listed(store, BO) == ["a"]
    await store.commit(step("a", 3, records=((2, b"record"),))._replace(labels=frozenset()))
    assert [await listed(store, label) for label in (ADA, BO, "bot:greedy")] == [[], [], []]
    assert await store.read_records("a", 0, 10) == [(1, b"record"), (2, b"record")]


async def test_table_without_labels_gets_some(store: Store) -> None:
    """A table that was created without labels can get them by a commit."""
    await create(store, "a")
    await store.commit(step("a", 1)._replace(labels=frozenset({ADA})))
    assert await listed(store, ADA) == ["a"]


async def test_lost_commit_changes_no_label(store: Store) -> None:
    """A commit that loses a race leaves the labels as they are."""
    await create_labelled(store, "a", ADA)
    await store.commit(step("a", 1))
    with pytest.raises(RevisionConflict):
        await store.commit(step("a", 1)._replace(labels=frozenset({BO})))
    assert [await listed(store, label) for label in (ADA, BO)] == [["a"], []]


async def test_expired_table_takes_its_labels_along(store: Store) -> None:
    """A table that expired is not listed, nor is a new one of the same id under the old labels."""
    await create_labelled(store, "a", ADA)
    await create_labelled(store, "b", ADA, now=9000.0)
    assert await store.expire(5000.0, 10) == 1
    assert await listed(store, ADA) == ["b"]
    await create_labelled(store, "a", BO)
    assert await listed(store, ADA) == ["b"]
    assert await listed(store, BO) == ["a"]


@pytest.mark.parametrize(
    "labels",
    [frozenset({""}), frozenset({"a\nb"}), frozenset({"a\0b"}), frozenset(map(str, range(limits.MAX_LABELS + 1)))],
)
async def test_unfit_labels_are_refused(store: Store, labels: frozenset[str]) -> None:
    """A label is an id of one line, and a table has 16 at most."""
    await create(store, "a")
    with pytest.raises(ValueError, match="label"):
        await store.commit(step("a", 1)._replace(labels=labels))
    if len(labels) == 1:
        with pytest.raises(ValueError, match="label"):
            await store.list_labelled(min(labels), 10, None)
