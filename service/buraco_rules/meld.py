"""Melds on the table and the buracos among them (R4, R9.2)."""

from enum import IntEnum
from typing import Final, NamedTuple

from buraco_rules.cards import RANK, SUIT, TWO
from buraco_rules.rule_sets import RuleSet

MIN_SIZE: Final = 3
BURACO_SIZE: Final = 7


class MeldKind(IntEnum):
    """A run is of one suit and consecutive; a set is of one rank."""

    RUN = 1
    SET = 2


RUN: Final = MeldKind.RUN
SET: Final = MeldKind.SET
"""Names of their own for what every move reads: see `deal.DRAW`."""


class BuracoKind(IntEnum):
    """Kinds of buraco, by rising value (R9.2). One that the rule set does not value counts as the next that fits."""

    NONE = 0
    """Fewer than seven cards."""
    DIRTY = 1
    """With an acting wild, or one that stays dirty (R9.3)."""
    SEMI_CLEAN = 2
    """With seven naturals in a row on one side of the acting wild."""
    CLEAN = 3
    """Without an acting wild, as the kinds below."""
    ROYAL = 4
    """A run of all thirteen ranks."""
    ACE_TO_ACE = 5
    """A run of 14 cards."""


NO_BURACO: Final = BuracoKind.NONE


class Meld(NamedTuple):
    """A run or set on a side's table."""

    kind: MeldKind
    cards: tuple[int, ...]
    """A run from its low end to its high end; a set with its naturals first."""
    low_position: int
    """The place of a run's first card: 1 = ace low, 2 to 13, 14 = ace high; 0 for a set."""
    wild_index: int | None
    """Index of the card that acts as a wild; None when none acts."""
    buraco: BuracoKind
    """As the rule set values it."""
    stays_dirty: bool
    """Whether it has been a buraco with an acting wild, under `dirty_sticks` (R9.3)."""

    @property
    def wild_position(self) -> int | None:
        """Return the place at which a run's wild acts; None when none acts, or for a set."""
        return None if self.wild_index is None or self.kind is SET else self.low_position + self.wild_index

    @property
    def is_buraco(self) -> bool:
        """Return True for seven cards or more."""
        return len(self.cards) >= BURACO_SIZE

    @property
    def is_clean_buraco(self) -> bool:
        """Return True for a buraco without an acting wild that does not stay dirty; royal ones count (R7.1)."""
        return len(self.cards) >= BURACO_SIZE and self.wild_index is None and not self.stays_dirty

    @property
    def natural(self) -> int:
        """Return a natural card of the meld, which has the run's suit or the set's rank."""
        return self.cards[1 if self.wild_index == 0 else 0]


def make_meld(
    rules: RuleSet,
    kind: MeldKind,
    cards: tuple[int, ...],
    low_position: int,
    wild_index: int | None,
    *,
    stays_dirty: bool = False,
) -> Meld:
    """Return a meld with its buraco kind; `stays_dirty` says whether it was dirty before (R9.3).

    The cards must be in the order of `Meld.cards`; whether the rules allow the meld is not checked.

    >>> from buraco_rules import PRESETS_BY_ID
    >>> make_meld(PRESETS_BY_ID["burraco"], MeldKind.RUN, (3, 4, 5, 6, 7, 8, 9), 3, None).buraco
    <BuracoKind.CLEAN: 3>
    """
    if len(cards) < BURACO_SIZE:
        return Meld(kind, cards, low_position, wild_index, NO_BURACO, stays_dirty)
    stays_dirty = stays_dirty or (rules.dirty_sticks and wild_index is not None)
    buraco = _buraco_kind(rules, kind, cards, wild_index, stays_dirty)
    return Meld(kind, cards, low_position, wild_index, buraco, stays_dirty)


def _buraco_kind(
    rules: RuleSet, kind: MeldKind, cards: tuple[int, ...], wild_index: int | None, stays_dirty: bool
) -> BuracoKind:
    if wild_index is not None:
        return BuracoKind.SEMI_CLEAN if _is_semi_clean(rules, kind, len(cards), wild_index) else BuracoKind.DIRTY
    if stays_dirty:
        return BuracoKind.DIRTY
    if kind is RUN:
        if rules.ace_to_ace and len(cards) == 14:
            return BuracoKind.ACE_TO_ACE
        if rules.royal and len(cards) >= 13:
            return BuracoKind.ROYAL
    return BuracoKind.CLEAN if rules.clean else BuracoKind.DIRTY


def _is_semi_clean(rules: RuleSet, kind: MeldKind, size: int, wild_index: int) -> bool:
    """Return True for seven naturals in a row on one side of the wild, which may have to stand at an end (R9.2)."""
    if not rules.semi_clean:
        return False
    if kind is SET:
        return rules.semi_clean_sets and size > BURACO_SIZE
    if rules.semi_clean_end_wild and wild_index not in (0, size - 1):
        return False
    return max(wild_index, size - 1 - wild_index) >= BURACO_SIZE


def buraco_points(rules: RuleSet, buraco: BuracoKind) -> int:
    """Return the bonus of a buraco kind; 0 for none, or one that the rule set does not value (R9.2).

    >>> from buraco_rules import PRESETS_BY_ID
    >>> buraco_points(PRESETS_BY_ID["open"], BuracoKind.ROYAL)
    500
    """
    return (0, rules.dirty, rules.semi_clean, rules.clean, rules.royal, rules.ace_to_ace)[buraco]


def card_points(rules: RuleSet, cards: tuple[int, ...]) -> int:
    """Return the points of the cards (R1.2).

    >>> from buraco_rules import PRESETS_BY_ID
    >>> card_points(PRESETS_BY_ID["burraco"], (1, 2, 53))
    65
    """
    values = rules.values
    return sum([values[card] for card in cards])


def is_winning_twos(rules: RuleSet, meld: Meld) -> bool:
    """Return True for a set of seven 2s or more that wins the match at once (R7.3); an acting joker is no 2."""
    return (
        rules.twos_buraco_wins
        and meld.kind is SET
        and RANK[meld.natural] == TWO
        and len(meld.cards) - (meld.wild_index is not None) >= BURACO_SIZE
    )


def run_suit(meld: Meld) -> int:
    """Return the suit of a run, 0 to 3."""
    return SUIT[meld.natural]


def ranks_taken(rules: RuleSet, melds: tuple[Meld, ...]) -> list[int]:
    """Return the ranks of which a side with these melds may lay no new set (R4.6): none without `one_set_per_rank`."""
    if not rules.one_set_per_rank:
        return []
    return [RANK[meld.natural] for meld in melds if meld.kind is SET]
