"""Notifications from the servers: a shard channel for each watched table, and one connection for each node.

A message can be missed only while the connection is down or the channel is not subscribed to yet. So each time that a
channel is subscribed to, those who wait for its table are woken to read it.
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
"""Seconds between two checks of a connection."""

_SHORTEST_BACKOFF, _LONGEST_BACKOFF = 0.05, 1.0

_FAILURES_UNTIL_WARNING = 3
"""Failures in a row after which a warning is logged."""

OnMessage = Callable[[bytes, int | None], None]


class TableChanges:
    """Listens for changes of the watched tables; `notify` is called with each, as `Subscriptions.notify`.

    `notify_message` is called with new messages.
    """

    def __init__(
        self,
        nodes: Nodes,
        keys: Keys,
        notify: Callable[[str, int | None], None],
        notify_message: Callable[[str, int], None],
    ) -> None:
        self._nodes = nodes
        self._keys = keys
        self._notify = notify
        self._notify_message = notify_message
        self._tables: dict[bytes, str] = {}
        self._listener_of: dict[bytes, _Listener | None] = {}
        self._listeners: dict[Node, _Listener] = {}
        nodes.on_change = self._follow_owners

    def watch(self, table_id: str) -> None:
        """Listen for this table from now on. Its subscriptions are woken once to begin with."""
        keys = self._keys.of_table(table_id)
        self._tables[keys.channel] = table_id
        self._listen(keys.channel, keys.bucket)

    def unwatch(self, table_id: str) -> None:
        """Stop listening for this table. Raise KeyError unless it is watched."""
        channel = self._keys.of_table(table_id).channel
        del self._tables[channel]
        listener = self._listener_of.pop(channel)
        if listener is not None:
            listener.discard(channel)

    async def stop(self) -> None:
        """Stop listening."""
        self._nodes.on_change = lambda: None
        for listener in self._listeners.values():
            listener.stop()
        await asyncio.gather(*[listener.task for listener in self._listeners.values()], return_exceptions=True)

    def _listen(self, channel: bytes, bucket: int) -> None:
        node = self._nodes.owner(bucket)
        if node is None:
            self._listener_of[channel] = None
            return
        listener = self._listeners.get(node)
        if listener is None:
            listener = self._listeners[node] = _Listener(node, self._receive, self._nodes.request_refresh)
        self._listener_of[channel] = listener
        listener.add(channel)

    def _follow_owners(self) -> None:
        """Listen at the nodes that own the tables now."""
        for channel, table_id in self._tables.items():
            bucket = self._keys.of_table(table_id).bucket
            node, before = self._nodes.owner(bucket), self._listener_of[channel]
            if before is not None and before.node is node:
                continue
            if before is not None:
                before.discard(channel)
            self._listen(channel, bucket)
        for node in self._listeners.keys() - self._nodes.owners().keys():
            self._listeners.pop(node).stop()

    def _receive(self, channel: bytes, revision: int | None) -> None:
        table_id = self._tables.get(channel)
        if table_id is None:
            return
        if revision is not None and revision < 0:
            self._notify_message(table_id, -revision)
        else:
            self._notify(table_id, revision)


class _Listener:
    """The channels of one node, subscribed to again whenever the connection was lost."""

    def __init__(self, node: Node, on_message: OnMessage, request_refresh: Callable[[], None]) -> None:
        self.node = node
        self._on_message = on_message
        self._request_refresh = request_refresh
        self._channels: set[bytes] = set()
        self._unsubscribing: Counter[bytes] = Counter()
        self._link: Link | None = None
        self._subscribed = False
        self.task = asyncio.get_running_loop().create_task(self._keep_listening())

    def add(self, channel: bytes) -> None:
        self._channels.add(channel)
        if self._link is not None:
            self._link.send("SSUBSCRIBE", channel)

    def discard(self, channel: bytes) -> None:
        self._channels.discard(channel)
        if self._link is not None:
            self._unsubscribing[channel] += 1
            self._link.send("SUNSUBSCRIBE", channel)

    def stop(self) -> None:
        self.task.cancel()

    async def _keep_listening(self) -> None:
        failures = 0
        while True:
            self._subscribed = False
            # Whatever the error: if this gave up, nobody would be notified any more.
            with contextlib.suppress(Exception):
                link = await self.node.open_link(self._on_push)
                try:
                    await self._listen(link)
                finally:
                    self._link = None
                    link.close()
            failures = 0 if self._subscribed or not self._channels else min(failures + 1, 10)
            if failures == _FAILURES_UNTIL_WARNING:
                logs.get_logger().warning("store notifications lost", server=str(self.node.address))
            # The tables may be at another node now; until that is known, try this one again.
            self._request_refresh()
            await asyncio.sleep(min(_LONGEST_BACKOFF, _SHORTEST_BACKOFF * 2**failures))

    async def _listen(self, link: Link) -> None:
        """Return once the connection is lost or does not answer."""
        self._unsubscribing.clear()
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
        kind, channel, content = message
        if kind == b"smessage":
            self._on_message(channel, int(content) if content.lstrip(b"-").isdigit() else None)
        elif kind == b"ssubscribe":
            self._subscribed = True
            self._on_message(channel, None)
        elif kind == b"sunsubscribe":
            if self._unsubscribing[channel] > 1:
                self._unsubscribing[channel] -= 1
            elif channel in self._unsubscribing:
                del self._unsubscribing[channel]
            elif channel in self._channels and self._link is not None:
                # The channel has moved to another node. A new connection finds it.
                self._link.close()
