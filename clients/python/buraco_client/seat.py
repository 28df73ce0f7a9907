"""A seat at a table, held by its token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from buraco.v1 import table_service_pb2
from buraco_client.play import PlaySession
from buraco_client.unary import new_request_id
from buraco_client.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from buraco.v1 import move_pb2, table_pb2
    from buraco_client.connection import Connection
    from buraco_client.token import SeatToken


class Seat:
    """What the player of one seat can see and do. Made by `BuracoClient.join_table` and `BuracoClient.seat`.

    Every call takes `timeout`, its deadline in seconds (absent: the client's), and raises BuracoErrors:
    TokenRejected or SeatNotYours when the token does not hold the seat (any more), TableUnknown,
    Unavailable, DeadlineExceeded. Mutating calls take a `request_id`, a UUID (absent: a new one), and every
    error of theirs carries it: the same call again with the same id carries out at most once, and answers
    what the first call would have answered. Another call with that id raises RequestIdReused.
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
        self._token = token
        self.table_id = table_id
        #: The number of the seat, clockwise from 0; its side is `seat % 2`.
        self.seat = seat
        #: The table as it was when the seat was taken; None for a seat made of a token that was kept.
        self.table = table

    @property
    def token(self) -> str:
        """Whoever holds the token holds the seat: keep it, and keep it secret. It changes when it is renewed."""
        return self._token.text

    @property
    def token_expires_at(self) -> float | None:
        """When the token ends, in seconds since the epoch; None when that is not known."""
        return self._token.expires_at

    async def renew(self, *, timeout: float | None = None) -> None:
        """Exchanges the token for a fresh one. The seat does so by itself when half of the token's life is over."""
        await self._token.renew(timeout=timeout)

    async def view(self, *, timeout: float | None = None) -> table_service_pb2.TableServiceGetViewResponse:
        """What the seat may know, and the revision it is of. Without a view until the match starts."""
        return await self._connection.call(
            self._connection.tables.GetView,
            table_service_pb2.TableServiceGetViewRequest(table_id=self.table_id),
            metadata=await self._token.fresh(),
            timeout=timeout,
        )

    async def legal_moves(
        self, *, timeout: float | None = None
    ) -> table_service_pb2.TableServiceListLegalMovesResponse:
        """The legal moves, and the revision they are of; none while another seat is to move."""
        return await self._connection.call(
            self._connection.tables.ListLegalMoves,
            table_service_pb2.TableServiceListLegalMovesRequest(table_id=self.table_id),
            metadata=await self._token.fresh(),
            timeout=timeout,
        )

    async def submit(
        self,
        moves: Iterable[move_pb2.Move],
        revision: int | None = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> table_service_pb2.SubmitMovesResponse:
        """Plays 1 to 256 moves in order, all or nothing; a whole turn may go in one call.

        `revision`: refuse with RevisionStale if the table is past it; absent: play on whatever the table is.
        Raises RuleBroken for an illegal move or a wrong turn, TableRefused while there is no match to play.
        """
        request_id = request_id or new_request_id()
        return await self._connection.call(
            self._connection.tables.SubmitMoves,
            table_service_pb2.SubmitMovesRequest(
                table_id=self.table_id, moves=moves, revision=revision, request_id=request_id
            ),
            metadata=await self._token.fresh(),
            timeout=timeout,
            request_id=request_id,
            revision=revision,
        )

    async def undo(
        self, revision: int | None = None, *, request_id: str | None = None, timeout: float | None = None
    ) -> table_service_pb2.UndoMoveResponse:
        """Takes the newest meld, lay-off or moved wild of the turn back (R11.4); `revision` as in `submit`.

        Raises RuleBroken when there is nothing to take back.
        """
        request_id = request_id or new_request_id()
        return await self._connection.call(
            self._connection.tables.UndoMove,
            table_service_pb2.UndoMoveRequest(table_id=self.table_id, revision=revision, request_id=request_id),
            metadata=await self._token.fresh(),
            timeout=timeout,
            request_id=request_id,
            revision=revision,
        )

    async def leave(self, *, request_id: str | None = None, timeout: float | None = None) -> table_pb2.Table:
        """Gives the seat back: the token is void at once, and a running match waits for a successor."""
        request_id = request_id or new_request_id()
        answer = await self._connection.call(
            self._connection.tables.LeaveTable,
            table_service_pb2.LeaveTableRequest(table_id=self.table_id, request_id=request_id),
            metadata=await self._token.fresh(),
            timeout=timeout,
            request_id=request_id,
        )
        return answer.table

    def watch(self, *, after_revision: int | None = None) -> Watch:
        """What happens at the table as the seat may see it; see `Watch`.

        `after_revision`: only what came after it, without the state first.
        """
        return Watch(self._connection, self.table_id, self._token, after_revision)

    def play(self, *, legal_moves: bool = True) -> PlaySession:
        """A two-way stream for watching and playing at the least cost a move; see `PlaySession`.

        `legal_moves`: whether a PlayTurn with the view and the legal moves comes whenever the seat is to
        move.
        """
        return PlaySession(self._connection, self.table_id, self._token, legal_moves)
