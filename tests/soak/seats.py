"""Seats that note every move in the ledger, and two ways for a bot to play one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from buraco.v1 import move_pb2, table_pb2, table_service_pb2
from buraco_bots.bot import Bot, ask_for_moves
from buraco_bots.player import play_seat
from buraco_client import BuracoError, PlaySession, PlayUpdate, RevisionStale, Seat, Update
from buraco_codec.moves import move_from_pb, move_to_pb
from buraco_codec.views import view_from_pb
from tests.soak.ledger import Ledger, describe_error

_WITHIN_TURN: Final = {"drew", "took_pile", "melded", "laid_off", "wild_moved"}


class _Session(PlaySession):
    """A play session that notes every move."""

    def __init__(self, seat: NotedSeat, *, legal_moves: bool, views: bool) -> None:
        super().__init__(seat._connection, seat.table_id, seat._token, legal_moves=legal_moves, views=views)
        self._seat = seat

    async def submit(
        self,
        moves: Iterable[move_pb2.Move],
        revision: int | None = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> int:
        made = list(moves)

        async def send() -> int:
            return await super(_Session, self).submit(made, revision, request_id=request_id, timeout=timeout)

        self._seat.ledger.played += 1
        return await self._seat.ledger.move(self._seat.table_id, self._seat.seat, made, send)

    async def _exchange(self, *arguments: Any) -> int:
        try:
            answer = await super()._exchange(*arguments)
        except BuracoError as error:
            self._seat.ledger.attempts[f"move on a stream: {describe_error(error)}"] += 1
            raise
        self._seat.ledger.attempts["move on a stream: OK"] += 1
        return answer


class NotedSeat(Seat):
    """A seat whose moves are noted."""

    def __init__(self, seat: Seat, ledger: Ledger) -> None:
        super().__init__(seat._connection, seat.table_id, seat.seat, seat._token, seat.table)
        self.ledger = ledger

    def play(
        self,
        *,
        legal_moves: bool = True,
        views: bool = False,
        chat: bool = False,
        after_message: int = 0,
        presence: bool = False,
    ) -> PlaySession:
        """A stream whose moves are noted; nobody chats or looks who is there."""
        assert not chat
        assert not presence
        return _Session(self, legal_moves=legal_moves, views=views)

    async def submit(
        self,
        moves: Iterable[move_pb2.Move],
        revision: int | None = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> table_service_pb2.SubmitMovesResponse:
        """As any seat's, noted."""
        made = list(moves)
        answer = table_service_pb2.SubmitMovesResponse()

        async def send() -> int:
            nonlocal answer
            answer = await super(NotedSeat, self).submit(made, revision, request_id=request_id, timeout=timeout)
            return answer.revision

        await self.ledger.move(self.table_id, self.seat, made, send)
        return answer


async def play_on_stream(seat: NotedSeat, bot: Bot) -> None:
    """Play through PlayTable, as bots do."""

    def notice(update: PlayUpdate) -> None:
        seat.ledger.received += update.ByteSize()

    seat.ledger.streams += 1
    await play_seat(seat, bot, notice)


async def play_by_calls(seat: NotedSeat, bot: Bot) -> None:
    """Play through WatchTable, ListLegalMoves and SubmitMoves, as frontends do."""
    seat.ledger.streams += 1
    async with seat.watch() as watch:
        async for update in watch:
            if _can_pass_turn(update):
                await _play_turn(seat, bot)


async def _play_turn(seat: NotedSeat, bot: Bot) -> None:
    """Move as long as it is the seat's turn."""
    made = 0
    while True:
        legal = await seat.list_legal_moves()
        if not legal.moves:
            return
        seen = await seat.get_view()
        if seen.revision != legal.revision:
            continue
        move, *_ = ask_for_moves(bot, view_from_pb(seen.view), [move_from_pb(move) for move in legal.moves], made)
        try:
            await seat.submit([move_to_pb(move)], legal.revision)
        except RevisionStale:
            continue
        made += 1


def _can_pass_turn(update: Update) -> bool:
    """Return True if the update may pass the turn to another seat."""
    if not isinstance(update, table_pb2.Events):
        return True
    return any([event.WhichOneof("event") not in _WITHIN_TURN for event in update.events])
