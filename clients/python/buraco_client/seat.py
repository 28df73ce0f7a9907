"""A seat at a table, held by its token."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from buraco.v1 import table_service_pb2
from buraco_client.pages import iterate_chat, iterate_deals
from buraco_client.play import PlaySession
from buraco_client.token import SeatToken
from buraco_client.unary import new_request_id
from buraco_client.watch import Watch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    import grpc.aio

    from buraco.v1 import card_pb2, move_pb2, table_pb2
    from buraco_client.connection import Connection

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


class Seat:
    """What the player of one seat can see and do. Made by `BuracoClient.join_table` and `BuracoClient.restore_seat`.

        seat = await client.join_table(table_id, "Ada")
        async with seat.play() as session:
            ...

    `timeout` of a call is its deadline in seconds (default: the client's). `request_id` of a call that changes
    something is a UUID (default: a new one), and every error carries it: the same call with the same id takes effect at
    most once and always gets the first answer. Calls raise BuracoErrors: TokenRejected or SeatNotYours if the token
    does not hold the seat (any more), TableUnknown, RequestIdReused, Unavailable, DeadlineExceeded.
    """

    def __init__(
        self,
        connection: Connection,
        table_id: str,
        seat: int,
        token: SeatToken,
        table: table_pb2.Table | None = None,
    ) -> None:
        self._connection = connection
        self._tables = connection.tables
        self._token = token
        self.table_id = table_id
        #: The number of the seat, clockwise from 0; its side is `seat % 2`.
        self.seat = seat
        #: The table as it was when the seat was taken; None for a restored seat.
        self.table = table

    @property
    def token(self) -> str:
        """The token. Whoever has it holds the seat: store it, and keep it secret. It changes when it is renewed."""
        return self._token.text

    @property
    def token_expires_at(self) -> float | None:
        """The time at which the token expires, in seconds since the epoch; None if it is not known."""
        return self._token.expires_at

    async def renew(self, *, timeout: float | None = None) -> None:
        """Exchange the token for a fresh one. The seat does so by itself when half of the token's life is over.

            await seat.renew()

        Raise TokenRejected if the token has expired.
        """
        await self._token.renew(timeout=timeout)

    async def get_view(self, *, timeout: float | None = None) -> table_service_pb2.TableServiceGetViewResponse:
        """Return what the seat may know, and its revision.

            hand = (await seat.get_view()).view.hand

        The answer has no view until the match starts.
        """
        request = table_service_pb2.TableServiceGetViewRequest(table_id=self.table_id)
        return await self._call(self._tables.GetView, request, timeout)

    async def list_legal_moves(
        self, *, timeout: float | None = None
    ) -> table_service_pb2.TableServiceListLegalMovesResponse:
        """Return the legal moves of the seat and their revision.

            answer = await seat.list_legal_moves()
            await seat.submit([answer.moves[0]], answer.revision)

        There are none while another seat is to move.
        """
        request = table_service_pb2.TableServiceListLegalMovesRequest(table_id=self.table_id)
        return await self._call(self._tables.ListLegalMoves, request, timeout)

    async def submit(
        self,
        moves: Iterable[move_pb2.Move],
        revision: int | None = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> table_service_pb2.SubmitMovesResponse:
        """Play 1 to 256 moves in order, all or none; a whole turn may go in one call.

            events = (await seat.submit([draw, discard], revision)).events

        `revision`: the one that the moves were chosen for; default: play at any. Raise RevisionStale if the table is
        past the revision, RuleBroken for an illegal move, TableRefused while there is no match to play.
        """
        request = table_service_pb2.SubmitMovesRequest(
            table_id=self.table_id, moves=moves, revision=revision, request_id=request_id or new_request_id()
        )
        return await self._call(self._tables.SubmitMoves, request, timeout, revision)

    async def undo(
        self, revision: int | None = None, *, request_id: str | None = None, timeout: float | None = None
    ) -> table_service_pb2.UndoMoveResponse:
        """Take back the newest meld, lay-off or moved wild of the turn (R11.4).

            await seat.undo()

        `revision`: as in `submit`. Raise RuleBroken if there is nothing to take back.
        """
        request = table_service_pb2.UndoMoveRequest(
            table_id=self.table_id, revision=revision, request_id=request_id or new_request_id()
        )
        return await self._call(self._tables.UndoMove, request, timeout, revision)

    async def leave(self, *, request_id: str | None = None, timeout: float | None = None) -> table_pb2.Table:
        """Give the seat back and return the table.

            await seat.leave()

        The token is void at once, and a running match waits for a successor.
        """
        request = table_service_pb2.LeaveTableRequest(table_id=self.table_id, request_id=request_id or new_request_id())
        return (await self._call(self._tables.LeaveTable, request, timeout)).table

    async def confirm_score(
        self, deal_number: int, *, request_id: str | None = None, timeout: float | None = None
    ) -> table_pb2.Table:
        """Confirm the score of a deal that is shown before the next one, and return the table.

            await seat.confirm_score(deal_number=1)

        The next deal is dealt when all players have confirmed. Confirming twice changes nothing. Raise TableRefused if
        that score is not shown: the deal is not over, or the match went on.
        """
        request = table_service_pb2.ConfirmScoreRequest(
            table_id=self.table_id, deal_number=deal_number, request_id=request_id or new_request_id()
        )
        return (await self._call(self._tables.ConfirmScore, request, timeout)).table

    async def arrange_meld(
        self, cards: Iterable[card_pb2.Card.ValueType], meld: int | None = None, *, timeout: float | None = None
    ) -> table_service_pb2.TableServiceArrangeMeldResponse:
        """Return every arrangement of cards of the hand as one meld with its value, or why there is none.

            melds = [found.meld for found in (await seat.arrange_meld(picked)).arrangements]

        `meld`: the index of a meld of the seat's side that they are laid off on; default: they are a new meld. Raise
        RuleBroken if the hand does not hold the cards or the side has no such meld.
        """
        request = table_service_pb2.TableServiceArrangeMeldRequest(table_id=self.table_id, meld=meld, cards=cards)
        return await self._call(self._tables.ArrangeMeld, request, timeout)

    async def resign(
        self, *, withdraw: bool = False, request_id: str | None = None, timeout: float | None = None
    ) -> table_pb2.Table:
        """Resign for the seat's side and return the table; one of two partners only offers it to the other.

            table = await seat.resign()

        The offer is open until `withdraw` is called for, the seat begins another turn or is left. Raise TableRefused if
        there is no match to resign, for an offer that is open, or one to withdraw that is not.
        """
        request = table_service_pb2.ResignRequest(
            table_id=self.table_id, withdraw=withdraw, request_id=request_id or new_request_id()
        )
        return (await self._call(self._tables.Resign, request, timeout)).table

    async def offer_draw(
        self, *, withdraw: bool = False, request_id: str | None = None, timeout: float | None = None
    ) -> table_pb2.Table:
        """Offer a draw and return the table; the match is a draw when offers of all players are open.

            is_draw = (await seat.offer_draw()).result.how == event_pb2.MATCH_END_DRAW_AGREED

        `withdraw` and errors: as in `resign`.
        """
        request = table_service_pb2.OfferDrawRequest(
            table_id=self.table_id, withdraw=withdraw, request_id=request_id or new_request_id()
        )
        return (await self._call(self._tables.OfferDraw, request, timeout)).table

    async def abort(self, *, request_id: str | None = None, timeout: float | None = None) -> table_pb2.Table:
        """Abort the match and return the table.

            await seat.abort()

        Raise TableRefused once every player has made a move, or if there is no match to abort.
        """
        request = table_service_pb2.AbortTableRequest(table_id=self.table_id, request_id=request_id or new_request_id())
        return (await self._call(self._tables.AbortTable, request, timeout)).table

    async def rematch(
        self, *, entropy: bytes = b"", request_id: str | None = None, timeout: float | None = None
    ) -> Seat:
        """Take the same seat at the table for the rematch, one for all, which the first who calls opens.

            seat = await seat.rematch()

        `entropy`: as in `BuracoClient.join_table`. Raise TableRefused while the match runs, or if somebody else has
        taken the seat.
        """
        request = table_service_pb2.RematchRequest(
            table_id=self.table_id, entropy=entropy, request_id=request_id or new_request_id()
        )
        answer = await self._call(self._tables.Rematch, request, timeout)
        token = SeatToken(self._connection, answer.table.id, answer.token, answer.token_expires_at.seconds)
        return Seat(self._connection, answer.table.id, answer.seat, token, answer.table)

    async def send_chat(
        self,
        text: str = "",
        *,
        phrase: str = "",
        to_partner: bool = False,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> table_service_pb2.ChatMessage:
        """Send a text, or a phrase by its code, to the table or to the partner alone, and return the message.

            await seat.send_chat(phrase="WELL_PLAYED")

        `text`: 1 to 500 characters. `phrase`: a code of `Texts.phrases`, which every player sees in the own language.
        Raise TableRefused if there is no chat (CHAT_OFF), none for texts (PHRASES_ONLY), or no partner (NO_PARTNER),
        LimitReached after too many messages, InvalidRequest for a text that cannot be shown. ValueError unless there is
        one of text and phrase.
        """
        if bool(text) == bool(phrase):
            raise ValueError("give a text or a phrase")
        request = table_service_pb2.SendChatRequest(
            table_id=self.table_id,
            audience=table_service_pb2.CHAT_AUDIENCE_PARTNER if to_partner else table_service_pb2.CHAT_AUDIENCE_TABLE,
            request_id=request_id or new_request_id(),
        )
        if text:
            request.text = text
        else:
            request.phrase = phrase
        return (await self._call(self._tables.SendChat, request, timeout)).message

    def list_chat(
        self, *, after_message: int = 0, page_size: int = 0, timeout: float | None = None
    ) -> AsyncIterator[table_service_pb2.ChatMessage]:
        """Yield the kept messages that the seat may read, after a number.

            texts = [message.text async for message in seat.list_chat()]

        `page_size`: messages a call, 1 to 200; 0 means 50. `timeout`: seconds for each page.
        """
        request = table_service_pb2.ListChatRequest(
            table_id=self.table_id, after_message=after_message, page_size=page_size
        )

        async def get_page(asked: table_service_pb2.ListChatRequest) -> table_service_pb2.ListChatResponse:
            return await self._call(self._tables.ListChat, asked, timeout)

        return iterate_chat(get_page, request)

    def get_record(
        self, *, after_deal: int = 0, page_size: int = 0, timeout: float | None = None
    ) -> AsyncIterator[table_pb2.DealRecord]:
        """Yield the finished deals after a deal number, in order, also of a table that spectators may not see.

            moves = sum([len(deal.moves) async for deal in seat.get_record()])

        `page_size` and `timeout`: as in `BuracoClient.get_record`.
        """
        request = table_service_pb2.GetRecordRequest(table_id=self.table_id, after_deal=after_deal, page_size=page_size)

        async def get_page(asked: table_service_pb2.GetRecordRequest) -> table_service_pb2.GetRecordResponse:
            return await self._call(self._tables.GetRecord, asked, timeout)

        return iterate_deals(get_page, request)

    def watch(
        self,
        *,
        after_revision: int | None = None,
        views: bool = False,
        legal_moves: bool = False,
        chat: bool = False,
        after_message: int = 0,
    ) -> Watch:
        """Return what happens at the table as the seat may see it; see `Watch`.

            async for update in seat.watch():
                ...

        `after_revision`: yield only later changes, without the state first. `views`: yield a ViewUpdate after every
        change. `legal_moves`: yield a PlayTurn with the view and the legal moves whenever the seat is to move. `chat`:
        yield a ChatMessage for each message, from those kept after number `after_message` on.
        """
        return Watch(
            self._connection,
            self.table_id,
            self._token,
            after_revision,
            views=views,
            legal_moves=legal_moves,
            chat=chat,
            after_message=after_message,
        )

    def play(
        self, *, legal_moves: bool = True, views: bool = False, chat: bool = False, after_message: int = 0
    ) -> PlaySession:
        """Return a two-way stream for watching and playing, the cheapest way for each move; see `PlaySession`.

            async with seat.play() as session:
                ...

        All arguments are as in `watch`.
        """
        return PlaySession(
            self._connection,
            self.table_id,
            self._token,
            legal_moves=legal_moves,
            views=views,
            chat=chat,
            after_message=after_message,
        )

    async def _call(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[_Request, _Response],
        request: _Request,
        timeout: float | None,
        revision: int | None = None,
    ) -> _Response:
        metadata = await self._token.get_metadata()
        return await self._connection.call(method, request, metadata=metadata, timeout=timeout, revision=revision)
