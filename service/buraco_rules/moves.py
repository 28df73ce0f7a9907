"""The moves of a turn (R3.1). Cards may be named in any order.

Data classes, not tuples: two moves are equal only if they are of one kind.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DrawStock:
    """Draw the top card of the stock."""


@dataclass(frozen=True, slots=True)
class TakePile:
    """Take the whole discard pile."""


@dataclass(frozen=True, slots=True)
class LayMeld:
    """Lay a new meld (R4)."""

    cards: tuple[int, ...]
    wild_position: int | None = None
    """The place at which the wild shall stand in a run, 1 to 14; None: R5.4 decides."""


@dataclass(frozen=True, slots=True)
class LayOff:
    """Lay cards off on a meld of one's own side (R5.1)."""

    meld: int
    """Index among the side's melds."""
    cards: tuple[int, ...]
    wild_position: int | None = None
    """The place at which the run's wild shall stand afterwards, 1 to 14; None: R5.4 decides."""


@dataclass(frozen=True, slots=True)
class MoveWild:
    """Move a wild from one end of a run to the other (R5.2)."""

    meld: int
    """Index among the side's melds."""
    wild_position: int
    """The place just beyond the other end."""


@dataclass(frozen=True, slots=True)
class Discard:
    """Discard one card, which ends the turn."""

    card: int


Move = DrawStock | TakePile | LayMeld | LayOff | MoveWild | Discard
