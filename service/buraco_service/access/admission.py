"""Which calls are admitted: by their API key, and by how many their peer and this replica have going.

A call counts from its headers on, before its message has come. Probes and tools (health, reflection) are counted apart,
so that nothing else takes their room.
"""

from __future__ import annotations

import asyncio
import math
from enum import IntEnum
from functools import partial
from typing import Any

import grpc.aio

from buraco_service import errors
from buraco_service.access.api_keys import ApiKeys
from buraco_service.access.limits import Limits
from buraco_service.access.peers import find_address
from buraco_service.access.pools import Pool, UnsentCalls
from buraco_service.access.request_rate import RequestRate
from buraco_service.errors import ApiError
from buraco_service.observing.current_call import CallContext, current_call

_Context = grpc.aio.ServicerContext[Any, Any]


class Kind(IntEnum):
    """The kinds of calls that limits distinguish."""

    CALL = 0
    """A unary call."""
    STREAM = 1
    """A stream that watches or plays a table."""
    PROBE = 2
    """A unary call of health or reflection."""
    PROBE_STREAM = 3
    """A stream of health or reflection."""

    @property
    def is_probe(self) -> bool:
        """Return True for health and reflection, which need no key and have no rate limit."""
        return self >= Kind.PROBE


class Admission:
    """Admits calls, and counts them until they end."""

    def __init__(self, limits: Limits, api_keys: ApiKeys) -> None:
        self._limits = limits
        self._api_keys = api_keys
        self._loop = asyncio.get_running_loop()
        streams = ("watches", limits.max_watches, limits.max_peer_watches)
        self._open: dict[int, Pool] = {
            Kind.CALL: Pool("calls", limits.max_concurrent_calls, limits.max_peer_calls, "concurrent_calls"),
            Kind.STREAM: Pool(*streams),
            # Never full: a replica that does not answer its probes is restarted.
            Kind.PROBE: Pool("calls", math.inf, limits.max_concurrent_calls),
            Kind.PROBE_STREAM: Pool(*streams),
        }
        calls, probes = (UnsentCalls(limits.max_unsent, limits.max_peer_unsent) for _ in range(2))
        self._unsent: dict[int, UnsentCalls] = {kind: probes if kind.is_probe else calls for kind in Kind}
        # Admitted calls whose message has come, but no probes.
        self._served = 0
        rate = limits.max_request_rate
        self._rate = RequestRate(rate, limits.max_request_burst) if rate else None

    @property
    def is_busy(self) -> bool:
        """Return True while calls are being served; probes, and calls whose message has not come, do not count."""
        return self._served > 0

    @property
    def unsent(self) -> int:
        """Return how many calls are open whose message has not come."""
        return len(self._unsent[Kind.CALL]) + len(self._unsent[Kind.PROBE])

    def arrive(self, call: CallContext, context: _Context, kind: Kind) -> None:
        """Admit a call whose headers have come. Raise the ApiError of one that is refused.

        `leave` has to follow in both cases.
        """
        denied: ApiError | None = None
        if not kind.is_probe:
            try:
                call.caller = self._api_keys.admit(call.method, call.metadata)
            except ApiError as error:
                denied = error
        call.kind = kind
        call.peer = self._peer(call, context)
        self._unsent[kind].add(call, self._loop.time() + self._limits.message_timeout)
        if not kind.is_probe:
            # Guessing keys counts as well.
            self._charge(call.peer)
        if denied is not None:
            raise denied
        self._open[kind].enter(call.peer)
        call.admitted = True
        if self._rate is not None and kind is Kind.STREAM:
            call.charge = partial(self._charge, call.peer)

    def awaits_message(self, call: CallContext) -> bool:
        """Return True for a call whose message has not come."""
        return call in self._unsent[call.kind]

    def message_came(self, call: CallContext) -> None:
        """Note that the message of a call has come, or the first of its stream. Repeatable."""
        if self._unsent[call.kind].discard(call) and call.admitted and call.kind < Kind.PROBE:
            call.served = True
            self._served += 1

    def leave(self, call: CallContext) -> None:
        """Stop counting a call that has ended or was refused."""
        self._unsent[call.kind].discard(call)
        if call.served:
            self._served -= 1
        if call.admitted:
            self._open[call.kind].leave(call.peer)

    def end_overdue(self) -> None:
        """End the calls whose message should have come by now."""
        error = errors.message_overdue(self._limits.message_timeout)
        for kind in (Kind.CALL, Kind.PROBE):
            self._unsent[kind].end_overdue(self._loop.time(), error)

    def _peer(self, call: CallContext, context: _Context) -> str:
        if call.caller is not None:
            return f"key {call.caller}"
        return find_address(context.peer(), call.metadata, self._limits.trusted_proxies)

    def _charge(self, peer: str) -> None:
        if self._rate is None:
            return
        wait = self._rate.take(peer)
        if wait:
            rate = self._limits.max_request_rate
            message = f"you send more requests than a peer may ({rate} a second)"
            raise errors.limit_reached("request_rate", rate, message, wait)


def current_caller() -> str | None:
    """Return the name of the API key of the call that this task works for; None without a key or a call."""
    call = current_call.get()
    return None if call is None else call.caller


def charge_request() -> None:
    """Count a request that came on the current stream, if requests are limited, as if it were a call.

    Raise LIMIT_REACHED if it is one too many.
    """
    call = current_call.get()
    if call is not None and call.charge is not None:
        call.charge()
