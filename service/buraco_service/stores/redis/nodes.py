"""The servers of the Redis store: which of them owns a bucket, and calls to it.

One master or a cluster, both are a map from buckets to nodes, which is refreshed when a server says that it is wrong,
or cannot be reached. A call is sent again only if the server says that it did not run it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

from buraco_service.stores.base import StoreError, StoreIncompatible, StoreUnavailable
from buraco_service.stores.redis.keys import BUCKETS, slot_of
from buraco_service.stores.redis.link import Link, OnPush, Refused, Word, connect, ignore_error
from buraco_service.stores.redis.scripts import Script
from buraco_service.stores.redis.url import Address, Place

_SHORTEST_BACKOFF, _LONGEST_BACKOFF = 0.05, 2.0
_MAX_REDIRECTS = 8
_TRYAGAIN_SECONDS = 0.05
"""Seconds before a node that is just moving the slot is called again."""
_REFRESH_INTERVAL = 0.1
"""Seconds, at least, between two refreshes of the map."""

_MOVING = frozenset({"MOVED", "ASK", "TRYAGAIN"})
_NO_MASTER = frozenset({"READONLY", "MASTERDOWN"})
_MAP_OUTDATED = _NO_MASTER | {"CLUSTERDOWN"}


class Node:
    """A server, and the connection that all calls to it share, opened when it is needed."""

    def __init__(self, address: Address, place: Place) -> None:
        self.address = address
        self._place = place
        self._link: Link | None = None
        self._opening: asyncio.Task[Link] | None = None
        self._failures = 0
        self._retry_at = 0.0

    @property
    def ready(self) -> Link | None:
        """The connection, None unless it is open."""
        link = self._link
        return None if link is None or link.lost.done() else link

    @property
    def is_unused(self) -> bool:
        """Whether no connection is open or being opened."""
        return self.ready is None and self._opening is None

    async def get_link(self) -> Link:
        """Return the shared connection, opened if need be. Raise as `open_link`.

        Soon after a failure, raise StoreUnavailable without an attempt.
        """
        if (ready := self.ready) is not None:
            return ready
        if self._opening is None:
            if asyncio.get_running_loop().time() < self._retry_at:
                raise StoreUnavailable(f"{self.address} could not be reached a moment ago")
            self._opening = asyncio.get_running_loop().create_task(self._open())
            self._opening.add_done_callback(ignore_error)
        return await asyncio.shield(self._opening)

    async def open_link(self, on_push: OnPush | None) -> Link:
        """Open another connection, which the caller has to close.

        Raise StoreUnavailable if that fails or the server is a replica, StoreIncompatible if it is too old.
        """
        link = await connect(self.address, self._place, on_push)
        if not (link.greeting.cluster or link.greeting.master):
            # A replica answers reads, but may lack commits that were acknowledged.
            link.close()
            raise StoreUnavailable(f"{self.address} is a replica")
        return link

    def drop(self) -> None:
        """Close the connection; the next `get_link` opens another, and finds out what the server has become."""
        if self._link is not None:
            self._link.close()

    async def close(self) -> None:
        """Close the connection, and open no other."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if (link := self.ready) is not None:
            link.close()
            await link.lost

    async def _open(self) -> Link:
        try:
            self._link = await self.open_link(None)
        except StoreError:
            longest = min(_LONGEST_BACKOFF, _SHORTEST_BACKOFF * 2**self._failures)
            self._failures = min(self._failures + 1, 10)
            pause = longest * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)
            self._retry_at = asyncio.get_running_loop().time() + pause
            raise
        finally:
            self._opening = None
        self._failures = 0
        return self._link


class Nodes:
    """The nodes, and which of them owns each bucket. Made by `open`."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._nodes = {address: Node(address, place) for address in place.addresses}
        self._owners: list[Node | None] = [None] * BUCKETS
        self._refreshing: asyncio.Task[None] | None = None
        self._next_refresh = 0.0
        self.on_change: Callable[[], None] = lambda: None
        """Called when the owner of a bucket has changed."""

    @classmethod
    async def open(cls, place: Place) -> Nodes:
        """Connect, and find out which node owns each bucket. Raise StoreUnavailable, or another StoreError."""
        nodes = cls(place)
        try:
            await nodes._refresh()
        except BaseException:
            await nodes.close()
            raise
        return nodes

    def owner(self, bucket: int) -> Node | None:
        """Return the owner of the bucket, None if it is not known."""
        return self._owners[bucket]

    def owners(self) -> dict[Node | None, int]:
        """Return every node that owns buckets, with one of them; None for buckets without a known owner."""
        return {node: bucket for bucket, node in enumerate(self._owners)}

    async def call(self, bucket: int, *words: Word) -> Any:
        """Return the owner's answer to a command on keys of the bucket. Raise StoreError for an error, or no answer."""
        try:
            return await self._route(bucket, words, replicate=False)
        except Refused as refusal:
            raise as_store_error(refusal) from None

    async def call_many(self, commands: Sequence[tuple[int, tuple[Word, ...]]]) -> list[Any]:
        """Return the answers to commands that only read, each with its bucket, in the given order.

        Cheaper than `call` for each. Raise as `call` if one of them fails.
        """
        calls: list[asyncio.Future[Any]] = []
        for bucket, words in commands:
            owner = self._owners[bucket]
            link = None if owner is None else owner.ready
            calls.append(asyncio.ensure_future(self.call(bucket, *words)) if link is None else link.call(*words))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        for number, answer in enumerate(answers):
            if isinstance(answer, Refused):
                bucket, words = commands[number]
                answers[number] = await self.call(bucket, *words)
            elif isinstance(answer, BaseException):
                raise answer
        return answers

    async def run_script(self, bucket: int, script: Script, keys: Sequence[bytes], *arguments: Word) -> Any:
        """Return the answer of a script, if it writes once enough replicas have it. Raise StoreError as `call` does.

        StoreUnavailable also comes after a write, if too few replicas have it in time.
        """
        replicate = script.writes and self._place.replicas > 0
        words = (len(keys), *keys, *arguments)
        try:
            try:
                return await self._route(bucket, ("EVALSHA", script.sha, *words), replicate=replicate)
            except Refused as refusal:
                if refusal.code != "NOSCRIPT":
                    raise
            # The server is new, or its scripts were flushed: EVAL loads the script as well.
            return await self._route(bucket, ("EVAL", script.text, *words), replicate=replicate)
        except Refused as refusal:
            raise as_store_error(refusal) from None

    def request_refresh(self) -> None:
        """Refresh the map in the background, unless that is under way or was begun just now. Raise nothing."""
        loop = asyncio.get_running_loop()
        if self._refreshing is None and loop.time() >= self._next_refresh:
            self._next_refresh = loop.time() + _REFRESH_INTERVAL
            self._refreshing = loop.create_task(self._refresh())
            self._refreshing.add_done_callback(self._end_refresh)

    async def close(self) -> None:
        """Close every connection; calls under way raise StoreUnavailable."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.wait([self._refreshing])
        await asyncio.gather(*[node.close() for node in self._nodes.values()])

    async def _route(self, bucket: int, words: tuple[Word, ...], *, replicate: bool) -> Any:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._place.timeout
        node, asking, redirects = self._owners[bucket], False, 0
        while True:
            try:
                if node is None:
                    raise StoreUnavailable("no server has this table's slot of the cluster")
                link = node.ready or await node.get_link()
                if asking:
                    link.call("ASKING").add_done_callback(ignore_error)
                return await (self._call_replicated(link, words) if replicate else link.call(*words))
            except StoreUnavailable:
                self.request_refresh()
                raise
            except Refused as refusal:
                assert node is not None
                if refusal.code in _MAP_OUTDATED:
                    self.request_refresh()
                if refusal.code in _NO_MASTER:
                    node.drop()
                if refusal.code not in _MOVING or redirects == _MAX_REDIRECTS or loop.time() >= deadline:
                    raise
                if refusal.code == "TRYAGAIN":
                    await asyncio.sleep(_TRYAGAIN_SECONDS)
                    node, asking = self._owners[bucket], False
                else:
                    redirects += 1
                    node, asking = self._redirected(bucket, node, refusal)

    def _redirected(self, bucket: int, node: Node, refusal: Refused) -> tuple[Node, bool]:
        """Return the node that a MOVED or ASK names, and whether the call needs ASKING first."""
        _, _, target = refusal.detail.partition(" ")
        host, _, port = target.rpartition(":")
        # Without a host it is another port of the same host.
        new = self._node(Address(host or node.address.host, int(port)))
        if refusal.code == "MOVED":
            self._owners[bucket] = new
            self.on_change()
            self.request_refresh()
        return new, refusal.code == "ASK"

    async def _call_replicated(self, link: Link, words: tuple[Word, ...]) -> Any:
        call = link.call(*words)
        replicated = link.replicated()
        answer = await call
        if await asyncio.shield(replicated) < self._place.replicas:
            raise StoreUnavailable("written, but too few replicas have it")
        return answer

    def _node(self, address: Address) -> Node:
        node = self._nodes.get(address)
        if node is None:
            node = self._nodes[address] = Node(address, self._place)
        return node

    async def _refresh(self) -> None:
        """Ask the nodes, one after another, until one knows the owners of the buckets."""
        last_error: StoreError = StoreUnavailable("the URL names no server")
        nodes = random.sample(list(self._nodes.values()), len(self._nodes))
        for node in sorted(nodes, key=lambda node: node.ready is None):
            try:
                link = await node.get_link()
                owners = await self._fetch_owners(node, link)
            except StoreUnavailable as error:
                last_error = error
            except Refused as refusal:
                last_error = as_store_error(refusal)
            else:
                self._set_owners(owners)
                return
        raise last_error

    async def _fetch_owners(self, node: Node, link: Link) -> list[Node | None]:
        if not link.greeting.cluster:
            return [node] * BUCKETS
        if self._place.database:
            raise StoreIncompatible(f"{node.address} is in a cluster, which has only database 0")
        owners: list[Node | None] = [None] * BUCKETS
        for first, last, (host, port, *_), *_ in await link.call("CLUSTER", "SLOTS"):
            known = host.decode() if host and host != b"?" else node.address.host
            owner = self._node(Address(known, port))
            for bucket in range(BUCKETS):
                if first <= slot_of(bucket) <= last:
                    owners[bucket] = owner
        return owners

    def _set_owners(self, owners: list[Node | None]) -> None:
        before, self._owners = self._owners, owners
        for address, node in list(self._nodes.items()):
            # It has left the cluster; while it is connected, it may still know where the others are.
            if node not in owners and address not in self._place.addresses and node.is_unused:
                del self._nodes[address]
        if before != owners:
            self.on_change()

    def _end_refresh(self, task: asyncio.Task[None]) -> None:
        self._refreshing = None
        ignore_error(task)


def as_store_error(refusal: Refused) -> StoreError:
    """Return the StoreError for an error that a server answered."""
    if refusal.code == "WRONGTYPE":
        return StoreIncompatible("a key holds something that is not this store's")
    if refusal.code == "ERR" and refusal.detail.startswith("ACL failure"):
        return StoreUnavailable("the server refuses: NOPERM within a script")
    if refusal.code == "ERR":
        # After this, the server quotes what it was sent.
        text, _, _ = refusal.detail.partition(", with args")
        return StoreError(f"the server does not understand: {text[:200]}")
    return StoreUnavailable(f"the server refuses: {refusal.code}")
