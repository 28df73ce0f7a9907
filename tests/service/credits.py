"""What players and operators do with accounts."""

from __future__ import annotations

from typing import Any, NamedTuple

from buraco.v1 import account_service_pb2 as pb
from buraco.v1 import account_service_pb2_grpc as pb_grpc
from tests.service.table_server import PATIENCE, Metadata, Player, Replica, bearing, join_raw, new_id, sign_in

INITIAL = 1000


class Owner(NamedTuple):
    """A guest who has an account."""

    replica: Replica
    id: str
    token: str

    async def account(self) -> tuple[int, int, int]:
        """Balance, held and available credits."""
        account = (await get_account(self.replica, metadata=bearing(self.token))).account
        assert account.player_id == self.id
        return account.balance, account.held, account.available

    async def entries(self) -> list[tuple[str, int, int]]:
        """Kind, amount and held amount of all entries, the newest first."""
        found = await list_entries(self.replica, metadata=bearing(self.token))
        return [
            (pb.EntryKind.Name(entry.kind).removeprefix("ENTRY_KIND_"), entry.amount, entry.held_amount)
            for entry in found.entries
        ]

    async def join(self, table_id: str, **fields: Any) -> Player:
        """JoinTable."""
        joined = await join_raw(self.replica, table_id, self.token, **{"player_name": "", **fields})
        return Player(self.replica, table_id, joined.seat, joined.token)


def stub(replica: Replica) -> pb_grpc.AccountServiceStub:
    """What calls AccountService."""
    return pb_grpc.AccountServiceStub(replica.channel)


async def owner(replica: Replica, name: str = "Zoë") -> Owner:
    """A new guest."""
    guest = await sign_in(replica, name)
    return Owner(replica, guest.player_id, guest.player_token)


async def get_account(replica: Replica, player_id: str = "", metadata: Metadata = ()) -> pb.GetAccountResponse:
    """GetAccount."""
    request = pb.GetAccountRequest(player_id=player_id)
    return await stub(replica).GetAccount(request, metadata=metadata, timeout=PATIENCE)


async def list_entries(replica: Replica, metadata: Metadata = (), **fields: Any) -> pb.ListEntriesResponse:
    """ListEntries."""
    return await stub(replica).ListEntries(pb.ListEntriesRequest(**fields), metadata=metadata, timeout=PATIENCE)


async def grant(replica: Replica, player_id: str, amount: int, metadata: Metadata = (), **fields: Any) -> Any:
    """GrantCredits."""
    request = pb.GrantCreditsRequest(**{"player_id": player_id, "amount": amount, "request_id": new_id(), **fields})
    return await stub(replica).GrantCredits(request, metadata=metadata, timeout=PATIENCE)
