"""A rule set is data: one frozen record of options, named as in protos/RULES.md (R-numbers beside them).

Code reads options and never asks for a rule set by name. A record that contradicts itself cannot be built:
`ValidationError` lists all problems.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Final

from buraco_rules.cards import ACE, FACES, JOKER, RANK, TWO
from buraco_rules.problems import Problem, ValidationError


class WildMoves(IntEnum):
    """How an acting wild may change its place in a run (R5.2)."""

    FREE_END = 1
    """At an end of the run it may move with every lay-off, or to the opposite end by a move of its own."""
    WHEN_REPLACED = 2
    """It stays until its card comes."""


FREE_END: Final = WildMoves.FREE_END
"""A name of its own, as others below, for what every move reads: see `deal.DRAW`."""


class WildEnd(IntEnum):
    """The end of a run to which a replaced or new wild goes first (R5.3)."""

    HIGH = 1
    """The end with the higher places."""
    LOW = 2


HIGH: Final = WildEnd.HIGH


class PotBy(IntEnum):
    """How a side's first pot may be picked up (R6.2)."""

    ANY = 1
    """In flight or by discard."""
    FLIGHT = 2
    """Only by melding the last card."""


class CloseBy(IntEnum):
    """What the last card of a deal must do (R7.2)."""

    DISCARD = 1
    """Be discarded."""
    FLIGHT = 2
    """Be melded."""
    ANY = 3
    """Either."""


class StockEnd(IntEnum):
    """What happens when the stock runs out (R8.1, R8.2)."""

    AT_TWO = 1
    """The turn that leaves two cards or fewer is the last; a player may still close in it."""
    POTS_JOIN = 2
    """The pots left become the stock after the turn that empties it; without any the deal is over."""


AT_TWO: Final = StockEnd.AT_TWO


class Tie(IntEnum):
    """Who wins a match that ends with equal totals (R10.2)."""

    DRAW = 1
    """Nobody."""
    STARTER = 2
    """The side that started the first deal."""


@dataclass(frozen=True, slots=True)
class OpeningMinimum:
    """The opening minimum of Professional (R11.2)."""

    threshold: int = 1000
    """Match score from which on a side needs the minimum at the start of a deal."""
    points: int = 75
    """Card points that the first attempt of a deal must reach."""
    step: int = 20
    """Added to the minimum after every failed attempt."""
    penalty: int = 20
    """Points charged for every failed attempt."""
    every_turn: bool = False
    """Whether a turn without an attempt fails too, as the sources say to the letter."""


@dataclass(frozen=True)
class RuleSet:
    """The options of one way to play, named as in the rules.

    >>> from dataclasses import replace
    >>> from buraco_rules import PRESETS_BY_ID
    >>> replace(PRESETS_BY_ID["open"], id="house", set_of_twos=True)
    Traceback (most recent call last):
    buraco_rules.problems.ValidationError: set_of_twos: sets are not allowed
    """

    id: str
    """Lower-case words joined by hyphens, at most 64 characters."""
    display_name: str
    wild_moves: WildMoves
    wild_end: WildEnd
    value_two: int
    """Points of a 2, natural or wild (R1.2)."""
    clean: int
    """The bonus of a buraco without an acting wild (R9.2); of this and the other kinds 0 = not valued."""
    dirty: int
    """The bonus of any other buraco (R9.2)."""
    pot_by: PotBy
    close_by: CloseBy
    stock_end: StockEnd
    tie: Tie
    jokers: int = 0
    """In both decks together: 0 or 4 (R1.1)."""
    upcard: bool = False
    """The pile begins with one card of the stock (R2.2)."""
    closed_pile: bool = False
    """Only the top of the pile is seen, and who takes the pile melds it at once (R3.4)."""
    single_card_lock: bool = True
    """A pile of one card that was taken may not be discarded in the same turn (R3.3)."""
    makart: bool = False
    """With one card in hand and one in the pile the stock must be drawn (R3.5)."""
    sets: bool = False
    """Sets may be melded (R4.3)."""
    set_of_twos: bool = False
    """2s may form a set, as naturals (R4.3)."""
    one_set_per_rank: bool = False
    """A side may not have two sets of a rank (R4.6)."""
    no_wild_on_full_set: bool = False
    """A set does not have all eight naturals and a wild (R4.2)."""
    two_aces: bool = False
    """A run may have a natural ace at both ends (R4.5)."""
    value_joker: int = 0
    """Points of a joker (R1.2)."""
    semi_clean: int = 0
    """The bonus of a buraco with seven naturals in a row on one side of its acting wild (R9.2)."""
    royal: int = 0
    """The bonus of a run of all thirteen ranks without an acting wild (R9.2)."""
    ace_to_ace: int = 0
    """The bonus of a run of 14 cards without an acting wild (R9.2)."""
    semi_clean_sets: bool = False
    """Sets can be semi-clean (R9.2)."""
    semi_clean_end_wild: bool = False
    """A run is semi-clean only with its wild at an end (R9.2)."""
    dirty_sticks: bool = False
    """A meld that was a buraco with an acting wild stays dirty (R9.3)."""
    pots_per_side: int = 1
    """Pots that a side may take, 1 or 2 (R6.2)."""
    pot_needs_buraco: bool = False
    """A side takes a pot only with a buraco on its table (R6.2)."""
    close_needs_clean: bool = False
    """A side closes only with a clean buraco or better (R7.1)."""
    close_discard_wild: bool = False
    """The discard that closes may be a joker or a 2 (R7.2)."""
    twos_buraco_wins: bool = False
    """A set of seven 2s or more wins the match at once (R7.3)."""
    unused_pot_penalty: bool = False
    """100 points off for a pot of which no card was played (R9.1)."""
    no_pot_both_free: bool = False
    """No side is charged for taking no pot where neither took one (R9.1)."""
    opening_minimum: OpeningMinimum | None = None
    """None: sides open with any meld (R11.2)."""
    max_turns: int = 1000
    """Turns of all seats after which a deal ends without the bonus (R8.3)."""
    usual_targets: tuple[int, ...] = ()
    """Target scores for a menu, the default first; 0 = a match of one deal."""
    values: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """Points of every card by its number (R1.2)."""
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise ValidationError for an inconsistent record; derive the card values."""
        problems = tuple(_problems(self))
        if problems:
            raise ValidationError(problems)
        object.__setattr__(self, "values", (0, *(self._value(card) for card in FACES)))
        options = [getattr(self, option.name) for option in fields(self) if option.compare]
        object.__setattr__(self, "_hash", hash(tuple(options)))

    def __hash__(self) -> int:
        """Return the precomputed hash: rule sets are keys of frequent look-ups."""
        return self._hash

    def _value(self, card: int) -> int:
        if card == JOKER:
            return self.value_joker
        rank = RANK[card]
        if rank == TWO:
            return self.value_two
        if rank == ACE:
            return 15
        return 5 if rank <= 7 else 10


_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
_LIMITS = {
    "value_two": (0, 1000),
    "value_joker": (0, 1000),
    "clean": (0, 10_000),
    "dirty": (0, 10_000),
    "semi_clean": (0, 10_000),
    "royal": (0, 10_000),
    "ace_to_ace": (0, 10_000),
    "pots_per_side": (1, 2),
    "max_turns": (1, 100_000),
}
_OPENING_LIMITS = {
    "threshold": (-1_000_000, 1_000_000),
    "points": (1, 10_000),
    "step": (0, 10_000),
    "penalty": (0, 10_000),
}
_ENUMS = {
    "wild_moves": WildMoves,
    "wild_end": WildEnd,
    "pot_by": PotBy,
    "close_by": CloseBy,
    "stock_end": StockEnd,
    "tie": Tie,
}


def _problems(rules: RuleSet) -> Iterator[Problem]:
    if len(rules.id) > 64 or not _ID.match(rules.id):
        yield Problem("id", "lower-case words joined by hyphens, at most 64 characters")
    if not 1 <= len(rules.display_name) <= 100 or not rules.display_name.isprintable():
        yield Problem("display_name", "1 to 100 printable characters")
    for option, kind in _ENUMS.items():
        if not isinstance(getattr(rules, option), kind):
            yield Problem(option, "must be one of " + ", ".join(member.name for member in kind))
    for option, (low, high) in _LIMITS.items():
        if not low <= getattr(rules, option) <= high:
            yield Problem(option, f"must be {low} to {high}")
    if rules.jokers not in (0, 4):
        yield Problem("jokers", "must be 0 or 4")
    if len(rules.usual_targets) > 16 or not all(0 <= target <= 1_000_000 for target in rules.usual_targets):
        yield Problem("usual_targets", "at most 16 targets of 0 to 1000000")
    if rules.opening_minimum is not None:
        for option, (low, high) in _OPENING_LIMITS.items():
            if not low <= getattr(rules.opening_minimum, option) <= high:
                yield Problem(f"opening_minimum.{option}", f"must be {low} to {high}")
    yield from _contradictions(rules)


def _contradictions(rules: RuleSet) -> Iterator[Problem]:
    """Yield the options that can have no effect, or defeat each other."""
    if rules.value_joker and not rules.jokers:
        yield Problem("value_joker", "there are no jokers")
    if not rules.sets:
        for option in ("set_of_twos", "one_set_per_rank", "no_wild_on_full_set", "semi_clean_sets"):
            if getattr(rules, option):
                yield Problem(option, "sets are not allowed")
    if not rules.semi_clean:
        for option in ("semi_clean_sets", "semi_clean_end_wild"):
            if getattr(rules, option):
                yield Problem(option, "semi-clean buracos are not valued")
    if rules.ace_to_ace and not rules.two_aces:
        yield Problem("ace_to_ace", "a run may not hold an ace at both ends")
    if rules.twos_buraco_wins and not rules.set_of_twos:
        yield Problem("twos_buraco_wins", "2s may not form a set")
    if rules.close_discard_wild and rules.close_by is CloseBy.FLIGHT:
        yield Problem("close_discard_wild", "no discard closes a deal")
