"""The servers of the Redis store: which one has a bucket, and getting its answer.

One master or a cluster, it is the same here: a map from buckets to nodes, drawn anew when a server says that it is
wrong or cannot be reached. Nothing is repeated that may have been done: a call is sent again only when the server
says that it did not do it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

from buraco_service.stores.base import StoreError, StoreIncompatible, StoreUnavailable
from buraco_service.stores.redis.keys import BUCKETS, slot_of
from buraco_service.stores.redis.link import Greeting, Link, OnPush, Refused, Word, connect, forget
from buraco_service.stores.redis.scripts import Script
from buraco_service.stores.redis.url import Address, Place

_SHORTEST_BACKOFF, _LONGEST_BACKOFF = 0.05, 2.0
_MOST_REDIRECTS = 8
_NAP = 0.05
"""Seconds before a node is asked again that is handing the slot over just now."""
_LOOK_INTERVAL = 0.1
"""Seconds at least between two looks at how the cluster is laid out."""

_MOVING = frozenset({"MOVED", "ASK", "TRYAGAIN"})
_NO_MASTER = frozenset({"READONLY", "MASTERDOWN"})
_LOST_ITS_PLACE = _NO_MASTER | {"CLUSTERDOWN"}


class Node:
    """A server, and the connection that all calls to it share; it is made when it is needed."""

    def __init__(self, address: Address, place: Place) -> None:
        self.address = address
        self._place = place
        self._link: Link | None = None
        self._opening: asyncio.Task[Link] | None = None
        self._failures = 0
        self._closed_until = 0.0

    @property
    def ready(self) -> Link | None:
        """The connection, if it is there."""
        link = self._link
        return None if link is None or link.lost.done() else link

    @property
    def asleep(self) -> bool:
        """Whether there is no connection, and none in the making."""
        return self.ready is None and self._opening is None

    async def link(self) -> Link:
        """The connection. Soon after a failure it raises StoreUnavailable at once, without another attempt."""
        if (ready := self.ready) is not None:
            return ready
        if self._opening is None:
            if asyncio.get_running_loop().time() < self._closed_until:
                raise StoreUnavailable(f"{self.address} could not be reached a moment ago")
            self._opening = asyncio.get_running_loop().create_task(self._open())
            self._opening.add_done_callback(forget)
        return await asyncio.shield(self._opening)

    async def link_of_its_own(self, on_push: OnPush) -> Link:
        """A connection beside the shared one, for pushes."""
        return await self._connect(on_push)

    def drop(self) -> None:
        """Break the connection: what the server has become has to be found out anew."""
        if self._link is not None:
            self._link.close()

    async def close(self) -> None:
        """Break the connection, and try no more to make one."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if (link := self.ready) is not None:
            link.close()
            await link.lost

    async def _open(self) -> Link:
        try:
            self._link = await self._connect(None)
        except StoreError:
            longest = min(_LONGEST_BACKOFF, _SHORTEST_BACKOFF * 2**self._failures)
            self._failures = min(self._failures + 1, 10)
            pause = longest * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)
            self._closed_until = asyncio.get_running_loop().time() + pause
            raise
        finally:
            self._opening = None
        self._failures = 0
        return self._link

    async def _connect(self, on_push: OnPush | None) -> Link:
        link = await connect(self.address, self._place, on_push)
        if not (link.greeting.cluster or link.greeting.master):
            # A replica answers reads, but not with every commit that was acknowledged.
            link.close()
            raise StoreUnavailable(f"{self.address} is a replica")
        return link


class Nodes:
    """The nodes, and who has which bucket. Made by `open`."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._nodes = {address: Node(address, place) for address in place.addresses}
        self._owners: list[Node | None] = [None] * BUCKETS
        self._looking: asyncio.Task[None] | None = None
        self._next_look = 0.0
        self.on_change: Callable[[], None] = lambda: None
        """Called when other nodes have the buckets than before."""

    @classmethod
    async def open(cls, place: Place) -> Nodes:
        """Find out who has the buckets. Raises StoreUnavailable and StoreIncompatible."""
        nodes = cls(place)
        try:
            await nodes._look()
        except BaseException:
            await nodes.close()
            raise
        return nodes

    def owner(self, bucket: int) -> Node | None:
        """Who has the bucket, as far as is known."""
        return self._owners[bucket]

    def owners(self) -> dict[Node | None, int]:
        """Every node that has a bucket, with one that it has; None has those of which no owner is known."""
        return {node: bucket for bucket, node in enumerate(self._owners)}

    async def call(self, bucket: int, *words: Word) -> Any:
        """The answer to a command on keys of the bucket. Raises StoreUnavailable and StoreIncompatible."""
        try:
            return await self._route(bucket, words, confirm=False)
        except Refused as refusal:
            raise as_store_error(refusal) from None

    async def ask(self, questions: Sequence[tuple[int, tuple[Word, ...]]]) -> list[Any]:
        """The answers to many commands that only read, each with its bucket; cheaper than `call` for each."""
        asked: list[asyncio.Future[Any]] = []
        for bucket, words in questions:
            owner = self._owners[bucket]
            link = None if owner is None else owner.ready
            asked.append(asyncio.ensure_future(self.call(bucket, *words)) if link is None else link.call(*words))
        answers = await asyncio.gather(*asked, return_exceptions=True)
        for number, answer in enumerate(answers):
            if isinstance(answer, Refused):
                bucket, words = questions[number]
                answers[number] = await self.call(bucket, *words)
            elif isinstance(answer, BaseException):
                raise answer
        return answers

    async def run(self, bucket: int, script: Script, keys: Sequence[bytes], *arguments: Word) -> Any:
        """The answer of a script. Raises StoreUnavailable, StoreIncompatible, and StoreError for a broken script."""
        confirm = script.writes and self._place.replicas > 0
        try:
            try:
                return await self._route(bucket, ("EVALSHA", script.sha, len(keys), *keys, *arguments), confirm=confirm)
            except Refused as refusal:
                if refusal.code != "NOSCRIPT":
                    raise
            # A new server, or one that was told to forget: this way it learns the script as it runs it.
            return await self._route(bucket, ("EVAL", script.text, len(keys), *keys, *arguments), confirm=confirm)
        except Refused as refusal:
            raise as_store_error(refusal) from None

    def look_again(self) -> None:
        """Have the map drawn anew, soon."""
        loop = asyncio.get_running_loop()
        if self._looking is None and loop.time() >= self._next_look:
            self._next_look = loop.time() + _LOOK_INTERVAL
            self._looking = loop.create_task(self._look())
            self._looking.add_done_callback(self._looked)

    async def close(self) -> None:
        """Close every connection; what is under way is lost."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        await asyncio.gather(*[node.close() for node in self._nodes.values()])

    async def _route(self, bucket: int, words: tuple[Word, ...], *, confirm: bool) -> Any:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._place.timeout
        node, asking, redirects = self._owners[bucket], False, 0
        while True:
            try:
                if node is None:
                    raise StoreUnavailable("no server has this table's part of the cluster")
                link = node.ready or await node.link()
                if asking:
                    link.call("ASKING").add_done_callback(forget)
                return await (self._confirmed(link, words) if confirm else link.call(*words))
            except StoreUnavailable:
                self.look_again()
                raise
            except Refused as refusal:
                assert node is not None
                if refusal.code in _LOST_ITS_PLACE:
                    self.look_again()
                if refusal.code in _NO_MASTER:
                    node.drop()
                if refusal.code not in _MOVING or redirects == _MOST_REDIRECTS or loop.time() >= deadline:
                    raise
                if refusal.code == "TRYAGAIN":
                    await asyncio.sleep(_NAP)
                    node, asking = self._owners[bucket], False
                else:
                    redirects += 1
                    node, asking = self._redirected(bucket, node, refusal)

    def _redirected(self, bucket: int, node: Node, refusal: Refused) -> tuple[Node, bool]:
        """The node that a MOVED or ASK leads to, and whether it wants to be asked."""
        _, _, target = refusal.detail.partition(" ")
        host, _, port = target.rpartition(":")
        # Without a host it is another port of the same.
        new = self._node(Address(host or node.address.host, int(port)))
        if refusal.code == "MOVED":
            self._owners[bucket] = new
            self.on_change()
            self.look_again()
        return new, refusal.code == "ASK"

    async def _confirmed(self, link: Link, words: tuple[Word, ...]) -> Any:
        answered = link.call(*words)
        confirmed = link.confirmed()
        answer = await answered
        if await asyncio.shield(confirmed) < self._place.replicas:
            raise StoreUnavailable("written, but too few replicas have it")
        return answer

    def _node(self, address: Address) -> Node:
        node = self._nodes.get(address)
        if node is None:
            node = self._nodes[address] = Node(address, self._place)
        return node

    # ---- the map ----

    async def _look(self) -> None:
        """Ask the nodes, one after another, until one tells who has the buckets."""
        problem: StoreError = StoreUnavailable("no server has been named")
        nodes = random.sample(list(self._nodes.values()), len(self._nodes))
        for node in sorted(nodes, key=lambda node: node.ready is None):
            try:
                link = await node.link()
                owners = await self._owners_by(node, link)
            except StoreUnavailable as error:
                problem = error
            except Refused as refusal:
                problem = as_store_error(refusal)
            else:
                self._draw(owners)
                return
        raise problem

    async def _owners_by(self, node: Node, link: Link) -> list[Node | None]:
        greeting: Greeting = link.greeting
        if not greeting.cluster:
            return [node] * BUCKETS
        if self._place.database:
            raise StoreIncompatible(f"{node.address} is of a cluster, which has no databases but 0")
        owners: list[Node | None] = [None] * BUCKETS
        for first, last, (host, port, *_), *_ in await link.call("CLUSTER", "SLOTS"):
            known = host.decode() if host and host != b"?" else node.address.host
            owner = self._node(Address(known, port))
            for bucket in range(BUCKETS):
                if first <= slot_of(bucket) <= last:
                    owners[bucket] = owner
        return owners

    def _draw(self, owners: list[Node | None]) -> None:
        before, self._owners = self._owners, owners
        for address, node in list(self._nodes.items()):
            # One that has left the cluster; while it still answers, it may tell where the others are.
            if node not in owners and address not in self._place.addresses and node.asleep:
                del self._nodes[address]
        if before != owners:
            self.on_change()

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._looking = None
        forget(task)


def as_store_error(refusal: Refused) -> StoreError:
    """What a server's error means to the store."""
    if refusal.code == "WRONGTYPE":
        return StoreIncompatible("a key holds something that is not this store's")
    if refusal.code == "ERR" and refusal.detail.startswith("ACL failure"):
        return StoreUnavailable("the server refuses: NOPERM within a script")
    if refusal.code == "ERR":
        # Behind this the server quotes what it was sent.
        what, _, _ = refusal.detail.partition(", with args")
        return StoreError(f"the server does not understand: {what[:200]}")
    return StoreUnavailable(f"the server refuses: {refusal.code}")
