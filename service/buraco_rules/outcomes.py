"""What laying cards can come to."""

from typing import NamedTuple

from buraco_rules.melds import Meld
from buraco_rules.moves import LayMeld


class Outcome(NamedTuple):
    """One thing that some cards can make of a meld on the table, or of nothing."""

    cards: tuple[int, ...]
    """The cards laid, in order of place."""
    meld: Meld
    """The meld afterwards."""
    wild_position: int | None
    """The place of the acting wild in a run; None when none acts, or for a set."""
    preference: tuple[int, ...]
    """The smallest is taken where the player does not say otherwise (R5.4)."""
    move: LayMeld
    """The move that makes the outcome of a new meld."""
