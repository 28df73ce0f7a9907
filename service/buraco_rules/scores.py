"""Score sheets: the lines of a deal's score (R9.1)."""

from enum import IntEnum
from typing import NamedTuple

from buraco_rules.meld import BuracoKind, Meld


class ScoreLineKind(IntEnum):
    """What a line counts."""

    MELD_CARDS = 1
    BURACO = 2
    CLOSING = 3
    HAND = 4
    NO_POT = 5
    UNUSED_POT = 6
    OPENING_PENALTIES = 7


class ScoreLine(NamedTuple):
    """One line of a score sheet."""

    kind: ScoreLineKind
    points: int
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
