from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from buraco.v1 import table_service_pb2 as pb
from buraco_rules import DrawStock
from buraco_service.access.api_keys import ApiKey
from buraco_service.stores.base import Commit
from tests.service.refusals import Refusal, gathered, read_refusal, refused
from tests.service.scripts import dealt, plain_turn
from tests.service.table_server import (
    PATIENCE,
    Metadata,
    Replica,
    create,
    get,
    join,
    new_id,
    serving,
    start,
    unchanged,
    watch,
)

MOST = 3
SECRETS = {"lobby": "a secret of sixteen bytes or more", "bots": "another secret of that kind"}


def bearing_key(secret: str) -> Metadata:
    """The metadata of a call with an API key."""
    return (("x-api-key", secret),)


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A server that allows few watches."""
    async with serving(tmp_path / "tables.db", max_watches=MOST) as running:
        yield running


async def test_watches(replica: Replica) -> None:
    """Watches and play streams together are limited; one more learns when to try again, and calls go on."""
    players = await start(replica)
    streams = [watch(replica, players[0].table_id), players[0].watch(), await players[1].play()]
    for stream in streams:
        await stream.expect("state")
    for one_more in (watch(replica, players[0].table_id), await players[0].play()):
        refusal = await refused(one_more.next())
        assert refusal.short == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
        assert refusal.metadata == {"limit": "watches", "maximum": str(MOST)}
        assert refusal.retry_after is not None
        assert refusal.retry_after > 0
    turn = plain_turn(dealt())
    await players[turn.seat].submit(*turn.moves)
    for stream in streams:
        assert (await stream.expect("events")).revision == 4


async def test_room_after_a_watch_has_ended(replica: Replica) -> None:
    """A watch that ended, well or not, makes room for another one."""
    players = await start(replica)
    nowhere = "0" * 32
    for _ in range(2 * MOST):
        assert (await refused(watch(replica, nowhere).next())).reason == "TABLE_UNKNOWN"
        stream = await players[0].play()
        await stream.expect("state")
        await stream.close()
        assert await stream.rest() == []
        bad = (("authorization", "Bearer x"),)
        assert (await refused(watch(replica, players[0].table_id, metadata=bad).next())).reason == "TOKEN_INVALID"
    streams = [watch(replica, players[0].table_id) for _ in range(MOST)]
    for updates in streams:
        await updates.expect("state")


async def test_watches_of_a_peer(tmp_path: Path) -> None:
    """A peer has so many watches, by its API key if it has one and else by its address; others have room."""
    keys = tuple([ApiKey.of(name, SECRETS[name].encode()) for name in ("lobby", "bots")])
    lobby, bots = (bearing_key(SECRETS[name]) for name in ("lobby", "bots"))
    async with serving(tmp_path / "tables.db", max_peer_watches=2, api_keys=keys) as replica:
        table_id = (await create(replica, metadata=lobby)).id
        for metadata in (lobby, bots, ()):
            for _ in range(2):
                await watch(replica, table_id, metadata=metadata).expect("state")
            refusal = await refused(watch(replica, table_id, metadata=metadata).next())
            assert refusal.short == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
            assert refusal.metadata == {"limit": "peer_watches", "maximum": "2"}
            assert refusal.retry_after
        labels = {"reason": "LIMIT_REACHED", "limit": "peer_watches"}
        assert replica.metrics.registry.get_sample_value("buraco_refusals_total", labels) == 3


@pytest.mark.parametrize("proxies", [0, 1])
async def test_watches_behind_a_proxy(tmp_path: Path, proxies: int) -> None:
    """What a proxy reports as the caller's address counts only where a proxy is known to be there."""
    async with serving(tmp_path / "tables.db", max_peer_watches=1, trusted_proxies=proxies) as replica:
        table_id = (await create(replica)).id
        first, second = ((("x-forwarded-for", f"198.51.100.{number}"),) for number in (1, 2))
        await watch(replica, table_id, metadata=first).expect("state")
        assert (await refused(watch(replica, table_id, metadata=first).next())).metadata["limit"] == "peer_watches"
        other = watch(replica, table_id, metadata=second)
        if proxies:
            await other.expect("state")
        else:
            assert (await refused(other.next())).metadata["limit"] == "peer_watches"


async def test_streams_that_never_open(tmp_path: Path) -> None:
    """A play stream on which nothing is ever sent counts, too."""
    async with serving(tmp_path / "tables.db", max_watches=1) as replica:
        players = await start(replica)
        silent = replica.tables.PlayTable(metadata=players[0].metadata)
        figures = replica.metrics.method("BIDI_STREAM", "buraco.v1.TableService", "PlayTable")
        async with asyncio.timeout(PATIENCE):
            while not figures.started:
                await get(replica, players[0].table_id)
        refusal = await refused(watch(replica, players[0].table_id).next())
        assert refusal.metadata == {"limit": "watches", "maximum": "1"}
        silent.cancel()


async def until_limited(call: Callable[[], Awaitable[Any]]) -> tuple[int, Refusal]:
    """Calls until a limit refuses it: how often it went through, whatever the answer, and the refusal."""
    for count in range(100):
        (outcome,) = await gathered(call())
        if isinstance(outcome, grpc.aio.AioRpcError):
            refusal = read_refusal(outcome)
            if refusal.reason == "LIMIT_REACHED":
                return count, refusal
    raise AssertionError("nothing is limited")


async def test_rate_of_calls(tmp_path: Path) -> None:
    """A peer that sends more requests than it may learns when to go on, and then it may."""
    async with serving(tmp_path / "tables.db", max_request_rate=1, max_request_burst=4) as replica:
        table_id = (await create(replica)).id
        count, refusal = await until_limited(lambda: get(replica, table_id))
        assert count >= 3
        assert refusal.short == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
        assert refusal.metadata == {"limit": "request_rate", "maximum": "1"}
        assert refusal.retry_after is not None
        assert 0 < refusal.retry_after <= 1.0
        await asyncio.sleep(refusal.retry_after + 0.01)
        assert (await get(replica, table_id)).id == table_id


async def test_rate_of_moves_on_a_stream(tmp_path: Path) -> None:
    """Moves on a play stream count as calls do: one too many is answered with the time to wait, and not made."""
    async with serving(tmp_path / "tables.db", max_request_rate=1, max_request_burst=5) as replica:
        players = await start(replica)
        mover = players[dealt().seat_to_move]
        stream = await mover.play()
        await stream.expect("state")
        assert (await stream.accepted(await stream.submit(DrawStock()))).revision == 4
        denied = await stream.denied(await stream.undo())
        async with asyncio.timeout(PATIENCE):
            while denied.reason != "LIMIT_REACHED":
                denied = await stream.denied(await stream.undo())
        assert (denied.code, denied.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED.value[0], "LIMIT_REACHED")
        assert dict(denied.metadata) == {"limit": "request_rate", "maximum": "1"}
        assert 0 < denied.retry_delay.ToTimedelta().total_seconds() <= 1
        assert (await replica.table(mover.table_id)).revision == 4
        labels = {"reason": "LIMIT_REACHED", "limit": "request_rate"}
        assert replica.metrics.registry.get_sample_value("buraco_refusals_total", labels) == 1


async def test_guessed_keys_are_counted(tmp_path: Path) -> None:
    """Who guesses API keys is slowed down like everybody else, by address."""
    keys = (ApiKey.of("lobby", SECRETS["lobby"].encode()),)
    limits: dict[str, Any] = {"max_request_rate": 1, "max_request_burst": 2}
    async with serving(tmp_path / "tables.db", api_keys=keys, **limits) as replica:
        count, refusal = await until_limited(lambda: create(replica, metadata=bearing_key("a guess of somebody")))
        assert count >= 2
        assert refusal.metadata["limit"] == "request_rate"
        assert (await create(replica, metadata=bearing_key(SECRETS["lobby"]))).id


async def test_tables_of_a_key(tmp_path: Path) -> None:
    """A key has so many unfinished tables, on all replicas together; a repeated request is answered all the same."""
    keys = tuple([ApiKey.of(name, SECRETS[name].encode()) for name in ("lobby", "bots")])
    lobby, bots = (bearing_key(SECRETS[name]) for name in ("lobby", "bots"))
    settings: dict[str, Any] = {"api_keys": keys, "max_key_tables": 2}
    path = tmp_path / "tables.db"
    async with serving(path, **settings) as here, serving(path, **settings) as there:
        request_id = new_id()
        playing = await create(here, metadata=lobby, request_id=request_id)
        await create(there, metadata=lobby)
        players = [await join(here, playing.id) for _ in range(2)]
        for replica in (here, there):
            with unchanged(replica):
                refusal = await refused(create(replica, metadata=lobby))
                assert refusal.short == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
                assert refusal.metadata == {"limit": "key_tables", "maximum": "2"}
                assert refusal.retry_after
        assert (await create(there, metadata=lobby, request_id=request_id)).id == playing.id
        assert (await create(there, metadata=bots)).id
        stored = await here.store.load(players[0].table_id)
        await here.store.commit(
            Commit(stored.table_id, stored.revision, stored.state, "finished", stored.updated_at, b"", None, b"")
        )
        assert (await create(there, metadata=lobby)).id


async def test_concurrent_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls beyond the limit are refused at once and change nothing; streams are counted apart."""
    arrived, answered = asyncio.Event(), asyncio.Event()
    async with serving(tmp_path / "tables.db", max_concurrent_calls=1) as replica:
        players = await start(replica)
        stream = watch(replica, players[0].table_id)
        await stream.expect("state")
        turn = plain_turn(dealt())
        look = replica.store.load_revision

        async def look_for_long(table_id: str) -> int:
            arrived.set()
            await answered.wait()
            return await look(table_id)

        monkeypatch.setattr(replica.store, "load_revision", look_for_long)
        running = asyncio.create_task(get(replica, players[0].table_id))
        await arrived.wait()
        with unchanged(replica):
            refusal = await refused(players[turn.seat].submit(*turn.moves))
        assert refusal.short == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
        assert refusal.metadata == {"limit": "concurrent_calls", "maximum": "1"}
        assert refusal.retry_after is not None
        answered.set()
        await running
        assert (await players[turn.seat].submit(*turn.moves)).revision == 4


async def test_largest_message(tmp_path: Path) -> None:
    """The limit of messages is the setting: what is just below it is read."""
    async with serving(tmp_path / "tables.db", max_message_bytes=4096) as replica:
        players = await start(replica)
        size = 4096 - len(pb.GetTableRequest(table_id=players[0].table_id).SerializeToString()) - 5
        padding = b"\xfa\x3f" + bytes([size & 0x7F | 0x80, size >> 7]) + b"x" * size
        request = pb.GetTableRequest(table_id=players[0].table_id).SerializeToString() + padding
        assert len(request) <= 4096
        call: Any = replica.channel.unary_unary("/buraco.v1.TableService/GetTable")
        answer = pb.GetTableResponse.FromString(await call(request))
        assert answer.table.id == players[0].table_id


async def test_too_large_message(tmp_path: Path) -> None:
    """A message over the limit is refused with its size, on streams as well; one far over it by gRPC itself."""
    async with serving(tmp_path / "tables.db", max_message_bytes=4096) as replica:
        players = await start(replica)
        call: Any = replica.channel.unary_unary("/buraco.v1.TableService/GetTable")
        stream: Any = replica.channel.stream_stream("/buraco.v1.TableService/PlayTable")
        for sent in (call(b"x" * 4097), stream(iter([b"x" * 4097]), metadata=players[0].metadata).read()):
            refusal = await refused(sent)
            assert refusal.short == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
            assert refusal.metadata == {"limit": "message_bytes", "maximum": "4096"}
            assert refusal.retry_after == 3600
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"x" * 10_000)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
