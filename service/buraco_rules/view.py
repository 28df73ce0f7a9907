"""Views: what one seat may know of a deal, and what everybody may know."""

from enum import IntEnum
from typing import NamedTuple

from buraco_rules.deal import Ending, Match, Phase
from buraco_rules.meld import Meld
from buraco_rules.rule_sets import RuleSet


class NextAction(IntEnum):
    """What a seat may do next."""

    DRAW_STOCK = 1
    TAKE_PILE = 2
    LAY_MELD = 3
    LAY_OFF = 4
    MOVE_WILD = 5
    DISCARD = 6
    UNDO = 7


class SideView(NamedTuple):
    """What everybody may know of a side."""

    melds: tuple[Meld, ...]
    pots_taken: int
    opening_required: int
    opening_penalties: int
    match_score: int
    """Finished deals only."""
    table_points: int
    """What the side would count now without its hands."""


class View(NamedTuple):
    """What `seat` may know; the public view where it is None."""

    seat: int | None
    hand: tuple[int, ...]
    """Sorted; empty in the public view."""
    hand_counts: tuple[int, ...]
    """One a seat."""
    sides: tuple[SideView, SideView]
    stock_count: int
    pile_count: int
    pile: tuple[int, ...]
    """All of an open pile, top last; of a closed one the top card, none while `must_meld` (R3.4)."""
    pot_counts: tuple[int, ...]
    """One a pot on the table, the next first."""
    seat_to_move: int
    phase: Phase
    next_actions: tuple[NextAction, ...]
    """Empty unless `seat` is to move."""
    turn_number: int
    locked_card: int
    must_meld: int
    opening_attempt: bool
    """These three as in `deal.Turn`."""
    ending: Ending
    match: Match
    rules: RuleSet
    starter: int
    """The seat that started this deal; `match` has that of the first."""
