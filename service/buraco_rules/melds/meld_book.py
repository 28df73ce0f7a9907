"""Every legal arrangement of cards as a meld (R4, R5): the one place that knows what a meld may look like.

A `MeldBook` answers for one rule set what cards can be laid on a meld on the table, or on nothing, and what they make
of it. The list of legal moves reads all that can be laid; a move asked for is legal if it makes something. Both ask
`run_ways` and `sets`, so that they cannot disagree. Answers are remembered, whatever the suit, because the same few
places come again and again.
"""

from typing import Final

from buraco_rules.caching import ByteBudget
from buraco_rules.cards import ACE, ACE_HIGH, JOKER, RANK, SUIT, TWO, WILDS
from buraco_rules.meld import RUN, SET, Meld, run_suit
from buraco_rules.melds.outcomes import Outcome, run_outcome, set_outcome
from buraco_rules.melds.runs import (
    BOTH_ACES,
    NO_RUN,
    PLACE_BITS,
    SECOND_ACE,
    WILD_KINDS,
    RunShape,
    RunWay,
    moved_wild,
    run_shape,
    run_ways,
    useful_places,
)
from buraco_rules.melds.sets import SetShape, makes_set, set_shape, takes
from buraco_rules.rule_sets import RuleSet

ANSWERS: Final = ByteBudget(48 << 20)
"""What is remembered of meld books and in `offers`, of all rule sets together: one run may be laid in hundreds of ways,
and strangers may bring any house rules.
"""
_RULE_SET_SIZE: Final = 3072
_WAY_SIZE: Final = 128
MELD_SIZE: Final = 256
_OUTCOME_SIZE: Final = 2 * MELD_SIZE
"""Bytes at most, places in a tuple included."""


class MeldBook:
    """All that cards can make of melds under one rule set."""

    def __init__(self, rules: RuleSet) -> None:
        """A book of its own for each rule set: get it from `meld_book`."""
        self.rules = rules

    def arrange(self, base: Meld | None, cards: tuple[int, ...]) -> tuple[Outcome, ...]:
        """Every outcome that uses exactly these cards (any order), best first by R5.4.

        `base` is the meld they are laid off on; None for a new meld. Empty when there is no legal arrangement.
        """
        if len(cards) > ACE_HIGH:
            return ()  # no meld has so many, and strangers may name any number: looking for one would take seconds
        return _arranged(self, base, cards)

    def choose(self, base: Meld | None, cards: tuple[int, ...], wild_position: int | None) -> Outcome | None:
        """The outcome of laying these cards, the wild standing where the player says if he does (R5.4)."""
        outcomes = self.arrange(base, cards)
        if wild_position is not None:
            return next((outcome for outcome in outcomes if _wild_stands_at(outcome, wild_position)), None)
        if len(outcomes) > 1 and len(cards) > 1 and base is not None:
            # Several cards together end as they would one by one, where they can be laid so at all.
            ends = {meld.cards for meld in self._one_by_one(base, tuple(sorted(cards)))}
            return next((outcome for outcome in outcomes if outcome.meld.cards in ends), outcomes[0])
        return outcomes[0] if outcomes else None

    def outcomes(self, base: Meld | None, cards: tuple[int, ...]) -> list[Outcome]:
        """What `arrange` remembers, in any order."""
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
                found += self._as_run(base, suit, naturals, acting)
            if base is None or base.kind is SET:
                found += self._as_set(base, naturals, acting)
        return found

    def _as_run(self, base: Meld | None, suit: int, naturals: list[int], acting: int) -> list[Outcome]:
        if any([SUIT[card] != suit for card in naturals]):
            return []
        run = NO_RUN if base is None else run_shape(self.rules, base)
        size, kind = len(naturals) + bool(acting), WILD_KINDS[suit][acting]
        outcomes = [
            run_outcome(self.rules, base, suit, way, acting)
            for way in self.run_ways(run, useful_places(run, _held(naturals), kind), kind)
            if way.size == size
        ]
        if base is not None and self.rules.dirty_sticks and base.wild_index is not None:
            return [self._with_dirt_on_the_way(base, outcome) for outcome in outcomes]
        return outcomes

    def _as_set(self, base: Meld | None, naturals: list[int], acting: int) -> list[Outcome]:
        shape = SetShape(RANK[naturals[0]], 0, False) if base is None else set_shape(base)
        if any([RANK[card] != shape.rank for card in naturals]) or not takes(self.rules, shape, acting):
            return []
        return (
            [set_outcome(self.rules, base, naturals, acting)]
            if makes_set(self.rules, shape, len(naturals), acting)
            else []
        )

    def run_ways(self, run: RunShape, useful: int, acting: int) -> tuple[RunWay, ...]:
        """Every way to lay any of the cards that `useful_places` left, as `runs.run_ways` tells."""
        return _run_ways(self, run, useful, acting)

    def move_wild(self, base: Meld) -> tuple[Meld, int] | None:
        """The run with its wild at the other end, and the place it then has; None where it may not move (R5.2)."""
        return _moved_wild(self, base)

    def _with_dirt_on_the_way(self, base: Meld, outcome: Outcome) -> Outcome:
        """A buraco that is clean at last stays dirty if it was dirty on the way in whatever order its cards were laid
        (R9.3).
        """
        if not outcome.meld.is_clean_buraco or len(outcome.cards) == 1:
            return outcome
        # One by one a wild comes home as soon as it can, if the player does not say otherwise: no way is cleaner.
        ends = self._one_by_one(base, tuple(sorted(outcome.cards)))
        ways = [meld for meld in ends if meld.cards == outcome.meld.cards]
        return outcome._replace(meld=min(ways, key=_is_dirty, default=outcome.meld))

    def _one_by_one(self, base: Meld, cards: tuple[int, ...]) -> set[Meld]:
        """The melds in which laying the cards one after the other can end, in any order; each where R5.4 puts it."""
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
    """The book of a rule set."""
    return MeldBook(rules)


@ANSWERS.cached(MELD_SIZE, each=_OUTCOME_SIZE)
def _arranged(book: MeldBook, base: Meld | None, cards: tuple[int, ...]) -> tuple[Outcome, ...]:
    return tuple(sorted(book.outcomes(base, cards), key=_preference))


@ANSWERS.cached(_WAY_SIZE, each=_WAY_SIZE)
def _run_ways(book: MeldBook, run: RunShape, held: int, acting: int) -> tuple[RunWay, ...]:
    return tuple(run_ways(book.rules, run, held, acting))


@ANSWERS.cached(2 * MELD_SIZE)
def _moved_wild(book: MeldBook, base: Meld) -> tuple[Meld, int] | None:
    return moved_wild(book.rules, base)


def _preference(outcome: Outcome) -> int:
    return outcome.preference


def _is_dirty(meld: Meld) -> bool:
    return meld.stays_dirty


def _wild_stands_at(outcome: Outcome, place: int) -> bool:
    """Whether a wild stands at the place: acting, or a 2 at its natural place."""
    if outcome.wild_position is not None:
        return outcome.wild_position == place
    meld = outcome.meld
    return place == TWO and meld.kind is RUN and meld.low_position <= TWO


def _held(naturals: list[int]) -> int:
    """Naturals of one suit as bits, as `run_ways` takes them."""
    held = 0
    for card in naturals:
        held |= SECOND_ACE if RANK[card] == ACE and held & BOTH_ACES else PLACE_BITS[card]
    return held
