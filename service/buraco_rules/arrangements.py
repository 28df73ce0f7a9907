"""Every legal arrangement of cards as a meld (R4, R5): the one place that knows what a meld may look like.

A `MeldBook` answers for one rule set what a pool of cards can make of a meld on the table, or of nothing. The
generator of legal moves reads all answers; a move asked for is legal if it is among them. So the two cannot disagree.
Answers are remembered, because the same few cards of a suit come again and again.
"""

from functools import lru_cache
from typing import Final

from buraco_rules.cards import ACE, ACE_HIGH, JOKER, RANK, SUIT, TWO, TWOS, WILDS
from buraco_rules.melds import Meld, MeldKind, run_suit
from buraco_rules.moves import LayMeld
from buraco_rules.outcomes import Outcome
from buraco_rules.rule_sets import RuleSet
from buraco_rules.runs import BOTH_ACES, PLACE_BITS, SECOND_ACE, moved_wild, run_outcomes, useful_places
from buraco_rules.sets import set_outcomes

_REMEMBERED: Final = 16384
"""Answers of each kind, of all rule sets together: what strangers' house rules can claim is bounded."""


class MeldBook:
    """All that cards can make of melds under one rule set."""

    def __init__(self, rules: RuleSet) -> None:
        """A book of its own for each rule set: get it from `meld_book`."""
        self.rules = rules

    def arrange(self, base: Meld | None, cards: tuple[int, ...]) -> list[Outcome]:
        """Every outcome that uses exactly these cards (any order), best first by R5.4.

        `base` is the meld they are laid off on; None for a new meld. Empty when there is no legal arrangement.
        """
        if len(cards) > ACE_HIGH:
            return []  # no meld has so many, and strangers may name any number: looking for one would take seconds
        wilds = sorted({card for card in cards if card in WILDS})
        found: list[Outcome] = []
        for acting in (JOKER,) if JOKER in cards else (0, *wilds):  # a joker can only act
            naturals = list(cards)
            if acting:
                naturals.remove(acting)
            naturals.sort()
            if base is not None and base.kind is MeldKind.SET:
                found += self.sets(base, RANK[base.natural], _of_rank(naturals, RANK[base.natural]), acting)
            elif base is not None:
                found += self.runs(base, run_suit(base), _of_suit(naturals, run_suit(base)), acting)
            elif naturals:
                suit, rank = SUIT[naturals[0]], RANK[naturals[0]]
                if suit != SUIT[JOKER]:
                    found += self.runs(None, suit, _of_suit(naturals, suit), acting)
                found += self.sets(None, rank, _of_rank(naturals, rank), acting)
        size = len(cards)
        return sorted((outcome for outcome in found if len(outcome.cards) == size), key=_preference)

    def choose(self, base: Meld | None, cards: tuple[int, ...], wild_position: int | None) -> Outcome | None:
        """The outcome of laying these cards, the wild standing where the player says if he does (R5.4)."""
        outcomes = self.arrange(base, cards)
        if wild_position is not None:
            return next((outcome for outcome in outcomes if _wild_stands_at(outcome, wild_position)), None)
        if len(outcomes) > 1 and len(cards) > 1 and base is not None:
            # Several cards together end as they would one by one, where they can be laid so at all.
            ends = {meld.cards for meld in self._one_by_one(base, tuple(sorted(cards)), by_default=True)}
            return next((outcome for outcome in outcomes if outcome.meld.cards in ends), outcomes[0])
        return outcomes[0] if outcomes else None

    def runs(self, base: Meld | None, suit: int, held: int, acting: int) -> tuple[Outcome, ...]:
        """Every run that any of the cards held make, as `runs.run_outcomes` tells."""
        useful = useful_places(base, suit, held, acting)
        if not useful and (base is None or not acting):
            return ()
        return _runs(self, base, suit, useful, acting)

    def sets(self, base: Meld | None, rank: int, pool: tuple[int, ...], acting: int) -> tuple[Outcome, ...]:
        """Every set that any of the pool's cards make, as `sets.set_outcomes` tells."""
        return _sets(self, base, rank, pool, acting)

    def move_wild(self, base: Meld) -> tuple[Meld, int] | None:
        """The run with its wild at the other end, and the place it then has; None where it may not move (R5.2)."""
        return _moved_wild(self.rules, base)

    def with_dirt_on_the_way(self, base: Meld, outcome: Outcome) -> Outcome:
        """A buraco that is clean at last stays dirty if it was dirty on the way in whatever order its cards were laid
        (R9.3).
        """
        if not outcome.meld.is_clean_buraco or len(outcome.cards) == 1:
            return outcome
        ends = self._one_by_one(base, tuple(sorted(outcome.cards)), by_default=False)
        ways = [meld for meld in ends if meld.cards == outcome.meld.cards]
        if not ways or any(not meld.stays_dirty for meld in ways):
            return outcome
        return outcome._replace(meld=ways[0])

    def _one_by_one(self, base: Meld, cards: tuple[int, ...], *, by_default: bool) -> set[Meld]:
        """The melds in which laying the cards one after the other can end, in any order; each where R5.4 puts it by
        default, or anywhere it may stand.
        """
        reached = {(base, cards)}
        for _ in cards:
            reached = {
                (outcome.meld, left[:place] + left[place + 1 :])
                for meld, left in reached
                for place, card in enumerate(left)
                for outcome in self.arrange(meld, (card,))[: 1 if by_default else None]
            }
        return {meld for meld, _ in reached}


@lru_cache(64)
def meld_book(rules: RuleSet) -> MeldBook:
    """The book of a rule set."""
    return MeldBook(rules)


@lru_cache(_REMEMBERED)
def _runs(book: MeldBook, base: Meld | None, suit: int, held: int, acting: int) -> tuple[Outcome, ...]:
    if acting and acting not in (JOKER, TWOS[suit]):
        # A 2 of another suit does what a joker does.
        return tuple([_acted_by(acting, outcome) for outcome in _runs(book, base, suit, held, JOKER)])
    outcomes = run_outcomes(book.rules, base, suit, held, acting)
    if book.rules.dirty_sticks and base is not None and base.wild_index is not None:
        return tuple([book.with_dirt_on_the_way(base, outcome) for outcome in outcomes])
    return tuple(outcomes)


@lru_cache(_REMEMBERED)
def _sets(book: MeldBook, base: Meld | None, rank: int, pool: tuple[int, ...], acting: int) -> tuple[Outcome, ...]:
    return tuple(set_outcomes(book.rules, base, rank, pool, acting))


_moved_wild = lru_cache(_REMEMBERED)(moved_wild)


def _acted_by(wild: int, outcome: Outcome) -> Outcome:
    """An outcome in which a joker was laid, with another wild in its place."""
    cards = tuple([wild if card == JOKER else card for card in outcome.cards])
    meld = outcome.meld
    after = meld._replace(cards=tuple([wild if card == JOKER else card for card in meld.cards]))
    return Outcome(cards, after, outcome.wild_position, outcome.preference, LayMeld(cards, outcome.wild_position))


def _preference(outcome: Outcome) -> tuple[int, ...]:
    return outcome.preference


def _wild_stands_at(outcome: Outcome, place: int) -> bool:
    """Whether a wild stands at the place: acting, or a 2 at its natural place."""
    if outcome.wild_position is not None:
        return outcome.wild_position == place
    meld = outcome.meld
    return place == TWO and meld.kind is MeldKind.RUN and meld.low_position <= TWO


def _of_suit(cards: list[int], suit: int) -> int:
    """The naturals of a suit among the cards, as bits."""
    held = 0
    for card in cards:
        if SUIT[card] == suit:
            held |= SECOND_ACE if RANK[card] == ACE and held & BOTH_ACES else PLACE_BITS[card]
    return held


def _of_rank(cards: list[int], rank: int) -> tuple[int, ...]:
    return tuple([card for card in cards if RANK[card] == rank])
