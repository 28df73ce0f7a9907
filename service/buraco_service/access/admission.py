"""Which calls are let in: by their API key, by what their peer has going, and by what this replica has going.

A call counts from its headers on, before its message has come. Probes and tools (health, reflection) count apart, so
that nothing else takes their room.
"""

from __future__ import annotations

import asyncio
import math
from enum import IntEnum
from functools import partial
from typing import Any, Final, NamedTuple

import grpc.aio

from buraco_service import errors
from buraco_service.access.api_keys import ApiKeys
from buraco_service.access.peers import address_of
from buraco_service.access.request_rate import RequestRate
from buraco_service.errors import ApiError
from buraco_service.observing.current_call import CallContext, current_call

MESSAGE_HEADROOM: Final = 2
"""Messages up to so many times the limit are received, to be refused with a proper answer; larger ones grpc refuses."""
_UNSENT_BYTES: Final = 64 * 1024 * 1024
"""What messages that are only partly there may hold in memory, all together; a peer's a quarter of it."""
_LEAST_UNSENT: Final = 64
_PEER_SHARE: Final = 4

_Context = grpc.aio.ServicerContext[Any, Any]


class Limits(NamedTuple):
    """The limits of one replica; what they mean stands at the settings of the same names."""

    max_message_bytes: int = 65_536
    message_timeout: float = 10.0
    max_concurrent_calls: int = 4096
    max_peer_calls: int = 1024
    max_watches: int = 2048
    max_peer_watches: int = 512
    max_request_rate: int = 0
    max_request_burst: int = 100
    trusted_proxies: int = 0

    @property
    def most_unsent(self) -> int:
        """How many calls may be open whose message has not come: what they hold in memory is bounded by that."""
        return max(_LEAST_UNSENT, _UNSENT_BYTES // (MESSAGE_HEADROOM * self.max_message_bytes))

    @property
    def most_peer_unsent(self) -> int:
        """How many such calls one peer may have."""
        return self.most_unsent // _PEER_SHARE


class Kind(IntEnum):
    """What a call is, as far as limits are concerned."""

    CALL = 0
    STREAM = 1
    PROBE = 2
    PROBE_STREAM = 3

    @property
    def is_probe(self) -> bool:
        """Return True for health and reflection: no key is asked for, and no rate is counted."""
        return self >= Kind.PROBE


class Admission:
    """Lets calls in and counts them until they leave."""

    def __init__(self, limits: Limits, api_keys: ApiKeys) -> None:
        self._limits = limits
        self._api_keys = api_keys
        self._loop = asyncio.get_running_loop()
        streams = ("watches", limits.max_watches, limits.max_peer_watches)
        self._open: dict[int, _Pool] = {
            Kind.CALL: _Pool("calls", limits.max_concurrent_calls, limits.max_peer_calls, "concurrent_calls"),
            Kind.STREAM: _Pool(*streams),
            # However many are asking: a replica that does not answer is restarted.
            Kind.PROBE: _Pool("calls", math.inf, limits.max_concurrent_calls),
            Kind.PROBE_STREAM: _Pool(*streams),
        }
        calls, probes = (Unsent(limits.most_unsent, limits.most_peer_unsent) for _ in range(2))
        self._unsent: dict[int, Unsent] = {kind: probes if kind.is_probe else calls for kind in Kind}
        # Calls let in whose message has come, probes apart.
        self._served = 0
        rate = limits.max_request_rate
        self._rate = RequestRate(rate, limits.max_request_burst) if rate else None

    @property
    def busy(self) -> bool:
        """Return True while calls are being served; probes, and calls whose message has not come, do not count."""
        return self._served > 0

    @property
    def unsent(self) -> int:
        """How many calls are open whose message has not come."""
        return len(self._unsent[Kind.CALL]) + len(self._unsent[Kind.PROBE])

    def arrive(self, call: CallContext, context: _Context, kind: Kind) -> None:
        """Let a call in whose headers have come. Raise the ApiError of one that is refused.

        `leave` has to follow, whether it was refused or not.
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
            # Who guesses keys is not spared the count.
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
        """Count a call no longer among those whose message has not come."""
        if self._unsent[call.kind].discard(call) and call.admitted and call.kind < Kind.PROBE:
            call.served = True
            self._served += 1

    def leave(self, call: CallContext) -> None:
        """Count a call out that has ended or was refused."""
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


class _Pool:
    """Calls of one kind: so many at a time, and so many of one peer."""

    __slots__ = ("_count", "_limit", "_most", "_most_of_peer", "_of_peer", "_things")

    def __init__(self, things: str, most: float, most_of_peer: int, limit: str | None = None) -> None:
        self._things = things
        self._limit = limit or things
        self._most = most
        self._most_of_peer = most_of_peer
        self._of_peer: dict[str, int] = {}
        self._count = 0

    def enter(self, peer: str) -> None:
        """Count one in. Raise LIMIT_REACHED if there is no room."""
        if self._count >= self._most:
            raise errors.resource_exhausted(self._limit, int(self._most))
        count = self._of_peer.get(peer, 0)
        if count >= self._most_of_peer:
            raise errors.peer_exhausted(self._things, self._most_of_peer)
        self._of_peer[peer] = count + 1
        self._count += 1

    def leave(self, peer: str) -> None:
        """Make room for another one."""
        self._count -= 1
        count = self._of_peer[peer] - 1
        if count:
            self._of_peer[peer] = count
        else:
            del self._of_peer[peer]


class Unsent:
    """Calls whose message has not come: so many at a time, and so many of one peer.

    One more ends the oldest, instead of being refused: a message comes right behind its headers, unless somebody holds
    it back, and who does that is not to take the room of others, be they at the same address.
    """

    def __init__(self, most: int, most_of_peer: int) -> None:
        self._most = most
        self._most_of_peer = most_of_peer
        # When each message is due, in the order in which the calls came; and the same calls by peer.
        self._due: dict[CallContext, float] = {}
        self._of_peer: dict[str, dict[CallContext, None]] = {}

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, call: CallContext) -> bool:
        return call in self._due

    def add(self, call: CallContext, due: float) -> None:
        """Add a call, and end another one if there are too many."""
        of_peer = self._of_peer.setdefault(call.peer, {})
        if len(of_peer) >= self._most_of_peer:
            self._end(next(iter(of_peer)), errors.peer_exhausted("unsent_messages", self._most_of_peer))
        elif len(self._due) >= self._most:
            self._end(next(iter(self._due)), errors.resource_exhausted("unsent_messages", self._most))
        self._of_peer.setdefault(call.peer, of_peer)[call] = None
        self._due[call] = due

    def discard(self, call: CallContext) -> bool:
        """Remove a call; return True if it was there."""
        if self._due.pop(call, None) is None:
            return False
        of_peer = self._of_peer[call.peer]
        del of_peer[call]
        if not of_peer:
            del self._of_peer[call.peer]
        return True

    def end_overdue(self, now: float, error: ApiError) -> None:
        """End the calls whose message is due by now."""
        while self._due:
            call, due = next(iter(self._due.items()))
            if due > now:
                return
            self._end(call, error)

    def _end(self, call: CallContext, error: ApiError) -> None:
        self.discard(call)
        call.end(error)


def current_caller() -> str | None:
    """The name of the API key of the call that this task works for; None for a call without."""
    call = current_call.get()
    return None if call is None else call.caller


def charge_request() -> None:
    """Counts a request that came on a stream as if it were a call. Raises LIMIT_REACHED if it is one too many."""
    call = current_call.get()
    if call is not None and call.charge is not None:
        call.charge()
