"""One connection to a Redis or Valkey server, shared by all concurrent calls.

Calls are written together, once in a turn of the event loop, and answered in order. hiredis parses the protocol.
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

_MIN_VERSION = 7
"""Redis 7 and every Valkey have shard channels, and refuse a script before it begins or not at all."""


class Refused(Exception):
    """The server's answer is an error; `code` is its first word, such as MOVED."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code, _, self.detail = message.partition(" ")


class Greeting(NamedTuple):
    """What a server answers to HELLO."""

    cluster: bool
    """The server is a node of a cluster."""
    master: bool
    """It is no replica, in a cluster or not."""


class Link(asyncio.Protocol):
    """A connection. All calls under way raise StoreUnavailable when it is lost.

    It is closed if an answer takes longer than the timeout of the URL: all answers after it would be late, too.
    """

    def __init__(self, address: Address, place: Place, on_push: OnPush | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._address = address
        self._place = place
        self._on_push = on_push
        self._reader = hiredis.Reader(replyError=Refused)
        self._transport: asyncio.Transport | None = None
        self._calls: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._unsent: list[bytes] = []
        self._confirmation: asyncio.Future[Any] | None = None
        self._watchdog: asyncio.TimerHandle | None = None
        self.greeting = Greeting(cluster=False, master=False)
        """Set by `connect`."""
        self.lost: asyncio.Future[None] = self._loop.create_future()
        """Done when the connection has ended."""

    # ---- for callers ----

    def call(self, *words: Word) -> asyncio.Future[Any]:
        """Send a command; the future gets its answer, or raises Refused or StoreUnavailable."""
        future: asyncio.Future[Any] = self._loop.create_future()
        if self.lost.done():
            future.set_exception(self._lost_error())
            return future
        self._calls.append((future, self._loop.time() + self._place.timeout))
        if self._watchdog is None:
            self._watchdog = self._loop.call_later(self._place.timeout, self._check_deadline)
        self.send(*words)
        return future

    def send(self, *words: Word) -> None:
        """Send a command that the server answers only by a push. If it answers with an error, the connection ends."""
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(hiredis.pack_command(words))  # type: ignore[arg-type]  # the stub means any number

    def replicated(self) -> asyncio.Future[Any]:
        """Return a future of the number of replicas that have all calls so far.

        It is done once these are as many as the URL wants, or after half the timeout. It is shared by all calls that
        are sent together: do not cancel it.
        """
        if self._confirmation is None:
            self._confirmation = self._loop.create_future()
            # Those who share it may all be cancelled by the time it is answered.
            self._confirmation.add_done_callback(ignore_error)
        return self._confirmation

    def close(self) -> None:
        """End the connection; calls under way raise StoreUnavailable."""
        if self._transport is not None:
            self._transport.abort()

    # ---- for the event loop ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, and turn on TCP's keepalive."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        channel = transport.get_extra_info("socket")
        if channel is not None and channel.family in {socket.AF_INET, socket.AF_INET6}:
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        """Settle the calls that are answered, and pass pushes on; end the connection for what cannot be parsed."""
        try:
            self._reader.feed(data)
            while (answer := self._reader.gets()) is not False:
                self._take(answer)
        except hiredis.ProtocolError:
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Settle `lost`, and let all calls under way raise StoreUnavailable."""
        if self._watchdog is not None:
            self._watchdog.cancel()
        if not self.lost.done():
            self.lost.set_result(None)
        while self._calls:
            future, _ = self._calls.popleft()
            if not future.done():
                future.set_exception(self._lost_error())

    def _take(self, answer: Any) -> None:
        if isinstance(answer, hiredis.PushNotification):
            if self._on_push is not None:
                self._on_push(answer)
            return
        if not self._calls:
            # Something sent without a call was refused: the owner of this connection has to open another.
            self.close()
            return
        future, _ = self._calls.popleft()
        if future.done():
            return
        if isinstance(answer, Refused):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    def _flush(self) -> None:
        if self._confirmation is not None:
            wait = self.call("WAIT", self._place.replicas, int(self._place.timeout * 500))
            wait.add_done_callback(partial(_copy_result, self._confirmation))
            self._confirmation = None
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def _check_deadline(self) -> None:
        self._watchdog = None
        if not self._calls:
            return
        _, deadline = self._calls[0]
        left = deadline - self._loop.time()
        if left <= 0:
            self.close()
        else:
            self._watchdog = self._loop.call_later(left, self._check_deadline)

    def _lost_error(self) -> StoreUnavailable:
        return StoreUnavailable(f"the connection to {self._address} broke, or an answer took too long")


async def connect(address: Address, place: Place, on_push: OnPush | None = None) -> Link:
    """Connect and log in. Raise StoreUnavailable, also for a wrong password; StoreIncompatible for a server too old."""
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
        answer: dict[bytes, Any] = await link.call(*words, "SETNAME", "buraco")
        if place.database:
            await link.call("SELECT", place.database)
    except Refused as refusal:
        # The server's text may name users; the code is enough.
        if refusal.code == "NOPROTO" or "unknown command" in refusal.detail:
            raise _too_old(address) from None
        raise StoreUnavailable(f"{address} refuses the connection: {refusal.code}") from None
    if int(answer[b"version"].partition(b".")[0]) < _MIN_VERSION:
        raise _too_old(address)
    return Greeting(cluster=answer[b"mode"] == b"cluster", master=answer[b"role"] == b"master")


def _too_old(address: Address) -> StoreIncompatible:
    return StoreIncompatible(f"{address} is too old: Redis {_MIN_VERSION} or Valkey is needed")


def ignore_error(future: asyncio.Future[Any]) -> None:
    """Mark a future's error as handled; a callback for futures that nobody may await."""
    if not future.cancelled():
        future.exception()


def _copy_result(target: asyncio.Future[Any], source: asyncio.Future[Any]) -> None:
    if source.cancelled() or target.done():
        return
    if (error := source.exception()) is not None:
        target.set_exception(error)
    else:
        target.set_result(source.result())
