from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import pytest

from buraco.v1 import table_service_pb2 as pb
from buraco_rules import Move
from buraco_service.serving.play_stream import PlayStream
from buraco_service.stores.base import Store
from buraco_service.stores.urls import open_store
from tests.service.scripts import dealt, plain_turn, plain_turns, short_rules
from tests.service.table_server import PATIENCE, moves_to_pb, new_id
from tests.service.usecases import UseCases


class Wire:
    """The messages of a call: a client whose reading and sending a test can hold up."""

    def __init__(self) -> None:
        self.sent: list[pb.PlayTableResponse] = []
        self.requests: asyncio.Queue[Any] = asyncio.Queue()
        self.taken = asyncio.Event()
        """The server has read a request."""
        self.hold: str | None = None
        """Messages of this kind are not taken off the server's hands until `release`."""
        self.held = asyncio.Event()
        self.release = asyncio.Event()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        request = await self.requests.get()
        self.taken.set()
        return request

    async def write(self, data: bytes) -> None:
        """Take a message."""
        message = pb.PlayTableResponse.FromString(data)
        self.sent.append(message)
        if self.hold == message.WhichOneof("update"):
            self.held.set()
            await self.release.wait()

    @property
    def kinds(self) -> list[str | None]:
        """What kind of messages have come."""
        return [message.WhichOneof("update") for message in self.sent]

    def submit(self, *moves: Move, request_id: str) -> None:
        """Send a request."""
        submit = pb.PlaySubmit(moves=moves_to_pb(moves), request_id=request_id)
        self.requests.put_nowait(pb.PlayTableRequest(submit=submit))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A store of its own."""
    made = await open_store(f"sqlite:///{tmp_path / 'tables.db'}")
    yield made
    await made.close()


async def run(replica: UseCases, claims: Any, wire: Wire) -> None:
    """Serve a stream to its end."""
    async with asyncio.timeout(PATIENCE), replica.feeds.open(claims.table_id, claims) as feed:
        stream = PlayStream(replica.tables, replica.feeds, feed, claims.table_id, claims, wire, wire.write)
        await stream.run(None)


async def test_request_read_while_draining(store: Store) -> None:
    """A request that came in while the reconnect went out is answered, not cut off half-way."""
    replica = UseCases(store)
    table_id, claims = await replica.start()
    turn = plain_turn(dealt())
    wire = Wire()
    wire.hold = "reconnect"
    serving = asyncio.create_task(run(replica, claims[turn.seat], wire))
    await replica.feeds.drain()
    await wire.held.wait()
    request_id = new_id()
    wire.submit(*turn.moves, request_id=request_id)
    await wire.taken.wait()
    wire.release.set()
    await serving
    assert wire.kinds == ["state", "reconnect", "answer"]
    assert wire.sent[-1].answer.request_id == request_id
    assert wire.sent[-1].answer.accepted.revision == 4
    assert await store.load_revision(table_id) == 4


async def test_request_read_while_the_match_ends(store: Store) -> None:
    """A repeat that came in while the end of the match went out gets its answer before the stream ends."""
    rules = short_rules(2)
    here, there = UseCases(store), UseCases(store)
    _, claims = await there.start(rules)
    first, last = plain_turns(dealt(rules), 2)
    wire = Wire()
    serving = asyncio.create_task(run(here, claims[first.seat], wire))
    request_id = new_id()
    wire.submit(*first.moves, request_id=request_id)
    await wire.taken.wait()
    wire.taken.clear()
    wire.hold = "events"
    # Its turn has been stored when the other one's is accepted.
    async with here.feeds.open(claims[0].table_id, None) as feed:
        await feed.begin(3)
        while feed.revision < 4:
            await feed.wait()
            await feed.catch_up()
    await there.play(claims[last.seat], *last.moves)
    await wire.held.wait()
    wire.submit(*first.moves, request_id=request_id)
    await wire.taken.wait()
    wire.release.set()
    await serving
    assert wire.kinds == ["state", "answer", "events", "answer"]
    assert wire.sent[2].events.events[-1].HasField("match_ended")
    again = wire.sent[3].answer
    assert (again.request_id, again.accepted) == (request_id, pb.PlayAccepted(revision=4))
