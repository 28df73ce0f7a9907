"""Positions that callers send: parsed, validated and cached.

A caller sends the same position again to list its moves, to look at it, to play a move; and the next one that it sends
is the one that it got. To parse and to validate a position costs more than to play on from it.
"""

from __future__ import annotations

from typing import Final

from buraco.v1 import deal_pb2
from buraco_codec.deals import deal_from_pb
from buraco_rules import Deal, ValidationError, deal_problems
from buraco_service.requests import RequestProblems
from buraco_service.sized_cache import SizedCache

_MAX_BYTES: Final = 16 << 20
"""Room for about 2,000 positions in play."""
_POSITION_SIZE: Final = 2048
_SIZE_A_BYTE: Final = 14
"""Bytes that a position takes at most, beside those for each byte of its snapshot."""


class Positions:
    """Reads positions, with those used last in a cache of 16 MiB."""

    def __init__(self) -> None:
        # By the serialised snapshot.
        self._cache = SizedCache[bytes, Deal](_MAX_BYTES)

    def read(self, snapshot: deal_pb2.Snapshot, problems: RequestProblems) -> Deal | None:
        """Return the position of a request's `snapshot`.

        Add problems (RULE_SET_INVALID, SNAPSHOT_INVALID) and return None if it is malformed or play cannot reach it.
        """
        data = snapshot.SerializeToString()
        deal = self._cache.get(data)
        if deal is None:
            deal = _validate(snapshot, problems)
            if deal is not None:
                self.add(data, deal)
        return deal

    def add(self, snapshot: bytes, deal: Deal) -> None:
        """Cache a position that is valid: one that was read, or that a caller gets and is likely to send.

        `snapshots` writes the fields in the order in which protobuf does, so that `read` will find it.
        """
        self._cache.put(snapshot, deal, _POSITION_SIZE + _SIZE_A_BYTE * len(snapshot))


def _validate(snapshot: deal_pb2.Snapshot, problems: RequestProblems) -> Deal | None:
    try:
        deal = deal_from_pb(snapshot)
    except ValidationError as error:
        for path, problem in error.problems:
            reason = "RULE_SET_INVALID" if path.startswith("rule_set.") else "SNAPSHOT_INVALID"
            problems.add(("snapshot", path), problem, reason=reason)
        return None
    unsound = deal_problems(deal)
    for path, problem in unsound:
        holder = "snapshot" if path.startswith(("seats", "match")) else "snapshot.deal"
        problems.add((holder, path), problem, reason="SNAPSHOT_INVALID")
    return None if unsound else deal
