"""Players with player tokens, at a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from buraco.v1 import table_pb2
from buraco_bots.local_server import local_server
from buraco_client import BuracoClient, NotCreator, NotInvited, PlayerTokenRejected, TableRefused, TokenRejected
from tests.client.conftest import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    """The address of a server in development mode."""
    with local_server() as running:
        yield running.address


@pytest.fixture
async def client(target: str) -> AsyncIterator[BuracoClient]:
    """A client of the server."""
    async with BuracoClient(target, timeout=PATIENCE) as made:
        yield made


async def test_player_comes_back_with_one_call(client: BuracoClient, target: str) -> None:
    """A guest who has lost the seat token joins again from another device, and plays on in the same seat."""
    guest = await client.sign_in_as_guest("Ana")
    table = await client.create_table("burraco", 2, target_score=0)
    seat = await client.join_table(table.id, player_token=guest.player_token)
    assert seat.table is not None
    assert seat.table.seats[0] == table_pb2.TableSeat(seat=0, player_name="Ana", player_id=guest.player_id)
    other = await client.join_table(table.id, "Bo")
    async with BuracoClient(target, timeout=PATIENCE) as device:
        back = await device.join_table(table.id, player_token=guest.player_token)
        assert back.seat == 0
        seats = [back, other]
        mover = (await back.get_view()).view.seat_to_move
        legal = await seats[mover].list_legal_moves()
        assert (await seats[mover].submit(legal.moves[:1])).revision == legal.revision + 1
        assert (await back.get_view()).revision == (await seat.get_view()).revision
    with pytest.raises(TableRefused) as refused:
        await client.join_table(table.id, player_token=guest.player_token, seat=1)
    assert (refused.value.reason, refused.value.metadata) == ("ALREADY_SEATED", {"seat": "0"})


async def test_own_tables(client: BuracoClient) -> None:
    """A player lists the tables with the own seats; without a player token all are listed."""
    ana, bo = [(await client.sign_in_as_guest(name)).player_token for name in ("Ana", "Bo")]
    tables = [await client.create_table("burraco", 2) for _ in range(4)]
    for table in tables[:3]:
        await client.join_table(table.id, player_token=ana)
    await client.join_table(tables[0].id, player_token=bo)
    listed = [table.id async for table in client.list_tables(player_token=ana, page_size=1)]
    assert listed == sorted([table.id for table in tables[:3]])
    playing = client.list_tables(table_pb2.TABLE_STATE_PLAYING, player_token=bo)
    assert [table.id async for table in playing] == [tables[0].id]
    assert {table.id for table in tables} <= {table.id async for table in client.list_tables()}


async def test_wrong_player_token(client: BuracoClient) -> None:
    """A player token that proves nobody is refused as such; it never stands for a seat."""
    guest = (await client.sign_in_as_guest("Ana")).player_token
    table = await client.create_table("burraco", 2)
    with pytest.raises(PlayerTokenRejected):
        await client.join_table(table.id, "Ana", player_token=f"{guest}x")
    with pytest.raises(PlayerTokenRejected):
        _ = [table async for table in client.list_tables(player_token="nobody")]
    await client.join_table(table.id, player_token=guest)
    with pytest.raises(TokenRejected):
        await client.restore_seat(table.id, 0, guest).get_view()


async def test_invitation_and_removal(client: BuracoClient) -> None:
    """Who has the code joins, the creator removes, and others may do neither."""
    ana, bo = [(await client.sign_in_as_guest(name)).player_token for name in ("Ana", "Bo")]
    table, code = await client.create_invitation_table("burraco", 2, player_token=ana)
    with pytest.raises(NotInvited):
        await client.join_table(table.id, player_token=bo)
    seat = await client.join_table(table.id, player_token=bo, invitation_code=code)
    with pytest.raises(NotCreator):
        await client.remove_player(table.id, seat.seat, player_token=bo)
    assert not (await client.remove_player(table.id, seat.seat, player_token=ana)).seats[0].player_name
    with pytest.raises(NotInvited):
        await client.join_table(table.id, player_token=bo, invitation_code=code)
    wanted = client.list_tables(access=table_pb2.TABLE_ACCESS_INVITATION, free_seats=2, updated_after=0.0)
    assert table.id in [listed.id async for listed in wanted]


async def test_quick_join(client: BuracoClient) -> None:
    """Two players who ask for the same meet at one table, and play."""
    ana, bo = [(await client.sign_in_as_guest(name)).player_token for name in ("Ana", "Bo")]
    first = await client.quick_join("burraco", 2, target_score=0, stake=77, player_token=ana)
    second = await client.quick_join("burraco", 2, target_score=0, stake=77, player_token=bo)
    assert (first.table_id, first.seat, second.seat) == (second.table_id, 0, 1)
    assert len((await first.get_view()).view.hand) == 11
    assert [table.id async for table in client.list_tables(min_stake=77, max_stake=77)] == [first.table_id]
