"""An independent reading of R4, R5 and R9.2: try every placement of every card and keep what the rules allow.

Slow and plain on purpose. It shares nothing with the meld book but the shape of a meld.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from buraco_rules import BuracoKind, Meld, MeldKind, RuleSet, WildEnd, WildMoves
from buraco_rules.cards import ACE, ACE_HIGH, JOKER, KING, RANK, SUIT, TWO

OLD_WILD = -1
"""The tag of the wild that acted in the meld before."""
FIXED = -2
"""The tag of a natural that lay in the meld before."""


class Result(NamedTuple):
    """A meld that may come of a lay."""

    meld: Meld
    wild_position: int | None
    """The place of the acting wild in a run."""
    preference: tuple[int, ...]
    """The smallest is what R5.4 takes without a word of the player."""


def is_natural(card: int, suit: int, place: int) -> bool:
    """Whether a card stands at its own place in a run of a suit."""
    return SUIT[card] == suit and RANK[card] == (ACE if place == ACE_HIGH else place)


def is_wild(card: int) -> bool:
    """Whether a card can act as a wild."""
    return card == JOKER or RANK[card] == TWO


def results(rules: RuleSet, base: Meld | None, cards: Sequence[int]) -> list[Result]:
    """Every meld that exactly these cards can make of `base`, or of nothing; those that R5.4 prefers first.

    Of melds that differ in the place of an ace only, which the place of the wild cannot tell apart, the preferred.
    """
    if not cards:
        return []
    found = [*_sets(rules, base, cards), *_runs(rules, base, cards)]
    found.sort(key=lambda result: result.preference)
    best: dict[int | None, Result] = {}
    for result in found:
        best.setdefault(result.wild_position, result)
    if base is None or base.wild_index is None or len(cards) == 1 or not rules.dirty_sticks:
        return list(best.values())
    return [result._replace(meld=_with_dirt_on_the_way(rules, base, cards, result.meld)) for result in best.values()]


def default(rules: RuleSet, base: Meld | None, cards: Sequence[int]) -> Meld | None:
    """The meld that comes of the cards where the player says nothing; None where there is no legal one.

    Cards laid off together end as they would one by one, in whatever order that is legal (R5.4).
    """
    found = [result.meld for result in results(rules, base, cards)]
    if base is not None and len(found) > 1 and len(cards) > 1:
        ends = {end.cards for end in one_by_one(rules, base, cards)}
        return next((meld for meld in found if meld.cards in ends), found[0])
    return found[0] if found else None


def one_by_one(rules: RuleSet, base: Meld, cards: Sequence[int], *, anywhere: bool = False) -> set[Meld]:
    """Every meld that comes of laying the cards off one by one, in any order.

    The wild goes where it goes without a word of the player, or, `anywhere`, to every place where it may go.
    """
    if not cards:
        return {base}
    ends: set[Meld] = set()
    for card in set(cards):
        rest = list(cards)
        rest.remove(card)
        for result in results(rules, base, (card,))[: None if anywhere else 1]:
            ends |= one_by_one(rules, result.meld, rest, anywhere=anywhere)
    return ends


def _with_dirt_on_the_way(rules: RuleSet, base: Meld, cards: Sequence[int], meld: Meld) -> Meld:
    """R5.4 and R9.3: what would have been a dirty buraco on every way one by one stays dirty when laid at once."""
    if meld.stays_dirty or meld.buraco is BuracoKind.NONE:
        return meld
    ways = [end for end in one_by_one(rules, base, cards, anywhere=True) if end.cards == meld.cards]
    if ways and all(way.stays_dirty for way in ways):
        meld = meld._replace(stays_dirty=True)
    return meld._replace(buraco=buraco_kind(rules, meld))


def moved_wild(rules: RuleSet, base: Meld) -> Meld | None:
    """The run with its wild at the other end (R5.2); None where it may not move."""
    last = len(base.cards) - 1
    if base.kind is MeldKind.SET or rules.wild_moves is not WildMoves.FREE_END or base.wild_index not in (0, last):
        return None
    wild = base.cards[base.wild_index]
    if base.wild_index == 0:
        cards, low, index = (*base.cards[1:], wild), base.low_position + 1, last
    else:
        cards, low, index = (wild, *base.cards[:-1]), base.low_position - 1, 0
    place = low + index
    if not 1 <= place <= ACE_HIGH:
        return None
    at_home = is_natural(wild, SUIT[base.natural], place)
    return _finished(rules, base, Meld(MeldKind.RUN, cards, low, None if at_home else index, BuracoKind.NONE, False))


def buraco_kind(rules: RuleSet, meld: Meld) -> BuracoKind:
    """The kind of buraco by R9.2 and R9.3, told from the meld's cards and from whether it stays dirty."""
    if len(meld.cards) < 7:
        return BuracoKind.NONE
    clean = meld.wild_index is None and not meld.stays_dirty
    run = meld.kind is MeldKind.RUN
    kinds = []
    if clean and run and len(meld.cards) == 14 and rules.ace_to_ace:
        kinds.append(BuracoKind.ACE_TO_ACE)
    if clean and run and len(meld.cards) in (13, 14) and rules.royal:
        kinds.append(BuracoKind.ROYAL)
    if clean and rules.clean:
        kinds.append(BuracoKind.CLEAN)
    if meld.wild_index is not None and rules.semi_clean and (run or rules.semi_clean_sets):
        stretches = [
            len(list(group)) for acts, group in groupby(range(len(meld.cards)), meld.wild_index.__eq__) if not acts
        ]
        inside = len(stretches) == 2
        if max(stretches) >= 7 and not (run and inside and rules.semi_clean_end_wild):
            kinds.append(BuracoKind.SEMI_CLEAN)
    return [*kinds, BuracoKind.DIRTY][0]


def _finished(rules: RuleSet, base: Meld | None, meld: Meld) -> Meld:
    sticks = base is not None and base.stays_dirty
    if rules.dirty_sticks and len(meld.cards) >= 7 and meld.wild_index is not None:
        sticks = True
    meld = meld._replace(stays_dirty=sticks)
    return meld._replace(buraco=buraco_kind(rules, meld))


def _sets(rules: RuleSet, base: Meld | None, cards: Sequence[int]) -> Iterator[Result]:
    if not rules.sets or (base is not None and base.kind is MeldKind.RUN):
        return
    pool = sorted([*cards, *(base.cards if base is not None else ())])
    for rank in range(1, 14):
        if rank == TWO and not rules.set_of_twos:
            continue
        if base is not None and rank != RANK[base.natural]:
            continue
        naturals = [card for card in pool if RANK[card] == rank]
        acting = [card for card in pool if RANK[card] != rank]
        if len(pool) < 3 or not 2 <= len(naturals) <= 8 or len(acting) > 1 or not all(map(is_wild, acting)):
            continue
        if len(naturals) == 8 and acting and rules.no_wild_on_full_set:
            continue
        index = len(naturals) if acting else None
        meld = Meld(MeldKind.SET, (*naturals, *acting), 0, index, BuracoKind.NONE, False)
        yield Result(_finished(rules, base, meld), None, (len(acting),))


def _runs(rules: RuleSet, base: Meld | None, cards: Sequence[int]) -> Iterator[Result]:
    if base is not None and base.kind is MeldKind.SET:
        return
    loose = [(card, tag) for tag, card in enumerate(cards)]
    fixed: dict[int, int] = {}
    old_place = None
    if base is not None:
        for index, card in enumerate(base.cards):
            if index == base.wild_index:
                old_place = base.low_position + index
                loose.append((card, OLD_WILD))
            else:
                fixed[base.low_position + index] = card
    size = len(loose) + len(fixed)
    suits = range(4) if base is None else [SUIT[base.natural]]
    for suit in suits:
        for low in range(1, ACE_HIGH + 2 - size):
            places = range(low, low + size)
            if size < 3 or not all(place in places for place in fixed):
                continue
            for run in _fillings(suit, list(places), fixed, loose):
                acting = [
                    place for place, (card, _) in zip(places, run, strict=True) if not is_natural(card, suit, place)
                ]
                if len(acting) > 1 or size - len(acting) < 2:
                    continue
                natural_aces = {place for place in (1, ACE_HIGH) if place in places and place not in acting}
                if len(natural_aces) == 2 and not rules.two_aces:
                    continue
                if not _wild_may_go(rules, base, suit, low, run, old_place):
                    continue
                at = acting[0] - low if acting else None
                meld = Meld(MeldKind.RUN, tuple(card for card, _ in run), low, at, BuracoKind.NONE, False)
                yield Result(
                    _finished(rules, base, meld),
                    acting[0] if acting else None,
                    _preference(rules, low, run, acting, old_place),
                )


Piece = tuple[int, int]
"""A card and its tag."""


def _fillings(suit: int, places: list[int], fixed: dict[int, int], loose: list[Piece]) -> Iterator[list[Piece]]:
    """Every way to fill the places, with no more than one card that is not at its own place."""
    if not places:
        yield []
        return
    place, rest = places[0], places[1:]
    if place in fixed:
        for tail in _fillings(suit, rest, fixed, loose):
            yield [(fixed[place], FIXED), *tail]
        return
    for number, piece in enumerate(loose):
        if is_natural(piece[0], suit, place) or is_wild(piece[0]):
            others = loose[:number] + loose[number + 1 :]
            if not is_natural(piece[0], suit, place) and not _all_at_home(suit, rest, fixed, others):
                continue
            for tail in _fillings(suit, rest, fixed, others):
                yield [piece, *tail]


def _all_at_home(suit: int, places: list[int], fixed: dict[int, int], loose: list[Piece]) -> bool:
    """Whether the cards left would fill the places left as naturals: a cheap way to stop early where two wilds act."""
    free = [place for place in places if place not in fixed]
    return all(any(is_natural(card, suit, place) for card, _ in loose) for place in free)


def _wild_may_go(
    rules: RuleSet, base: Meld | None, suit: int, low: int, run: list[Piece], old_place: int | None
) -> bool:
    """R5.2 and R5.3: whether the wild of the meld before may stand where this run has it."""
    if base is None or old_place is None:
        return True
    new_place = low + next(index for index, (_, tag) in enumerate(run) if tag == OLD_WILD)
    if new_place == old_place:
        return True
    replaced = any(
        low + index == old_place and tag >= 0 and is_natural(card, suit, old_place)
        for index, (card, tag) in enumerate(run)
    )
    free = rules.wild_moves is WildMoves.FREE_END
    if not replaced:
        return free and base.wild_index in (0, len(base.cards) - 1)
    if free:
        return True
    filled = {low + index for index, (_, tag) in enumerate(run) if tag != OLD_WILD}
    three = 13 * suit + 3
    beside_home = (13 * suit + TWO, OLD_WILD) in run and three in [card for card, _ in run]
    fresh_acts = any(tag >= 0 and not is_natural(card, suit, low + index) for index, (card, tag) in enumerate(run))
    return new_place == _where_replaced(rules, filled, beside_home, fresh_acts)


def _where_replaced(rules: RuleSet, filled: set[int], beside_home: bool, fresh_acts: bool) -> int | None:
    """The place to which R5.3 sends a replaced wild, the other places being filled; None where there is none.

    An end is no place for it where a fresh wild acts, for only one card may.
    """
    gaps = set(range(min(filled), max(filled) + 1)) - filled
    if gaps:
        return gaps.pop() if len(gaps) == 1 else None
    if beside_home and min(filled) == TWO + 1:
        return TWO
    if fresh_acts:
        return None
    high, low = max(filled) + 1, min(filled) - 1
    ends = (high, low) if rules.wild_end is WildEnd.HIGH else (low, high)
    return next((end for end in ends if 1 <= end <= ACE_HIGH), None)


def _preference(
    rules: RuleSet, low: int, run: list[Piece], acting: list[int], old_place: int | None
) -> tuple[int, ...]:
    """R5.4: fewest acting wilds; a wild that need not move stays; an ace behind the king if there is one; R5.3."""
    high = low + len(run) - 1
    moved = old_place is not None and not any(
        low + index == old_place and tag == OLD_WILD for index, (_, tag) in enumerate(run)
    )
    king = low <= KING <= high and KING not in acting
    ace_low = low == 1 and run[0][1] >= 0 and RANK[run[0][0]] == ACE
    ace_high = high == ACE_HIGH and run[-1][1] >= 0 and RANK[run[-1][0]] == ACE
    order = 0
    if acting and acting[0] in (low, high):
        first = high if rules.wild_end is WildEnd.HIGH else low
        order = 1 if acting[0] == first else 2
    return (len(acting), moved, (ace_low and king) or (ace_high and not king), order)
