"""The PostgreSQL store when sessions end, the server restarts, or takes no writes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import pytest

from buraco_service.stores.base import LogEntry, RevisionConflict, Store, StoreUnavailable
from buraco_service.stores.postgres import listen, pool
from buraco_service.stores.postgres.connect import Session
from buraco_service.stores.postgres.store import PostgresStore
from buraco_service.stores.urls import open_store
from tests.servers.postgres import PostgresServer
from tests.stores.samples import PATIENCE, create, soon, step, wait_for_revision

_OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@pytest.fixture
async def store(postgres_url: str, postgres_server: PostgresServer) -> AsyncIterator[PostgresStore]:
    """A store without tables. The server runs again after the test."""
    store = await open_store(postgres_url)
    assert isinstance(store, PostgresStore)
    yield store
    await store.close()
    await asyncio.to_thread(ensure_running, postgres_server)


@pytest.fixture
async def other(postgres_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection of another program to the same database."""
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


def ensure_running(server: PostgresServer) -> None:
    """Start the server if it is stopped."""
    if not server.runs():
        server.start()


async def works_again(store: Store) -> None:
    """Wait until the store takes writes; until then calls may only raise StoreUnavailable."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await store.ping()
                await store.expire(0.0, 1)
            except StoreUnavailable:
                await asyncio.sleep(0)
            else:
                return


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 (it comes about in places that know nothing of this)
            await asyncio.sleep(0.001)


class Players:
    """Writers that commit until stopped, each to its own table, and note what was acknowledged."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.acknowledged: dict[str, list[int]] = {}
        self.refused = 0
        self.stopping = False

    async def play(self, table_id: str) -> None:
        """Commit until stopped, and repeat what got no answer."""
        acknowledged = self.acknowledged[table_id] = []
        revision = 1
        while not self.stopping:
            try:
                revision = await self._store.commit(step(table_id, revision, request_id=f"request {revision + 1}"))
            except StoreUnavailable:
                self.refused += 1
                await asyncio.sleep(0.001)
                if await self._happened(table_id, revision + 1):
                    revision += 1
            else:
                acknowledged.append(revision)

    async def _happened(self, table_id: str, revision: int) -> bool:
        while True:
            try:
                return await self._store.find_answer(table_id, f"request {revision}") is not None
            except StoreUnavailable:
                await asyncio.sleep(0.001)

    async def progress(self, count: int) -> None:
        """Wait for that number of further acknowledged commits."""
        enough = self._count() + count
        await until(lambda: self._count() >= enough)

    def _count(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    async def check(self) -> None:
        """Check that everything acknowledged is stored whole, and nothing in part."""
        for table_id, acknowledged in self.acknowledged.items():
            stored = await self._store.load(table_id)
            assert stored.state == b"state %d" % stored.revision
            assert max(acknowledged) <= stored.revision
            log = await self._store.read_log(table_id, 0, 10_000)
            assert log == [LogEntry(made, b"entry %d" % made) for made in range(1, stored.revision + 1)]
            for made in range(max(2, stored.revision - 100), stored.revision + 1):
                assert await self._store.find_answer(table_id, f"request {made}") is not None


async def played_while(store: Store, trouble: Callable[[Players], Any]) -> Players:
    """Commit to four tables during a fault and after it, and check the result."""
    players = Players(store)
    for i in range(4):
        await create(store, f"t{i}")
    playing = [asyncio.ensure_future(players.play(f"t{i}")) for i in range(4)]
    await players.progress(20)
    await trouble(players)
    await players.progress(20)
    players.stopping = True
    await soon(asyncio.gather(*playing))
    await players.check()
    return players


# ---- sessions that end ----


async def test_ended_sessions_lose_no_acknowledged_commit(store: PostgresStore, other: asyncpg.Connection) -> None:
    """When the server ends all sessions again and again, commits are whole or absent, and acknowledged ones stored."""

    async def end_sessions(players: Players) -> None:
        for _ in range(8):
            await other.fetch(f"SELECT pg_terminate_backend(pid) {_OTHERS}")
            await players.progress(5)

    await played_while(store, end_sessions)


async def test_reads_survive_the_end_of_their_session(store: PostgresStore, other: asyncpg.Connection) -> None:
    """A read whose session is ended, idle or at work, is made again on a new connection."""
    await create(store, "t")
    for _ in range(5):
        reads = [asyncio.ensure_future(store.load("t")) for _ in range(20)]
        await asyncio.sleep(0)
        await other.fetch(f"SELECT pg_terminate_backend(pid) {_OTHERS}")
        assert {stored.revision for stored in await soon(asyncio.gather(*reads))} == {1}


async def test_waiters_wake_when_their_session_was_ended(
    store: PostgresStore, other: asyncpg.Connection, postgres_url: str
) -> None:
    """A change made while the listener is down is found: subscriptions wake when it listens again, and from then on."""
    there = await open_store(postgres_url)
    await create(store, "t")
    async with there.subscribe("t") as subscription, store.subscribe("t") as own:
        for revision in range(1, 4):
            await store.commit(step("t", revision))
            await wait_for_revision(subscription, revision + 1)
        for revision in range(4, 7):
            ended = await other.fetch(f"SELECT pid, pg_terminate_backend(pid, 5000) {_OTHERS} AND query LIKE 'LISTEN%'")
            assert len(ended) == 2
            await store.commit(step("t", revision))
            await wait_for_revision(subscription, None)
            await wait_for_revision(own, None)
    await there.close()


async def test_listening_begins_again_whatever_went_wrong(
    store: PostgresStore, other: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unforeseen error does not end the attempts to listen again."""
    connect = store._listener._connect
    failures = iter([ValueError("odd"), asyncpg.RaiseError("odd"), StoreUnavailable("away")])

    async def connect_in_the_end() -> Session:
        for failure in failures:
            raise failure
        return await connect()

    monkeypatch.setattr(store._listener, "_connect", connect_in_the_end)
    async with store.subscribe("t") as subscription:
        await other.fetch(f"SELECT pg_terminate_backend(pid, 5000) {_OTHERS} AND query LIKE 'LISTEN%'")
        await wait_for_revision(subscription, None)
        await create(store, "t")
        await wait_for_revision(subscription, 1)


async def test_silent_listener_is_found(
    store: PostgresStore, other: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listening session that no longer answers is replaced, and subscriptions are woken."""
    monkeypatch.setattr(listen, "HEARTBEAT_SECONDS", 0.05)
    async with store.subscribe("t") as subscription:
        # The new session has the shorter heartbeat.
        await other.fetch(f"SELECT pg_terminate_backend(pid, 5000) {_OTHERS} AND query LIKE 'LISTEN%'")
        await wait_for_revision(subscription, None)
        pid = await other.fetchval(f"SELECT pid {_OTHERS} AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')")
        os.kill(pid, signal.SIGSTOP)
        try:
            with monkeypatch.context() as patch:
                patch.setattr(listen, "ANSWER_SECONDS", 0.1)
                await wait_for_revision(subscription, None)
        finally:
            os.kill(pid, signal.SIGCONT)
        await create(store, "t")
        await wait_for_revision(subscription, 1)


async def test_silent_session_is_given_up(
    store: PostgresStore, other: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that gets no answer is StoreUnavailable after a while, and the next one uses a new connection."""
    await create(store, "t")
    await store.commit(step("t", 1))
    (pid,) = store._commits.pids()
    os.kill(pid, signal.SIGSTOP)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(pool, "CALL_SECONDS", 0.1)
            with pytest.raises(StoreUnavailable):
                await soon(store.commit(step("t", 2)))
        assert await soon(store.commit(step("t", 2))) == 3
    finally:
        os.kill(pid, signal.SIGCONT)
    # What the silent session was told is done by now, or loses; it is not done twice.
    with pytest.raises(RevisionConflict):
        await store.commit(step("t", 2))
    assert len(await store.read_log("t", 0, 10)) == await store.load_revision("t") == 3


# ---- the server goes and comes ----


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_server_restarts_while_tables_are_played(
    store: PostgresStore, postgres_server: PostgresServer, mode: str
) -> None:
    """Through a restart, in order or by a crash, what was acknowledged stays, and the store works on by itself."""

    async def restart(players: Players) -> None:
        refused = players.refused
        await asyncio.to_thread(postgres_server.stop, mode)
        await until(lambda: players.refused > refused)
        await asyncio.to_thread(postgres_server.start)

    await played_while(store, restart)


async def test_absent_server_is_told_at_once_and_its_return_wakes(
    store: PostgresStore, postgres_server: PostgresServer, postgres_url: str
) -> None:
    """Without its server a store refuses everything, and opening another fails; when it is back, subscriptions wake."""
    await create(store, "t")
    async with store.subscribe("t") as subscription:
        await asyncio.to_thread(postgres_server.stop)
        for _ in range(3):
            for call in (
                store.ping(),
                store.load("t"),
                store.commit(step("t", 1)),
                create(store, "new"),
                store.expire(1.0, 1),
                store.find_answer("t", "r"),
            ):
                with pytest.raises(StoreUnavailable):
                    await soon(call)
        with pytest.raises(StoreUnavailable):
            await open_store(postgres_url)
        await asyncio.to_thread(postgres_server.start)
        await wait_for_revision(subscription, None)
    await works_again(store)
    assert await store.commit(step("t", 1)) == 2


async def test_store_can_be_closed_without_its_server(store: PostgresStore, postgres_server: PostgresServer) -> None:
    """Closing does not wait for a server that has ended."""
    async with store.subscribe("t") as subscription:
        await asyncio.to_thread(postgres_server.stop)
        await soon(store.close())
        with pytest.raises(StoreUnavailable):
            await subscription.wait()


# ---- no writes, no room ----


async def test_read_only_database_is_unavailable(
    store: PostgresStore, other: asyncpg.Connection, postgres_server: PostgresServer, postgres_url: str
) -> None:
    """If nothing can be written, as after a failover to a standby, writes and pings fail and reads do not."""
    await create(store, "t")
    name = await other.fetchval("SELECT current_database()")
    await other.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        await other.fetch(f"SELECT pg_terminate_backend(pid, 5000) {_OTHERS}")
        assert await store.load_revision("t") == 1
        for call in (store.ping(), store.commit(step("t", 1)), create(store, "u"), store.expire(5000.0, 1)):
            with pytest.raises(StoreUnavailable, match=r"read.only"):
                await call
        with pytest.raises(StoreUnavailable, match="read only"):
            await open_store(postgres_url)
    finally:
        await other.execute("SET default_transaction_read_only = off")
        await other.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        await other.fetch(f"SELECT pg_terminate_backend(pid, 5000) {_OTHERS}")
    assert await store.load_revision("t") == 1
    assert await store.commit(step("t", 1)) == 2


async def test_server_without_room_for_all_connections_is_used_with_fewer(
    postgres_server: PostgresServer, other: asyncpg.Connection
) -> None:
    """With three connections allowed everything works; with two the store does not open, and says why."""
    name = await other.fetchval("SELECT current_database()")
    await other.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 3; GRANT USAGE ON SCHEMA buraco TO few")
    await other.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA buraco TO few")
    try:
        store = await open_store(postgres_server.url(name, "few"))
        await create(store, "t")
        assert await soon(asyncio.gather(*[store.load_revision("t") for _ in range(50)])) == [1] * 50
        assert await soon(store.commit(step("t", 1))) == 2
        await store.close()
        await other.execute("ALTER ROLE few CONNECTION LIMIT 2")
        with pytest.raises(StoreUnavailable, match="too many connections"):
            async with asyncio.timeout(PATIENCE):
                await open_store(postgres_server.url(name, "few"))
    finally:
        await other.execute("DROP OWNED BY few; DROP ROLE few")


async def test_calls_do_not_queue_for_ever(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that has been queued too long is StoreUnavailable, and those after it are made."""
    await create(store, "t")
    with monkeypatch.context() as patch:
        patch.setattr(pool, "_QUEUE_SECONDS", -1.0)
        for call in (store.load("t"), store.commit(step("t", 1))):
            with pytest.raises(StoreUnavailable, match="too busy"):
                await call
    assert await store.commit(step("t", 1)) == 2
