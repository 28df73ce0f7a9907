"""Every legal arrangement of cards as a meld (R4, R5), for the list of legal moves, for moves and for validation alike.

A `MeldBook` answers for one rule set what cards can be laid on a meld, or as a new one, and what they make of it. Its
answers are cached; those about runs serve all suits.
"""

from typing import Final, NamedTuple

from buraco_rules.caching import ByteBudget
from buraco_rules.cards import ACE, ACE_HIGH, JOKER, RANK, RUN_CARDS, SUIT, TWO, WILDS
from buraco_rules.meld import RUN, SET, Meld, make_meld, run_suit
from buraco_rules.melds import runs
from buraco_rules.melds.runs import (
    BOTH_ACES,
    NO_RUN,
    PLACE_BITS,
    SECOND_ACE,
    WILD_KINDS,
    RunShape,
    RunWay,
    run_shape,
    useful_places,
)
from buraco_rules.melds.sets import SetShape, makes_set, set_shape
from buraco_rules.rule_sets import RuleSet

ANSWERS: Final = ByteBudget(48 << 20)
"""What is cached here and in `candidates`, of all rule sets together: one run may be laid in hundreds of ways, and
callers may bring any house rules.
"""
_RULE_SET_SIZE: Final = 3072
_WAY_SIZE: Final = 128
MELD_SIZE: Final = 256
_OUTCOME_SIZE: Final = 2 * MELD_SIZE
"""Bytes at most, places in a tuple included."""


class Outcome(NamedTuple):
    """One thing that some cards can make of a meld on the table, or of nothing."""

    cards: tuple[int, ...]
    """The cards laid, in order of place."""
    meld: Meld
    """The meld afterwards."""
    wild_position: int | None
    """The place of the acting wild in a run; None when none acts, or for a set."""
    cost: int
    """The cheapest is taken unless the player asks for another (R5.4)."""


class MeldBook:
    """All that cards can make of melds under one rule set.

    >>> from buraco_notation import format_cards, parse_cards
    >>> from buraco_rules import PRESETS_BY_ID
    >>> book = meld_book(PRESETS_BY_ID["burraco"])
    >>> [format_cards(outcome.meld.cards) for outcome in book.arrange(None, parse_cards("5h Jo 4h"))]
    ['Jo 4h 5h', '4h 5h Jo']
    >>> book.choose(None, parse_cards("5h Jo 4h"), wild_position=6).meld.low_position
    4
    """

    def __init__(self, rules: RuleSet) -> None:
        """Make a book without cached answers: `meld_book` returns the one to use."""
        self.rules = rules

    def arrange(self, base: Meld | None, cards: tuple[int, ...]) -> tuple[Outcome, ...]:
        """Return every outcome that uses exactly these cards, in any order, the preferred first (R5.4).

        `base` is the meld they are laid off on; None for a new meld. Empty when there is no legal arrangement. Whether
        the hand has the cards, and a second set of a rank (R4.6), is not asked.
        """
        if len(cards) > ACE_HIGH:
            return ()  # no meld has so many, and the search would take seconds
        return _arrange(self, base, cards)

    def choose(self, base: Meld | None, cards: tuple[int, ...], wild_position: int | None) -> Outcome | None:
        """Return the outcome of laying these cards, with the wild at the given place if one is given (R5.4).

        None if there is no legal arrangement, or none with a wild there, acting or as a natural 2.
        """
        outcomes = self.arrange(base, cards)
        if wild_position is not None:
            return next((outcome for outcome in outcomes if _has_wild_at(outcome, wild_position)), None)
        if len(outcomes) > 1 and len(cards) > 1 and base is not None:
            # Several cards together end as they would one by one, where they can be laid so at all.
            ends = {meld.cards for meld in self._lay_one_by_one(base, tuple(sorted(cards)))}
            return next((outcome for outcome in outcomes if outcome.meld.cards in ends), outcomes[0])
        return outcomes[0] if outcomes else None

    def move_wild(self, base: Meld) -> tuple[Meld, int] | None:
        """Return the run with its wild at the other end, and the wild's place then; None if it may not move (R5.2).

        A 2 that comes to the place of the 2 is a natural in it. A set, or a run without an acting wild, gives None.
        """
        return _move_wild(self, base)

    def find_outcomes(self, base: Meld | None, cards: tuple[int, ...]) -> list[Outcome]:
        """Return what `arrange` does, in any order and not cached."""
        found: list[Outcome] = []
        wilds = sorted({card for card in cards if card in WILDS})
        for acting in (JOKER,) if JOKER in cards else (0, *wilds):  # a joker can only act
            naturals = list(cards)
            if acting:
                naturals.remove(acting)
            naturals.sort()
            if base is None and not naturals:
                continue
            suit = SUIT[naturals[0]] if base is None else run_suit(base)
            if (base is None or base.kind is RUN) and suit != SUIT[JOKER]:
                found += self._arrange_as_run(base, suit, naturals, acting)
            if base is None or base.kind is SET:
                found += self._arrange_as_set(base, naturals, acting)
        return found

    def _arrange_as_run(self, base: Meld | None, suit: int, naturals: list[int], acting: int) -> list[Outcome]:
        if any([SUIT[card] != suit for card in naturals]):
            return []
        run = NO_RUN if base is None else run_shape(self.rules, base)
        size, kind = len(naturals) + bool(acting), WILD_KINDS[suit][acting]
        outcomes = [
            _run_outcome(self.rules, base, suit, way, acting)
            for way in run_ways(self, run, useful_places(run, _place_bits(naturals), kind), kind)
            if way.size == size
        ]
        if base is not None and self.rules.dirty_sticks and base.wild_index is not None:
            return [self._keep_dirty(base, outcome) for outcome in outcomes]
        return outcomes

    def _arrange_as_set(self, base: Meld | None, naturals: list[int], acting: int) -> list[Outcome]:
        shape = SetShape(RANK[naturals[0]], 0, False) if base is None else set_shape(base)
        fits = all([RANK[card] == shape.rank for card in naturals])
        if not fits or not makes_set(self.rules, shape, len(naturals), acting):
            return []
        return [_set_outcome(self.rules, base, naturals, acting)]

    def _keep_dirty(self, base: Meld, outcome: Outcome) -> Outcome:
        """Return the outcome with its clean buraco dirty if, card by card, no order avoids a dirty one (R9.3)."""
        if not outcome.meld.is_clean_buraco or len(outcome.cards) == 1:
            return outcome
        # Card by card a wild becomes a natural as soon as it can, unless the player asks otherwise: none is cleaner.
        ends = self._lay_one_by_one(base, tuple(sorted(outcome.cards)))
        ways = [meld for meld in ends if meld.cards == outcome.meld.cards]
        return outcome._replace(meld=min(ways, key=_stays_dirty, default=outcome.meld))

    def _lay_one_by_one(self, base: Meld, cards: tuple[int, ...]) -> set[Meld]:
        """Return the melds that laying the cards one after the other, in any order, can lead to by R5.4."""
        reached = {(base, cards)}
        for _ in cards:
            reached = {
                (outcome.meld, left[:place] + left[place + 1 :])
                for meld, left in reached
                for place, card in enumerate(left)
                for outcome in self.arrange(meld, (card,))[:1]
            }
        return {meld for meld, _ in reached}


@ANSWERS.cached(_RULE_SET_SIZE)
def meld_book(rules: RuleSet) -> MeldBook:
    """Return the book of a rule set, cached: equal rule sets share it.

    >>> from buraco_rules import PRESETS_BY_ID
    >>> meld_book(PRESETS_BY_ID["open"]).arrange(None, (1, 2, 4))
    ()
    """
    return MeldBook(rules)


@ANSWERS.cached(_WAY_SIZE, each=_WAY_SIZE)
def run_ways(book: MeldBook, run: RunShape, useful: int, acting: int) -> tuple[RunWay, ...]:
    """Return `runs.run_ways` of the cards that `useful_places` left."""
    return tuple(runs.run_ways(book.rules, run, useful, acting))


@ANSWERS.cached(MELD_SIZE, each=_OUTCOME_SIZE)
def _arrange(book: MeldBook, base: Meld | None, cards: tuple[int, ...]) -> tuple[Outcome, ...]:
    return tuple(sorted(book.find_outcomes(base, cards), key=_cost))


@ANSWERS.cached(2 * MELD_SIZE)
def _move_wild(book: MeldBook, base: Meld) -> tuple[Meld, int] | None:
    return runs.move_wild(book.rules, base)


def _cost(outcome: Outcome) -> int:
    return outcome.cost


def _stays_dirty(meld: Meld) -> bool:
    return meld.stays_dirty


def _has_wild_at(outcome: Outcome, place: int) -> bool:
    """Return True if a wild is at the place: acting, or a 2 as a natural."""
    if outcome.wild_position is not None:
        return outcome.wild_position == place
    meld = outcome.meld
    return place == TWO and meld.kind is RUN and meld.low_position <= TWO


def _place_bits(naturals: list[int]) -> int:
    """Return naturals of one suit as bits, as `runs.run_ways` takes them."""
    held = 0
    for card in naturals:
        held |= SECOND_ACE if RANK[card] == ACE and held & BOTH_ACES else PLACE_BITS[card]
    return held


def _run_outcome(rules: RuleSet, base: Meld | None, suit: int, way: RunWay, acting: int) -> Outcome:
    strip, low, high, place = RUN_CARDS[suit], way.low, way.high, way.wild_position
    if not place:
        cards = strip[low : high + 1]
    else:
        wild = acting if base is None or way.wild_is_laid else base.cards[base.wild_index or 0]
        cards = (*strip[low:place], wild, *strip[place + 1 : high + 1])
    stays_dirty = base is not None and base.stays_dirty
    meld = make_meld(rules, RUN, cards, low, place - low if place else None, stays_dirty=stays_dirty)
    return Outcome(way.cards_laid(suit, acting), meld, place or None, way.cost)


def _set_outcome(rules: RuleSet, base: Meld | None, naturals: list[int], acting: int) -> Outcome:
    old: tuple[int, ...] = ()
    wild: tuple[int, ...] = (acting,) if acting else ()
    laid = (*naturals, *wild)
    if base is not None and base.wild_index is None:
        old = base.cards
    elif base is not None:
        old, wild = base.cards[:-1], base.cards[-1:]
    cards = (*sorted((*old, *naturals)), *wild)
    stays_dirty = base is not None and base.stays_dirty
    meld = make_meld(rules, SET, cards, 0, len(cards) - 1 if wild else None, stays_dirty=stays_dirty)
    return Outcome(laid, meld, None, 0)
