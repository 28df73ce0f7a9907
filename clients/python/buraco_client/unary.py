"""Calls with one request and one answer: a deadline on each, and another try where that is safe."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, TypeVar

import grpc
import grpc.aio

from buraco_client.errors import from_rpc_error

if TYPE_CHECKING:
    from buraco_client.backoff import Backoff
    from buraco_client.errors import BuracoError

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")

Metadata = tuple[tuple[str, str], ...]


def new_request_id() -> str:
    """An id for one mutating call and all its repeats."""
    return str(uuid.uuid4())


class Caller:
    """Makes calls within a deadline.

    UNAVAILABLE is tried again, after the time that the service asks for, and RESOURCE_EXHAUSTED where it
    does; so is CANCELLED, with which a replica that stops may end what it has not begun to serve, and ABORTED
    where the caller did not ask for a certain revision. All calls of the contract may be repeated: reads
    change nothing, and the others carry a request id, under which the service answers a repeat with the first
    answer.
    """

    def __init__(self, timeout: float, backoff: Backoff, metadata: Metadata = ()) -> None:
        """`metadata` goes with every call."""
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
        request_id: str | None = None,
        revision: int | None = None,
    ) -> _Response:
        """The answer to `request`, within `timeout` seconds, all tries together. Raises a BuracoError."""
        clock = asyncio.get_running_loop().time
        remaining = self._timeout if timeout is None else timeout
        deadline = clock() + remaining
        failures = 0
        metadata = (*self._metadata, *metadata)
        while True:
            try:
                return await method(request, timeout=remaining, metadata=metadata)
            except grpc.aio.AioRpcError as error:
                failures += 1
                failure = from_rpc_error(error)
                failure.request_id = request_id
                delay = retry_delay(failure, self._backoff, failures, revision)
                if delay is None or clock() + delay >= deadline:
                    raise failure from error
            await asyncio.sleep(delay)
            remaining = max(deadline - clock(), 0.0)


def retry_delay(failure: BuracoError, backoff: Backoff, failures: int, revision: int | None) -> float | None:
    """Seconds to wait before the same call is worth another try; None when it is not."""
    curable = (
        failure.code is grpc.StatusCode.UNAVAILABLE
        # Not by the caller: that would have been asyncio's CancelledError.
        or failure.code is grpc.StatusCode.CANCELLED
        # The call lost a race against another change; nothing of it was written.
        or (failure.code is grpc.StatusCode.ABORTED and revision is None)
        or (failure.code is grpc.StatusCode.RESOURCE_EXHAUSTED and failure.retry_after is not None)
    )
    return backoff.delay(failures) + (failure.retry_after or 0.0) if curable else None
