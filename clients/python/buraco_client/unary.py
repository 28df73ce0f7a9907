"""Calls with one request and one answer: each has a deadline and is repeated where that is safe."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, TypeVar

import grpc
import grpc.aio

from buraco_client.errors import from_rpc_error
from buraco_client.trace_context import trace_context

if TYPE_CHECKING:
    from buraco_client.backoff import Backoff
    from buraco_client.errors import BuracoError

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")

Metadata = tuple[tuple[str, str], ...]


def new_request_id() -> str:
    """Return a random id for one call that changes something and all repeats of it.

    >>> len(new_request_id())
    36
    """
    return str(uuid.uuid4())


class Caller:
    """Makes calls within a deadline and repeats those that `retry_delay` finds worth it.

    All calls of the contract may be repeated: reads change nothing, and the others carry a request id, under which the
    service answers a repeat with the first answer.
    """

    def __init__(self, timeout: float, backoff: Backoff, metadata: Metadata = ()) -> None:
        """`timeout`: seconds for a call without one of its own. `metadata`: sent with every call."""
        self._timeout = timeout
        self._backoff = backoff
        self._metadata = metadata

    async def __call__(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[_Request, _Response],
        request: _Request,
        *,
        metadata: Metadata = (),
        timeout: float | None = None,
        revision: int | None = None,
    ) -> _Response:
        """Return the answer to `request`, within `timeout` seconds for all attempts together.

        `revision`: the one that the request insists on. Raise a BuracoError, which carries the request id.
        """
        clock = asyncio.get_running_loop().time
        remaining = self._timeout if timeout is None else timeout
        deadline = clock() + remaining
        failures = 0
        metadata = (*self._metadata, *metadata, *trace_context())
        while True:
            try:
                return await method(request, timeout=remaining, metadata=metadata)
            except grpc.aio.AioRpcError as error:
                failures += 1
                failure = from_rpc_error(error)
                failure.request_id = getattr(request, "request_id", None)
                delay = retry_delay(failure, self._backoff, failures, revision)
                if delay is None or clock() + delay >= deadline:
                    raise failure from error
            await asyncio.sleep(delay)
            remaining = max(deadline - clock(), 0.0)


def retry_delay(failure: BuracoError, backoff: Backoff, failures: int, revision: int | None) -> float | None:
    """Return the seconds to wait before repeating a call, or None if a repeat cannot help.

    `failures`: attempts that failed so far. `revision`: the one that the call insists on, if any.

    >>> from buraco_client import Backoff, LimitReached, TableUnknown
    >>> busy = LimitReached(grpc.StatusCode.RESOURCE_EXHAUSTED, retry_after=2.0)
    >>> 2.0 <= retry_delay(busy, Backoff(first=0.1), failures=1, revision=None) <= 2.1
    True
    >>> retry_delay(TableUnknown(grpc.StatusCode.NOT_FOUND), Backoff(), failures=1, revision=None) is None
    True
    """
    is_temporary = (
        # CANCELLED: a replica that stops ends the calls that reach it too late.
        failure.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        # ABORTED: another change preceded the call, of which nothing was written.
        or (failure.code is grpc.StatusCode.ABORTED and revision is None)
        or (failure.code is grpc.StatusCode.RESOURCE_EXHAUSTED and failure.retry_after is not None)
    )
    return backoff.delay(failures) + (failure.retry_after or 0.0) if is_temporary else None
