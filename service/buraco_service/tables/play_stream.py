"""PlayTable: one seat's two-way stream over the use cases of a table and its feed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import grpc

from buraco.v1 import table_service_pb2 as pb
from buraco_codec.moves import move_bytes, moves_from_pb
from buraco_codec.views import view_bytes
from buraco_codec.wire import field, number, number_tag, tag
from buraco_rules import Move, view_of
from buraco_service import errors
from buraco_service.access.admission import charge_request
from buraco_service.access.seat_tokens import SeatClaims
from buraco_service.requests import RequestProblems, read_request_id
from buraco_service.tables.changes import RuleBroken
from buraco_service.tables.entries import told
from buraco_service.tables.feed import Feed, Feeds, Update
from buraco_service.tables.tables import Accepted, Tables, legal_moves_of

_REQUEST_ID: Final = tag(pb.PlayAnswer.REQUEST_ID_FIELD_NUMBER)
_ACCEPTED: Final = tag(pb.PlayAnswer.ACCEPTED_FIELD_NUMBER)
_TURN_REVISION: Final = number_tag(pb.PlayTurn.REVISION_FIELD_NUMBER)
_TURN_VIEW: Final = tag(pb.PlayTurn.VIEW_FIELD_NUMBER)
_TURN_MOVES: Final = tag(pb.PlayTurn.MOVES_FIELD_NUMBER)
_FATAL: Final = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})
"""Errors after which the stream can be of no use any more: they end it. So does TABLE_TOO_NEW: there is help at another
replica only, and a player goes there with another stream.
"""


class PlayStream:
    """Moves come up and are answered in order; what happens at the table goes down in between, each change once."""

    def __init__(
        self,
        tables: Tables,
        feeds: Feeds,
        feed: Feed,
        table_id: str,
        claims: SeatClaims,
        requests: AsyncIterator[pb.PlayTableRequest],
        write: Callable[[bytes], Awaitable[None]],
    ) -> None:
        self._tables = tables
        self._feeds = feeds
        self._feed = feed
        self._table_id = table_id
        self._claims = claims
        self._requests = requests
        self._write = write
        # Held from a move's commit to its answer, so that the change goes down once and in its place.
        self._sending = asyncio.Lock()
        self._legal_moves = False
        self._turn_sent_at = 0
        self._late = False
        """The match was over before the stream began."""

    async def run(self, after_revision: int | None, *, legal_moves: bool) -> None:
        """Serve the stream until either side ends it, or the match does.

        One that begins after the match is there for whoever lost the answer to the last move and asks once more: it
        ends when the client does, or after the time of a heartbeat.
        """
        self._legal_moves = legal_moves
        async with self._sending:
            await self._send(await self._feed.begin(after_revision))
            await self._send_turn()
        self._late = self._feed.over
        down = asyncio.create_task(self._follow())
        up = asyncio.create_task(self._obey())
        try:
            done, _ = await asyncio.wait((down, up), return_when=asyncio.FIRST_COMPLETED)
            # Not before the answer to a change that is being made: its player would not learn of it.
            async with self._sending:
                for task in done:
                    task.result()
        finally:
            for task in (down, up):
                task.cancel()
            await asyncio.gather(down, up, return_exceptions=True)

    async def _follow(self) -> None:
        """What happens at the table goes down."""
        while self._late or not self._feed.over:
            if self._feeds.sends_away(self._feed):
                async with self._sending:
                    await self._send([self._feed.reconnect()])
                return
            await self._feed.wait()
            if self._feed.behind():
                async with self._sending:
                    await self._catch_up(woken=True)
            elif self._feed.silent():
                if self._late:
                    return
                async with self._sending:
                    await self._send([self._feed.heartbeat()])

    async def _obey(self) -> None:
        """Requests come up, one after the other."""
        while self._late or not self._feed.over:
            request = await anext(self._requests, None)
            if request is None:
                return
            which = request.WhichOneof("request")
            if which == "submit":
                await self._answer(request.submit.request_id, self._submit, request.submit)
            elif which == "undo":
                await self._answer(request.undo.request_id, self._undo, request.undo)
            else:
                problems = RequestProblems()
                problems.add("request", "submit or undo must be given; open only once")
                problems.raise_if_any()

    async def _answer(self, request_id: str, act: Callable[[Any], Awaitable[Accepted]], request: Any) -> None:
        async with self._sending:
            self._feed.hold()
            try:
                await self._send([Update("answer", await self._answered(request_id, act, request))])
                await self._send_turn()
            finally:
                self._feed.release()

    async def _answered(self, request_id: str, act: Callable[[Any], Awaitable[Accepted]], request: Any) -> bytes:
        try:
            self._feed.check()
            charge_request()
            accepted = await act(request)
        except errors.ApiError as error:
            if error.code in _FATAL or error.reason == errors.TABLE_TOO_NEW:
                raise
            if error.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
                self._tables.metrics.count_refusal(error.reason, error.metadata.get("limit", ""))
            await self._catch_up()
            return pb.PlayAnswer(request_id=request_id, error=_play_error(error)).SerializeToString()
        return field(_REQUEST_ID, request_id.encode()) + field(_ACCEPTED, await self._accepted(accepted))

    async def _submit(self, request: pb.PlaySubmit) -> Accepted:
        problems = RequestProblems()
        request_id = read_request_id(request.request_id, problems)
        moves: tuple[Move, ...] = problems.collect(lambda: moves_from_pb(request.moves), ())
        problems.raise_if_any()
        revision = request.revision if request.HasField("revision") else None
        return await self._tables.submit(self._table_id, self._claims, moves, revision, request_id, with_view=False)

    async def _undo(self, request: pb.PlayUndo) -> Accepted:
        problems = RequestProblems()
        request_id = read_request_id(request.request_id, problems)
        problems.raise_if_any()
        revision = request.revision if request.HasField("revision") else None
        return await self._tables.take_back(self._table_id, self._claims, revision, request_id, with_view=False)

    async def _accepted(self, accepted: Accepted) -> bytes:
        """The answer to a change, which carries its events unless they were sent before."""
        if accepted.entry is None:
            said = pb.SubmitMovesResponse.FromString(accepted.answer)
            revision, events = said.revision, [event.SerializeToString() for event in said.events]
        else:
            revision, events = accepted.entry.revision, accepted.entry.events_for(self._claims.seat)
        await self._send(await self._feed.catch_up(before=revision))
        if self._feed.revision != revision - 1:
            return told(revision, ())
        self._feed.passed(revision, events)
        return told(revision, events)

    async def _catch_up(self, *, woken: bool = False) -> None:
        updates = await self._feed.catch_up(woken=woken)
        if updates:
            await self._send(updates)
            await self._send_turn()

    async def _send_turn(self) -> None:
        """Where the seat is to move and its player wants them: its legal moves, once a revision."""
        revision = self._feed.revision
        if not self._legal_moves or self._turn_sent_at == revision:
            return
        table = self._tables.recent.get(self._table_id)
        if table is None or table.revision < revision:
            table = await self._tables.get(self._table_id)
        moves = legal_moves_of(table, self._claims.seat) if table.revision == revision else []
        if not moves or table.deal is None:
            return  # another's turn; or more has happened, and the next update is on its way
        self._turn_sent_at = revision
        view = view_bytes(view_of(table.deal, self._claims.seat, moves))
        listed = [field(_TURN_MOVES, move_bytes(move)) for move in moves]
        turn = b"".join([number(_TURN_REVISION, revision), field(_TURN_VIEW, view), *listed])
        await self._send([Update("turn", turn)])

    async def _send(self, updates: list[Update]) -> None:
        for update in updates:
            await self._write(update.serialised())


def _play_error(error: errors.ApiError) -> pb.PlayError:
    violations = [int(violation) for violation in error.violations] if isinstance(error, RuleBroken) else []
    refusal = pb.PlayError(
        code=error.code.value[0],
        reason=error.reason,
        message=error.message,
        metadata=error.metadata,
        violations=violations,  # type: ignore[arg-type]
    )
    if error.retry_after is not None:
        refusal.retry_delay.FromMilliseconds(round(error.retry_after * 1000))
    return refusal
