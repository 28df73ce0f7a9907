"""Positions that callers send: read, judged, and remembered.

A caller sends the same position again to list its moves, to look at it, to play a move; and the next one it sends is
what it was answered. To read a position and to judge it cost more than to play on from it.
"""

from __future__ import annotations

from typing import Final

from buraco.v1 import deal_pb2
from buraco_codec.deals import deal_from_pb
from buraco_rules import Deal, ValidationError, deal_problems
from buraco_service.requests import RequestProblems
from buraco_service.sized_cache import SizedCache

_MOST: Final = 16 << 20
"""Bytes: room for about 2,000 positions in play."""
_POSITION_SIZE: Final = 2048
_SIZE_A_BYTE: Final = 14
"""Bytes that a position takes at most, beside those for each byte of its snapshot."""


class Positions:
    """The positions that this process reads; it knows some of them already."""

    def __init__(self) -> None:
        # By the serialised snapshot.
        self._known = SizedCache[bytes, Deal](_MOST)

    def read(self, snapshot: deal_pb2.Snapshot, problems: RequestProblems) -> Deal | None:
        """The position of a request's `snapshot`; None where it is none, or one that play cannot reach."""
        data = snapshot.SerializeToString()
        deal = self._known.get(data)
        if deal is None:
            deal = _judged(snapshot, problems)
            if deal is not None:
                self._remember(data, deal)
        return deal

    def answered(self, snapshot: bytes, deal: Deal) -> None:
        """A caller gets this snapshot of a position: likely to come back, and sound as what it came from.

        `snapshots` writes the fields in the order in which protobuf does, so that `read` will know it.
        """
        self._remember(snapshot, deal)

    def _remember(self, data: bytes, deal: Deal) -> None:
        self._known.put(data, deal, _POSITION_SIZE + _SIZE_A_BYTE * len(data))


def _judged(snapshot: deal_pb2.Snapshot, problems: RequestProblems) -> Deal | None:
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
