"""Wake-ups from the servers: a shard channel a table, one connection a node for all tables that are watched there.

A message can be missed only while the connection is down or the channel is not listened to yet. So every time a
channel is listened to anew, those who wait for its table are told to look: nothing goes unseen.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any

from buraco_service.observing import logs
from buraco_service.stores.base import StoreError
from buraco_service.stores.redis.keys import Keys
from buraco_service.stores.redis.link import Link, Refused
from buraco_service.stores.redis.nodes import Node, Nodes

_PING_INTERVAL = 5.0
"""Seconds between two questions whether the other side is still there."""

_SHORTEST_BACKOFF, _LONGEST_BACKOFF = 0.05, 1.0

_SILENT_FAILURES = 3
"""After so many failures on end an operator hears of it."""

Hear = Callable[[bytes, int | None], None]


class TableChanges:
    """Listens for the tables that are watched; `wake` hears of each change, see `notify.Watchers.wake`."""

    def __init__(self, nodes: Nodes, keys: Keys, wake: Callable[[str, int | None], None]) -> None:
        self._nodes = nodes
        self._keys = keys
        self._wake = wake
        self._tables: dict[bytes, str] = {}
        self._places: dict[bytes, _Listener | None] = {}
        self._listeners: dict[Node, _Listener] = {}
        nodes.on_change = self._rearrange

    def watch(self, table_id: str) -> None:
        """Listen for this table from now on; it is woken once to begin with."""
        keys = self._keys.of_table(table_id)
        self._tables[keys.channel] = table_id
        self._place(keys.channel, keys.bucket)

    def unwatch(self, table_id: str) -> None:
        """Listen for this table no more."""
        channel = self._keys.of_table(table_id).channel
        del self._tables[channel]
        listener = self._places.pop(channel)
        if listener is not None:
            listener.discard(channel)

    async def stop(self) -> None:
        """Listen no more."""
        self._nodes.on_change = lambda: None
        for listener in self._listeners.values():
            listener.stop()
        await asyncio.gather(*[listener.task for listener in self._listeners.values()], return_exceptions=True)

    def _place(self, channel: bytes, bucket: int) -> None:
        node = self._nodes.owner(bucket)
        if node is None:
            self._places[channel] = None
            return
        listener = self._listeners.get(node)
        if listener is None:
            listener = self._listeners[node] = _Listener(node, self._hear, self._nodes.look_again)
        self._places[channel] = listener
        listener.add(channel)

    def _rearrange(self) -> None:
        """Listen where the tables are now."""
        for channel, table_id in self._tables.items():
            bucket = self._keys.of_table(table_id).bucket
            node, before = self._nodes.owner(bucket), self._places[channel]
            if before is not None and before.node is node:
                continue
            if before is not None:
                before.discard(channel)
            self._place(channel, bucket)
        for node in self._listeners.keys() - self._nodes.owners().keys():
            self._listeners.pop(node).stop()

    def _hear(self, channel: bytes, revision: int | None) -> None:
        table_id = self._tables.get(channel)
        if table_id is not None:
            self._wake(table_id, revision)


class _Listener:
    """The channels of one node, listened to again whenever the connection has broken."""

    def __init__(self, node: Node, hear: Hear, trouble: Callable[[], None]) -> None:
        self.node = node
        self._hear = hear
        self._trouble = trouble
        self._channels: set[bytes] = set()
        self._leaving: Counter[bytes] = Counter()
        self._link: Link | None = None
        self._confirmed = False
        self.task = asyncio.get_running_loop().create_task(self._listen_on())

    def add(self, channel: bytes) -> None:
        self._channels.add(channel)
        if self._link is not None:
            self._link.send("SSUBSCRIBE", channel)

    def discard(self, channel: bytes) -> None:
        self._channels.discard(channel)
        if self._link is not None:
            self._leaving[channel] += 1
            self._link.send("SUNSUBSCRIBE", channel)

    def stop(self) -> None:
        self.task.cancel()

    async def _listen_on(self) -> None:
        failures = 0
        while True:
            self._confirmed = False
            # Whatever it was: who gave up listening would leave those who wait asleep.
            with contextlib.suppress(Exception):
                link = await self.node.link_of_its_own(self._on_push)
                try:
                    await self._listen(link)
                finally:
                    self._link = None
                    link.close()
            failures = 0 if self._confirmed or not self._channels else min(failures + 1, 10)
            if failures == _SILENT_FAILURES:
                logs.get_logger().warning("changes of tables are not heard for now", server=str(self.node.address))
            # The tables may be elsewhere now; until that is known, this node is asked again.
            self._trouble()
            await asyncio.sleep(min(_LONGEST_BACKOFF, _SHORTEST_BACKOFF * 2**failures))

    async def _listen(self, link: Link) -> None:
        """Return when the connection is lost or not to be trusted any more."""
        self._leaving.clear()
        self._link = link
        for channel in self._channels:
            link.send("SSUBSCRIBE", channel)
        while not link.lost.done():
            await asyncio.wait([link.lost], timeout=_PING_INTERVAL)
            try:
                await link.call("PING")
            except (StoreError, Refused):
                return

    def _on_push(self, message: list[Any]) -> None:
        kind, channel, told = message
        if kind == b"smessage":
            self._hear(channel, int(told) if told.isdigit() else None)
        elif kind == b"ssubscribe":
            self._confirmed = True
            self._hear(channel, None)
        elif kind == b"sunsubscribe":
            if self._leaving[channel] > 1:
                self._leaving[channel] -= 1
            elif channel in self._leaving:
                del self._leaving[channel]
            elif channel in self._channels and self._link is not None:
                # The channel has moved to another node. Beginning anew finds it.
                self._link.close()
