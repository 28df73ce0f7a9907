"""Deals that stand still: all seats take a pile of one card in turn, and nobody draws or melds."""

from __future__ import annotations

from typing import Final

from buraco.v1 import event_pb2
from buraco_rules import View

PATIENCE: Final = 2
"""Rounds of such turns that are waited for."""


class Standstill:
    """Counts the turns that changed nothing but single cards of hands."""

    def __init__(self) -> None:
        self._turns = 0

    def note(self, event: event_pb2.Event) -> None:
        """Note an event of the table, redacted for any seat."""
        match event.WhichOneof("event"):
            case "took_pile":
                self._turns += 1
            case "dealt" | "drew" | "melded" | "laid_off":
                self._turns = 0

    def has_to_end(self, view: View) -> bool:
        """Return True if the deal stands still, and its seat gains nothing by that: its side does not lead."""
        side = view.seat_to_move & 1
        own, other = view.sides[side], view.sides[1 - side]
        leads = own.match_score + own.table_points > other.match_score + other.table_points
        return not leads and self._turns >= PATIENCE * len(view.hand_counts)
