"""Which calls are let in: by their API key, by what their peer has going, and by what this replica has going."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import grpc.aio

from buraco_service import errors
from buraco_service.access.api_keys import ApiKeys
from buraco_service.access.peers import address_of
from buraco_service.access.request_rate import RequestRate
from buraco_service.observing.current_call import CallContext, current_call

# Seconds.
_OPENING_PATIENCE = 0.5

_Context = grpc.aio.ServicerContext[Any, Any]


class Limits(NamedTuple):
    """The limits of one replica; what they mean stands at the settings of the same names."""

    max_message_bytes: int = 1_048_576
    max_concurrent_calls: int = 4096
    max_watches: int = 2048
    max_peer_watches: int = 512
    max_request_rate: int = 0
    max_request_burst: int = 100
    trusted_proxies: int = 0


class Admission:
    """Lets calls in and counts them. Not for probes and tools, which are let in whatever happens."""

    def __init__(self, limits: Limits, api_keys: ApiKeys) -> None:
        self._limits = limits
        self._api_keys = api_keys
        self._calls = 0
        self._streams = 0
        self._streams_of: Counter[str] = Counter()
        rate = limits.max_request_rate
        self._rate = RequestRate(rate, limits.max_request_burst) if rate else None

    def enter(self, call: CallContext, context: _Context, *, stream: bool) -> Callable[[], None]:
        """Lets a call in; what is returned is to be called when it ends. Raises the ApiError of one that is refused."""
        try:
            call.caller = self._api_keys.admit(call.method, call.metadata)
        finally:
            # Who guesses keys is not spared the count.
            peer = self._peer(call, context) if stream or self._rate is not None else ""
            self._charge(peer)
        if not stream:
            if self._calls >= self._limits.max_concurrent_calls:
                raise errors.resource_exhausted("concurrent_calls", self._limits.max_concurrent_calls)
            self._calls += 1
            return self._leave
        if self._rate is not None:
            call.charge = partial(self._charge, peer)
        if self._streams >= self._limits.max_watches:
            raise errors.resource_exhausted("watches", self._limits.max_watches)
        most = self._limits.max_peer_watches
        if self._streams_of[peer] >= most:
            raise errors.limit_reached("peer_watches", most, f"you have as many watches as a peer may have ({most})")
        self._streams += 1
        self._streams_of[peer] += 1
        return partial(self._leave_stream, peer)

    @property
    def busy(self) -> bool:
        """Whether calls that were let in are being served now."""
        return bool(self._calls or self._streams)

    def _peer(self, call: CallContext, context: _Context) -> str:
        if call.caller is not None:
            return f"key {call.caller}"
        return address_of(context.peer(), call.metadata, self._limits.trusted_proxies)

    def _charge(self, peer: str) -> None:
        if self._rate is None:
            return
        wait = self._rate.wait_of(peer)
        if wait:
            most = self._limits.max_request_rate
            raise errors.limit_reached(
                "request_rate", most, f"you send more requests than a peer may ({most} a second)", wait
            )

    def _leave(self) -> None:
        self._calls -= 1

    def _leave_stream(self, peer: str) -> None:
        self._streams -= 1
        self._streams_of[peer] -= 1
        if not self._streams_of[peer]:
            del self._streams_of[peer]


def current_caller() -> str | None:
    """The name of the API key of the call that this task works for; None for a call without."""
    call = current_call.get()
    return None if call is None else call.caller


def charge_request() -> None:
    """Counts a request that came on a stream as if it were a call. Raises LIMIT_REACHED if it is one too many."""
    call = current_call.get()
    if call is not None and call.charge is not None:
        call.charge()


async def let_speak(context: _Context) -> None:
    """Waits a moment for the first message of a two-way stream that is about to be refused.

    A client that is still writing when its stream ends does not get to see why it ended.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_OPENING_PATIENCE):
            await context.read()
