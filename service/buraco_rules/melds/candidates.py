"""What a hand offers to lay: every meld and lay-off that its cards can make, whatever the turn allows."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import compress
from typing import Final

from buraco_rules.caching import ByteBudget
from buraco_rules.cards import KING, RANK, SUIT, SUITS, TWOS, WILDS
from buraco_rules.meld import MIN_SIZE, SET, Meld, ranks_taken, run_suit
from buraco_rules.melds.meld_book import ANSWERS, MELD_SIZE, MeldBook, meld_book
from buraco_rules.melds.outcomes import cards_laid
from buraco_rules.melds.runs import (
    NO_RUN,
    PLACE_BITS,
    STRANGER,
    WILD_KINDS,
    RunShape,
    first_places,
    run_shape,
    useful_places,
)
from buraco_rules.melds.sets import POOL_BITS, SetShape, makes_set, set_lays, set_shape
from buraco_rules.melds.sorted_hands import Acting, SortedHand, SuitCards, sort_beside, sort_hand
from buraco_rules.moves import LayMeld, LayOff
from buraco_rules.rule_sets import RuleSet

_LAY_OFFS: Final = ByteBudget(2 << 20)
"""Apart from other answers: what does not come again soon does not come again at all. A hand changes with every turn.
"""
_MOVE_SIZE: Final = 224
_SUIT_CARDS_SIZE: Final = 1024
"""Bytes at most of a move with its place in a tuple, and of the cards of a suit."""

_RANKS: Final = range(KING + 1)
"""With the joker's, which makes no set."""
_NO_WILD: Final = (0,)
_SETS: Final = tuple([SetShape(rank, 2, False) for rank in _RANKS])
_ONE_AT_MOST: Final = (0, *(1 << POOL_BITS * suit for suit in SUITS))
_SEVERAL: Final = bytes([pool not in _ONE_AT_MOST for pool in range(256)])
"""By pool, whether it has two cards at least."""


def offers(rules: RuleSet, hand: tuple[int, ...], melds: tuple[Meld, ...], must: int = 0) -> list[LayMeld | LayOff]:
    """All that a hand offers beside the melds of its side; of a card that `must` be melded (0 = none) all that has it,
    and perhaps more.
    """
    book, sorted_hand = meld_book(rules), sort_hand(hand)
    natural = must if must not in WILDS else 0
    found: list[LayMeld | LayOff] = []
    _add_new_runs(found, book, sorted_hand, (SUIT[natural],) if natural else SUITS)
    if rules.sets:
        _add_new_sets(found, book, ranks_taken(rules, melds), sorted_hand, natural)
    _add_lay_offs(found, book, melds, sorted_hand, natural)
    return found


def size_with(rules: RuleSet, hand: tuple[int, ...], melds: tuple[Meld, ...], card: int) -> int:
    """How many cards one of the offers that have this card of the hand takes, a small one; 0 where there is none.

    Most cards fit in few places only: to look there until one fits takes much less than to list all.
    """
    if card in WILDS:
        return min([len(move.cards) for move in offers(rules, hand, melds) if card in move.cards], default=0)
    book, suit, rank = meld_book(rules), SUIT[card], RANK[card]
    of_suit, pool, acting = sort_beside(hand, card)
    kinds = WILD_KINDS[suit]
    if any([part & PLACE_BITS[card] for wild in acting for part in of_suit.for_new_run[kinds[wild]]]):
        return MIN_SIZE
    if _SEVERAL[pool] and _new_sets(book, rank, pool, acting[-1]) and rank not in ranks_taken(rules, melds):
        return MIN_SIZE
    return _size_laid_off(book, melds, card, of_suit, acting)


def _size_laid_off(book: MeldBook, melds: tuple[Meld, ...], card: int, of_suit: SuitCards, acting: Acting) -> int:
    """As `size_with`, of lay-offs of a natural. Alone it fits more often than behind others."""
    suit, rank, places = SUIT[card], RANK[card], PLACE_BITS[card]
    runs = []
    for meld in melds:
        natural = meld.cards[meld.wild_index == 0]
        if meld.kind is SET:
            if RANK[natural] == rank and makes_set(book.rules, set_shape(meld), 1, 0):
                return 1
        elif SUIT[natural] == suit:
            base = _run_base(book, meld)
            if base.near & places and book.run_ways(base.shape, places, 0):
                return 1
            if of_suit.held[0] & base.near or len(acting) > 1:
                runs.append(base)
    for base in runs:
        for wild in acting if base.takes_wild else _NO_WILD:
            kind = WILD_KINDS[suit][wild]
            useful = useful_places(base.shape, of_suit.held[kind], kind)
            if useful & places:
                sizes = [way.size for way in book.run_ways(base.shape, useful, kind) if way.laid & places]
                if sizes:
                    return sizes[0]
    return 0


def _add_new_runs(found: list[LayMeld | LayOff], book: MeldBook, hand: SortedHand, suits: Iterable[int]) -> None:
    of_suits, _, acting = hand
    for suit in suits:
        parts, kinds = of_suits[suit].for_new_run, WILD_KINDS[suit]
        for wild in acting:
            for held in parts[kinds[wild]]:
                found += _new_runs(book, suit, held, wild)


def _add_new_sets(
    found: list[LayMeld | LayOff], book: MeldBook, taken: Collection[int], hand: SortedHand, must: int
) -> None:
    """`must`: a natural that must be in the set, 0 for none."""
    _, pools, acting = hand
    for rank in (RANK[must],) if must else compress(_RANKS, pools.translate(_SEVERAL)):
        if rank not in taken:
            for wild in acting:
                found += _new_sets(book, rank, pools[rank], wild)


def _add_lay_offs(
    found: list[LayMeld | LayOff], book: MeldBook, melds: tuple[Meld, ...], hand: SortedHand, must: int
) -> None:
    """`must`: a natural that must be laid off, 0 for none."""
    suits, pools, acting = hand
    for index, meld in enumerate(melds):
        natural, wild_at = meld.cards[meld.wild_index == 0], meld.wild_index
        rank, suit = RANK[natural], SUIT[natural]
        if meld.kind is SET:
            if (pools[rank] or len(acting) > 1) and (not must or rank == RANK[must]):
                for wild in acting if wild_at is None else _NO_WILD:
                    found += _set_lay_offs(book, index, _base_of_set(book.rules, meld, rank), pools[rank], wild)
        elif not must or suit == SUIT[must]:
            # Its own 2 that acts may come home, and make room for another wild (R4.4); a stranger stays.
            takes_wild = wild_at is None or meld.cards[wild_at] == TWOS[suit]
            found += _run_lay_offs(book, index, meld, suits[suit], acting if takes_wild else _NO_WILD)


@dataclass(frozen=True, slots=True)
class _RunBase:
    """A run that cards may be laid off on."""

    shape: RunShape
    suit: int
    near: int
    """See `runs.first_places`."""
    takes_wild: bool
    """Whether a wild may be laid off on it."""


@ANSWERS.cached(2 * MELD_SIZE)
def _run_base(book: MeldBook, meld: Meld) -> _RunBase:
    run = run_shape(book.rules, meld)
    return _RunBase(run, run_suit(meld), first_places(run), run.wild != STRANGER)


@ANSWERS.cached(each=_MOVE_SIZE)
def _new_runs(book: MeldBook, suit: int, held: int, acting: int) -> tuple[LayMeld, ...]:
    ways = book.run_ways(NO_RUN, held, WILD_KINDS[suit][acting])
    return tuple([LayMeld(cards_laid(way, suit, acting), way.wild_position or None) for way in ways])


@_LAY_OFFS.cached(_SUIT_CARDS_SIZE, each=_MOVE_SIZE)
def _run_lay_offs(book: MeldBook, index: int, meld: Meld, of_suit: SuitCards, acting: Acting) -> tuple[LayOff, ...]:
    base = _run_base(book, meld)
    kinds, run, found = WILD_KINDS[base.suit], base.shape, []
    for wild in acting:
        kind = kinds[wild]
        if kind or of_suit.held[0] & base.near:
            useful = useful_places(run, of_suit.held[kind], kind)
            if useful or kind:
                for way in book.run_ways(run, useful, kind):
                    found.append(LayOff(index, cards_laid(way, base.suit, wild), way.wild_position or None))
    return tuple(found)


@ANSWERS.cached(each=_MOVE_SIZE)
def _new_sets(book: MeldBook, rank: int, pool: int, acting: int) -> tuple[LayMeld, ...]:
    return tuple([LayMeld(cards) for cards in set_lays(book.rules, SetShape(rank, 0, False), pool, acting)])


@ANSWERS.cached(each=_MOVE_SIZE)
def _set_lay_offs(book: MeldBook, index: int, base: SetShape, pool: int, acting: int) -> tuple[LayOff, ...]:
    return tuple([LayOff(index, cards) for cards in set_lays(book.rules, base, pool, acting)])


def _base_of_set(rules: RuleSet, meld: Meld, rank: int) -> SetShape:
    """Return the shape of a set as if it had two naturals, however many it has, unless their number matters.

    It may hold all that two decks have of a rank (R4.2); so fewer answers have to be remembered.
    """
    return set_shape(meld) if rules.no_wild_on_full_set else _SETS[rank]
