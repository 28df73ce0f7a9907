"""What a hand offers to lay: every outcome of the meld book that its cards can make, whatever the turn allows."""

from functools import lru_cache
from typing import NamedTuple

from buraco_rules.arrangements import MeldBook, meld_book
from buraco_rules.cards import RANK, SUIT, SUITS, TWOS, WILDS
from buraco_rules.deal import Deal
from buraco_rules.melds import Meld, MeldKind, run_suit
from buraco_rules.outcomes import Outcome
from buraco_rules.runs import can_begin
from buraco_rules.sorted_hands import SortedHand, naturals, sort_hand

Offer = tuple[int | None, tuple[Outcome, ...]]
"""The meld laid off on (None: a new meld), and what the hand can make of it."""


def offers(deal: Deal) -> list[Offer]:
    """All that the hand of the seat to move offers; offers without a card that must be melded are left out."""
    book, hand, must = meld_book(deal.rules), sort_hand(deal.hand), deal.turn.must_meld
    if must:
        wilds = _Wilds(hand.acting, SUIT[must], RANK[must] or -1, (must,) if must in WILDS else ())
    else:
        wilds = _Wilds(hand.acting, -1, -1, hand.acting)
    found = _new_runs(book, hand, wilds)
    if deal.rules.sets:
        found += _new_sets(book, hand, wilds)
    found += _lay_offs(book, deal.side.melds, hand, wilds)
    return found


class _Wilds(NamedTuple):
    """What may act as a wild, 0 (nothing) among it."""

    acting: tuple[int, ...]
    must_suit: int
    """The suit and the rank of a card that must be melded; -1 for none."""
    must_rank: int
    elsewhere: tuple[int, ...]
    """The same in melds that have neither: there the card that must be melded can only be the wild itself."""


def _new_runs(book: MeldBook, hand: SortedHand, wilds: _Wilds) -> list[Offer]:
    found: list[Offer] = []
    acting, must_suit, _, elsewhere = wilds
    for suit in SUITS if elsewhere else (must_suit,):
        places = hand.places[suit]
        naturally, with_wild = can_begin(places)
        if with_wild:
            for wild in acting if suit == must_suit else elsewhere:
                if (wild or naturally) and (made := book.runs(None, suit, naturals(places, suit, wild), wild)):
                    found.append((None, made))
    return found


def _new_sets(book: MeldBook, hand: SortedHand, wilds: _Wilds) -> list[Offer]:
    found: list[Offer] = []
    acting, _, must_rank, elsewhere = wilds
    for rank, cards in enumerate(hand.by_rank):
        if len(cards) >= 2:
            for wild in acting if rank == must_rank else elsewhere:
                if (wild or len(cards) > 2) and (made := book.sets(None, rank, cards, wild)):
                    found.append((None, made))
    return found


def _lay_offs(book: MeldBook, melds: tuple[Meld, ...], hand: SortedHand, wilds: _Wilds) -> list[Offer]:
    found: list[Offer] = []
    acting, must_suit, must_rank, elsewhere = wilds
    for index, meld, suit, rank, takes_wild in _bases(melds):
        fitting = acting if suit == must_suit or rank == must_rank else elsewhere
        if not takes_wild:
            fitting = fitting[:1]
        if rank < 0:
            places = hand.places[suit]
            for wild in fitting:
                if made := book.runs(meld, suit, naturals(places, suit, wild), wild):
                    found.append((index, made))
        else:
            cards = hand.by_rank[rank]
            for wild in fitting:
                if (cards or wild) and (made := book.sets(meld, rank, cards, wild)):
                    found.append((index, made))
    return found


class _Base(NamedTuple):
    """A meld that cards may be laid off on."""

    number: int
    """Its index among the side's melds."""
    meld: Meld
    suit: int
    """Of a run; -2 for a set."""
    rank: int
    """Of a set; -2 for a run."""
    takes_wild: bool
    """Whether there is room for a wild: it has none, or a 2 that may come to rest at its natural place (R4.4)."""


@lru_cache(1024)
def _bases(melds: tuple[Meld, ...]) -> tuple[_Base, ...]:
    """A side's melds as bases. Remembered, because they change less often than they are looked at."""
    return tuple([_base(number, meld) for number, meld in enumerate(melds)])


def _base(number: int, meld: Meld) -> _Base:
    has_wild = meld.wild_index is not None
    if meld.kind is MeldKind.SET:
        return _Base(number, meld, -2, RANK[meld.natural], not has_wild)
    suit = run_suit(meld)
    return _Base(number, meld, suit, -2, not has_wild or meld.cards[meld.wild_index or 0] == TWOS[suit])
