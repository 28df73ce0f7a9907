"""PlayTable: one seat's two-way stream over the use cases of a table and its feed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import grpc

from buraco.v1 import table_service_pb2 as pb
from buraco_codec.moves import moves_from_pb
from buraco_codec.wire import Fields
from buraco_rules import Move
from buraco_service import errors
from buraco_service.access.admission import charge_request
from buraco_service.access.seat_tokens import SeatClaims
from buraco_service.requests import RequestProblems, read_request_id
from buraco_service.tables.changes import RuleBroken
from buraco_service.tables.entries import serialise_events
from buraco_service.tables.feed import UPDATE, Feed
from buraco_service.tables.feeds import Feeds
from buraco_service.tables.repository import Accepted
from buraco_service.tables.tables import Tables

_ANSWER: Final = Fields(pb.PlayAnswer)
_FATAL: Final = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})
"""Statuses that end the stream, which can be of no use any more. So does TABLE_TOO_NEW: only another replica can help,
and a player reaches it with another stream.
"""


class PlayStream:
    """Requests are answered in order; in between, what happens at the table is sent, each change once."""

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
        # Held from a move's commit to its answer, so that the change is sent once and in its place.
        self._sending = asyncio.Lock()
        self._began_over = False
        """The match was over before the stream began."""

    async def run(self, after_revision: int | None) -> None:
        """Serve the stream until either side ends it, or the match does.

        A stream that begins after the match lets a player who lost the answer to the last move ask again: it ends when
        the client does, or after the time of a heartbeat.
        """
        async with self._sending:
            await self._send(await self._feed.begin(after_revision))
            await self._send(await self._feed.observe())
            await self._send(await self._feed.read_messages())
        self._began_over = self._feed.is_over
        following = asyncio.create_task(self._follow())
        answering = asyncio.create_task(self._answer_requests())
        try:
            done, _ = await asyncio.wait((following, answering), return_when=asyncio.FIRST_COMPLETED)
            # Not before the answer to a change that is being made: its player would not learn of it.
            async with self._sending:
                for task in done:
                    task.result()
        finally:
            for task in (following, answering):
                task.cancel()
            await asyncio.gather(following, answering, return_exceptions=True)

    async def _follow(self) -> None:
        """Send what happens at the table."""
        while self._began_over or not self._feed.is_over:
            if self._feeds.must_reconnect(self._feed):
                async with self._sending:
                    await self._send([self._feed.reconnect()])
                return
            await self._feed.wait()
            if self._feed.is_behind():
                async with self._sending:
                    await self._catch_up(woken=True)
            elif self._feed.is_heartbeat_due():
                if self._began_over:
                    return
                async with self._sending:
                    await self._send([self._feed.heartbeat()])
            if self._feed.chat is not None:
                async with self._sending:
                    await self._send(await self._feed.read_messages())

    async def _answer_requests(self) -> None:
        """Serve the requests of the player, one after the other."""
        while self._began_over or not self._feed.is_over:
            request = await anext(self._requests, None)
            if request is None:
                return
            which = request.WhichOneof("request")
            if which not in ("submit", "undo"):
                problems = RequestProblems()
                problems.add("request", "submit or undo must be given; open only once")
                raise problems.error()
            await self._answer(getattr(request, which))

    async def _answer(self, request: pb.PlaySubmit | pb.PlayUndo) -> None:
        async with self._sending:
            self._feed.hold()
            try:
                await self._send([UPDATE.answer(await self._answer_to(request))])
                await self._send(await self._feed.observe())
            finally:
                self._feed.release()

    async def _answer_to(self, request: pb.PlaySubmit | pb.PlayUndo) -> bytes:
        """Make the change and return the PlayAnswer. Raise an ApiError that ends the stream."""
        try:
            self._feed.check_token()
            charge_request()
            accepted = await self._change(request)
        except errors.ApiError as error:
            if error.code in _FATAL or error.reason == errors.TABLE_TOO_NEW:
                raise
            if error.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
                self._tables.metrics.count_refusal(error.reason, error.metadata.get("limit", ""))
            await self._catch_up()
            return pb.PlayAnswer(request_id=request.request_id, error=_play_error(error)).SerializeToString()
        return _ANSWER.request_id(request.request_id.encode()) + _ANSWER.accepted(await self._play_accepted(accepted))

    async def _change(self, request: pb.PlaySubmit | pb.PlayUndo) -> Accepted:
        problems = RequestProblems()
        request_id = read_request_id(request.request_id, problems)
        moves: tuple[Move, ...] = ()
        if isinstance(request, pb.PlaySubmit):
            moves = problems.collect(lambda: moves_from_pb(request.moves), ())
        problems.raise_if_any()
        revision = request.revision if request.HasField("revision") else None
        if isinstance(request, pb.PlayUndo):
            return await self._tables.undo_move(self._table_id, self._claims, revision, request_id, with_view=False)
        return await self._tables.submit(self._table_id, self._claims, moves, revision, request_id, with_view=False)

    async def _play_accepted(self, accepted: Accepted) -> bytes:
        """Return a PlayAccepted: the change with its events, unless they were sent before."""
        if accepted.entry is None:
            stored = pb.SubmitMovesResponse.FromString(accepted.answer)
            revision, events = stored.revision, [event.SerializeToString() for event in stored.events]
        else:
            revision, events = accepted.entry.revision, accepted.entry.redacted(self._claims.seat)
        await self._send(await self._feed.catch_up(before=revision))
        if self._feed.revision != revision - 1:
            return serialise_events(revision, ())
        self._feed.mark_sent(revision, events)
        return serialise_events(revision, events)

    async def _catch_up(self, *, woken: bool = False) -> None:
        updates = await self._feed.catch_up(woken=woken)
        if updates:
            await self._send(updates)
            await self._send(await self._feed.observe())

    async def _send(self, updates: list[bytes]) -> None:
        for update in updates:
            await self._write(update)


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
