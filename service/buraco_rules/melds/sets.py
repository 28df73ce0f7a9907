"""What makes a set (R4.2 to R4.4): laying, refusing and validating ask here."""

from typing import Final, NamedTuple

from buraco_rules.cards import RANK, SUITS, TWO
from buraco_rules.meld import MIN_SIZE, Meld
from buraco_rules.rule_sets import RuleSet
from buraco_rules.violations import Violation

MAX_NATURALS: Final = 8
POOL_BITS: Final = 2
"""A pool counts the cards of a rank by suit, in so many bits a suit, spades lowest."""


class SetShape(NamedTuple):
    """All of a set that decides what may be laid off on it."""

    rank: int
    naturals: int
    """How many; 0 of a new set."""
    has_wild: bool


def set_shape(meld: Meld) -> SetShape:
    """Return the shape of a set on the table."""
    has_wild = meld.wild_index is not None
    return SetShape(RANK[meld.natural], len(meld.cards) - has_wild, has_wild)


def set_violations(rules: RuleSet, rank: int, naturals: int, wilds: int) -> list[Violation]:
    """Return the rules that a set of a rank with so many naturals and acting wilds breaks, the principal first.

    >>> from buraco_rules import PRESETS_BY_ID
    >>> set_violations(PRESETS_BY_ID["burraco"], rank=7, naturals=2, wilds=1)
    []
    >>> set_violations(PRESETS_BY_ID["burraco"], rank=TWO, naturals=3, wilds=0)
    [<Violation.NO_SET_OF_TWOS: 20>]
    """
    if not rules.sets:
        return [Violation.NO_SETS]
    if rank == TWO and not rules.set_of_twos:
        return [Violation.NO_SET_OF_TWOS]
    return set_size_violations(rules, naturals, wilds)


def set_size_violations(rules: RuleSet, naturals: int, wilds: int) -> list[Violation]:
    """Return what `set_violations` does, of the numbers of naturals and wilds alone.

    >>> from buraco_rules import PRESETS_BY_ID
    >>> set_size_violations(PRESETS_BY_ID["burraco"], naturals=1, wilds=2)
    [<Violation.TOO_MANY_WILDS: 21>, <Violation.TOO_FEW_NATURALS: 22>]
    """
    violations = []
    if wilds > 1:
        violations.append(Violation.TOO_MANY_WILDS)
    if naturals > MAX_NATURALS or (naturals == MAX_NATURALS and wilds and rules.no_wild_on_full_set):
        violations.append(Violation.TOO_MANY_CARDS)
    if naturals < 2:
        violations.append(Violation.TOO_FEW_NATURALS)
    elif naturals + wilds < MIN_SIZE:
        violations.append(Violation.TOO_FEW_CARDS)
    return violations


def makes_set(rules: RuleSet, base: SetShape, laid: int, acting: int) -> bool:
    """Return True if laying so many naturals, and the wild `acting` (0 = none), on `base` makes a set.

    A 2 in a set of 2s is a natural, so it does not act there.
    """
    return (
        (laid > 0 or acting > 0)
        and base.rank > 0
        and (not acting or RANK[acting] != base.rank)
        and not set_violations(rules, base.rank, base.naturals + laid, base.has_wild + (acting > 0))
    )


def set_lays(rules: RuleSet, base: SetShape, pool: int, acting: int) -> list[tuple[int, ...]]:
    """Return every choice of the pool's cards that can be laid on `base`, followed by the wild `acting` (0 = none).

    `pool` counts the cards as `POOL_BITS` describes.
    """
    choices: list[tuple[int, ...]] = [()]
    for suit in SUITS:
        count = pool >> POOL_BITS * suit & 3
        if count:
            card = 13 * suit + base.rank
            choices = [(*before, *[card] * more) for before in choices for more in range(count + 1)]
    wild = (acting,) if acting else ()
    return [laid + wild for laid in choices if makes_set(rules, base, len(laid), acting)]
