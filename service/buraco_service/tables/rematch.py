"""The rematch: after a match its players take their seats at one new table."""

import contextlib
import secrets
from typing import Final

from buraco.v1 import table_pb2
from buraco.v1 import table_service_pb2 as pb
from buraco_rules import SEED_BYTES
from buraco_service import errors
from buraco_service.access.seat_tokens import SeatClaims
from buraco_service.stores.base import TableExists, TableNotFound
from buraco_service.tables import changes
from buraco_service.tables.changes import Change, verify_seat
from buraco_service.tables.creators import Owner
from buraco_service.tables.idempotency import Request, derive_rematch_id, derive_rematch_token_id
from buraco_service.tables.state import Seat, Stakes, TableState, TableValue
from buraco_service.tables.stored import table_to_pb
from buraco_service.tables.tables import Tables, stored_join

_TAKEN: Final = frozenset({"ALREADY_SEATED", "SEAT_TAKEN", "TABLE_FULL", "TABLE_FINISHED"})
"""Reasons of a refusal that the player who holds the seat gets, too."""


class Rematches:
    """The use case."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def rematch(
        self, table_id: str, claims: SeatClaims, entropy: bytes, request_id: str, owner: Owner
    ) -> pb.RematchResponse:
        """Take the token's seat at the table for the rematch, opened for `owner` if it is not there yet.

        A player who holds that seat gets a fresh token, and nothing changes. Raise TABLE_NOT_FINISHED, and what
        `changes.join` and `Staking.join` raise.
        """
        repository = self._tables.repository
        former = await repository.get(table_id)
        seat = verify_seat(former, claims)
        if former.state is not TableState.FINISHED:
            raise errors.failed_precondition("TABLE_NOT_FINISHED", "a rematch follows a match that is over")
        player = former.seats[seat]
        rematch_id, token_id = derive_rematch_id(table_id), derive_rematch_token_id(claims.token_id)
        now = self._tables.clock()
        await self._open(former, rematch_id, now, owner)

        def decide(table: TableValue) -> Change:
            level = table.bot_level(seat)
            return changes.join(table, seat, player.player_name, entropy, token_id, now, player.player_id, level)

        request = Request.of("rematch", request_id, claims.token_id, entropy)
        try:
            accepted = await self._tables.staking.join(
                rematch_id, player.player_id, request, decide, stored_join(token_id)
            )
            joined = table_pb2.StoredJoin.FromString(accepted.answer)
            since = joined.table.updated_at.seconds
        except errors.ApiError as refusal:
            newest = await repository.get(rematch_id)
            held = newest.seats[seat]
            is_own = held.token_id == token_id or (held.player_id and held.player_id == player.player_id)
            if refusal.reason not in _TAKEN or not is_own:
                raise
            joined = table_pb2.StoredJoin(seat=seat, token_id=held.token_id, table=table_to_pb(newest))
            since = int(now)
        seated = self._tables.seated(joined, since, renews=True)
        return pb.RematchResponse(
            seat=seat, token=seated.token, token_expires_at=seated.token_expires_at, table=seated.table
        )

    async def _open(self, former: TableValue, rematch_id: str, now: float, owner: Owner) -> None:
        """Create the table for the rematch unless it is there. Raise LIMIT_REACHED for an owner of too many tables."""
        repository = self._tables.repository
        try:
            await repository.store.load_revision(rematch_id)
        except TableNotFound:
            await self._tables.check_owned(owner)
            # Another player may come first.
            with contextlib.suppress(TableExists):
                stakes = self._tables.staking.of_new_table(former.stake)
                await repository.create(rematch_of(former, rematch_id, now, stakes), None, b"", owner.name)


def rematch_of(former: TableValue, rematch_id: str, now: float, stakes: Stakes | None = None) -> TableValue:
    """Return the table for the rematch of a match, its seats free. What the creator chose stays, but for a seed."""
    starter = -1 if former.deal is None else (former.deal.match.starter + 1) % len(former.seats)
    return TableValue(
        id=rematch_id,
        rules=former.rules,
        seats=(Seat(),) * len(former.seats),
        target_score=former.target_score,
        stake=former.stake,
        created_at=now,
        updated_at=now,
        master_seed=secrets.token_bytes(SEED_BYTES),
        seeded_by_creator=False,
        request_ids_bound_since=1,
        options=former.options,
        first_starter=starter,
        invitation_code=former.invitation_code,
        creator=former.creator,
        stakes=stakes,
    )
