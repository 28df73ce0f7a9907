"""`Watch`, the resuming stream of what happens at a table."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client.errors import BuracoError, from_rpc_error
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

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from buraco_client.connection import Connection
    from buraco_client.token import SeatToken
    from buraco_client.unary import Metadata


class Watch(AsyncIterator[Update]):
    """What happens at a table, in order: first the state, then changes.

        async for update in client.watch(table_id):
            ...

    No revision comes twice and none goes back. The stream is opened again behind the scenes, after the last revision
    seen, if it breaks, falls silent, or the replica asks for that. If the missed changes are no longer stored, a
    HistoryGone comes and then the fresh state: only there may the revision be lower.

    With `views` a ViewUpdate follows every change, with `legal_moves` a PlayTurn every change after which the seat is
    to move; of changes that come together only the newest has them. With `chat` a ChatMessage comes for every message
    that is kept, then for each as it is sent, once and in order.

    The iteration ends after the update with which the match ends, or its view. Before that only `aclose()`, the end of
    an `async with` block or a BuracoError ends it: an error that another stream cannot help, or that lasted longer than
    the client's `reconnect_timeout`. A cancelled step loses nothing: the next one resumes. One task at a time may
    iterate.
    """

    def __init__(
        self,
        connection: Connection,
        table_id: str,
        token: SeatToken | None,
        after_revision: int | None = None,
        *,
        views: bool = False,
        legal_moves: bool = False,
        chat: bool = False,
        after_message: int = 0,
    ) -> None:
        self._connection = connection
        self._table_id = table_id
        self._token = token
        self._token_used = ""
        self._views = views
        self._legal_moves = legal_moves
        self._chat = chat
        self._cursor = Cursor(after_revision, views=views, message=after_message)
        self._outage = Outage(connection.streams)
        # After the last revision of a finished table nothing comes.
        self._may_be_finished = after_revision is not None
        self._call: (
            grpc.aio.UnaryStreamCall[table_service_pb2.WatchTableRequest, table_service_pb2.WatchTableResponse] | None
        ) = None
        self._is_closed = False

    @property
    def revision(self) -> int | None:
        """The newest revision seen, after which a later watch can resume; None before the first state."""
        return self._cursor.revision

    @property
    def last_message(self) -> int:
        """The number of the newest chat message seen, after which a later watch can resume; 0 before the first."""
        return self._cursor.message

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        # After `break` in a loop gRPC by itself would keep the stream until a garbage collection.
        self._cancel_call()

    def __aiter__(self) -> Self:
        return self

    async def aclose(self) -> None:
        """End the watch and its stream."""
        self._is_closed = True
        self._cancel_call()

    async def __anext__(self) -> Update:
        while not self._is_over():
            try:
                update = await self._read_update()
            except asyncio.CancelledError:
                self._cancel_call()
                if self._is_over() and not is_being_cancelled():
                    break
                raise
            except BuracoError as error:
                self._cancel_call()
                await self._outage.wait(error)
            else:
                if update is not None:
                    return update
        self._cancel_call()
        raise StopAsyncIteration

    async def _read_update(self) -> Update | None:
        """Return the update of the next message, or None if it has no new one. Raise BuracoError if the stream ends."""
        if self._may_be_finished:
            await self._check_finished()
            return None
        try:
            response = await self._read_message()
        except grpc.aio.AioRpcError as error:
            failure = from_rpc_error(error)
            if self._token is not None and self._token.has_replaced(self._token_used, failure):
                failure = reconnect_requested()
            raise failure from error
        except TimeoutError:
            raise stream_broken(f"no message came for {self._connection.streams.max_silence} s") from None
        if response is None:
            self._cursor.end_stream()
            if self._cursor.is_finished:
                return None
            raise stream_broken("the stream ended")
        if response.HasField("reconnect"):
            raise reconnect_requested()
        update = get_update(response)
        if update is not None and not self._cursor.advance(update):
            return None
        self._outage.end()
        return update

    async def _read_message(self) -> table_service_pb2.WatchTableResponse | None:
        """Return the next message, from a new stream if none is open; None at the end of the stream."""
        metadata = await self._get_metadata()
        if self._call is None:
            request = table_service_pb2.WatchTableRequest(
                table_id=self._table_id,
                after_revision=self._cursor.revision,
                views=self._views,
                legal_moves=self._legal_moves,
                chat=self._chat,
                after_message=self._cursor.message,
            )
            self._call = self._connection.tables.WatchTable(
                request, metadata=(*self._connection.metadata, *metadata, *trace_context()), wait_for_ready=True
            )
            self._token_used = "" if self._token is None else self._token.text
        async with asyncio.timeout(self._connection.streams.max_silence):
            message = await self._call.read()
        return message if isinstance(message, table_service_pb2.WatchTableResponse) else None

    async def _check_finished(self) -> None:
        """Find out whether anything can come: a finished table may have nothing more to send."""
        answer = await self._connection.call(
            self._connection.tables.GetTable,
            table_service_pb2.GetTableRequest(table_id=self._table_id),
            metadata=await self._get_metadata(),
        )
        self._may_be_finished = False
        if answer.table.state == table_pb2.TABLE_STATE_FINISHED:
            self._cursor.final_revision = answer.table.revision

    async def _get_metadata(self) -> Metadata:
        """Return the metadata that proves the seat; empty for the public view."""
        return () if self._token is None else await self._token.get_metadata()

    def _is_over(self) -> bool:
        return self._is_closed or self._cursor.is_finished

    def _cancel_call(self) -> None:
        if self._call is not None:
            self._call.cancel()
            self._call = None
