"""Every way to lay cards as a run, and where its wild may stand (R4.1, R4.4, R4.5, R5)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from buraco_rules.cards import ACE, ACE_HIGH, KING, RANK, TWO, TWOS, WILDS
from buraco_rules.meld import RUN, SET, Meld, make_meld, run_suit
from buraco_rules.rule_sets import FREE_END, HIGH, RuleSet

ALL_PLACES: Final = (1 << ACE_HIGH + 1) - (1 << ACE)
BOTH_ACES: Final = 1 << ACE | 1 << ACE_HIGH
PLACE_BITS: Final = tuple(BOTH_ACES if rank == ACE else 1 << rank for rank in RANK)
"""By card: the bits of its places in a run of its suit, two for an ace."""
SECOND_ACE: Final = 1 << 15
"""The bit of a second ace of the suit."""

OWN_TWO: Final = 1
STRANGER: Final = 2
"""What a wild is to a run: the 2 of its suit, or any other; 0 where there is none."""
WILD_KINDS: Final = tuple(
    tuple([0 if card not in WILDS else OWN_TWO if card == own else STRANGER for card in range(54)]) for own in TWOS
)
"""By suit and card, 0 for none: what it is to a run of the suit when it acts as a wild."""

_OTHER_END: Final = 14
_FIRST_END: Final = 13
_INSIDE: Final = 12
_MOVED: Final = 6
_ASTRAY: Final = 3
"""What adds more is preferred less (R5.4): a wild above all, then that the run's own wild moves, then an ace at the
wrong end, at last the place of the wild."""
_NOWHERE: Final = [0]


class RunShape(NamedTuple):
    """A run as far as it decides what may be laid off on it: not its suit, nor which stranger its wild is."""

    naturals: int
    """Bit p is set where a natural stands at place p, 1 to 14."""
    wild: int
    """What acts as a wild: `OWN_TWO`, `STRANGER` or 0."""
    wild_position: int
    """Its place; 0 = none."""
    wild_is_free: bool
    """The wild stands at an end and may be placed anew (R5.2 free_end)."""


NO_RUN: Final = RunShape(0, 0, 0, False)
"""What a new run is laid on."""


class RunWay(NamedTuple):
    """One way to lay cards as a run, or off on one."""

    low: int
    high: int
    """The places of the ends afterwards, 1 to 14."""
    laid: int
    """Bits of the places at which naturals are laid."""
    wild_position: int
    """The place of the acting wild afterwards; 0 = none."""
    wild_is_laid: bool
    """It is laid now, and not the run's own."""
    preference: int
    """The smallest is taken where the player does not say otherwise (R5.4)."""

    @property
    def size(self) -> int:
        """How many cards are laid."""
        return self.laid.bit_count() + self.wild_is_laid


def run_shape(rules: RuleSet, run: Meld) -> RunShape:
    """The shape of a run on the table."""
    size = len(run.cards)
    naturals = ((1 << size) - 1) << run.low_position
    if run.wild_index is None:
        return RunShape(naturals, 0, 0, False)
    place = run.low_position + run.wild_index
    wild = OWN_TWO if run.cards[run.wild_index] == TWOS[run_suit(run)] else STRANGER
    free = rules.wild_moves is FREE_END and run.wild_index in (0, size - 1)
    return RunShape(naturals & ~(1 << place), wild, place, free)


def run_ways(rules: RuleSet, run: RunShape, held: int, acting: int) -> list[RunWay]:
    """Every way to lay any of the cards held, with exactly one wild of the kind `acting` laid as a wild (0 = none).

    `held` tells the naturals of the suit, as `PLACE_BITS` and `SECOND_ACE` say. Of ways with the same cards and the
    wild at the same place only the preferred one is listed.
    """
    if run.wild != OWN_TWO:
        ways = _spanned(rules, run, run.naturals, held, acting, comes_home=False) if not (acting and run.wild) else []
        return _distinct(ways, acting) if held & BOTH_ACES else ways
    # Two own 2s in a run are twins: it does not matter which of them acts. All that lays one is listed where it acts.
    own_two = 1 << TWO
    if acting != OWN_TWO:
        return _distinct(_beside_own_two(rules, run, held & ~own_two, acting), acting)
    ways = _beside_own_two(rules, run, held, acting)
    ways += [way for way in _beside_own_two(rules, run, held | own_two, 0) if way.laid & own_two]
    return _distinct(ways, acting)


def _beside_own_two(rules: RuleSet, run: RunShape, held: int, acting: int) -> list[RunWay]:
    """The ways to lay off on a run whose wild is its own 2."""
    ways = [] if acting else _spanned(rules, run, run.naturals, held, acting, comes_home=False)
    if not run.naturals & (1 << TWO):
        ways += _spanned(rules, run, run.naturals | 1 << TWO, held, acting, comes_home=True)
    return ways


def _distinct(ways: list[RunWay], acting: int) -> list[RunWay]:
    """Of ways that lay the same cards and put the wild at the same place only the preferred one."""
    best: dict[tuple[int, int, int, int], RunWay] = {}
    for way in ways:
        aces = (way.laid & BOTH_ACES).bit_count()
        twos = (way.laid >> TWO & 1) + (way.wild_is_laid and acting == OWN_TWO)
        key = (way.laid & ~BOTH_ACES & ~(1 << TWO), aces, twos, way.wild_position)
        known = best.get(key)
        if known is None or way.preference < known.preference:
            best[key] = way
    return list(best.values())


def first_places(run: RunShape) -> int:
    """The places of which one at least must be filled by naturals laid off without a wild: a quick look ahead."""
    if run.wild_is_free:
        low, high = _bounds(run.naturals)
        return (1 << high + 3) - (1 << max(low - 2, ACE))
    wild = 1 << run.wild_position if run.wild else 0
    low, high = _bounds(run.naturals | wild)
    return 1 << low - 1 | wild | 1 << high + 1


def useful_places(run: RunShape, held: int, acting: int) -> int:
    """Those of the cards held that can take part in a run or lay-off with this acting wild; 0 where none can.

    Leaving out what is out of reach makes one remembered answer serve many hands.
    """
    places = held & ALL_PLACES
    useful = _in_reach(run, places, acting) if run.naturals else _in_threes(places, acting)
    if held & SECOND_ACE and useful & BOTH_ACES == BOTH_ACES:
        useful |= SECOND_ACE
    return useful


def _in_threes(places: int, acting: int) -> int:
    """The places that have neighbours enough for a new run."""
    useful = places & places >> 1
    if acting:
        apart = places & places >> 2
        return useful | useful << 1 | apart | apart << 2
    useful &= places >> 2
    return useful | useful << 1 | useful << 2


def new_run_parts(held: int, acting: int) -> tuple[int, ...]:
    """The useful places of the cards held for a new run, those that no run joins apart; the highest first.

    Hands that differ elsewhere share what is remembered of a part.
    """
    useful = useful_places(NO_RUN, held, acting)
    places = useful & ALL_PLACES
    joined = places | places >> 1 if acting else places  # a wild bridges one place
    parts = []
    while joined:
        end = 1 << joined.bit_length()
        begin = 1 << (~joined & end - 1).bit_length()
        part = places & end - begin
        parts.append(part | useful & SECOND_ACE if part & BOTH_ACES == BOTH_ACES else part)
        joined &= begin - 1
    return tuple(parts)


def _in_reach(run: RunShape, places: int, acting: int) -> int:
    """The places that a run can reach over filled ones, a wild bridging one on each way."""
    naturals, bridged = run.naturals, acting or run.wild
    filled = places | naturals
    if run.wild and not (acting or run.wild_is_free or places >> run.wild_position & 1):  # it stays
        filled, bridged = filled | 1 << run.wild_position, 0
    elif run.wild == OWN_TWO:  # it may come home
        filled |= 1 << TWO
    missing = ALL_PLACES & ~filled
    below = missing & (naturals & -naturals) - 1
    above = missing & -1 << naturals.bit_length()
    if bridged:  # the nearest place missing
        below &= (1 << below.bit_length() >> 1) - 1
        above &= above - 1
    first = below.bit_length()  # the place behind the last missing one
    last = (above & -above) or 1 << ACE_HIGH + 1
    return places & ~naturals & last - (1 << first)


def moved_wild(rules: RuleSet, base: Meld) -> tuple[Meld, int] | None:
    """The run with its wild at the other end, and the place it then has; None where it may not move (R5.2)."""
    if rules.wild_moves is not FREE_END or base.kind is SET:
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
    return make_meld(rules, RUN, cards, low, wild_index, stays_dirty=base.stays_dirty), place


def _spanned(rules: RuleSet, run: RunShape, fixed: int, held: int, acting: int, *, comes_home: bool) -> list[RunWay]:
    """Ways in which the run's own wild acts, or (`comes_home`) rests at its natural place as a natural."""
    ways = []
    own = run.wild
    wild = acting or (0 if comes_home else own)
    aces = (held & BOTH_ACES > 0) + (held & SECOND_ACE > 0)
    for low, high, missing in _spans(fixed, held & ALL_PLACES, wild):
        needed = ((1 << high + 1) - (1 << low)) & ~fixed
        for place in [missing.bit_length() - 1] if missing else _places(needed) if wild else _NOWHERE:
            laid = needed & ~(1 << place)
            if not (laid or acting) or (place == TWO and wild == OWN_TWO):
                continue
            if laid & BOTH_ACES and not _aces_fit(rules, fixed, laid, aces):
                continue
            if own and not (_may_go(rules, run, laid, TWO, place) if comes_home else _may_go(rules, run, laid, place)):
                continue
            preference = _preference_of_place(rules, low, high, place)
            if own and (comes_home or place != run.wild_position):
                preference += _MOVED
            if laid & BOTH_ACES and _is_ace_astray(run.naturals | laid, laid, place):
                preference += _ASTRAY
            ways.append(RunWay(low, high, laid, place, acting > 0, preference))
    return ways


def _preference_of_place(rules: RuleSet, low: int, high: int, place: int) -> int:
    if not place:
        return 0
    if low < place < high:
        return _INSIDE
    return _FIRST_END if place == (high if rules.wild_end is HIGH else low) else _OTHER_END


def _aces_fit(rules: RuleSet, fixed: int, laid: int, aces: int) -> bool:
    """Whether the aces of the pool suffice, and may stand where they would (R4.5)."""
    low, high = 1 << ACE, 1 << ACE_HIGH
    if (fixed | laid) & low and (fixed | laid) & high and not rules.two_aces:
        return False
    return aces >= bool(laid & low) + bool(laid & high)


def _may_go(rules: RuleSet, run: RunShape, laid: int, place: int, fresh_wild_at: int = 0) -> bool:
    """Whether the run's wild may come to this place when these naturals, and a wild acting elsewhere, are laid
    (R5.2, R5.3).
    """
    if not laid & (1 << run.wild_position):
        return run.wild_is_free or place == run.wild_position
    if rules.wild_moves is FREE_END:
        return True
    # Replaced, and the rule set says where it goes: the gap, its natural place, the first end, the other end. A place
    # that a fresh wild takes is filled.
    filled = run.naturals | laid | (1 << fresh_wild_at if fresh_wild_at else 0)
    low, high = _bounds(filled)
    gaps = ((1 << high + 1) - (1 << low)) & ~filled
    if gaps:
        return gaps == 1 << place
    if run.wild == OWN_TWO and low == TWO + 1 != fresh_wild_at:
        return place == TWO
    if fresh_wild_at:
        return False
    ends = [high + 1, low - 1] if rules.wild_end is HIGH else [low - 1, high + 1]
    return place == next((end for end in ends if 1 <= end <= ACE_HIGH), 0)


def _is_ace_astray(naturals: int, laid: int, place: int) -> bool:
    """Whether an ace laid that fits both ends stands at the wrong one: it belongs behind the king, where there is
    one.
    """
    return bool(laid & 1 << ACE and naturals & 1 << KING) or bool(laid & 1 << ACE_HIGH and place == KING)


def _bounds(places: int) -> tuple[int, int]:
    return (places & -places).bit_length() - 1, places.bit_length() - 1


def _spans(fixed: int, held: int, wild: int) -> Iterator[tuple[int, int, int]]:
    """Spans around the fixed naturals, three places or more, that naturals fill but for at most the one of a wild, and
    the bit of the place missing.
    """
    filled = fixed | held
    if not filled:
        return
    lowest, highest = _bounds(filled)
    if wild:
        lowest, highest = max(lowest - 1, ACE), min(highest + 1, ACE_HIGH)
    inner_low, inner_high = _bounds(fixed) if fixed else (highest, lowest)
    for low in range(inner_low, lowest - 1, -1):
        nearest = max(inner_high, low + 2)
        missing = ((1 << nearest + 1) - (1 << low)) & ~filled
        if missing & missing - 1 or (missing and not wild):
            continue
        for high in range(nearest, highest + 1):
            if not filled & 1 << high and high > nearest:
                if missing or not wild:
                    break
                missing = 1 << high
            yield low, high, missing


def _places(bits: int) -> list[int]:
    return [place for place in range(ACE, bits.bit_length()) if bits & 1 << place]
