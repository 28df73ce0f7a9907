"""Candidate moves: every meld and lay-off that the cards of a hand can make, whatever the turn allows."""

from dataclasses import dataclass
from itertools import compress
from typing import Final

from buraco_rules.caching import ByteBudget
from buraco_rules.cards import KING, RANK, SUIT, SUITS, TWOS, WILDS
from buraco_rules.meld import SET, Meld, ranks_taken, run_suit
from buraco_rules.melds.meld_book import ANSWERS, MELD_SIZE, MeldBook, meld_book, run_ways
from buraco_rules.melds.runs import NO_RUN, WILD_KINDS, RunShape, near_places, run_shape, useful_places
from buraco_rules.melds.sets import POOL_BITS, SetShape, set_lays, set_shape
from buraco_rules.melds.sorted_hands import Acting, SortedHand, SuitCards, sort_hand
from buraco_rules.moves import LayMeld, LayOff
from buraco_rules.rule_sets import RuleSet

_LAY_OFFS: Final = ByteBudget(2 << 20)
"""Apart from other answers and small: a hand changes with every turn, so old answers seldom come again."""
_MOVE_SIZE: Final = 224
_SUIT_CARDS_SIZE: Final = 1024
"""Bytes at most of a move with its place in a tuple, and of the cards of a suit."""

_RANKS: Final = range(KING + 1)
"""With the joker's, which makes no set."""
_NO_WILD: Final = (0,)
_SETS: Final = tuple([SetShape(rank, 2, False) for rank in _RANKS])
_ONE_AT_MOST: Final = (0, *(1 << POOL_BITS * suit for suit in SUITS))
_HAS_SEVERAL: Final = bytes([pool not in _ONE_AT_MOST for pool in range(256)])
"""By pool: whether it has two cards at least."""


def candidate_moves(
    rules: RuleSet, hand: tuple[int, ...], melds: tuple[Meld, ...], must: int = 0
) -> list[LayMeld | LayOff]:
    """Return every meld and lay-off that the hand can make beside the melds of its side, each once.

    With `must` only those that have this card (0 = all). A second set of a rank (R4.6) is left out.

    >>> from buraco_notation import parse_cards
    >>> from buraco_rules import PRESETS_BY_ID
    >>> candidate_moves(PRESETS_BY_ID["burraco"], parse_cards("4h 5h 6h Ks"), ())
    [LayMeld(cards=(17, 18, 19), wild_position=None)]
    """
    book, sorted_hand = meld_book(rules), sort_hand(hand)
    suits, pools, acting = sorted_hand
    # A natural that must be melded spares looking where it does not fit.
    natural = 0 if must in WILDS else must
    found: list[LayMeld | LayOff] = []
    for suit in (SUIT[natural],) if natural else SUITS:
        parts, kinds = suits[suit].for_new_run, WILD_KINDS[suit]
        for wild in acting:
            for held in parts[kinds[wild]]:
                found += _new_runs(book, suit, held, wild)
    if rules.sets:
        taken = ranks_taken(rules, melds)
        for rank in compress(_RANKS, pools.translate(_HAS_SEVERAL)):
            if rank not in taken and (not natural or rank == RANK[natural]):
                for wild in acting:
                    found += _new_sets(book, rank, pools[rank], wild)
    _add_lay_offs(found, book, melds, sorted_hand, natural)
    return [move for move in found if must in move.cards] if must else found


def _add_lay_offs(
    found: list[LayMeld | LayOff], book: MeldBook, melds: tuple[Meld, ...], hand: SortedHand, must: int
) -> None:
    suits, pools, acting = hand
    for index, meld in enumerate(melds):
        wild_at = meld.wild_index
        natural = meld.cards[wild_at == 0]
        if meld.kind is SET:
            rank = RANK[natural]
            if (pools[rank] or len(acting) > 1) and (not must or rank == RANK[must]):
                base = _set_base(book.rules, meld, rank)
                for wild in acting if wild_at is None else _NO_WILD:
                    found += _set_lay_offs(book, index, base, pools[rank], wild)
        elif not must or SUIT[natural] == SUIT[must]:
            suit = SUIT[natural]
            # Its own 2 can become a natural and make room for another wild (R4.4); a foreign wild keeps acting.
            takes_wild = wild_at is None or meld.cards[wild_at] == TWOS[suit]
            found += _run_lay_offs(book, index, meld, suits[suit], acting if takes_wild else _NO_WILD)


@dataclass(frozen=True, slots=True)
class _RunBase:
    """A run that cards may be laid off on."""

    shape: RunShape
    suit: int
    near: int
    """The places of which a lay-off without a wild fills one at least, as bits."""


@ANSWERS.cached(2 * MELD_SIZE)
def _run_base(book: MeldBook, meld: Meld) -> _RunBase:
    run = run_shape(book.rules, meld)
    return _RunBase(run, run_suit(meld), near_places(run))


@ANSWERS.cached(each=_MOVE_SIZE)
def _new_runs(book: MeldBook, suit: int, held: int, acting: int) -> tuple[LayMeld, ...]:
    ways = run_ways(book, NO_RUN, held, WILD_KINDS[suit][acting])
    return tuple([LayMeld(way.cards_laid(suit, acting), way.wild_position or None) for way in ways])


@_LAY_OFFS.cached(_SUIT_CARDS_SIZE, each=_MOVE_SIZE)
def _run_lay_offs(book: MeldBook, index: int, meld: Meld, of_suit: SuitCards, acting: Acting) -> tuple[LayOff, ...]:
    base = _run_base(book, meld)
    kinds, run, found = WILD_KINDS[base.suit], base.shape, []
    for wild in acting:
        kind = kinds[wild]
        if kind or of_suit.held[0] & base.near:
            useful = useful_places(run, of_suit.held[kind], kind)
            if useful or kind:
                for way in run_ways(book, run, useful, kind):
                    found.append(LayOff(index, way.cards_laid(base.suit, wild), way.wild_position or None))
    return tuple(found)


@ANSWERS.cached(each=_MOVE_SIZE)
def _new_sets(book: MeldBook, rank: int, pool: int, acting: int) -> tuple[LayMeld, ...]:
    return tuple([LayMeld(cards) for cards in set_lays(book.rules, SetShape(rank, 0, False), pool, acting)])


@ANSWERS.cached(each=_MOVE_SIZE)
def _set_lay_offs(book: MeldBook, index: int, base: SetShape, pool: int, acting: int) -> tuple[LayOff, ...]:
    return tuple([LayOff(index, cards) for cards in set_lays(book.rules, base, pool, acting)])


def _set_base(rules: RuleSet, meld: Meld, rank: int) -> SetShape:
    """Return the shape of a set as if it had two naturals, however many it has, unless their number matters.

    It may hold all that two decks have of a rank (R4.2); so fewer answers have to be cached.
    """
    return set_shape(meld) if rules.no_wild_on_full_set else _SETS[rank]
