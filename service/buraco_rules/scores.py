"""Score sheets: the lines of a deal's score (R9.1)."""

from enum import IntEnum
from typing import NamedTuple

from buraco_rules.meld import BuracoKind, Meld


class ScoreLineKind(IntEnum):
    """What a line counts."""

    MELD_CARDS = 1
    """The cards of a meld."""
    BURACO = 2
    """The bonus of a buraco."""
    CLOSING = 3
    """The bonus for closing."""
    HAND = 4
    """The cards that a seat still holds."""
    NO_POT = 5
    """The side took no pot."""
    UNUSED_POT = 6
    """No card of a pot was played."""
    OPENING_PENALTIES = 7
    """All failed openings together (R11.2)."""


class ScoreLine(NamedTuple):
    """One line of a score sheet."""

    kind: ScoreLineKind
    points: int
    """Negative where the line is a deduction."""
    meld: int | None = None
    """Index in the side's melds, for MELD_CARDS and BURACO."""
    buraco: BuracoKind = BuracoKind.NONE
    """As valued by the rule set, for BURACO."""
    seat: int | None = None
    """Whose hand, for HAND."""


class SideScore(NamedTuple):
    """One side's lines; the total is their sum."""

    side: int
    lines: tuple[ScoreLine, ...]
    """In the order of their kinds, then of melds or seats; what counts nothing has no line."""
    total: int
    match_total: int
    """The side's match score with this deal counted."""
    melds: tuple[Meld, ...]
    """The side's melds that were counted."""


class DealScore(NamedTuple):
    """The score of a deal, line by line."""

    sides: tuple[SideScore, SideScore]
    final: bool
    """False while the deal is running: what would be counted if it ended now without a close."""
