"""A seat's two-way stream: the cheapest way to play."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client.errors import BuracoError, DeadlineExceeded, from_play_error, from_rpc_error
from buraco_client.streams import Cursor, Outage, Update, being_cancelled, broken, draining, update_of
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

#: What a play session yields: what a watch yields, and the seat's turns.
PlayUpdate = Update | table_service_pb2.PlayTurn


class _Question:
    """A submit or undo that waits for its answer."""

    __slots__ = ("answer", "request", "request_id")

    def __init__(self, request: table_service_pb2.PlayTableRequest, request_id: str) -> None:
        self.request = request
        self.request_id = request_id
        # Errors are results too: nobody has to be there to fetch them.
        self.answer: asyncio.Future[table_service_pb2.PlayAnswer | Exception] = (
            asyncio.get_running_loop().create_future()
        )

    def resolve(self, answer: table_service_pb2.PlayAnswer | Exception) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    def expire(self) -> None:
        self.resolve(DeadlineExceeded(grpc.StatusCode.DEADLINE_EXCEEDED, message="no answer in time"))


class PlaySession(AsyncIterator[PlayUpdate]):
    """A seat at play: `async with seat.play() as session`, `async for update in session`, `session.submit()`.

    Updates come as from a `Watch`, the seat's own changes included, with a PlayTurn whenever the seat is to
    move (if asked for); they wait until they are iterated over. The stream is opened anew behind the scenes
    like a watch's, and a submit or undo without an answer is sent again with the same request id. The
    iteration ends after the update with which the match ends, or with a BuracoError that opening anew cannot
    cure or that lasted longer than the client's `patience`; submits then fail too.

    Iterating and submitting may go on in different tasks, but only one may iterate. Submits go one after the
    other.
    """

    def __init__(self, connection: Connection, table_id: str, token: SeatToken, legal_moves: bool) -> None:
        self._connection = connection
        self._table_id = table_id
        self._token = token
        self._legal_moves = legal_moves
        self._cursor = Cursor()
        self._outage = Outage(connection.streams)
        self._turn: int | None = None
        self._updates: deque[PlayUpdate] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._question: _Question | None = None
        self._asked = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._failure: Exception | None = None
        self._task: asyncio.Task[None] | None = None
        # The call that is open for writing: not while it is being opened.
        self._call: _Call | None = None
        self._heard = 0.0
        self._watchdog: asyncio.TimerHandle | None = None

    @property
    def revision(self) -> int | None:
        """The newest revision received, iterated over or not; None before the first state."""
        return self._cursor.revision

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name=f"play {self._table_id}")
        self._task.add_done_callback(self._ended)
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
            if self._cursor.finished:
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
        """Plays 1 to 256 moves, all or nothing; a whole turn may go in one call. Returns the revision of the change.

        What the moves did comes as the next updates of the iteration.

        `revision`: refuse with RevisionStale if the table is past it. `timeout`: seconds to wait for the
        answer, broken streams included; absent: the client's `patience`. After a DeadlineExceeded the moves
        may have been played: submit them again with the error's `request_id` to find out. Raises RuleBroken
        and the other BuracoErrors.
        """
        request_id = request_id or new_request_id()
        submit = table_service_pb2.PlaySubmit(moves=moves, revision=revision, request_id=request_id)
        request = table_service_pb2.PlayTableRequest(submit=submit)
        return await self._ask(request, request_id, revision, timeout)

    async def undo(
        self, revision: int | None = None, *, request_id: str | None = None, timeout: float | None = None
    ) -> int:
        """Takes the newest meld, lay-off or moved wild of the turn back (R11.4); else as `submit`."""
        request_id = request_id or new_request_id()
        undo = table_service_pb2.PlayUndo(revision=revision, request_id=request_id)
        return await self._ask(table_service_pb2.PlayTableRequest(undo=undo), request_id, revision, timeout)

    async def _ask(
        self,
        request: table_service_pb2.PlayTableRequest,
        request_id: str,
        revision: int | None,
        timeout: float | None,
    ) -> int:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self._connection.streams.patience if timeout is None else timeout)
        failures = 0
        async with self._one_at_a_time:
            while True:
                try:
                    return await self._exchange(_Question(request, request_id), deadline)
                except BuracoError as error:
                    error.request_id = request_id
                    failures += 1
                    delay = None
                    if error is not self._failure:
                        delay = retry_delay(error, self._connection.streams.backoff, failures, revision)
                    if delay is None or loop.time() + delay >= deadline:
                        raise
                await asyncio.sleep(delay)

    async def _exchange(self, question: _Question, deadline: float) -> int:
        """Sends one question and waits for its answer, over as many streams as that takes."""
        if self._failure is not None:
            raise self._failure
        self._question = question
        self._asked.set()
        expiry = asyncio.get_running_loop().call_at(deadline, question.expire)
        try:
            if self._call is not None:
                await self._write(self._call, question.request)
            answer = await question.answer
        finally:
            expiry.cancel()
            self._question = None
        if isinstance(answer, Exception):
            raise answer
        if answer.HasField("accepted"):
            return answer.accepted.revision
        raise from_play_error(answer.error)

    async def _write(self, call: _Call, request: table_service_pb2.PlayTableRequest) -> None:
        """Writes to a call that may break meanwhile: its reader notices, and sends again what is unanswered."""
        try:
            await call.write(request)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            pass
        except asyncio.CancelledError:
            if being_cancelled():
                raise

    async def _run(self) -> None:
        """Keeps a stream open until the session is closed or cannot go on."""
        while True:
            failure = await self._stream()
            if self._cursor.finished and self._question is None:
                # Nothing more will come; another stream is needed only if somebody asks something.
                self._asked.clear()
                await self._asked.wait()
            await self._outage.pause(failure)

    async def _stream(self) -> BuracoError:
        """Runs one stream to its end; returns why it ended."""
        metadata = (*self._connection.metadata, *await self._token.fresh(), *trace_context())
        opened_with = self._token.text
        call = self._connection.tables.PlayTable(metadata=metadata, wait_for_ready=True)
        loop = asyncio.get_running_loop()
        try:
            # The watchdog cannot help here: cancelling a call that has no connection yet does not wake its writer.
            async with asyncio.timeout(self._connection.streams.silence):
                await self._write(call, self._opening())
                sent = None
                while self._question is not sent and self._question is not None:
                    sent = self._question
                    await self._write(call, sent.request)
            self._call = call
            self._heard = loop.time()
            self._check(call)
            while True:
                message = await call.read()
                if not isinstance(message, table_service_pb2.PlayTableResponse):
                    return broken("the stream ended")
                if message.HasField("reconnect"):
                    return draining()
                self._heard = loop.time()
                self._receive(message)
                if self._token.due:
                    await self._token.fresh()
        except grpc.aio.AioRpcError as error:
            failure = from_rpc_error(error)
            return draining() if self._token.outlived(failure, opened_with) else failure
        except TimeoutError:
            return broken("no connection to the service")
        except asyncio.CancelledError:
            if being_cancelled():
                raise
            return broken("the stream fell silent or was cut")
        finally:
            self._call = None
            if self._watchdog is not None:
                self._watchdog.cancel()
            call.cancel()

    def _opening(self) -> table_service_pb2.PlayTableRequest:
        opening = table_service_pb2.PlayOpen(
            table_id=self._table_id, after_revision=self._cursor.revision, legal_moves=self._legal_moves
        )
        return table_service_pb2.PlayTableRequest(open=opening)

    def _check(self, call: _Call) -> None:
        """Gives the call up when it has been silent for too long; one timer serves all messages."""
        loop = asyncio.get_running_loop()
        left = self._heard + self._connection.streams.silence - loop.time()
        if left <= 0:
            call.cancel()
        else:
            self._watchdog = loop.call_later(left, self._check, call)

    def _receive(self, message: table_service_pb2.PlayTableResponse) -> None:
        if message.HasField("answer"):
            answer = message.answer
            self._outage.over()
            # What the change did comes with the answer and not once more, whether or not somebody still waits for it.
            if answer.HasField("accepted"):
                self._take(table_pb2.Events(revision=answer.accepted.revision, events=answer.accepted.events))
            if self._question is not None and self._question.request_id == answer.request_id:
                self._question.resolve(answer)
        elif message.HasField("heartbeat"):
            self._outage.over()
        elif message.HasField("turn"):
            # A resumed stream repeats the turn.
            if self._turn is None or message.turn.revision > self._turn:
                self._turn = message.turn.revision
                self._push(message.turn)
        else:
            update = update_of(message)
            if update is not None:
                self._take(update)

    def _take(self, update: Update) -> None:
        if not self._cursor.finished and self._cursor.take(update):
            if isinstance(update, table_service_pb2.HistoryGone):
                self._turn = None
            self._push(update)

    def _push(self, update: PlayUpdate) -> None:
        self._outage.over()
        self._updates.append(update)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Lets everybody who waits know why there is no stream any more."""
        failure = None if task.cancelled() else task.exception()
        if not isinstance(failure, Exception):
            failure = BuracoError(grpc.StatusCode.CANCELLED, message="the session is closed")
        self._failure = failure
        if self._question is not None:
            self._question.resolve(failure)
        self._wake()
