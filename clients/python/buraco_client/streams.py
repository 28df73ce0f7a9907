"""What the two resuming streams have in common: what is new, and when to open the stream anew."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import grpc

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client.backoff import Backoff
from buraco_client.errors import BuracoError, Unavailable

#: What a stream yields: the whole state, a change, or the news that the changes asked for are no longer kept.
Update = table_service_pb2.TableUpdate | table_pb2.Events | table_service_pb2.HistoryGone

# CANCELLED is the server's doing here, and streams have no deadline of ours: somebody on the way ended them.
_BROKEN: Final = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED})


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How long a stream may be silent, and how long it may take to bring it back, both in seconds."""

    heartbeat_timeout: float
    patience: float
    backoff: Backoff

    @property
    def silence(self) -> float:
        """Seconds without a message after which a stream counts as broken."""
        return min(self.heartbeat_timeout, self.patience)


class Cursor:
    """Where a stream stands in a table's history. Tells what is new from what was seen before."""

    def __init__(self, revision: int | None = None) -> None:
        #: The newest revision seen; None before the first state.
        self.revision = revision
        self._final: int | None = None

    @property
    def finished(self) -> bool:
        """Whether the match is over and everything up to its end was seen."""
        return self._final is not None and self.revision is not None and self.revision >= self._final

    def finishes_at(self, revision: int) -> None:
        """The match is over, and nothing of interest comes after this revision."""
        self._final = revision

    def take(self, update: Update) -> bool:
        """Moves on to the update; False when it is not new."""
        if isinstance(update, table_pb2.Events):
            if not self._advance(update.revision):
                return False
            if any(event.HasField("match_ended") for event in update.events):
                self._final = update.revision
        elif isinstance(update, table_service_pb2.TableUpdate):
            if not self._advance(update.table.revision):
                return False
            if update.table.state == table_pb2.TABLE_STATE_FINISHED:
                self._final = update.table.revision
        else:
            # The state that follows counts even if its revision is lower: the store may have been restored.
            self.revision = self._final = None
        return True

    def _advance(self, revision: int) -> bool:
        if self.revision is not None and revision <= self.revision:
            return False
        self.revision = revision
        return True


class Outage:
    """Failures in a row: says how long to wait before the stream is opened anew, and when to give up."""

    def __init__(self, settings: StreamSettings) -> None:
        self._settings = settings
        self._failures = 0
        self._since = 0.0

    def over(self) -> None:
        """Something new came down the stream: it works."""
        self._failures = 0

    async def pause(self, error: BuracoError) -> None:
        """Waits before the next opening; raises `error` when it cannot be cured by that, or lasts too long."""
        if not _curable(error):
            self.over()
            raise error
        now = asyncio.get_running_loop().time()
        if self._failures == 0:
            self._since = now
        self._failures += 1
        if isinstance(error, _Draining) and self._failures == 1:
            return
        delay = self._settings.backoff.delay(self._failures) + (error.retry_after or 0.0)
        if now + delay - self._since > self._settings.patience:
            self.over()
            raise error
        await asyncio.sleep(delay)


def _curable(error: BuracoError) -> bool:
    if error.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return error.retry_after is not None
    # Without a reason an internal error is one of the transport, not of the service. And grpc.aio says INTERNAL, in
    # place of the real status, when a message is being written to a call that ends: another stream tells.
    return error.code in _BROKEN or (error.code is grpc.StatusCode.INTERNAL and not error.reason)


class _Draining(Unavailable):
    """The server itself wants the stream opened anew: the first time there is nothing to wait for."""


def draining() -> BuracoError:
    """The error for a stream that its replica wants opened anew."""
    return _Draining(grpc.StatusCode.UNAVAILABLE, message="the replica wants the stream opened anew")


def broken(message: str) -> BuracoError:
    """The error for a stream that ended without a status of its own to show."""
    return Unavailable(grpc.StatusCode.UNAVAILABLE, message=message)


def being_cancelled() -> bool:
    """Whether the running task itself is cancelled, and not only the call it was reading."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def update_of(
    response: table_service_pb2.WatchTableResponse | table_service_pb2.PlayTableResponse,
) -> Update | None:
    """The update that a message brings, if it brings one."""
    kind = response.WhichOneof("update")
    if kind == "events":
        return response.events
    if kind == "state":
        return response.state
    if kind == "history_gone":
        return response.history_gone
    return None
