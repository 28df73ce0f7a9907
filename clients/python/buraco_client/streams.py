"""What watches and play sessions share: which updates are new, and when to open a stream again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import grpc

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client.backoff import Backoff
from buraco_client.errors import BuracoError, Unavailable

#: What a stream yields: the whole state, a change, or the notice that the changes asked for are no longer stored; if
#: asked for, the view after a change, the legal moves if the seat is to move, and chat messages.
Update = (
    table_service_pb2.TableUpdate
    | table_pb2.Events
    | table_service_pb2.HistoryGone
    | table_service_pb2.ViewUpdate
    | table_service_pb2.PlayTurn
    | table_service_pb2.ChatMessage
)

# CANCELLED comes from the other side here, and these streams have no deadline: a server or proxy ended them.
_BROKEN: Final = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED})


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How long a stream may be silent, and for how long a broken one is opened again, both in seconds.

    >>> StreamSettings(heartbeat_timeout=30.0, reconnect_timeout=10.0, backoff=Backoff()).max_silence
    10.0
    """

    heartbeat_timeout: float
    reconnect_timeout: float
    backoff: Backoff

    @property
    def max_silence(self) -> float:
        """Seconds without a message after which a stream counts as broken."""
        return min(self.heartbeat_timeout, self.reconnect_timeout)


class Cursor:
    """The place of a stream in a table's history, which distinguishes new updates from repeated ones.

    >>> cursor = Cursor()
    >>> [cursor.advance(table_pb2.Events(revision=revision)) for revision in (4, 4, 5)]
    [True, False, True]
    >>> cursor.revision, cursor.is_finished
    (5, False)
    >>> [cursor.advance(table_service_pb2.ChatMessage(number=number)) for number in (1, 1, 3)], cursor.message
    ([True, False, True], 3)
    """

    def __init__(self, revision: int | None = None, *, views: bool = False, message: int = 0) -> None:
        self._awaits_view = views
        self._view_revision = self._turn_revision = -1
        #: The newest revision seen; None before the first state.
        self.revision = revision
        #: The number of the newest chat message seen; 0 before the first.
        self.message = message
        #: The revision after which nothing comes, because the match is over; None while it is not known.
        self.final_revision: int | None = None

    @property
    def is_finished(self) -> bool:
        """True if the match is over and everything up to its end was seen, the last view included if views come."""
        return self._is_end(self.revision) and (not self._awaits_view or self._is_end(self._view_revision))

    def end_stream(self) -> None:
        """Note that the stream has ended in order: if the match is over, no view follows any more."""
        if self._is_end(self.revision):
            self._awaits_view = False

    def _is_end(self, revision: int | None) -> bool:
        return self.final_revision is not None and revision is not None and revision >= self.final_revision

    def advance(self, update: Update) -> bool:
        """Move to an update and return True, or return False if it is not new.

        HistoryGone is always new, and so is the state after it, whatever its revision.
        """
        if isinstance(update, table_service_pb2.HistoryGone):
            # The state that follows is new even if its revision is lower: the store may have been restored.
            self.revision = self.final_revision = None
            self._view_revision = self._turn_revision = -1
            return True
        # A stream that is opened again repeats the view and the turn.
        if isinstance(update, table_service_pb2.ViewUpdate):
            before, self._view_revision = self._view_revision, max(self._view_revision, update.revision)
            return update.revision > before
        if isinstance(update, table_service_pb2.PlayTurn):
            before, self._turn_revision = self._turn_revision, max(self._turn_revision, update.revision)
            return update.revision > before
        if isinstance(update, table_service_pb2.ChatMessage):
            is_new, self.message = update.number > self.message, max(self.message, update.number)
            return is_new
        if isinstance(update, table_pb2.Events):
            revision = update.revision
            is_final = any(event.HasField("match_ended") for event in update.events)
        else:
            revision = update.table.revision
            is_final = update.table.state == table_pb2.TABLE_STATE_FINISHED
        if self.revision is not None and revision <= self.revision:
            return False
        self.revision = revision
        if isinstance(update, table_service_pb2.TableUpdate):
            self._view_revision = revision
        if is_final:
            self.final_revision = revision
        return True


class Outage:
    """Failures of a stream in a row: how long to wait before it is opened again, and when to give up.

    >>> outage = Outage(StreamSettings(30.0, reconnect_timeout=0.0, backoff=Backoff(first=0.01)))
    >>> asyncio.run(outage.wait(stream_broken("the stream ended")))
    Traceback (most recent call last):
    buraco_client.errors.Unavailable: UNAVAILABLE: the stream ended
    """

    def __init__(self, settings: StreamSettings) -> None:
        self._settings = settings
        self._failures = 0
        self._since = 0.0

    def end(self) -> None:
        """Forget the failures, because the stream works."""
        self._failures = 0

    async def wait(self, error: BuracoError) -> None:
        """Wait before the next attempt; not before the first one after `reconnect_requested`.

        Raise `error` if another attempt cannot help, or the outage lasts too long.
        """
        if not _is_temporary(error):
            self.end()
            raise error
        now = asyncio.get_running_loop().time()
        if self._failures == 0:
            self._since = now
        self._failures += 1
        if isinstance(error, _ReconnectRequested) and self._failures == 1:
            return
        delay = self._settings.backoff.delay(self._failures) + (error.retry_after or 0.0)
        if now + delay - self._since > self._settings.reconnect_timeout:
            self.end()
            raise error
        await asyncio.sleep(delay)


def _is_temporary(error: BuracoError) -> bool:
    if error.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return error.retry_after is not None
    # Without a reason an internal error comes from the transport, not from the service. And grpc.aio reports INTERNAL
    # instead of the real status if a call ends while a message is being written: the next stream shows the real one.
    return error.code in _BROKEN or (error.code is grpc.StatusCode.INTERNAL and not error.reason)


class _ReconnectRequested(Unavailable):
    """The server asks for another stream: the first attempt need not wait."""


def reconnect_requested() -> BuracoError:
    """Return the error for a stream that its replica wants opened again, at first without waiting.

    >>> str(reconnect_requested())
    'UNAVAILABLE: the replica asks for another stream'
    """
    return _ReconnectRequested(grpc.StatusCode.UNAVAILABLE, message="the replica asks for another stream")


def stream_broken(message: str) -> BuracoError:
    """Return the error for a stream that ended without a status of its own.

    >>> str(stream_broken("the stream ended"))
    'UNAVAILABLE: the stream ended'
    """
    return Unavailable(grpc.StatusCode.UNAVAILABLE, message=message)


def is_being_cancelled() -> bool:
    """Return True if the running task itself is being cancelled, and not only the call that it was reading.

    >>> async def main():
    ...     return is_being_cancelled()
    >>> asyncio.run(main())
    False
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def get_update(
    response: table_service_pb2.WatchTableResponse | table_service_pb2.PlayTableResponse,
) -> Update | None:
    """Return the update in a message, or None if it has none, such as a heartbeat.

    >>> get_update(table_service_pb2.WatchTableResponse(events=table_pb2.Events(revision=4)))
    revision: 4
    <BLANKLINE>
    """
    kind = response.WhichOneof("update")
    if kind == "events":
        return response.events
    if kind == "state":
        return response.state
    if kind == "history_gone":
        return response.history_gone
    if kind == "view":
        return response.view
    if kind == "turn":
        return response.turn
    if kind == "chat":
        return response.chat
    return None
