"""Messages while replicas are killed."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

import grpc.aio
import pytest

from buraco.v1 import table_service_pb2 as pb
from buraco.v1 import table_service_pb2_grpc as pb_grpc
from tests.service.table_server import NAMES, bearing, new_id

if TYPE_CHECKING:
    from tests.faults.conftest import MakeReplica
    from tests.faults.replicas import Replica

ROUNDS = 3


@pytest.mark.usefixtures("store_url")
async def test_kills(store_url: str, replica: MakeReplica) -> None:
    """Whenever a replica is killed, each message is there once after a repeat, and the numbers have no gap."""
    victim, other = replica(store_url), replica(store_url)
    await asyncio.gather(victim.start(), other.start())
    async with grpc.aio.insecure_channel(other.address) as channel:
        tables = pb_grpc.TableServiceStub(channel)
        opening = pb.CreateTableRequest(rule_set_id="burraco", seats=4, request_id=new_id())
        table_id = (await tables.CreateTable(opening)).table.id
        tokens = [
            (
                await tables.JoinTable(pb.JoinTableRequest(table_id=table_id, player_name=name, request_id=new_id()))
            ).token
            for name in NAMES
        ]
        requests = [
            (bearing(token), pb.SendChatRequest(table_id=table_id, text=f"{seat} {number}", request_id=new_id()))
            for seat, token in enumerate(tokens)
            for number in range(5)
        ]
        for first in range(0, len(requests), len(requests) // ROUNDS):
            batch = requests[first : first + len(requests) // ROUNDS]
            await _send_while_killing(victim, batch)
            await victim.start()
        sent = [(await tables.SendChat(request, metadata=metadata)).message for metadata, request in requests]
        assert sorted(message.number for message in sent) == list(range(1, len(requests) + 1))
        listed = await tables.ListChat(pb.ListChatRequest(table_id=table_id, page_size=200))
        assert list(listed.messages) == sorted(sent, key=lambda message: message.number)


async def _send_while_killing(
    victim: Replica, batch: list[tuple[tuple[tuple[str, str], ...], pb.SendChatRequest]]
) -> None:
    """Send messages at once to a replica that is killed meanwhile."""
    async with grpc.aio.insecure_channel(victim.address) as channel:
        tables = pb_grpc.TableServiceStub(channel)
        await channel.channel_ready()
        calls = [asyncio.ensure_future(tables.SendChat(request, metadata=metadata)) for metadata, request in batch]
        await asyncio.sleep(secrets.randbelow(1000) / 100_000)
        await victim.kill()
        await asyncio.gather(*calls, return_exceptions=True)
