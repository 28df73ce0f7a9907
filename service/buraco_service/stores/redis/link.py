"""One connection to a Redis or Valkey server, shared by all who call at the same time.

Calls are written together, once in a turn of the event loop, and answered in order; nobody waits for a connection of
his own. hiredis does the protocol.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import hiredis

from buraco_service.stores.base import StoreIncompatible, StoreUnavailable
from buraco_service.stores.redis.url import Address, Place

Word = str | bytes | int
OnPush = Callable[[list[Any]], None]

_OLDEST_SERVER = 7
"""Redis 7 and every Valkey have shard channels, and scripts that are refused before they begin or not at all."""


class Refused(Exception):
    """The server's answer is an error; `code` is its first word, such as MOVED."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code, _, self.detail = message.partition(" ")


class Greeting(NamedTuple):
    """What a server tells of itself."""

    cluster: bool
    master: bool


class Link(asyncio.Protocol):
    """A connection. Whoever waits for an answer when it breaks gets StoreUnavailable.

    An answer that takes longer than the place's timeout breaks it: all behind it would be late, too.
    """

    def __init__(self, address: Address, place: Place, on_push: OnPush | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._address = address
        self._place = place
        self._on_push = on_push
        self._reader = hiredis.Reader(replyError=Refused)
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._unsent: list[bytes] = []
        self._confirmation: asyncio.Future[Any] | None = None
        self._watchdog: asyncio.TimerHandle | None = None
        self.greeting = Greeting(cluster=False, master=False)
        """Set by `connect`."""
        self.lost: asyncio.Future[None] = self._loop.create_future()
        """Done when the connection is no more."""

    # ---- for callers ----

    def call(self, *words: Word) -> asyncio.Future[Any]:
        """Have the server do a command; the future gets its answer, or raises Refused or StoreUnavailable."""
        future: asyncio.Future[Any] = self._loop.create_future()
        if self.lost.done():
            future.set_exception(self._lost_error())
            return future
        self._waiting.append((future, self._loop.time() + self._place.timeout))
        if self._watchdog is None:
            self._watchdog = self._loop.call_later(self._place.timeout, self._watch)
        self.send(*words)
        return future

    def send(self, *words: Word) -> None:
        """Have the server do a command that it answers by a push alone."""
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(hiredis.pack_command(words))  # type: ignore[arg-type]  # the stub means any number

    def confirmed(self) -> asyncio.Future[Any]:
        """How many replicas have what has been called so far, when all that are wanted have it or the time is over.

        One question serves all calls that are sent together.
        """
        if self._confirmation is None:
            self._confirmation = self._loop.create_future()
            # Those who share it may all be gone by the time it is answered.
            self._confirmation.add_done_callback(forget)
        return self._confirmation

    def close(self) -> None:
        """Break the connection; what is under way is lost."""
        if self._transport is not None:
            self._transport.abort()

    # ---- for the event loop ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by name
        channel = transport.get_extra_info("socket")
        if channel is not None and channel.family in {socket.AF_INET, socket.AF_INET6}:
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        try:
            self._reader.feed(data)
            while (answer := self._reader.gets()) is not False:
                self._take(answer)
        except hiredis.ProtocolError:
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        """See asyncio.Protocol."""
        if self._watchdog is not None:
            self._watchdog.cancel()
        if not self.lost.done():
            self.lost.set_result(None)
        while self._waiting:
            future, _ = self._waiting.popleft()
            if not future.done():
                future.set_exception(self._lost_error())

    def _take(self, answer: Any) -> None:
        if isinstance(answer, hiredis.PushNotification):
            if self._on_push is not None:
                self._on_push(answer)
            return
        if not self._waiting:
            # Something sent without a call was refused: whoever keeps this connection has to begin anew.
            self.close()
            return
        future, _ = self._waiting.popleft()
        if future.done():
            return
        if isinstance(answer, Refused):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    def _flush(self) -> None:
        if self._confirmation is not None:
            wait = self.call("WAIT", self._place.replicas, int(self._place.timeout * 500))
            wait.add_done_callback(partial(_pass_on, self._confirmation))
            self._confirmation = None
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def _watch(self) -> None:
        self._watchdog = None
        if not self._waiting:
            return
        _, deadline = self._waiting[0]
        left = deadline - self._loop.time()
        if left <= 0:
            self.close()
        else:
            self._watchdog = self._loop.call_later(left, self._watch)

    def _lost_error(self) -> StoreUnavailable:
        return StoreUnavailable(f"the connection to {self._address} broke, or an answer took too long")


async def connect(address: Address, place: Place, on_push: OnPush | None = None) -> Link:
    """A connection that is logged in. Raises StoreUnavailable, and StoreIncompatible for a server that is too old."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(place.timeout):
            _, link = await loop.create_connection(
                lambda: Link(address, place, on_push), address.host, address.port, ssl=place.tls
            )
    except (OSError, TimeoutError, UnicodeError) as error:
        raise StoreUnavailable(f"{address} cannot be reached: {type(error).__name__}") from error
    try:
        link.greeting = await _greet(link, address, place)
    except BaseException:
        link.close()
        raise
    return link


async def _greet(link: Link, address: Address, place: Place) -> Greeting:
    words: list[Word] = ["HELLO", 3]
    if place.password is not None:
        words += ["AUTH", place.username or "default", place.password]
    try:
        told: dict[bytes, Any] = await link.call(*words, "SETNAME", "buraco")
        if place.database:
            await link.call("SELECT", place.database)
    except Refused as refusal:
        # The server's own text may name users: its code says enough.
        if refusal.code == "NOPROTO" or "unknown command" in refusal.detail:
            raise StoreIncompatible(f"{address} is too old: Redis {_OLDEST_SERVER} or Valkey is needed") from None
        raise StoreUnavailable(f"{address} refuses the connection: {refusal.code}") from None
    if int(told[b"version"].partition(b".")[0]) < _OLDEST_SERVER:
        raise StoreIncompatible(f"{address} is too old: Redis {_OLDEST_SERVER} or Valkey is needed")
    return Greeting(cluster=told[b"mode"] == b"cluster", master=told[b"role"] == b"master")


def forget(future: asyncio.Future[Any]) -> None:
    """A callback for a future whose failure is nobody's concern."""
    if not future.cancelled():
        future.exception()


def _pass_on(target: asyncio.Future[Any], source: asyncio.Future[Any]) -> None:
    if source.cancelled() or target.done():
        return
    if (error := source.exception()) is not None:
        target.set_exception(error)
    else:
        target.set_result(source.result())
