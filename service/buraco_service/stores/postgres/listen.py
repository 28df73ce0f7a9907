"""Hearing of other processes' commits: one connection that listens, made anew whenever it is lost.

All processes listen to one channel, and a notification names all tables of its transaction: that costs each process
less than it would cost the server to keep channels by table for it. LISTEN belongs to a session, so that a pooler
between here and the server has to be in session mode; `Listener.prove` finds out.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterator

from asyncpg import Connection

from buraco_service.observing import logs
from buraco_service.stores.base import StoreIncompatible, StoreUnavailable
from buraco_service.stores.postgres.connect import CALL_SECONDS, of_call, translated
from buraco_service.stores.postgres.lanes import FIRST_BACKOFF, LONGEST_BACKOFF, Connect

CHANNEL = "buraco"

HEARTBEAT_SECONDS = 5.0
"""How often a silent connection is asked whether it is still there."""

ANSWER_SECONDS = 5.0
"""How long it has to answer that."""

_PROOF_SECONDS = 5.0


def notes(payload: str) -> Iterator[tuple[str, int | None]]:
    """The tables in a notification and the revisions they have come to, None for one that is gone."""
    start = 0
    while start < len(payload):
        revision, length, _ = payload[start : start + 24].split(" ", 2)
        begin = start + len(revision) + len(length) + 2
        if not length.isdecimal():  # somebody else's, which might lead backwards
            raise ValueError(length)
        start = begin + int(length)
        yield payload[begin:start], int(revision) or None


class Listener:
    """The connection that listens, and who is told.

    `own` gives the server's processes whose notifications are not news here, `wake` is told of a table and its revision
    (None: not known), `wake_all` that any table may have changed.
    """

    def __init__(
        self,
        connect: Connect,
        own: Callable[[], Collection[int]],
        wake: Callable[[str, int | None], None],
        wake_all: Callable[[], None],
    ) -> None:
        self._connect = connect
        self._own = own
        self._wake = wake
        self._wake_all = wake_all
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._lost = asyncio.Event()
        self._proof: tuple[str, asyncio.Event] | None = None

    async def start(self) -> None:
        """Listen from now on. Raises StoreError when that cannot begin."""
        self._connection = await self._listening()
        self._task = asyncio.create_task(self._keep_listening())

    async def prove(self, notify: Callable[[str], Awaitable[object]]) -> None:
        """Have a notification sent by `notify`, with this payload, and wait for it.

        Raises StoreIncompatible when it does not come, StoreUnavailable when the connection ends instead.
        """
        assert self._connection is not None
        connection, token, done = self._connection, uuid.uuid4().hex, asyncio.Event()

        def end(_: object) -> None:
            done.set()

        self._proof = (token, done)
        connection.add_termination_listener(end)
        try:
            await notify(f"0 {len(token)} {token}")
            if not connection.is_closed():
                await asyncio.wait_for(done.wait(), _PROOF_SECONDS)
        except TimeoutError:
            raise StoreIncompatible(
                "notifications do not arrive: a pooler on the way to PostgreSQL has to be in session mode"
            ) from None
        finally:
            self._proof = None
            connection.remove_termination_listener(end)
        if connection.is_closed():
            raise StoreUnavailable("PostgreSQL: the connection that listens has ended")

    async def close(self) -> None:
        """Stop listening. Repeatable."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._connection is not None:
            with contextlib.suppress(Exception):
                await self._connection.close(timeout=1.0)

    async def _listening(self) -> Connection:
        connection = await self._connect()
        timer = asyncio.get_running_loop().call_later(CALL_SECONDS, connection.terminate)
        try:
            connection.add_termination_listener(self._ended)
            await connection.add_listener(CHANNEL, self._hear)
        except Exception as raised:
            error = of_call(raised, connection)
            connection.terminate()
            raise translated(error) from raised
        except BaseException:
            connection.terminate()
            raise
        finally:
            timer.cancel()
        return connection

    async def _keep_listening(self) -> None:
        log = logs.get_logger()
        while True:
            assert self._connection is not None
            await self._until_lost(self._connection)
            log.warning("store notifications lost")
            self._connection = await self._again()
            log.info("store notifications back")
            self._wake_all()

    async def _until_lost(self, connection: Connection) -> None:
        """Return when the connection is gone, or does not answer."""
        while not connection.is_closed():
            self._lost.clear()
            try:
                await asyncio.wait_for(self._lost.wait(), HEARTBEAT_SECONDS)
            except TimeoutError:
                timer = asyncio.get_running_loop().call_later(ANSWER_SECONDS, connection.terminate)
                try:
                    await connection.execute("SELECT 1")
                except Exception:  # noqa: BLE001 (whatever it is, a new connection is the answer)
                    connection.terminate()
                finally:
                    timer.cancel()

    async def _again(self) -> Connection:
        backoff = FIRST_BACKOFF
        while True:
            try:
                return await self._listening()
            except Exception:  # noqa: BLE001 (who gave up listening would leave those who wait asleep)
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, LONGEST_BACKOFF)

    def _ended(self, connection: object) -> None:
        self._lost.set()

    def _hear(self, connection: object, pid: int, channel: str, payload: object) -> None:
        if self._proof is not None and str(payload).endswith(self._proof[0]):
            self._proof[1].set()
        elif pid not in self._own():
            try:
                told = list(notes(str(payload)))
            except ValueError:  # somebody else's notification
                return
            for table_id, revision in told:
                self._wake(table_id, revision)
