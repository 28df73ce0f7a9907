"""The way in: a client of one service."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from buraco.v1 import rules_service_pb2_grpc, table_pb2, table_service_pb2, table_service_pb2_grpc
from buraco_client.backoff import Backoff
from buraco_client.channel import open_channel
from buraco_client.connection import Connection
from buraco_client.rules import Rules, RulesClient, set_rules
from buraco_client.seat import Seat
from buraco_client.streams import StreamSettings
from buraco_client.token import SeatToken
from buraco_client.unary import Caller, new_request_id
from buraco_client.watch import Watch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from types import TracebackType
    from typing import Self

    import grpc

    from buraco_client.tls import Tls


class BuracoClient:
    """One channel to the service, for any number of tables: `async with BuracoClient(target) as client`.

    It must be made inside a running event loop and belongs to it. Calls raise BuracoErrors. Where nothing
    else is said, every call takes `timeout`, its deadline in seconds (absent: the client's), within which it
    is tried again while the service is away. Mutating calls take a `request_id`, a UUID (absent: a new one),
    and every error of theirs carries it: the same call again with the same id carries out at most once, and
    answers what the first call would have answered. Another call with that id raises RequestIdReused.
    """

    def __init__(
        self,
        target: str,
        *,
        credentials: grpc.ChannelCredentials | None = None,
        tls: Tls | None = None,
        api_key: str | None = None,
        timeout: float = 5.0,
        heartbeat_timeout: float = 30.0,
        patience: float = 60.0,
        backoff: Backoff | None = None,
        options: Mapping[str, str | int] | None = None,
    ) -> None:
        """Opens nothing yet: the first call connects.

        `target`: `host:port` or another name that gRPC resolves, such as `ipv4:10.0.0.1:50051,10.0.0.2:50051`
        for two replicas without a name in common. Calls are spread over all addresses, and what was under way
        at one that goes is taken up at another; with TLS and a list of addresses give `Tls` the `server_name`.
        `tls`: the files for TLS, or `credentials` made otherwise; absent: plain text.
        `api_key`: the secret that the service may want for creating tables and for the rules. Over plain text
        everybody on the way can read it, as they can the tokens of seats.
        `timeout`: seconds for a call, all its tries together.
        `heartbeat_timeout`: seconds of silence after which a stream counts as broken; must be longer than
        the service's interval of heartbeats.
        `patience`: seconds for which a stream that broke, or one that cannot be opened, is tried again.
        `backoff`: waits between tries. `options`: gRPC channel options, added to the client's own or in
        place of them. Raises OSError when a file of `tls` cannot be read.
        """
        asyncio.get_running_loop()
        backoff = backoff or Backoff()
        if tls is not None:
            if credentials is not None:
                raise ValueError("give tls or credentials, not both")
            credentials, options = tls.credentials(), {**tls.options(), **(options or {})}
        self._channel = open_channel(target, credentials, options or {})
        metadata = () if api_key is None else (("x-api-key", api_key),)
        self._connection = Connection(
            rules=rules_service_pb2_grpc.RulesServiceStub(self._channel),
            tables=table_service_pb2_grpc.TableServiceStub(self._channel),
            call=Caller(timeout, backoff, metadata),
            streams=StreamSettings(heartbeat_timeout, patience, backoff),
            metadata=metadata,
        )
        #: The rules without a table.
        self.rules = RulesClient(self._connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the channel and ends all that is open on it."""
        await self._channel.close()

    async def create_table(
        self,
        rules: Rules,
        seats: int,
        *,
        target_score: int | None = None,
        stake: int = 0,
        seed: bytes | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> table_pb2.Table:
        """Opens a table for 2 or 4 players, which waits for them.

        `target_score`: absent: the rule set's usual one; 0: one deal. `stake`: credits a player stakes.
        `seed`: 32 bytes that make the match reproducible and its cards known to the creator, which the table
        shows; absent: random.
        """
        request_id = request_id or new_request_id()
        request = table_service_pb2.CreateTableRequest(
            seats=seats, target_score=target_score, stake=stake, seed=seed, request_id=request_id
        )
        set_rules(request, rules)
        answer = await self._connection.call(
            self._connection.tables.CreateTable, request, timeout=timeout, request_id=request_id
        )
        return answer.table

    async def get_table(self, table_id: str, *, timeout: float | None = None) -> table_pb2.Table:
        """What everybody may know of a table. Raises TableUnknown."""
        answer = await self._connection.call(
            self._connection.tables.GetTable,
            table_service_pb2.GetTableRequest(table_id=table_id),
            timeout=timeout,
        )
        return answer.table

    async def list_tables(
        self,
        state: table_pb2.TableState.ValueType = table_pb2.TABLE_STATE_UNSPECIFIED,
        *,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncIterator[table_pb2.Table]:
        """The tables in that state (unspecified: all), ordered by id; `page_size` is 1 to 200, 0 means 50.

        `timeout` is for each page.
        """
        request = table_service_pb2.ListTablesRequest(state=state, page_size=page_size)
        while True:
            page = await self._connection.call(self._connection.tables.ListTables, request, timeout=timeout)
            for table in page.tables:
                yield table
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def join_table(
        self,
        table_id: str,
        player_name: str,
        *,
        seat: int | None = None,
        entropy: bytes = b"",
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Seat:
        """Takes a seat (absent: the first free one); the match starts when the last is taken.

        `player_name`: 1 to 64 characters. `entropy`: up to 64 bytes of the player's own randomness, mixed
        into every shuffle. Raises TableRefused when the table is full or the seat is taken, TableUnknown.
        """
        request_id = request_id or new_request_id()
        answer = await self._connection.call(
            self._connection.tables.JoinTable,
            table_service_pb2.JoinTableRequest(
                table_id=table_id, seat=seat, player_name=player_name, entropy=entropy, request_id=request_id
            ),
            timeout=timeout,
            request_id=request_id,
        )
        expires_at = answer.token_expires_at.seconds if answer.HasField("token_expires_at") else None
        token = SeatToken(self._connection, table_id, answer.token, expires_at)
        return Seat(self._connection, table_id, answer.seat, token, answer.table)

    def seat(self, table_id: str, seat: int, token: str, *, expires_at: float | None = None) -> Seat:
        """A seat taken earlier, of its token. Nothing is checked before its first call.

        `expires_at`: as `Seat.token_expires_at` said; absent: the token is not renewed by itself before a
        first `Seat.renew`.
        """
        return Seat(self._connection, table_id, seat, SeatToken(self._connection, table_id, token, expires_at))

    async def view(
        self, table_id: str, *, timeout: float | None = None
    ) -> table_service_pb2.TableServiceGetViewResponse:
        """The public view, and the revision it is of. Without a view until the match starts."""
        return await self._connection.call(
            self._connection.tables.GetView,
            table_service_pb2.TableServiceGetViewRequest(table_id=table_id),
            timeout=timeout,
        )

    def watch(self, table_id: str, *, after_revision: int | None = None) -> Watch:
        """What happens at a table as everybody may see it; see `Watch`.

        `after_revision`: only what came after it, without the state first.
        """
        return Watch(self._connection, table_id, None, after_revision)

    async def get_record(
        self, table_id: str, *, after_deal: int = 0, page_size: int = 0, timeout: float | None = None
    ) -> AsyncIterator[table_pb2.DealRecord]:
        """The finished deals after that number, in order; `page_size` is 1 to 50, 0 means 10.

        `timeout` is for each page.
        """
        request = table_service_pb2.GetRecordRequest(table_id=table_id, after_deal=after_deal, page_size=page_size)
        while True:
            page = await self._connection.call(self._connection.tables.GetRecord, request, timeout=timeout)
            for deal in page.deals:
                yield deal
            if not page.more or not page.deals:
                return
            request.after_deal = page.deals[-1].deal_number
