"""Every run that cards can make, and where its wild may stand (R4.1, R4.4, R4.5, R5)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from buraco_rules.cards import ACE, ACE_HIGH, KING, RANK, RUN_CARDS, TWO, TWOS
from buraco_rules.melds import Meld, MeldKind, make_meld, run_suit
from buraco_rules.moves import LayMeld
from buraco_rules.outcomes import Outcome
from buraco_rules.rule_sets import RuleSet, WildEnd, WildMoves

ALL_PLACES: Final = (1 << ACE_HIGH + 1) - (1 << ACE)
BOTH_ACES: Final = 1 << ACE | 1 << ACE_HIGH
PLACE_BITS: Final = tuple(BOTH_ACES if rank == ACE else 1 << rank for rank in RANK)
"""By card: the bits of its places in a run of its suit, two for an ace."""
SECOND_ACE: Final = 1 << 15
"""The bit of a second ace of the suit."""


class Run(NamedTuple):
    """A run taken apart: what of it is fixed, and what its wild may do."""

    suit: int
    naturals: int
    """Bit p is set where a natural stands at place p, 1 to 14."""
    wild: int
    """The card that acts as a wild; 0 = none."""
    wild_position: int
    """Its place; 0 = none."""
    wild_is_free: bool
    """The wild stands at an end and may be placed anew (R5.2 free_end)."""
    stays_dirty: bool


def run_outcomes(rules: RuleSet, base: Meld | None, suit: int, held: int, acting: int) -> list[Outcome]:
    """Every run that any of the cards held make, with exactly the wild `acting` laid as a wild (0 = none).

    `held` tells the naturals of the suit, as `PLACE_BITS` and `SECOND_ACE` say. `base` is the run laid off on, None for
    a new one. Of outcomes with the same cards and the wild at the same place only the preferred one is listed.
    """
    run = _take_apart(base, suit, rules)
    own_two = 1 << TWO
    passes = [(held, acting)]
    if run.wild == TWOS[suit]:
        # Two own 2s in a run are twins: it does not matter which of them acts. All that lays one is listed where
        # it acts.
        if acting == run.wild:
            passes.append((held | own_two, 0))
        else:
            passes = [(held & ~own_two, acting)]
    best: dict[tuple[tuple[int, ...], int | None], Outcome] = {}
    for places, wild in passes:
        for outcome in _extensions(rules, run, places, wild):
            if acting and acting not in outcome.cards:
                continue
            key = (tuple(sorted(outcome.cards)), outcome.wild_position)
            known = best.get(key)
            if known is None or outcome.preference < known.preference:
                best[key] = outcome
    return list(best.values())


def can_begin(held: int) -> tuple[bool, bool]:
    """Whether any of the cards held might make a new run without a wild, and with one: a quick look ahead."""
    places = held & ALL_PLACES
    beside = places & places >> 1
    return beside & places >> 2 > 0, beside > 0 or places & places >> 2 > 0


def useful_places(base: Meld | None, suit: int, held: int, acting: int) -> int:
    """Those of the cards held that can take part in a run or lay-off with this acting wild; 0 where none can.

    Leaving out what is out of reach makes one remembered answer serve many hands.
    """
    places = held & ALL_PLACES
    if base is None:
        useful = places & places >> 1
        if acting:
            apart = places & places >> 2
            useful |= useful << 1 | apart | apart << 2
        else:
            useful &= places >> 2
            useful |= useful << 1 | useful << 2
    else:
        useful = _in_reach(base, suit, places, acting)
    if held & SECOND_ACE and useful & BOTH_ACES == BOTH_ACES:
        useful |= SECOND_ACE
    return useful


def _in_reach(base: Meld, suit: int, places: int, acting: int) -> int:
    low = base.low_position
    high = low + len(base.cards)
    wild = acting > 0 or base.wild_index is not None
    near = (1 << high + 2) - (1 << low - 2 if low > 2 else 2) if wild else 1 << low - 1 | 1 << high
    # The run's own 2 may come home: its place counts as filled.
    home = base.wild_index is not None and base.cards[base.wild_index] == TWOS[suit]
    if not home and not places & near:
        return 0
    naturals = (1 << high) - (1 << low)
    if base.wild_index is not None:
        naturals ^= 1 << low + base.wild_index
    filled = places | 1 << TWO if home else places
    return places & ~naturals & _reach(naturals, filled | naturals, wild)


def moved_wild(rules: RuleSet, base: Meld) -> tuple[Meld, int] | None:
    """The run with its wild at the other end, and the place it then has; None where it may not move (R5.2)."""
    if rules.wild_moves is not WildMoves.FREE_END or base.kind is MeldKind.SET:
        return None
    last = len(base.cards) - 1
    if base.wild_index == 0:
        wild, low, place, index = base.cards[0], base.low_position + 1, base.low_position + last + 1, last
        cards = (*base.cards[1:], wild)
    elif base.wild_index == last:
        wild, index = base.cards[last], 0
        low = place = base.low_position - 1
        cards = (wild, *base.cards[:last])
    else:
        return None
    if not ACE <= place <= ACE_HIGH:
        return None
    comes_home = place == TWO and wild == TWOS[run_suit(base)]
    wild_index = None if comes_home else index
    return make_meld(rules, MeldKind.RUN, cards, low, wild_index, stays_dirty=base.stays_dirty), place


def _extensions(rules: RuleSet, run: Run, held: int, acting: int) -> Iterator[Outcome]:
    if not (acting and run.wild):
        yield from _spanned(rules, run, run.naturals, held, acting, comes_home=False)
    if run.wild == TWOS[run.suit] and not run.naturals & (1 << TWO):
        yield from _spanned(rules, run, run.naturals | (1 << TWO), held, acting, comes_home=True)


def _spanned(rules: RuleSet, run: Run, fixed: int, held: int, acting: int, *, comes_home: bool) -> Iterator[Outcome]:
    """Outcomes in which the run's own wild acts, or (`comes_home`) rests at its natural place as a natural."""
    wild = acting or (0 if comes_home else run.wild)
    aces = bool(held & BOTH_ACES) + bool(held & SECOND_ACE)
    held &= ALL_PLACES
    for low, high in _spans(fixed, held, bool(wild)):
        needed = ((1 << high + 1) - (1 << low)) & ~fixed
        for place in _wild_places(needed, needed & ~held, wild):
            laid = needed & ~(1 << place) if place else needed
            if not _aces_fit(rules, fixed, laid, aces) or (place == TWO and wild == TWOS[run.suit]):
                continue
            if run.wild and not (
                _may_go(rules, run, laid, TWO, place) if comes_home else _may_go(rules, run, laid, place)
            ):
                continue
            if laid or acting:
                yield _outcome(rules, run, low, high, laid, place, wild, acting, comes_home)


def _aces_fit(rules: RuleSet, fixed: int, laid: int, aces: int) -> bool:
    """Whether the aces of the pool suffice, and may stand where they would (R4.5)."""
    low, high = 1 << ACE, 1 << ACE_HIGH
    if (fixed | laid) & low and (fixed | laid) & high and not rules.two_aces:
        return False
    return aces >= bool(laid & low) + bool(laid & high)


def _may_go(rules: RuleSet, run: Run, laid: int, place: int, fresh_wild_at: int = 0) -> bool:
    """Whether the run's wild may come to this place when these naturals, and a wild acting elsewhere, are laid
    (R5.2, R5.3).
    """
    if not laid & (1 << run.wild_position):
        return run.wild_is_free or place == run.wild_position
    if rules.wild_moves is WildMoves.FREE_END:
        return True
    # Replaced, and the rule set says where it goes: the gap, its natural place, the first end, the other end. A place
    # that a fresh wild takes is filled.
    filled = run.naturals | laid | (1 << fresh_wild_at if fresh_wild_at else 0)
    low, high = _bounds(filled)
    gaps = ((1 << high + 1) - (1 << low)) & ~filled
    if gaps:
        return gaps == 1 << place
    if run.wild == TWOS[run.suit] and low == TWO + 1 != fresh_wild_at:
        return place == TWO
    if fresh_wild_at:
        return False
    ends = [high + 1, low - 1] if rules.wild_end is WildEnd.HIGH else [low - 1, high + 1]
    return place == next((end for end in ends if 1 <= end <= ACE_HIGH), 0)


def _outcome(
    rules: RuleSet, run: Run, low: int, high: int, laid: int, place: int, wild: int, acting: int, comes_home: bool
) -> Outcome:
    strip = RUN_CARDS[run.suit]
    cards = (*strip[low:place], wild, *strip[place + 1 : high + 1]) if place else strip[low : high + 1]
    meld = make_meld(rules, MeldKind.RUN, cards, low, place - low if place else None, stays_dirty=run.stays_dirty)
    if not run.naturals:
        played = cards
    else:
        played = tuple(
            [
                acting if p == place else strip[p]
                for p in range(low, high + 1)
                if laid & (1 << p) or (acting and p == place)
            ]
        )
    position = place or None
    moved = run.wild > 0 and (comes_home or place != run.wild_position)
    first = high if rules.wild_end is WildEnd.HIGH else low
    preference = (
        place > 0,
        moved,
        _is_ace_astray(run.naturals | laid, laid, place),
        0 if low < place < high else 1 if place == first else 2,
    )
    return Outcome(played, meld, position, preference, LayMeld(played, position))


def _take_apart(base: Meld | None, suit: int, rules: RuleSet) -> Run:
    if base is None:
        return Run(suit, 0, 0, 0, False, False)
    size = len(base.cards)
    naturals = ((1 << size) - 1) << base.low_position
    if base.wild_index is None:
        return Run(suit, naturals, 0, 0, False, base.stays_dirty)
    place = base.low_position + base.wild_index
    free = rules.wild_moves is WildMoves.FREE_END and base.wild_index in (0, size - 1)
    return Run(suit, naturals & ~(1 << place), base.cards[base.wild_index], place, free, base.stays_dirty)


def _is_ace_astray(naturals: int, laid: int, place: int) -> bool:
    """Whether an ace laid that fits both ends stands at the wrong one: it belongs behind the king, where there is
    one.
    """
    return bool(laid & 1 << ACE and naturals & 1 << KING) or bool(laid & 1 << ACE_HIGH and place == KING)


def _bounds(places: int) -> tuple[int, int]:
    return (places & -places).bit_length() - 1, places.bit_length() - 1


def _reach(naturals: int, filled: int, wild: bool) -> int:
    """The places that a run of these naturals can reach over filled ones, a wild bridging one on each way."""
    low, high = _bounds(naturals)
    missing = ALL_PLACES & ~filled
    below = missing & (1 << low) - 1
    above = missing & -1 << high
    if wild:  # the nearest place missing is bridged
        below &= (1 << below.bit_length() >> 1) - 1
        above &= above - 1
    first = below.bit_length()  # the place behind the last missing one
    last = (above & -above) or 1 << ACE_HIGH + 1
    return last - (1 << first)


def _spans(fixed: int, held: int, wild: bool) -> Iterator[tuple[int, int]]:
    """Spans around the fixed naturals, three places or more, that naturals fill but for at most the one of a wild."""
    filled = fixed | held
    inner_low, inner_high = _bounds(fixed) if fixed else (ACE_HIGH - 2, 0)
    left = 1 if wild else 0
    for low in range(inner_low, 0, -1):
        if fixed and not filled & 1 << low:
            if not left:
                return
            left -= 1
        allowed = 1 if wild else 0
        for high in range(low, ACE_HIGH + 1):
            if not filled & 1 << high:
                if not allowed:
                    break
                allowed -= 1
            if high >= inner_high and high - low >= 2:
                yield low, high


def _wild_places(needed: int, missing: int, wild: int) -> Iterator[int]:
    """Places where the wild can act: the only missing one, or any that is not fixed; 0 where there is no wild."""
    if missing:
        yield missing.bit_length() - 1
        return
    if not wild:
        yield 0
        return
    for place in range(1, ACE_HIGH + 1):
        if needed & (1 << place):
            yield place
