"""Check whether a meld is possible, and whether a play can have made it."""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Final

from buraco_rules.cards import ACE, ACE_HIGH, RANK, SUIT, TWO, WILDS, card_at
from buraco_rules.meld import BURACO_SIZE, Meld, MeldKind, make_meld
from buraco_rules.melds.meld_book import meld_book
from buraco_rules.melds.runs import BOTH_ACES, max_aces, run_shape
from buraco_rules.melds.sets import set_violations
from buraco_rules.rule_sets import RuleSet
from buraco_rules.violations import VIOLATION_TEXT, Violation

_LONGEST: Final = ACE_HIGH - ACE + 1
"""Cards of the longest run; a set has fewer (R4.1, R4.2)."""
_MAX_RULE_SETS: Final = 16
_MAX_MELDS: Final = 1024
"""Of each rule set: half a KiB each at most, 8 MiB of all rule sets together."""
_MAX_PLAYS: Final = 1024
"""4 KiB each at most, rule sets of their own included."""


def meld_problem(rules: RuleSet, meld: Meld) -> str | None:
    """Return what is wrong with a meld in itself; None for one that a `MeldBook` makes. Its cards must be faces.

    >>> from buraco_rules import PRESETS_BY_ID
    >>> rules = PRESETS_BY_ID["open"]
    >>> meld_problem(rules, make_meld(rules, MeldKind.SET, (9, 22, 35), 0, None))
    'there are no sets in this rule set (R4.3)'
    """
    return meld_judge(rules)(meld)


@lru_cache(_MAX_RULE_SETS)
def meld_judge(rules: RuleSet) -> Callable[[Meld], str | None]:
    """Return `meld_problem` for one rule set, cached: most melds were there in the position before."""
    verdict = lru_cache(_MAX_MELDS)(partial(_first_problem, rules))

    def judge(meld: Meld) -> str | None:
        if 3 <= len(meld.cards) <= _LONGEST:
            return verdict(meld)
        return f"a meld has 3 to {_LONGEST} cards (R4.1, R4.2)"

    return judge


def leads_to(rules: RuleSet, before: Meld | None, cards: tuple[int, ...], after: Meld) -> bool:
    """Return True if laying the cards on a possible meld (None: as a new one), or moving its wild, can make `after`.

    No cards stand for a moved wild.

    >>> from buraco_rules import PRESETS_BY_ID
    >>> rules = PRESETS_BY_ID["open"]
    >>> leads_to(rules, None, (4, 3, 5), make_meld(rules, MeldKind.RUN, (3, 4, 5), 3, None))
    True
    """
    return len(cards) <= _LONGEST and _leads_to(rules, before, cards, after)


def _first_problem(rules: RuleSet, meld: Meld) -> str | None:
    return next(_meld_problems(rules, meld), None)


def _meld_problems(rules: RuleSet, meld: Meld) -> Iterator[str]:
    cards, wild_index = meld.cards, meld.wild_index
    size = len(cards)
    if wild_index is not None and not (0 <= wild_index < size and cards[wild_index] in WILDS):
        yield "wild_index is not that of a joker or a 2 (R4.4)"
        return
    naturals = [card for index, card in enumerate(cards) if index != wild_index]
    yield from _set_problems(rules, meld, naturals) if meld.kind is MeldKind.SET else _run_problems(rules, meld)
    if meld.stays_dirty:
        # What was a buraco with an acting wild still has one, unless its 2 became a natural at the place of the 2.
        is_natural_two = meld.kind is MeldKind.RUN and meld.low_position <= TWO < meld.low_position + size
        if not rules.dirty_sticks or size < BURACO_SIZE or (wild_index is None and not is_natural_two):
            yield "cannot have been a buraco with an acting wild, so it does not stay dirty (R9.3)"
    made = make_meld(rules, meld.kind, cards, meld.low_position, wild_index, stays_dirty=meld.stays_dirty)
    if made.stays_dirty != meld.stays_dirty:
        yield "a buraco with an acting wild stays dirty (R9.3)"
    if made.buraco != meld.buraco:
        yield f"its buraco is {made.buraco.name}, not {meld.buraco.name} (R9.2)"


def _set_problems(rules: RuleSet, meld: Meld, naturals: list[int]) -> Iterator[str]:
    cards, rank, has_wild = meld.cards, RANK[naturals[0]], meld.wild_index is not None
    if not rank or any([RANK[card] != rank for card in naturals]):
        yield "the naturals of a set are of one rank (R4.2)"
    for violation in set_violations(rules, rank, len(naturals), int(has_wild)):
        yield VIOLATION_TEXT[violation]
    if has_wild and (meld.wild_index != len(cards) - 1 or RANK[cards[-1]] == rank):
        yield "the wild of a set stands last, and is not of its rank (R4.4)"
    if meld.low_position or naturals != sorted(naturals):
        yield "a set has its naturals in order, and low_position 0"


def _run_problems(rules: RuleSet, meld: Meld) -> Iterator[str]:
    cards, low, wild_index = meld.cards, meld.low_position, meld.wild_index
    high = low + len(cards) - 1
    if not ACE <= low <= high <= ACE_HIGH:
        yield f"a run stands at places {ACE} to {ACE_HIGH}, not {low} to {high} (R4.1)"
        return
    suit = SUIT[meld.natural]
    if suit > 3 or any([card != card_at(suit, low + i) for i, card in enumerate(cards) if i != wild_index]):
        yield "the naturals of a run are of one suit, each at its place (R4.1)"
        return
    if wild_index is not None and cards[wild_index] == card_at(suit, low + wild_index):
        yield "a 2 of the suit at the place of the 2 does not act as a wild (R4.4)"
    if (run_shape(rules, meld).naturals & BOTH_ACES).bit_count() > max_aces(rules):
        yield VIOLATION_TEXT[Violation.TWO_ACES]


@lru_cache(_MAX_PLAYS)
def _leads_to(rules: RuleSet, before: Meld | None, cards: tuple[int, ...], after: Meld) -> bool:
    book = meld_book(rules)
    if cards:
        return any(outcome.meld == after for outcome in book.arrange(before, cards))
    moved = None if before is None else book.move_wild(before)
    return moved is not None and moved[0] == after
