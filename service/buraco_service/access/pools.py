"""Calls that count together: so many at a time, and so many of one peer."""

from __future__ import annotations

from buraco_service import errors
from buraco_service.errors import ApiError
from buraco_service.observing.current_call import CallContext


class Pool:
    """Admitted calls of one kind. `limit` names the bound of all of them in errors, `things` that of one peer."""

    __slots__ = ("_count", "_limit", "_max", "_max_of_peer", "_of_peer", "_things")

    def __init__(self, things: str, maximum: float, max_of_peer: int, limit: str | None = None) -> None:
        self._things = things
        self._limit = limit or things
        self._max = maximum
        self._max_of_peer = max_of_peer
        self._of_peer: dict[str, int] = {}
        self._count = 0

    def enter(self, peer: str) -> None:
        """Count a call in. Raise LIMIT_REACHED, and count nothing, if there is no room."""
        if self._count >= self._max:
            raise errors.resource_exhausted(self._limit, int(self._max))
        count = self._of_peer.get(peer, 0)
        if count >= self._max_of_peer:
            raise errors.peer_exhausted(self._things, self._max_of_peer)
        self._of_peer[peer] = count + 1
        self._count += 1

    def leave(self, peer: str) -> None:
        """Count out a call that has entered. Raise KeyError if the peer has none."""
        self._count -= 1
        count = self._of_peer[peer] - 1
        if count:
            self._of_peer[peer] = count
        else:
            del self._of_peer[peer]


class UnsentCalls:
    """Calls whose message has not come.

    One too many ends the oldest, instead of being refused: a message comes right behind its headers unless somebody
    holds it back, and who does that must not take the room of others, even of those at the same address.
    """

    def __init__(self, maximum: int, max_of_peer: int) -> None:
        self._max = maximum
        self._max_of_peer = max_of_peer
        # When each message is due, in the order in which the calls came; and the same calls by peer.
        self._due: dict[CallContext, float] = {}
        self._of_peer: dict[str, dict[CallContext, None]] = {}

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, call: CallContext) -> bool:
        return call in self._due

    def add(self, call: CallContext, due: float) -> None:
        """Add a call; if its peer or all have too many, end the oldest of those with LIMIT_REACHED."""
        of_peer = self._of_peer.setdefault(call.peer, {})
        if len(of_peer) >= self._max_of_peer:
            self._end(next(iter(of_peer)), errors.peer_exhausted("unsent_messages", self._max_of_peer))
        elif len(self._due) >= self._max:
            self._end(next(iter(self._due)), errors.resource_exhausted("unsent_messages", self._max))
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
        """End the calls whose message is due by `now`, with the error."""
        while self._due:
            call, due = next(iter(self._due.items()))
            if due > now:
                return
            self._end(call, error)

    def _end(self, call: CallContext, error: ApiError) -> None:
        self.discard(call)
        call.end(error)
