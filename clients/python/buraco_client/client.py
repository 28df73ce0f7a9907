"""`BuracoClient`, the entry point of this package."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from buraco.v1 import (
    account_service_pb2,
    account_service_pb2_grpc,
    rules_service_pb2_grpc,
    table_pb2,
    table_service_pb2,
    table_service_pb2_grpc,
)
from buraco_client.backoff import Backoff
from buraco_client.channel import open_channel
from buraco_client.connection import Connection
from buraco_client.lobby import Lobby, player_metadata
from buraco_client.pages import iterate_chat, iterate_deals
from buraco_client.rules import RulesClient
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


class BuracoClient(Lobby):
    """One channel to the service, for any number of tables.

        async with BuracoClient("localhost:50051") as client:
            table = await client.create_table("burraco", seats=2)
            seat = await client.join_table(table.id, "Ada")

    Make it inside a running event loop, to which it then belongs. `timeout` of a call is its deadline in seconds
    (default: the client's), within which the client repeats it while the service is unavailable. `request_id` of a call
    that changes something is a UUID (default: a new one), and every error carries it: the same call with the same id
    takes effect at most once and always gets the first answer. Calls raise BuracoErrors, and RequestIdReused where
    another call has used the id. The programs in `clients/python/examples` show the methods in use.
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
        reconnect_timeout: float = 60.0,
        backoff: Backoff | None = None,
        options: Mapping[str, str | int] | None = None,
    ) -> None:
        """Prepare a channel; the first call connects.

        `target`: `host:port` or another name that gRPC resolves, such as `ipv4:10.0.0.1:50051,10.0.0.2:50051`
        for two replicas without a common name. Calls are spread over all addresses, and what one of them leaves
        unfinished is repeated at another; with TLS and a list of addresses set the `server_name` of `Tls`.
        `tls`: the files for TLS, or else `credentials` made otherwise; default: plain text.
        `api_key`: the secret that the service may require for creating tables and for the rules. Over plain text
        anybody on the way can read it, as well as the tokens of seats.
        `timeout`: seconds for a call, all its attempts together.
        `heartbeat_timeout`: seconds of silence after which a stream counts as broken; must be longer than
        the service's interval of heartbeats.
        `reconnect_timeout`: seconds for which a broken stream is opened again before its error is raised.
        `backoff`: waits between attempts. `options`: gRPC channel options that replace or complement the client's
        own. Raise OSError if a file of `tls` cannot be read, ValueError if both `tls` and `credentials` are given.
        """
        asyncio.get_running_loop()
        backoff = backoff or Backoff()
        if tls is not None:
            if credentials is not None:
                raise ValueError("give tls or credentials, not both")
            credentials, options = tls.load_credentials(), {**tls.channel_options(), **(options or {})}
        self._channel = open_channel(target, credentials, options or {})
        metadata = () if api_key is None else (("x-api-key", api_key),)
        self._tables = table_service_pb2_grpc.TableServiceStub(self._channel)
        self._accounts = account_service_pb2_grpc.AccountServiceStub(self._channel)
        self._call = Caller(timeout, backoff, metadata)
        self._connection = Connection(
            rules=rules_service_pb2_grpc.RulesServiceStub(self._channel),
            tables=self._tables,
            call=self._call,
            streams=StreamSettings(heartbeat_timeout, reconnect_timeout, backoff),
            metadata=metadata,
        )
        #: The rules of the game, without a table.
        self.rules = RulesClient(self._connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the channel and end all calls and streams on it; the end of `async with` does the same."""
        await self._channel.close()

    async def get_table(self, table_id: str, *, timeout: float | None = None) -> table_pb2.Table:
        """Return what everybody may know of a table.

            scores = (await client.get_table(table_id)).result.scores

        Raise TableUnknown if there is no such table.
        """
        request = table_service_pb2.GetTableRequest(table_id=table_id)
        return (await self._call(self._tables.GetTable, request, timeout=timeout)).table

    async def get_account(
        self, player_id: str = "", *, player_token: str | None = None, timeout: float | None = None
    ) -> account_service_pb2.Account:
        """Return an account of play money: that of the player token, or with an API key that of `player_id`.

            credits = (await client.get_account(player_token=guest.player_token)).available

        Raise AccountsDisabled if the service keeps none, PlayerTokenRejected, ApiKeyRejected.
        """
        request = account_service_pb2.GetAccountRequest(player_id=player_id)
        metadata = player_metadata(player_token)
        return (await self._call(self._accounts.GetAccount, request, metadata=metadata, timeout=timeout)).account

    async def list_entries(
        self,
        player_id: str = "",
        *,
        player_token: str | None = None,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncIterator[account_service_pb2.AccountEntry]:
        """Yield the entries of an account, the newest first; for the same callers as `get_account`.

            won = sum([entry.amount async for entry in client.list_entries(player_token=token) if entry.table_id])

        `page_size`: entries a call, 1 to 200; 0 means 50. `timeout`: seconds for each page. Raise as `get_account`.
        """
        request = account_service_pb2.ListEntriesRequest(player_id=player_id, page_size=page_size)
        metadata = player_metadata(player_token)
        while True:
            page = await self._call(self._accounts.ListEntries, request, metadata=metadata, timeout=timeout)
            for entry in page.entries:
                yield entry
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def grant_credits(
        self,
        player_id: str,
        amount: int,
        *,
        note: str = "",
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> account_service_pb2.Account:
        """Give an account credits, or take them, and return the account. Needs an API key where the service has them.

            await client.grant_credits("ada", 500, note="Welcome back")

        `amount`: up to 10^12 either way, not 0. `note`: for who reads the entries, up to 200 characters. Raise
        CreditTooLow if more is taken than is available, AccountsDisabled, ApiKeyRejected.
        """
        request = account_service_pb2.GrantCreditsRequest(
            player_id=player_id, amount=amount, note=note, request_id=request_id or new_request_id()
        )
        return (await self._call(self._accounts.GrantCredits, request, timeout=timeout)).account

    def restore_seat(self, table_id: str, seat: int, token: str, *, expires_at: float | None = None) -> Seat:
        """Return a seat taken earlier, from its token. Nothing is checked before its first call.

        >>> async def main():
        ...     async with BuracoClient("localhost:50051") as client:
        ...         return client.restore_seat("t", seat=1, token="secret").token
        >>> asyncio.run(main())
        'secret'

        `expires_at`: as `Seat.token_expires_at` was, in seconds since the epoch; without it the token is not renewed
        before the first `Seat.renew`.
        """
        return Seat(self._connection, table_id, seat, SeatToken(self._connection, table_id, token, expires_at))

    async def get_view(
        self, table_id: str, *, timeout: float | None = None
    ) -> table_service_pb2.TableServiceGetViewResponse:
        """Return the public view and its revision.

            stock_count = (await client.get_view(table_id)).view.stock_count

        The answer has no view until the match starts.
        """
        request = table_service_pb2.TableServiceGetViewRequest(table_id=table_id)
        return await self._call(self._tables.GetView, request, timeout=timeout)

    def list_chat(
        self, table_id: str, *, after_message: int = 0, page_size: int = 0, timeout: float | None = None
    ) -> AsyncIterator[table_service_pb2.ChatMessage]:
        """Yield the kept messages to the table after a number, as everybody may read them.

            texts = [message.text async for message in client.list_chat(table_id)]

        `page_size`: messages a call, 1 to 200; 0 means 50. `timeout`: seconds for each page. Raise SeatNotYours if only
        players may see the table: `Seat.list_chat` is for them.
        """
        request = table_service_pb2.ListChatRequest(table_id=table_id, after_message=after_message, page_size=page_size)

        async def get_page(asked: table_service_pb2.ListChatRequest) -> table_service_pb2.ListChatResponse:
            return await self._call(self._tables.ListChat, asked, timeout=timeout)

        return iterate_chat(get_page, request)

    def watch(
        self,
        table_id: str,
        *,
        after_revision: int | None = None,
        views: bool = False,
        chat: bool = False,
        after_message: int = 0,
        presence: bool = False,
    ) -> Watch:
        """Return what happens at a table as everybody may see it; see `Watch`.

            async for update in client.watch(table_id):
                ...

        `after_revision`: yield only later changes, without the state first. `views`: yield a ViewUpdate after every
        change. `chat`: yield a ChatMessage for each message, from those kept after number `after_message` on.
        `presence`: yield a Presence, with the seats at which a player is seen, first and whenever that changes. Raise
        SeatNotYours if only players may see the table.
        """
        return Watch(
            *(self._connection, table_id, None, after_revision),
            views=views,
            chat=chat,
            after_message=after_message,
            presence=presence,
        )

    def get_record(
        self, table_id: str, *, after_deal: int = 0, page_size: int = 0, timeout: float | None = None
    ) -> AsyncIterator[table_pb2.DealRecord]:
        """Yield the finished deals after a deal number, in order.

            moves = sum([len(deal.moves) async for deal in client.get_record(table_id)])

        `page_size`: deals a call, 1 to 50; 0 means 10. `timeout`: seconds for each page. Raise SeatNotYours if only
        players may see the table: `Seat.get_record` is for them.
        """
        request = table_service_pb2.GetRecordRequest(table_id=table_id, after_deal=after_deal, page_size=page_size)

        async def get_page(asked: table_service_pb2.GetRecordRequest) -> table_service_pb2.GetRecordResponse:
            return await self._call(self._tables.GetRecord, asked, timeout=timeout)

        return iterate_deals(get_page, request)

    async def get_cut_off_deal(self, table_id: str, *, timeout: float | None = None) -> table_pb2.DealRecord | None:
        """Return the deal that the end of the match cut off, with its seed and moves; None if there is none.

            cut_off = await client.get_cut_off_deal(table_id)

        `timeout`: seconds for each of two calls.
        """
        deal_number = (await self.get_table(table_id, timeout=timeout)).match.deal_number
        request = table_service_pb2.GetRecordRequest(table_id=table_id, after_deal=max(deal_number, 1) - 1)
        page = await self._call(self._tables.GetRecord, request, timeout=timeout)
        return page.cut_off if page.HasField("cut_off") else None
