from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from buraco.v1 import table_service_pb2 as pb
from tests.service.refusals import gathered, read_refusal, refused
from tests.service.scripts import dealt, plain_turn
from tests.service.serving import Replica, get, serving, start, unchanged, watch

MOST = 3


@pytest.fixture
async def replica(tmp_path: Path) -> AsyncIterator[Replica]:
    """A server that allows few watches."""
    async with serving(tmp_path / "tables.db", max_watches=MOST) as running:
        yield running


async def test_watches(replica: Replica) -> None:
    """Watches and play streams together are limited; one more is told when to try again, and calls go on."""
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


async def test_concurrent_calls(tmp_path: Path) -> None:
    """Calls beyond the limit are refused at once and change nothing; streams are counted apart."""
    async with serving(tmp_path / "tables.db", max_concurrent_calls=1) as replica:
        players = await start(replica)
        stream = watch(replica, players[0].table_id)
        await stream.expect("state")
        turn = plain_turn(dealt())
        with unchanged(replica):
            refusals = [
                read_refusal(outcome)
                for outcome in await gathered(*[get(replica, players[0].table_id) for _ in range(20)])
                if isinstance(outcome, grpc.aio.AioRpcError)
            ]
        assert refusals
        for refusal in refusals:
            assert refusal.short == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
            assert refusal.metadata == {"limit": "concurrent_calls", "maximum": "1"}
            assert refusal.retry_after is not None
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
