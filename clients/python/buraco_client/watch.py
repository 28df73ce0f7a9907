"""Watching a table."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client.errors import BuracoError, from_rpc_error
from buraco_client.streams import Cursor, Outage, Update, being_cancelled, broken, draining, update_of
from buraco_client.trace_context import trace_context

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from buraco_client.connection import Connection
    from buraco_client.token import SeatToken
    from buraco_client.unary import Metadata


class Watch(AsyncIterator[Update]):
    """What happens at a table, in order: `async for update in client.watch(table_id)`.

    First the state, then changes; no revision comes twice and none goes back. The stream is opened anew
    behind the scenes, after the last revision seen, when it breaks, when the replica asks for it, or when it
    falls silent. Where the changes missed are no longer kept, a HistoryGone says so and the fresh state
    follows: only there may the revision be lower.

    The iteration ends after the update with which the match ends. Nothing else ends it but `aclose()`, the
    end of the `async with` block, or a BuracoError: one that opening the stream anew cannot cure, or that
    lasted longer than the client's `patience`. A cancelled step loses nothing: the next one resumes. One
    iteration at a time.
    """

    def __init__(
        self, connection: Connection, table_id: str, token: SeatToken | None, after_revision: int | None = None
    ) -> None:
        self._connection = connection
        self._table_id = table_id
        self._token = token
        # The token that the stream was opened with.
        self._opened_with = ""
        self._cursor = Cursor(after_revision)
        self._outage = Outage(connection.streams)
        # After the last revision of a finished table nothing comes.
        self._unsure = after_revision is not None
        self._call: (
            grpc.aio.UnaryStreamCall[table_service_pb2.WatchTableRequest, table_service_pb2.WatchTableResponse] | None
        ) = None
        self._closed = False

    @property
    def revision(self) -> int | None:
        """The newest revision seen: a later watch can resume after it. None before the first state."""
        return self._cursor.revision

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        # An iteration left by `break`: gRPC by itself would keep the stream until a garbage collection.
        self._drop()

    def __aiter__(self) -> Self:
        return self

    async def aclose(self) -> None:
        """Ends the watch and its stream."""
        self._closed = True
        self._drop()

    async def __anext__(self) -> Update:
        while not self._over():
            try:
                update = await self._step()
            except asyncio.CancelledError:
                self._drop()
                if self._over() and not being_cancelled():
                    break
                raise
            except BuracoError as error:
                self._drop()
                await self._outage.pause(error)
            else:
                if update is not None:
                    return update
        self._drop()
        raise StopAsyncIteration

    async def _step(self) -> Update | None:
        """What the next message brings, if it is new. Raises the BuracoError of a stream that is at its end."""
        if self._unsure:
            await self._look()
            return None
        try:
            response = await self._read()
        except grpc.aio.AioRpcError as error:
            failure = from_rpc_error(error)
            if self._token is not None and self._token.outlived(failure, self._opened_with):
                failure = draining()
            raise failure from error
        except TimeoutError:
            raise broken(f"nothing was heard for {self._connection.streams.silence} s") from None
        if response is None:
            raise broken("the stream ended")
        if response.HasField("reconnect"):
            raise draining()
        update = update_of(response)
        if update is not None and not self._cursor.take(update):
            return None
        self._outage.over()
        return update

    async def _read(self) -> table_service_pb2.WatchTableResponse | None:
        """The next message; None at the end of the stream."""
        metadata = await self._proof()
        if self._call is None:
            request = table_service_pb2.WatchTableRequest(table_id=self._table_id, after_revision=self._cursor.revision)
            self._call = self._connection.tables.WatchTable(
                request, metadata=(*self._connection.metadata, *metadata, *trace_context()), wait_for_ready=True
            )
            self._opened_with = "" if self._token is None else self._token.text
        async with asyncio.timeout(self._connection.streams.silence):
            message = await self._call.read()
        return message if isinstance(message, table_service_pb2.WatchTableResponse) else None

    async def _look(self) -> None:
        """Finds out whether anything can come: a table that is finished may have nothing more to send."""
        answer = await self._connection.call(
            self._connection.tables.GetTable,
            table_service_pb2.GetTableRequest(table_id=self._table_id),
            metadata=await self._proof(),
        )
        self._unsure = False
        if answer.table.state == table_pb2.TABLE_STATE_FINISHED:
            self._cursor.finishes_at(answer.table.revision)

    async def _proof(self) -> Metadata:
        """What is sent for the seat, kept fresh while the stream goes on; nothing for everybody's view."""
        return () if self._token is None else await self._token.fresh()

    def _over(self) -> bool:
        return self._closed or self._cursor.finished

    def _drop(self) -> None:
        if self._call is not None:
            self._call.cancel()
            self._call = None
