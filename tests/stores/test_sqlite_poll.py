"""Looking for other processes' commits, with the database played by the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest

from buraco_service.stores.base import StoreUnavailable
from buraco_service.stores.sqlite import poll


class Database:
    """Answers what a database would, and notes what it was asked and who was woken."""

    def __init__(self) -> None:
        self.revisions: dict[str, int] = {}
        self.version = 1
        self.troubles = 0
        self.asked = 0
        self.woken: list[tuple[str, int | None]] = []
        self.poll = poll.ForeignCommits(
            self.data_version,
            self.changed_revisions,
            lambda table_id, revision: self.woken.append((table_id, revision)),
        )

    def commit(self, table_id: str, revision: int) -> None:
        """Another process commits."""
        self.revisions[table_id] = revision
        self.version += 1

    async def data_version(self) -> int:
        return self.version

    async def changed_revisions(self, known: Mapping[str, int | None]) -> list[tuple[str, int | None]]:
        self.asked += 1
        if self.troubles:
            self.troubles -= 1
            raise StoreUnavailable("away")
        return [(name, self.revisions.get(name)) for name in known if self.revisions.get(name) != known[name]]

    async def newly_woken(self) -> list[tuple[str, int | None]]:
        """Who was woken with which revision, after more looks than are needed to find anything."""
        for _ in range(50):
            await asyncio.sleep(0)
        woken, self.woken[:] = self.woken[:], []
        return woken


@pytest.fixture
async def database(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """A database that is looked at all the time."""
    monkeypatch.setattr(poll, "POLL_INTERVAL", 0.0)
    database = Database()
    yield database
    await database.poll.stop()


async def test_others_commits_wake_the_tables_they_changed(database: Database) -> None:
    """A newcomer is woken once, since nothing was known of its table; then who is woken is whose table changed."""
    database.commit("a", 5)
    database.poll.watch("a")
    assert await database.newly_woken() == [("a", 5)]
    database.poll.watch("b")
    database.poll.watch("none yet")
    assert await database.newly_woken() == []
    database.commit("b", 1)
    assert await database.newly_woken() == [("b", 1)]
    database.commit("a", 6)
    database.commit("unwatched", 1)
    assert await database.newly_woken() == [("a", 6)]
    del database.revisions["a"]
    database.version += 1
    assert await database.newly_woken() == [("a", None)]


async def test_tables_are_asked_about_only_after_commits(database: Database) -> None:
    """As long as nobody commits, looking costs no more than a look at the version."""
    database.poll.watch("a")
    await database.newly_woken()
    asked = database.asked
    await database.newly_woken()
    assert database.asked == asked
    database.commit("b", 1)
    await database.newly_woken()
    assert database.asked == asked + 1


async def test_own_commits_are_known(database: Database) -> None:
    """A revision that this process made is not found a second time."""
    database.poll.watch("a")
    await database.newly_woken()
    database.revisions["a"] = 1
    database.poll.note_own_commit("a", 1)
    database.poll.note_own_commit("unwatched", 1)
    database.commit("b", 1)
    assert await database.newly_woken() == []


async def test_change_found_late_is_found(database: Database) -> None:
    """Trouble while asking loses neither changes nor newcomers."""
    database.poll.watch("a")
    await database.newly_woken()
    database.troubles = 3
    database.commit("a", 1)
    assert await database.newly_woken() == [("a", 1)]
    database.revisions["b"] = 1
    database.troubles = 3
    database.poll.watch("b")
    assert await database.newly_woken() == [("b", 1)]


async def test_looking_ends_and_begins_again(database: Database) -> None:
    """What is no longer watched is not woken; what is watched again counts as a newcomer."""
    database.commit("a", 1)
    database.poll.watch("a")
    await database.newly_woken()
    database.poll.unwatch("a")
    database.commit("a", 2)
    assert await database.newly_woken() == []
    database.poll.watch("a")
    assert await database.newly_woken() == [("a", 2)]
    await database.poll.stop()
    database.commit("a", 3)
    assert await database.newly_woken() == []
