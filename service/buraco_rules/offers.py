"""What a hand offers to lay: every meld and lay-off that its cards can make, whatever the turn allows."""

from collections.abc import Collection
from functools import lru_cache
from typing import Final, NamedTuple

from buraco_rules.arrangements import MeldBook, meld_book
from buraco_rules.cards import ACE, KING, RANK, SUIT, SUITS, WILDS
from buraco_rules.melds import Meld, MeldKind, ranks_taken, run_suit
from buraco_rules.moves import LayMeld, LayOff
from buraco_rules.outcomes import cards_laid
from buraco_rules.rule_sets import RuleSet
from buraco_rules.runs import NO_RUN, STRANGER, WILD_KINDS, RunShape, first_places, run_shape, useful_places
from buraco_rules.sets import POOL_BITS, SetShape, set_lays, set_shape
from buraco_rules.sorted_hands import SortedHand, sort_hand

_REMEMBERED: Final = 1 << 15
"""Lists of moves of each kind, of all rule sets together."""

_RANKS: Final = range(ACE, KING + 1)
_TOO_FEW: Final = frozenset((0, *(1 << POOL_BITS * suit for suit in SUITS)))
"""Pools of less than two cards."""


def offers(rules: RuleSet, hand: tuple[int, ...], melds: tuple[Meld, ...], must: int = 0) -> list[LayMeld | LayOff]:
    """All that a hand offers beside the melds of its side; of a card that `must` be melded (0 = none) all that has it,
    and perhaps more.
    """
    book, sorted_hand = meld_book(rules), sort_hand(hand)
    wilds = _wilds(sorted_hand.acting, must)
    found: list[LayMeld | LayOff] = []
    _add_new_runs(found, book, sorted_hand, wilds)
    if rules.sets:
        _add_new_sets(found, book, sorted_hand, wilds, ranks_taken(rules, melds))
    _add_lay_offs(found, book, melds, sorted_hand, wilds)
    return found


class _Wilds(NamedTuple):
    """What may act as a wild, 0 (nothing) among it."""

    acting: tuple[int, ...]
    must_suit: int
    """The suit and the rank of a card that must be melded; -1 for none."""
    must_rank: int
    elsewhere: tuple[int, ...]
    """The same in melds that have neither: there the card that must be melded can only be the wild itself."""


@lru_cache(1 << 9)
def _wilds(acting: tuple[int, ...], must: int) -> _Wilds:
    if not must:
        return _Wilds(acting, -1, -1, acting)
    return _Wilds(acting, SUIT[must], RANK[must] or -1, (must,) if must in WILDS else ())


def _add_new_runs(found: list[LayMeld | LayOff], book: MeldBook, hand: SortedHand, wilds: _Wilds) -> None:
    acting, must_suit, _, elsewhere = wilds
    for suit in SUITS if elsewhere else (must_suit,):
        useful, kinds = hand.suits[suit].for_new_run, WILD_KINDS[suit]
        for wild in acting if suit == must_suit else elsewhere:
            held = useful[kinds[wild]]
            if held:
                found += _new_runs(book, suit, held, wild)


def _add_new_sets(
    found: list[LayMeld | LayOff], book: MeldBook, hand: SortedHand, wilds: _Wilds, taken: Collection[int]
) -> None:
    acting, _, must_rank, elsewhere = wilds
    for rank in _RANKS if elsewhere else (must_rank,):
        pool = hand.pools[rank]
        if pool not in _TOO_FEW and rank not in taken:
            for wild in acting if rank == must_rank else elsewhere:
                found += _new_sets(book, rank, pool, wild)


def _add_lay_offs(
    found: list[LayMeld | LayOff], book: MeldBook, melds: tuple[Meld, ...], hand: SortedHand, wilds: _Wilds
) -> None:
    acting, must_suit, must_rank, elsewhere = wilds
    for number, meld in enumerate(melds):
        run, suit, near, base, takes_wild = _base(book, meld)
        fitting = acting if suit == must_suit or base.rank == must_rank else elsewhere
        if not takes_wild:
            fitting = fitting[:1]
        if run is None:
            pool = hand.pools[base.rank]
            for wild in fitting:
                if pool or wild:
                    found += _set_lay_offs(book, number, base, pool, wild)
        else:
            held, kinds = hand.suits[suit].held, WILD_KINDS[suit]
            for wild in fitting:
                kind = kinds[wild]
                if kind or held[0] & near:
                    useful = useful_places(run, held[kind], kind)
                    if useful or kind:
                        found += _run_lay_offs(book, number, run, suit, useful, wild)


class _Base(NamedTuple):
    """A meld that cards may be laid off on."""

    run: RunShape | None
    """None for a set."""
    suit: int
    """Of a run; -2 for a set."""
    near: int
    """The first places of a run, see `runs.first_places`."""
    set: SetShape
    """`_NO_SET` for a run."""
    takes_wild: bool
    """Whether there is room for a wild: it has none, or a 2 that may come to rest at its natural place (R4.4)."""


_NO_SET: Final = SetShape(-2, 0, False)


@lru_cache(_REMEMBERED)
def _base(book: MeldBook, meld: Meld) -> _Base:
    if meld.kind is MeldKind.SET:
        return _Base(None, -2, 0, set_shape(meld), meld.wild_index is None)
    run = run_shape(book.rules, meld)
    return _Base(run, run_suit(meld), first_places(run), _NO_SET, run.wild != STRANGER)


@lru_cache(_REMEMBERED)
def _new_runs(book: MeldBook, suit: int, held: int, acting: int) -> tuple[LayMeld, ...]:
    ways = book.run_ways(NO_RUN, held, WILD_KINDS[suit][acting])
    return tuple([LayMeld(cards_laid(way, suit, acting), way.wild_position or None) for way in ways])


@lru_cache(_REMEMBERED)
def _run_lay_offs(book: MeldBook, index: int, run: RunShape, suit: int, held: int, acting: int) -> tuple[LayOff, ...]:
    ways = book.run_ways(run, held, WILD_KINDS[suit][acting])
    return tuple([LayOff(index, cards_laid(way, suit, acting), way.wild_position or None) for way in ways])


@lru_cache(_REMEMBERED)
def _new_sets(book: MeldBook, rank: int, pool: int, acting: int) -> tuple[LayMeld, ...]:
    return tuple([LayMeld(cards) for cards in set_lays(book.rules, SetShape(rank, 0, False), pool, acting)])


@lru_cache(_REMEMBERED)
def _set_lay_offs(book: MeldBook, index: int, base: SetShape, pool: int, acting: int) -> tuple[LayOff, ...]:
    return tuple([LayOff(index, cards) for cards in set_lays(book.rules, base, pool, acting)])
