"""The calls of a client by which players open, find and join tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client.rules import Rules, set_rules
from buraco_client.seat import Seat
from buraco_client.token import SeatToken, bearer
from buraco_client.unary import new_request_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from buraco.v1.table_service_pb2_grpc import TableServiceStub
    from buraco_client.connection import Connection
    from buraco_client.unary import Caller, Metadata


class Lobby:
    """The part of `BuracoClient` for those who have no seat yet."""

    _tables: TableServiceStub
    _call: Caller
    _connection: Connection

    async def create_table(
        self,
        rules: Rules,
        seats: int,
        *,
        target_score: int | None = None,
        stake: int = 0,
        seed: bytes | None = None,
        options: table_pb2.TableOptions | None = None,
        player_token: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> table_pb2.Table:
        """Create a table for 2 or 4 players, which waits for them.

            table = await client.create_table("burraco", seats=2, target_score=0)

        `target_score`: 0 plays one deal; default: the usual one of the rule set. `stake`: credits that each player
        stakes, held where the service keeps accounts. `seed`: 32 bytes that make the match reproducible and its cards
        known to the creator, which the table shows; default: random. `options`: a clock, a time to confirm scores,
        seats kept for bots, bots for absent players, who may join, who may watch and how much later, and what players
        may write; default: no clock, no bots, everybody at once, everything. `player_token`: of the player who creates
        the table and may remove others. A table with access INVITATION needs a code of those who join:
        `create_invitation_table` returns it.
        """
        answer = await self._create_table(
            rules, seats, target_score, stake, seed, options, player_token, request_id, timeout
        )
        return answer.table

    async def create_invitation_table(
        self,
        rules: Rules,
        seats: int,
        *,
        target_score: int | None = None,
        stake: int = 0,
        options: table_pb2.TableOptions | None = None,
        player_token: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> tuple[table_pb2.Table, str]:
        """Create a table for those who have its invitation code, and return both. Keep the code: it is shown only here.

            table, code = await client.create_invitation_table("burraco", seats=2)
            seat = await client.join_table(table.id, "Ada", invitation_code=code)

        The other arguments are those of `create_table`.
        """
        chosen = table_pb2.TableOptions()
        if options is not None:
            chosen.CopyFrom(options)
        chosen.access = table_pb2.TABLE_ACCESS_INVITATION
        answer = await self._create_table(
            rules, seats, target_score, stake, None, chosen, player_token, request_id, timeout
        )
        return answer.table, answer.invitation_code

    async def _create_table(
        self,
        rules: Rules,
        seats: int,
        target_score: int | None,
        stake: int,
        seed: bytes | None,
        options: table_pb2.TableOptions | None,
        player_token: str | None,
        request_id: str | None,
        timeout: float | None,
    ) -> table_service_pb2.CreateTableResponse:
        request = table_service_pb2.CreateTableRequest(
            seats=seats,
            target_score=target_score,
            stake=stake,
            seed=seed,
            request_id=request_id or new_request_id(),
            options=options,
        )
        set_rules(request, rules)
        metadata = player_metadata(player_token)
        return await self._call(self._tables.CreateTable, request, metadata=metadata, timeout=timeout)

    async def list_tables(
        self,
        state: table_pb2.TableState.ValueType = table_pb2.TABLE_STATE_UNSPECIFIED,
        *,
        player_token: str | None = None,
        bot_level: str = "",
        rule_set_id: str = "",
        free_seats: int = 0,
        access: table_pb2.TableAccess.ValueType = table_pb2.TABLE_ACCESS_UNSPECIFIED,
        min_stake: int = 0,
        max_stake: int | None = None,
        updated_after: float | None = None,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncIterator[table_pb2.Table]:
        """Yield the tables in a state (unspecified: all), ordered by id.

            waiting = [table.id async for table in client.list_tables(table_pb2.TABLE_STATE_WAITING)]

        `player_token`: list only the tables where its player has a seat. `bot_level`: only those with a seat that waits
        for a bot of this level. `rule_set_id`, `access`: only those with them. `free_seats`: at least so many seats
        that a player could take. `min_stake`, `max_stake`: bounds of the stake. `updated_after`: only tables that
        changed after this time, in seconds since the epoch. `page_size`: tables a call, 1 to 200; 0 means 50.
        `timeout`: seconds for each page. Raise PlayerTokenRejected if the player token is not valid.
        """
        mine, metadata = player_token is not None, player_metadata(player_token)
        request = table_service_pb2.ListTablesRequest(
            state=state,
            page_size=page_size,
            mine=mine,
            bot_level=bot_level,
            rule_set_id=rule_set_id,
            free_seats=free_seats,
            access=access,
            min_stake=min_stake,
            max_stake=max_stake,
        )
        if updated_after is not None:
            request.updated_after.FromMicroseconds(round(updated_after * 1e6))
        while True:
            page = await self._call(self._tables.ListTables, request, metadata=metadata, timeout=timeout)
            for table in page.tables:
                yield table
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def join_table(
        self,
        table_id: str,
        player_name: str = "",
        *,
        player_token: str | None = None,
        seat: int | None = None,
        bot_level: str = "",
        entropy: bytes = b"",
        invitation_code: str = "",
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Seat:
        """Take a seat (default: the first free one); the match starts when the last one is taken.

            seat = await client.join_table(table_id, "Ada")

        `player_name`: 1 to 64 characters; empty: the name in the player token. `entropy`: up to 64 bytes of the
        player's own randomness, mixed into every shuffle. `invitation_code`: where the table needs one, in either case,
        with or without hyphens and blanks. Raise NotInvited for who may not join, TableRefused if the table is full or
        the seat is taken, TableUnknown.

        `player_token`: who the player is, from the host's backend or `sign_in_as_guest`. A player who has a seat of the
        table gets it back with a fresh token, on any device, also if the old token is lost or has ended; leave `seat`
        out then: TableRefused (ALREADY_SEATED, the player's seat in `metadata`) is raised for another seat. Raise
        PlayerTokenRejected if the player token is not valid, or is missing at a table that holds stakes; CreditTooLow
        if the player cannot stake.

        `bot_level`: of a bot, which takes a seat that is kept for one of this level, or plays for an absent player
        until that player is there again; from then on the seat raises SeatNotYours. Raise TableRefused (NO_BOT_WANTED)
        if no such seat waits for a bot, ApiKeyRejected without an API key where the service has some.

            bot = await client.join_table(table_id, bot_level="greedy")
        """
        request = table_service_pb2.JoinTableRequest(
            table_id=table_id,
            seat=seat,
            player_name=player_name,
            entropy=entropy,
            bot_level=bot_level,
            request_id=request_id or new_request_id(),
            invitation_code=invitation_code,
        )
        metadata = player_metadata(player_token)
        answer = await self._call(self._tables.JoinTable, request, metadata=metadata, timeout=timeout)
        expires_at = answer.token_expires_at.seconds if answer.HasField("token_expires_at") else None
        token = SeatToken(self._connection, table_id, answer.token, expires_at)
        return Seat(self._connection, table_id, answer.seat, token, answer.table)

    async def quick_join(
        self,
        rules: Rules,
        seats: int,
        player_name: str = "",
        *,
        target_score: int | None = None,
        stake: int = 0,
        options: table_pb2.TableOptions | None = None,
        player_token: str | None = None,
        entropy: bytes = b"",
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Seat:
        """Take a seat at any public table that waits for players and is as asked for, or at a new one.

            seat = await client.quick_join("burraco", 2, "Ada")

        The arguments are those of `create_table` and `join_table`. A player with a player token who waits at such a
        table comes back to it.
        """
        request = table_service_pb2.QuickJoinRequest(
            seats=seats,
            target_score=target_score,
            stake=stake,
            options=options,
            player_name=player_name,
            entropy=entropy,
            request_id=request_id or new_request_id(),
        )
        set_rules(request, rules)
        metadata = player_metadata(player_token)
        answer = await self._call(self._tables.QuickJoin, request, metadata=metadata, timeout=timeout)
        table_id = answer.table.id
        token = SeatToken(self._connection, table_id, answer.token, answer.token_expires_at.seconds)
        return Seat(self._connection, table_id, answer.seat, token, answer.table)

    async def remove_player(
        self,
        table_id: str,
        seat: int,
        *,
        player_token: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> table_pb2.Table:
        """Free a seat of a table that waits for players, as its creator, and return the table.

            table = await client.remove_player(table_id, 1, player_token=token)

        `player_token`: of the player who created the table; without one the client's API key has to be its creator.
        A removed player who has a player token cannot come back. Raise NotCreator, or TableRefused if the seat is free
        or the match has begun.
        """
        request = table_service_pb2.RemovePlayerRequest(
            table_id=table_id, seat=seat, request_id=request_id or new_request_id()
        )
        metadata = player_metadata(player_token)
        return (await self._call(self._tables.RemovePlayer, request, metadata=metadata, timeout=timeout)).table

    async def sign_in_as_guest(
        self, name: str, *, timeout: float | None = None
    ) -> table_service_pb2.SignInAsGuestResponse:
        """Return a player token for a new guest. Whoever has it is the guest: keep it, and keep it secret.

            guest = await client.sign_in_as_guest("Ada")
            seat = await client.join_table(table_id, player_token=guest.player_token)

        `name`: as `player_name` of `join_table`. Raise SignInDisabled if the service has no guests.
        """
        request = table_service_pb2.SignInAsGuestRequest(name=name)
        return await self._call(self._tables.SignInAsGuest, request, timeout=timeout)


def player_metadata(player_token: str | None) -> Metadata:
    """Return the metadata of a call by a player, or by nobody in particular."""
    return () if player_token is None else bearer(player_token)
