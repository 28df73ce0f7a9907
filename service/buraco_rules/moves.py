"""The moves of a turn (R3.1). Cards may be named in any order.

Data classes, not tuples: two moves are equal only if they are of one kind.
"""

from buraco_rules._values import value


@value
class DrawStock:
    """Draw the top card of the stock."""


@value
class TakePile:
    """Take the whole discard pile."""


@value
class LayMeld:
    """Lay a new meld (R4)."""

    cards: tuple[int, ...]
    wild_position: int | None = None
    """The place asked for the wild in a run, 1 to 14; None: R5.4 decides."""


@value
class LayOff:
    """Lay cards off on a meld of one's own side (R5.1)."""

    meld: int
    """Index among the side's melds."""
    cards: tuple[int, ...]
    wild_position: int | None = None
    """The place asked for the run's wild afterwards, 1 to 14; None: R5.4 decides."""


@value
class MoveWild:
    """Move a wild from one end of a run to the other (R5.2)."""

    meld: int
    """Index among the side's melds."""
    wild_position: int
    """The place just beyond the other end."""


@value
class Discard:
    """Discard one card, which ends the turn."""

    card: int


Move = DrawStock | TakePile | LayMeld | LayOff | MoveWild | Discard
