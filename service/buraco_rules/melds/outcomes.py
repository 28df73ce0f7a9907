"""What laying cards comes to."""

from typing import NamedTuple

from buraco_rules.cards import RUN_CARDS
from buraco_rules.meld import RUN, SET, Meld, make_meld
from buraco_rules.melds.runs import RunWay
from buraco_rules.rule_sets import RuleSet


class Outcome(NamedTuple):
    """One thing that some cards can make of a meld on the table, or of nothing."""

    cards: tuple[int, ...]
    """The cards laid, in order of place."""
    meld: Meld
    """The meld afterwards."""
    wild_position: int | None
    """The place of the acting wild in a run; None when none acts, or for a set."""
    preference: int
    """The smallest is taken where the player does not say otherwise (R5.4)."""


def cards_laid(way: RunWay, suit: int, acting: int) -> tuple[int, ...]:
    """The cards that a way to lay a run of the suit takes from the hand, in order of place."""
    strip, place = RUN_CARDS[suit], way.wild_position if way.wild_is_laid else 0
    left = way.laid | 1 << place if place else way.laid
    cards = []
    while left:
        at = (left & -left).bit_length() - 1
        cards.append(acting if at == place else strip[at])
        left &= left - 1
    return tuple(cards)


def run_outcome(rules: RuleSet, base: Meld | None, suit: int, way: RunWay, acting: int) -> Outcome:
    """What a way to lay a run of the suit makes of the run `base`, or of nothing."""
    strip, low, high, place = RUN_CARDS[suit], way.low, way.high, way.wild_position
    if not place:
        cards = strip[low : high + 1]
    else:
        wild = acting if base is None or way.wild_is_laid else base.cards[base.wild_index or 0]
        cards = (*strip[low:place], wild, *strip[place + 1 : high + 1])
    meld = make_meld(
        rules,
        RUN,
        cards,
        low,
        place - low if place else None,
        stays_dirty=base is not None and base.stays_dirty,
    )
    return Outcome(cards_laid(way, suit, acting), meld, place or None, way.preference)


def set_outcome(rules: RuleSet, base: Meld | None, naturals: list[int], acting: int) -> Outcome:
    """What naturals of the rank, ascending, and the wild `acting` (0 = none) make of the set `base`, or of nothing."""
    old: tuple[int, ...] = ()
    wild: tuple[int, ...] = (acting,) if acting else ()
    laid = (*naturals, *wild)
    if base is not None and base.wild_index is None:
        old = base.cards
    elif base is not None:
        old, wild = base.cards[:-1], base.cards[-1:]
    cards = (*sorted((*old, *naturals)), *wild)
    meld = make_meld(
        rules,
        SET,
        cards,
        0,
        len(cards) - 1 if wild else None,
        stays_dirty=base is not None and base.stays_dirty,
    )
    return Outcome(laid, meld, None, 0)
