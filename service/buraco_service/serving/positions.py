"""Positions that callers send: read, judged, and remembered.

A caller sends the same position again to list its moves, to look at it, to play a move; and the next one it sends is
what it was answered. To read a position and to judge it cost more than to play on from it.
"""

from __future__ import annotations

from typing import Final

from buraco.v1 import deal_pb2
from buraco_codec.deals import deal_from_pb
from buraco_codec.fields import FieldErrors, joined
from buraco_rules import Deal, deal_defects
from buraco_service.requests import Problems
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

    def read(self, snapshot: deal_pb2.Snapshot, problems: Problems) -> Deal | None:
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


def _judged(snapshot: deal_pb2.Snapshot, problems: Problems) -> Deal | None:
    try:
        deal = deal_from_pb(snapshot)
    except FieldErrors as errors:
        for field, problem in errors.errors:
            reason = "RULE_SET_INVALID" if field.startswith("rule_set.") else "SNAPSHOT_INVALID"
            problems.add(joined(("snapshot", field)), problem, reason=reason)
        return None
    defects = deal_defects(deal)
    for field, problem in defects:
        problems.add(_field_of_snapshot(field), problem, reason="SNAPSHOT_INVALID")
    return None if defects else deal


def _field_of_snapshot(field: str) -> str:
    """The field of a request that holds a field of the deal."""
    if not field:
        return "snapshot.deal"
    return f"snapshot.{field}" if field.startswith(("seats", "match")) else f"snapshot.deal.{field}"
