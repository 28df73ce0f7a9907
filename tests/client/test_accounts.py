"""Accounts of play money, at a real server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from buraco.v1 import account_service_pb2 as pb
from buraco_bots.local_server import local_server
from buraco_client import BuracoClient, CreditTooLow, PlayerTokenRejected, RequestIdReused, new_request_id
from tests.client.conftest import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def client() -> AsyncIterator[BuracoClient]:
    """A client of a server in development mode, which has accounts."""
    with local_server() as running:
        async with BuracoClient(running.address, timeout=PATIENCE) as made:
            yield made


async def test_match_for_a_stake(client: BuracoClient) -> None:
    """Guests have credits, stake them, and have what the match paid soon after its end."""
    guests = [await client.sign_in_as_guest(name) for name in ("Ana", "Bo")]
    tokens = [guest.player_token for guest in guests]
    table = await client.create_table("burraco", 2, stake=100)
    with pytest.raises(PlayerTokenRejected):
        await client.join_table(table.id, "Eve")
    seats = [await client.join_table(table.id, player_token=token) for token in tokens]
    account = await client.get_account(player_token=tokens[0])
    assert (account.player_id, account.held, account.available) == (guests[0].player_id, 100, 900)
    await seats[0].resign()
    for _ in range(100):
        if (await client.get_table(table.id)).stakes_settled:
            break
        await asyncio.sleep(0.1)
    assert [(await client.get_account(player_token=token)).balance for token in tokens] == [900, 1100]
    entries = [entry async for entry in client.list_entries(player_token=tokens[1], page_size=1)]
    assert [entry.kind for entry in entries] == [pb.ENTRY_KIND_SETTLEMENT, pb.ENTRY_KIND_HOLD, pb.ENTRY_KIND_GRANT]
    assert {entry.table_id for entry in entries[:2]} == {table.id}


async def test_granted_credits(client: BuracoClient) -> None:
    """Credits are granted once for a request id, and nobody stakes more than there is."""
    guest, request_id = await client.sign_in_as_guest("Ana"), new_request_id()
    table = await client.create_table("burraco", 2, stake=1500)
    with pytest.raises(CreditTooLow) as refused:
        await client.join_table(table.id, player_token=guest.player_token)
    assert refused.value.metadata == {"available": "1000", "needed": "1500"}
    for _ in range(2):
        account = await client.grant_credits(guest.player_id, 500, note="A gift", request_id=request_id)
        assert account.balance == 1500
    with pytest.raises(RequestIdReused):
        await client.grant_credits(guest.player_id, 501, note="A gift", request_id=request_id)
    assert [entry.note async for entry in client.list_entries(guest.player_id)] == ["A gift", ""]
    await client.join_table(table.id, player_token=guest.player_token)
    assert (await client.get_account(guest.player_id)).available == 0
