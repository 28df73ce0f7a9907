"""`PlaySession`, a seat's two-way stream: the cheapest way to play."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client.errors import BuracoError, DeadlineExceeded, from_play_error, from_rpc_error
from buraco_client.streams import (
    Cursor,
    Outage,
    Update,
    get_update,
    is_being_cancelled,
    reconnect_requested,
    stream_broken,
)
from buraco_client.trace_context import trace_context
from buraco_client.unary import new_request_id, retry_delay

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Self

    from buraco.v1 import move_pb2
    from buraco_client.connection import Connection
    from buraco_client.token import SeatToken

    _Call = grpc.aio.StreamStreamCall[table_service_pb2.PlayTableRequest, table_service_pb2.PlayTableResponse]

#: What a play session yields.
PlayUpdate = Update


class _PendingRequest:
    """A submit or undo that waits for its answer."""

    __slots__ = ("answer", "message", "request_id")

    def __init__(self, message: table_service_pb2.PlayTableRequest, request_id: str) -> None:
        self.message = message
        self.request_id = request_id
        # Errors are results, not exceptions: asyncio would log an exception that nobody fetches.
        self.answer: asyncio.Future[table_service_pb2.PlayAnswer | Exception] = (
            asyncio.get_running_loop().create_future()
        )

    def resolve(self, answer: table_service_pb2.PlayAnswer | Exception) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    def expire(self) -> None:
        self.resolve(DeadlineExceeded(grpc.StatusCode.DEADLINE_EXCEEDED, message="no answer in time"))


class PlaySession(AsyncIterator[PlayUpdate]):
    """A seat's play, as one stream of updates and moves.

        async with seat.play() as session:
            async for update in session:
                if isinstance(update, table_service_pb2.PlayTurn):
                    await session.submit([update.moves[0]], update.revision)

    Updates come as from a `Watch`, the seat's own changes included, with a PlayTurn whenever the seat is to move (if
    asked for); they wait until they are iterated over. The stream is opened again behind the scenes like a watch's,
    and a submit or undo without an answer is sent again with the same request id. The iteration ends after the update
    with which the match ends, or with a BuracoError that another stream cannot help or that lasted longer than the
    client's `reconnect_timeout`; submits then fail too.

    One task may iterate while others submit. Submits go one after the other.
    """

    def __init__(
        self,
        connection: Connection,
        table_id: str,
        token: SeatToken,
        *,
        legal_moves: bool,
        views: bool,
        chat: bool = False,
        after_message: int = 0,
    ) -> None:
        self._connection = connection
        self._table_id = table_id
        self._token = token
        self._legal_moves = legal_moves
        self._views = views
        self._chat = chat
        self._cursor = Cursor(views=views, message=after_message)
        self._outage = Outage(connection.streams)
        self._updates: deque[PlayUpdate] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._pending: _PendingRequest | None = None
        self._has_pending = asyncio.Event()
        self._submit_lock = asyncio.Lock()
        self._failure: Exception | None = None
        self._task: asyncio.Task[None] | None = None
        # The open call; None until its first messages are written.
        self._call: _Call | None = None
        self._last_message_time = 0.0
        self._silence_timer: asyncio.TimerHandle | None = None

    @property
    def revision(self) -> int | None:
        """The newest revision received, iterated over or not; None before the first state."""
        return self._cursor.revision

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name=f"play {self._table_id}")
        self._task.add_done_callback(self._fail_waiters)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> PlayUpdate:
        while not self._updates:
            if self._cursor.is_finished:
                raise StopAsyncIteration
            if self._failure is not None:
                raise self._failure
            if self._waiter is not None:
                raise RuntimeError("only one task may iterate over a play session")
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._updates.popleft()

    async def submit(
        self,
        moves: Iterable[move_pb2.Move],
        revision: int | None = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> int:
        """Play 1 to 256 moves in order, all or none, and return the revision of the change.

            revision = await session.submit([draw, discard], turn.revision)

        What the moves did comes as the next updates of the iteration. `revision`: the one that the moves were chosen
        for; default: play at any. `timeout`: seconds to wait for the answer, broken streams included; default: the
        client's `reconnect_timeout`. Raise RevisionStale if the table is past the revision, RuleBroken and other
        BuracoErrors. After DeadlineExceeded the moves may have been played: submit them again with the error's
        `request_id` to find out.
        """
        request_id = request_id or new_request_id()
        submit = table_service_pb2.PlaySubmit(moves=moves, revision=revision, request_id=request_id)
        message = table_service_pb2.PlayTableRequest(submit=submit)
        return await self._send(message, request_id, revision, timeout)

    async def undo(
        self, revision: int | None = None, *, request_id: str | None = None, timeout: float | None = None
    ) -> int:
        """Take back the newest meld, lay-off or moved wild of the turn (R11.4), and return the revision of the change.

            revision = await session.undo()

        Arguments and errors are those of `submit`; raise RuleBroken if there is nothing to take back.
        """
        request_id = request_id or new_request_id()
        undo = table_service_pb2.PlayUndo(revision=revision, request_id=request_id)
        return await self._send(table_service_pb2.PlayTableRequest(undo=undo), request_id, revision, timeout)

    async def _send(
        self,
        message: table_service_pb2.PlayTableRequest,
        request_id: str,
        revision: int | None,
        timeout: float | None,
    ) -> int:
        """Send a submit or undo, repeat it where that can help, and return the revision of the change."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self._connection.streams.reconnect_timeout if timeout is None else timeout)
        failures = 0
        async with self._submit_lock:
            while True:
                try:
                    return await self._exchange(_PendingRequest(message, request_id), deadline)
                except BuracoError as error:
                    error.request_id = request_id
                    failures += 1
                    delay = None
                    if error is not self._failure:
                        delay = retry_delay(error, self._connection.streams.backoff, failures, revision)
                    if delay is None or loop.time() + delay >= deadline:
                        raise
                await asyncio.sleep(delay)

    async def _exchange(self, pending: _PendingRequest, deadline: float) -> int:
        """Send one request and wait for its answer, over as many streams as that takes."""
        if self._failure is not None:
            raise self._failure
        self._pending = pending
        self._has_pending.set()
        expiry = asyncio.get_running_loop().call_at(deadline, pending.expire)
        try:
            if self._call is not None:
                await self._write(self._call, pending.message)
            answer = await pending.answer
        finally:
            expiry.cancel()
            self._pending = None
        if isinstance(answer, Exception):
            raise answer
        if answer.HasField("accepted"):
            return answer.accepted.revision
        raise from_play_error(answer.error)

    async def _write(self, call: _Call, message: table_service_pb2.PlayTableRequest) -> None:
        """Write to a call that may break meanwhile: its reader notices, and the next stream sends the request again."""
        try:
            await call.write(message)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            pass
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise

    async def _run(self) -> None:
        """Keep a stream open until the session is closed or cannot go on."""
        while True:
            failure = await self._run_stream()
            if self._cursor.is_finished and self._pending is None:
                # Nothing more comes: another stream is needed for another request only.
                self._has_pending.clear()
                await self._has_pending.wait()
            await self._outage.wait(failure)

    async def _run_stream(self) -> BuracoError:
        """Run one stream to its end, and return the reason of the end."""
        metadata = (*self._connection.metadata, *await self._token.get_metadata(), *trace_context())
        token_used = self._token.text
        call = self._connection.tables.PlayTable(metadata=metadata, wait_for_ready=True)
        try:
            await self._open(call)
            return await self._read(call)
        except grpc.aio.AioRpcError as error:
            failure = from_rpc_error(error)
            return reconnect_requested() if self._token.has_replaced(token_used, failure) else failure
        except TimeoutError:
            return stream_broken("no connection to the service")
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            return stream_broken("the stream fell silent or was cut")
        finally:
            self._call = None
            if self._silence_timer is not None:
                self._silence_timer.cancel()
            call.cancel()

    async def _open(self, call: _Call) -> None:
        """Write the opening message, and the request that still waits for its answer."""
        opening = table_service_pb2.PlayOpen(
            table_id=self._table_id,
            after_revision=self._cursor.revision,
            legal_moves=self._legal_moves,
            views=self._views,
            chat=self._chat,
            after_message=self._cursor.message,
        )
        # No silence timer yet: cancelling a call that has no connection does not wake its writer.
        async with asyncio.timeout(self._connection.streams.max_silence):
            await self._write(call, table_service_pb2.PlayTableRequest(open=opening))
            sent = None
            while self._pending is not sent and self._pending is not None:
                sent = self._pending
                await self._write(call, sent.message)
        self._call = call

    async def _read(self, call: _Call) -> BuracoError:
        """Read messages until the stream ends, and return the reason of the end."""
        loop = asyncio.get_running_loop()
        self._last_message_time = loop.time()
        self._cancel_if_silent(call)
        while True:
            message = await call.read()
            if not isinstance(message, table_service_pb2.PlayTableResponse):
                self._cursor.end_stream()
                self._wake_waiter()
                return stream_broken("the stream ended")
            if message.HasField("reconnect"):
                return reconnect_requested()
            self._last_message_time = loop.time()
            self._receive(message)
            if self._token.is_renewal_due:
                await self._token.get_metadata()

    def _cancel_if_silent(self, call: _Call) -> None:
        """Cancel the call if it has been silent for too long, else check again then; one timer serves all messages."""
        loop = asyncio.get_running_loop()
        remaining = self._last_message_time + self._connection.streams.max_silence - loop.time()
        if remaining <= 0:
            call.cancel()
        else:
            self._silence_timer = loop.call_later(remaining, self._cancel_if_silent, call)

    def _receive(self, message: table_service_pb2.PlayTableResponse) -> None:
        if message.HasField("answer"):
            answer = message.answer
            self._outage.end()
            # The events of the change come with the answer alone, whether or not anybody still waits for it.
            if answer.HasField("accepted"):
                self._push_if_new(table_pb2.Events(revision=answer.accepted.revision, events=answer.accepted.events))
            if self._pending is not None and self._pending.request_id == answer.request_id:
                self._pending.resolve(answer)
        elif message.HasField("heartbeat"):
            self._outage.end()
        else:
            update = get_update(message)
            if update is not None:
                self._push_if_new(update)

    def _push_if_new(self, update: Update) -> None:
        if not self._cursor.is_finished and self._cursor.advance(update):
            self._outage.end()
            self._updates.append(update)
            self._wake_waiter()

    def _wake_waiter(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail_waiters(self, task: asyncio.Task[None]) -> None:
        """Pass the reason why there is no stream any more to everybody who waits."""
        failure = None if task.cancelled() else task.exception()
        if not isinstance(failure, Exception):
            failure = BuracoError(grpc.StatusCode.CANCELLED, message="the session is closed")
        self._failure = failure
        if self._pending is not None:
            self._pending.resolve(failure)
        self._wake_waiter()
