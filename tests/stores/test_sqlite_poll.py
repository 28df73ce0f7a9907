"""Polling for other processes' commits, with a database simulated by the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest

from buraco_service.stores.base import StoreUnavailable
from buraco_service.stores.sqlite import poll


class Database:
    """Simulates a database, and notes queries and notifications."""

    def __init__(self) -> None:
        self.revisions: dict[str, int] = {}
        self.version = 1
        self.errors = 0
        self.queries = 0
        self.notified: list[tuple[str, int | None]] = []
        self.poll = poll.ForeignCommits(
            self.data_version,
            self.changed_revisions,
            lambda table_id, revision: self.notified.append((table_id, revision)),
        )

    def commit(self, table_id: str, revision: int) -> None:
        """Commit as another process."""
        self.revisions[table_id] = revision
        self.version += 1

    async def data_version(self) -> int:
        return self.version

    async def changed_revisions(self, known: Mapping[str, int | None]) -> list[tuple[str, int | None]]:
        self.queries += 1
        if self.errors:
            self.errors -= 1
            raise StoreUnavailable("away")
        return [(name, self.revisions.get(name)) for name in known if self.revisions.get(name) != known[name]]

    async def new_notifications(self) -> list[tuple[str, int | None]]:
        """Return new notifications after more polls than are needed to find anything."""
        for _ in range(50):
            await asyncio.sleep(0)
        notified, self.notified[:] = self.notified[:], []
        return notified


@pytest.fixture
async def database(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """A database that is polled all the time."""
    monkeypatch.setattr(poll, "POLL_INTERVAL", 0.0)
    database = Database()
    yield database
    await database.poll.stop()


async def test_others_commits_wake_the_tables_they_changed(database: Database) -> None:
    """A new table is found changed once, because nothing is known of it; then only tables that changed are found."""
    database.commit("a", 5)
    database.poll.watch("a")
    assert await database.new_notifications() == [("a", 5)]
    database.poll.watch("b")
    database.poll.watch("none yet")
    assert await database.new_notifications() == []
    database.commit("b", 1)
    assert await database.new_notifications() == [("b", 1)]
    database.commit("a", 6)
    database.commit("unwatched", 1)
    assert await database.new_notifications() == [("a", 6)]
    del database.revisions["a"]
    database.version += 1
    assert await database.new_notifications() == [("a", None)]


async def test_tables_are_asked_about_only_after_commits(database: Database) -> None:
    """Without commits, polling reads no more than the version."""
    database.poll.watch("a")
    await database.new_notifications()
    queries = database.queries
    await database.new_notifications()
    assert database.queries == queries
    database.commit("b", 1)
    await database.new_notifications()
    assert database.queries == queries + 1


async def test_own_commits_are_known(database: Database) -> None:
    """A revision that this process made is not found a second time."""
    database.poll.watch("a")
    await database.new_notifications()
    database.revisions["a"] = 1
    database.poll.note_own_commit("a", 1)
    database.poll.note_own_commit("unwatched", 1)
    database.commit("b", 1)
    assert await database.new_notifications() == []


async def test_change_found_late_is_found(database: Database) -> None:
    """An error while polling loses neither changes nor new tables."""
    database.poll.watch("a")
    await database.new_notifications()
    database.errors = 3
    database.commit("a", 1)
    assert await database.new_notifications() == [("a", 1)]
    database.revisions["b"] = 1
    database.errors = 3
    database.poll.watch("b")
    assert await database.new_notifications() == [("b", 1)]


async def test_polling_ends_and_begins_again(database: Database) -> None:
    """A table that is no longer watched is not found; one that is watched again counts as new."""
    database.commit("a", 1)
    database.poll.watch("a")
    await database.new_notifications()
    database.poll.unwatch("a")
    database.commit("a", 2)
    assert await database.new_notifications() == []
    database.poll.watch("a")
    assert await database.new_notifications() == [("a", 2)]
    await database.poll.stop()
    database.commit("a", 3)
    assert await database.new_notifications() == []
