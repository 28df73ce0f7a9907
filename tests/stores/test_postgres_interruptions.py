"""The PostgreSQL store when its connection ends at any step of a call, whatever error the driver raises then."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import pytest
from asyncpg import Connection

from buraco_service.stores.base import AlreadyAnswered, StoreUnavailable
from buraco_service.stores.postgres.commits import CommitBatch
from buraco_service.stores.postgres.connect import Session
from buraco_service.stores.postgres.pool import Call
from buraco_service.stores.postgres.store import PostgresStore
from buraco_service.stores.urls import open_store
from tests.stores.interruptions import Interruption, Moment
from tests.stores.samples import PATIENCE, create, soon, step

MOMENTS: Final[tuple[Moment, ...]] = ("waiting", "answered")


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """A store without tables."""
    store = await open_store(postgres_url)
    assert isinstance(store, PostgresStore)
    yield store
    await store.close()


def give_up(connection: Connection) -> None:
    """Terminate the connection, as after a timeout."""
    connection.terminate()


def end_session(connection: Session) -> None:
    """Make the server end the session, and wait until its process has ended."""
    process = Path(f"/proc/{connection.backend_pid}")
    with contextlib.suppress(ProcessLookupError):
        os.kill(connection.backend_pid, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE
    while process.exists():
        assert time.monotonic() < deadline
        time.sleep(0.001)


ENDS = pytest.mark.parametrize("end", [give_up, end_session], ids=["given up", "ended by the server"])


def interrupt(monkeypatch: pytest.MonkeyPatch, kind: Any, method: str, interruption: Interruption[Any]) -> None:
    """Interrupt calls of a method. Their subject is the connection: what is called, or its first argument."""
    whole = getattr(kind, method)

    async def interrupted(first: Any, *arguments: Any) -> Any:
        connection = first if kind is Session else arguments[0]
        return await interruption.within(whole(first, *arguments), connection)

    monkeypatch.setattr(kind, method, interrupted)


async def begin_anew(store: PostgresStore) -> None:
    """Terminate all connections: a new one has prepared no statement yet, so that a call has all its steps."""
    for pool in (store._calls, store._commits):
        for member in pool._members:
            if member._connection is not None:
                member._connection.terminate()


@ENDS
@pytest.mark.parametrize("moment", MOMENTS)
async def test_read_survives_the_end_at_any_step(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, end: Callable[[Any], None], moment: Moment
) -> None:
    """A read whose connection ends, at whatever step, is made again."""
    await create(store, "t")
    for number in itertools.count(1):
        await begin_anew(store)
        interruption = Interruption[Any](number, moment, end)
        with monkeypatch.context() as patch:
            interrupt(patch, Call, "run", interruption)
            assert (await soon(store.load("t"))).revision == 1
        if not interruption.happened:
            break
    assert number > 2


@ENDS
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("kind", [Call, CommitBatch], ids=["create", "commit"])
async def test_write_is_unavailable_at_the_end_at_any_step(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, kind: Any, end: Callable[[Any], None], moment: Moment
) -> None:
    """A write whose connection ends, at whatever step, is answered or StoreUnavailable, and never made twice."""
    for number in itertools.count(1):
        table = f"t{number}"
        if kind is CommitBatch:
            await create(store, table)
        await begin_anew(store)

        def write(table: str = table) -> Coroutine[Any, Any, Any]:
            if kind is CommitBatch:
                return store.commit(step(table, 1, request_id="r"))
            return create(store, table, request_id=f"make {table}")

        interruption = Interruption[Any](number, moment, end)
        with monkeypatch.context() as patch:
            interrupt(patch, kind, "run", interruption)
            with contextlib.suppress(StoreUnavailable):
                await soon(write())
        with contextlib.suppress(AlreadyAnswered):
            await soon(write())
        assert await store.load_revision(table) == len(await store.read_log(table, 0, 10)) == 1 + (kind is CommitBatch)
        if not interruption.happened:
            break
    assert number > 2


# The session's process is not known before `fetchval` is answered.
@pytest.mark.parametrize(
    ("method", "end"), [("fetchval", give_up), ("add_listener", give_up), ("add_listener", end_session)]
)
@pytest.mark.parametrize("moment", MOMENTS)
async def test_store_whose_connection_ends_while_it_begins_is_unavailable(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, method: str, end: Callable[[Any], None], moment: Moment
) -> None:
    """A store opens, or is StoreUnavailable, at whatever step of a session's beginning its connection ends."""
    for number in itertools.count(1):
        interruption = Interruption[Any](number, moment, end)
        with monkeypatch.context() as patch, contextlib.suppress(StoreUnavailable):
            interrupt(patch, Session, method, interruption)
            await (await soon(open_store(postgres_url))).close()
        if not interruption.happened:
            break
    assert number > 2


async def test_mistake_on_an_open_connection_stays_itself(store: PostgresStore) -> None:
    """An error raised while the connection is open is not StoreUnavailable, and the connection stays."""
    await create(store, "t")
    before = store._calls.pids()

    async def mistaken(connection: Connection) -> None:
        await connection.fetchval("SELECT 1")
        raise AttributeError("a mistake")

    with pytest.raises(AttributeError, match="a mistake"):
        await soon(store._call(mistaken))
    assert (await store.load("t")).revision == 1
    assert store._calls.pids() == before
