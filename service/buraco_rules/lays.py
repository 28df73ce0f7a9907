"""The melds and lay-offs that are legal now: every outcome of the meld book that the turn may go on with."""

from typing import NamedTuple

from buraco_rules.arrangements import MeldBook, meld_book
from buraco_rules.cards import ACE, JOKER, RANK, SUIT, SUITS, TWO, TWOS, WILDS
from buraco_rules.deal import Deal
from buraco_rules.laying import lay_violation
from buraco_rules.melds import Meld, MeldKind, run_suit
from buraco_rules.moves import LayMeld, LayOff
from buraco_rules.outcomes import Outcome
from buraco_rules.runs import PLACE_BITS, SECOND_ACE, can_begin

Offer = tuple[int | None, tuple[Outcome, ...]]
"""The meld laid off on (None: a new meld), and what the hand can make of it."""

_SECOND_TWO = 1 << 16
_SECOND = tuple(SECOND_ACE if rank == ACE else _SECOND_TWO if rank == TWO else 0 for rank in RANK)
"""By card: the bit that tells of a second copy where one matters."""


def legal_lays(deal: Deal) -> list[LayMeld | LayOff]:
    """Every legal meld and lay-off of the seat to move, which has drawn. Each once, its wild's place given if one
    acts.
    """
    moves: list[LayMeld | LayOff] = []
    judge_all = deal.turn.must_meld > 0 or deal.rules.one_set_per_rank
    safe = len(deal.hand) - 2  # with two cards left a turn can always be finished (R3.6)
    for index, outcomes in _offers(deal):
        for outcome in outcomes:
            if (judge_all or len(outcome.cards) > safe) and lay_violation(deal, index, outcome) is not None:
                continue
            if index is None:
                moves.append(outcome.move)
            else:
                moves.append(LayOff(index, outcome.cards, outcome.wild_position))
    return moves


def can_lay(deal: Deal) -> bool:
    """Whether any meld or lay-off is legal."""
    return any(_is_open(deal, offer) for offer in _offers(deal))


def can_meld_or_lay_off(deal: Deal) -> tuple[bool, bool]:
    """Whether any new meld, and whether any lay-off is legal."""
    found = [False, False]
    for offer in _offers(deal):
        is_lay_off = offer[0] is not None
        found[is_lay_off] = found[is_lay_off] or _is_open(deal, offer)
    return found[False], found[True]


def _is_open(deal: Deal, offer: Offer) -> bool:
    index, outcomes = offer
    return any(lay_violation(deal, index, outcome) is None for outcome in outcomes)


def _offers(deal: Deal) -> list[Offer]:
    """All that the hand offers; offers without a card that must be melded are left out."""
    book, hand = meld_book(deal.rules), _sort(deal)
    offers = _new_runs(book, hand)
    if deal.rules.sets:
        offers += _new_sets(book, hand)
    for index, base in enumerate(deal.side.melds):
        if base.kind is MeldKind.RUN:
            suit = run_suit(base)
            held = hand.held[suit]
            actings = hand.any_acting if suit == hand.must_suit else hand.acting_elsewhere
            for acting in actings if _takes_wild(base, suit) else actings[:1]:
                if outcomes := book.runs(base, suit, _naturals(held, suit, acting), acting):
                    offers.append((index, outcomes))
        else:
            rank = RANK[base.natural]
            pool = tuple(hand.by_rank[rank])
            actings = hand.any_acting if rank == hand.must_rank else hand.acting_elsewhere
            for acting in actings if base.wild_index is None else actings[:1]:
                if (pool or acting) and (outcomes := book.sets(base, rank, pool, acting)):
                    offers.append((index, outcomes))
    return offers


class _Hand(NamedTuple):
    """A hand sorted by what melds are made of."""

    held: list[int]
    """The places of a run that the hand can fill, by suit, as `MeldBook.runs` takes them; a second 2 is marked as
    well.
    """
    by_rank: list[list[int]]
    any_acting: tuple[int, ...]
    """What can act as a wild, 0 (nothing) first."""
    acting_elsewhere: tuple[int, ...]
    """The same for melds that have neither the suit nor the rank of a card that must be melded: there only it can
    act.
    """
    must_suit: int
    must_rank: int


def _sort(deal: Deal) -> _Hand:
    held = [0, 0, 0, 0, 0]
    by_rank: list[list[int]] = [[], [], [], [], [], [], [], [], [], [], [], [], [], []]
    for card in deal.hand:
        suit, bits = SUIT[card], PLACE_BITS[card]
        held[suit] |= _SECOND[card] if held[suit] & bits else bits
        by_rank[RANK[card]].append(card)
    twos = by_rank[TWO] if len(by_rank[TWO]) < 2 else dict.fromkeys(by_rank[TWO])
    actings = (0, *twos, JOKER) if by_rank[0] else (0, *twos)
    must = deal.turn.must_meld
    if not must:
        return _Hand(held, by_rank, actings, actings, 0, 0)
    return _Hand(held, by_rank, actings, (must,) if must in WILDS else (), SUIT[must], RANK[must])


def _new_runs(book: MeldBook, hand: _Hand) -> list[Offer]:
    offers: list[Offer] = []
    for suit in SUITS:
        held = hand.held[suit]
        naturally, with_wild = can_begin(held)
        if with_wild:
            actings = hand.any_acting if suit == hand.must_suit else hand.acting_elsewhere
            offers += [
                (None, outcomes)
                for acting in actings
                if (acting or naturally) and (outcomes := book.runs(None, suit, _naturals(held, suit, acting), acting))
            ]
    return offers


def _new_sets(book: MeldBook, hand: _Hand) -> list[Offer]:
    offers: list[Offer] = []
    for rank in range(ACE, 14):
        if len(hand.by_rank[rank]) >= 2:
            pool = tuple(hand.by_rank[rank])
            actings = hand.any_acting if rank == hand.must_rank else hand.acting_elsewhere
            offers += [
                (None, outcomes)
                for acting in actings
                if (acting or len(pool) > 2) and (outcomes := book.sets(None, rank, pool, acting))
            ]
    return offers


def _takes_wild(base: Meld, suit: int) -> bool:
    """Whether a run may take a wild: it has none, or a 2 that may come to rest at its natural place."""
    return base.wild_index is None or base.cards[base.wild_index] == TWOS[suit]


def _naturals(held: int, suit: int, acting: int) -> int:
    """The naturals of a suit that the hand holds beside the acting wild, as `MeldBook.runs` takes them."""
    if acting == TWOS[suit] and not held & _SECOND_TWO:
        return held & ~(1 << TWO)
    return held & ~_SECOND_TWO
