"""Every way to lay cards as a set (R4.2 to R4.4)."""

from typing import Final, NamedTuple

from buraco_rules.cards import RANK, SUITS, TWO
from buraco_rules.meld import Meld
from buraco_rules.rule_sets import RuleSet

MAX_NATURALS: Final = 8
POOL_BITS: Final = 2
"""A pool tells how many cards of a rank there are of each suit, in so many bits a suit, spades lowest."""


class SetShape(NamedTuple):
    """A set as far as it decides what may be laid off on it."""

    rank: int
    naturals: int
    """How many; 0 of a new set."""
    has_wild: bool


def set_shape(meld: Meld) -> SetShape:
    """The shape of a set on the table."""
    has_wild = meld.wild_index is not None
    return SetShape(RANK[meld.natural], len(meld.cards) - has_wild, has_wild)


def set_lays(rules: RuleSet, base: SetShape, pool: int, acting: int) -> list[tuple[int, ...]]:
    """Every choice of the pool's cards that can be laid, with exactly the wild `acting` (0 = none) behind them."""
    if not takes(rules, base, acting):
        return []
    choices: list[tuple[int, ...]] = [()]
    for suit in SUITS:
        count = pool >> POOL_BITS * suit & 3
        if count:
            card = 13 * suit + base.rank
            choices = [(*before, *[card] * more) for before in choices for more in range(count + 1)]
    wild = (acting,) if acting else ()
    return [laid + wild for laid in choices if makes_set(rules, base, len(laid), acting)]


def takes(rules: RuleSet, base: SetShape, acting: int) -> bool:
    """Whether there may be such a set, with this wild laid (0 = none): it has one at most, of another rank."""
    if base.rank == 0 or not rules.sets or (base.rank == TWO and not rules.set_of_twos):
        return False
    return not acting or not (base.has_wild or RANK[acting] == base.rank)


def makes_set(rules: RuleSet, base: SetShape, laid: int, acting: int) -> bool:
    """Whether a set has the right size once so many naturals, and the wild `acting`, were laid."""
    naturals = base.naturals + laid
    wilds = base.has_wild + (acting > 0)
    if wilds and naturals == MAX_NATURALS and rules.no_wild_on_full_set:
        return False
    return 2 <= naturals <= MAX_NATURALS and naturals + wilds >= 3 and (laid > 0 or acting > 0)
