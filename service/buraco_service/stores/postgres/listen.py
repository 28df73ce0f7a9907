"""Notifications of other processes' commits, by one connection that is opened again whenever it is lost.

All processes listen to one channel, and a notification names all tables of its transaction: that costs each process
less than channels by table would cost the server. LISTEN belongs to a session, so that a pooler between here and the
server has to be in session mode; `Listener.verify` finds out.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterator

from asyncpg import Connection

from buraco_service.observing import logs
from buraco_service.stores.base import StoreIncompatible, StoreUnavailable
from buraco_service.stores.postgres.connect import CALL_SECONDS, as_store_error, error_of_call
from buraco_service.stores.postgres.pool import FIRST_BACKOFF, LONGEST_BACKOFF, Connect

CHANNEL = "buraco"

HEARTBEAT_SECONDS = 5.0
"""How often a silent connection is checked."""

ANSWER_SECONDS = 5.0
"""How long the server has to answer such a check."""

_VERIFY_SECONDS = 5.0


def parse_notification(payload: str) -> Iterator[tuple[str, int | None]]:
    """Yield the tables that a notification names and their new revisions, None for a removed table.

    A negative revision is the number of a new message, its sign changed: the table is as it was.

    Raise ValueError, maybe after some tables, for a notification of another program.
    """
    start = 0
    while start < len(payload):
        revision, length, _ = payload[start : start + 24].split(" ", 2)
        begin = start + len(revision) + len(length) + 2
        if not length.isdecimal():  # a negative length would lead backwards
            raise ValueError(length)
        start = begin + int(length)
        yield payload[begin:start], int(revision) or None


class Listener:
    """The connection that listens.

    `own_pids` returns the server's processes whose notifications are ignored, because they are those of this store.
    `notify` is called with a table and its revision (None: not known), `notify_all` when any table may have changed.
    """

    def __init__(
        self,
        connect: Connect,
        own_pids: Callable[[], Collection[int]],
        notify: Callable[[str, int | None], None],
        notify_all: Callable[[], None],
    ) -> None:
        self._connect = connect
        self._own_pids = own_pids
        self._notify = notify
        self._notify_all = notify_all
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._lost = asyncio.Event()
        self._expected: tuple[str, asyncio.Event] | None = None

    async def start(self) -> None:
        """Listen from now on, also after a lost connection. Raise StoreError if the first one fails."""
        self._connection = await self._connect_and_listen()
        self._task = asyncio.create_task(self._keep_listening())

    async def verify(self, send: Callable[[str], Awaitable[object]]) -> None:
        """Send a notification by `send(payload)`, and wait for it, after `start`.

        Raise StoreIncompatible if it does not come in 5 seconds, StoreUnavailable if the connection ends instead, and
        what `send` raises.
        """
        assert self._connection is not None
        connection, token, done = self._connection, uuid.uuid4().hex, asyncio.Event()

        def end(_: object) -> None:
            done.set()

        self._expected = (token, done)
        connection.add_termination_listener(end)
        try:
            await send(f"0 {len(token)} {token}")
            if not connection.is_closed():
                await asyncio.wait_for(done.wait(), _VERIFY_SECONDS)
        except TimeoutError:
            raise StoreIncompatible(
                "notifications do not arrive: a pooler on the way to PostgreSQL has to be in session mode"
            ) from None
        finally:
            self._expected = None
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

    async def _connect_and_listen(self) -> Connection:
        connection = await self._connect()
        timer = asyncio.get_running_loop().call_later(CALL_SECONDS, connection.terminate)
        try:
            connection.add_termination_listener(self._set_lost)
            await connection.add_listener(CHANNEL, self._receive)
        except Exception as raised:
            error = error_of_call(raised, connection)
            connection.terminate()
            raise as_store_error(error) from raised
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
            await self._wait_until_lost(self._connection)
            log.warning("store notifications lost")
            self._connection = await self._reconnect()
            log.info("store notifications back")
            self._notify_all()

    async def _wait_until_lost(self, connection: Connection) -> None:
        """Return once the connection has ended, or does not answer."""
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

    async def _reconnect(self) -> Connection:
        backoff = FIRST_BACKOFF
        while True:
            try:
                return await self._connect_and_listen()
            except Exception:  # noqa: BLE001 (if this gave up, nobody would be notified any more)
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, LONGEST_BACKOFF)

    def _set_lost(self, connection: object) -> None:
        self._lost.set()

    def _receive(self, connection: object, pid: int, channel: str, payload: object) -> None:
        if self._expected is not None and str(payload).endswith(self._expected[0]):
            self._expected[1].set()
        elif pid not in self._own_pids():
            try:
                changes = list(parse_notification(str(payload)))
            except ValueError:
                return
            for table_id, revision in changes:
                self._notify(table_id, revision)
