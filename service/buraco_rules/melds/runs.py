"""What makes a run, and where its wild may stand (R4.1, R4.4, R4.5, R5): laying, refusing and validating ask here.

Places of a run are bits: bit p stands for place p, 1 (ace low) to 14 (ace high).
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from buraco_rules.cards import ACE, ACE_HIGH, KING, RANK, RUN_CARDS, TWO, TWOS, WILDS
from buraco_rules.meld import RUN, SET, Meld, make_meld, run_suit
from buraco_rules.rule_sets import FREE_END, HIGH, RuleSet

ALL_PLACES: Final = (1 << ACE_HIGH + 1) - (1 << ACE)
BOTH_ACES: Final = 1 << ACE | 1 << ACE_HIGH
PLACE_BITS: Final = tuple(BOTH_ACES if rank == ACE else 1 << rank for rank in RANK)
"""By card: the bits of its places in a run of its suit, two for an ace."""
SECOND_ACE: Final = 1 << 15
"""The bit of a second ace of the suit."""

OWN_TWO: Final = 1
FOREIGN: Final = 2
"""The kinds of wild: the 2 of the run's suit, or any other; 0 is none."""
WILD_KINDS: Final = tuple(
    tuple([0 if card not in WILDS else OWN_TWO if card == own else FOREIGN for card in range(54)]) for own in TWOS
)
"""By suit and card: the kind of wild that the card is to a run of the suit; 0 for none."""

_OTHER_END: Final = 14
_FIRST_END: Final = 13
_INSIDE: Final = 12
_MOVED: Final = 6
_MISPLACED_ACE: Final = 3
"""Costs of an arrangement, of which the cheapest is preferred (R5.4): that a wild acts costs most, then that the run's
own wild moves, then an ace at the wrong end, at last the place of the wild."""
_NOWHERE: Final = [0]


class RunShape(NamedTuple):
    """All of a run that decides what may be laid off on it: not its suit, nor which foreign wild acts."""

    naturals: int
    """The places of its naturals, as bits."""
    wild: int
    """The kind of its acting wild: `OWN_TWO`, `FOREIGN` or 0."""
    wild_position: int
    """Its place; 0 = none."""
    wild_is_free: bool
    """Whether it acts at an end of the run and may be placed anew (R5.2)."""


NO_RUN: Final = RunShape(0, 0, 0, False)
"""The base of a new run."""


class RunWay(NamedTuple):
    """One way to lay cards as a run, or off on one."""

    low: int
    high: int
    """The places of the ends afterwards, 1 to 14."""
    laid: int
    """The places at which naturals are laid, as bits."""
    wild_position: int
    """The place of the acting wild afterwards; 0 = none."""
    wild_is_laid: bool
    """Whether the wild is laid now, not the run's own."""
    cost: int
    """The cheapest is taken unless the player asks for another (R5.4)."""

    @property
    def size(self) -> int:
        """Return how many cards are laid."""
        return self.laid.bit_count() + self.wild_is_laid

    def cards_laid(self, suit: int, acting: int) -> tuple[int, ...]:
        """Return the cards laid in order of place, `acting` being the wild among them."""
        strip, place = RUN_CARDS[suit], self.wild_position if self.wild_is_laid else 0
        left = self.laid | 1 << place if place else self.laid
        cards = []
        while left:
            at = (left & -left).bit_length() - 1
            cards.append(acting if at == place else strip[at])
            left &= left - 1
        return tuple(cards)


def max_aces(rules: RuleSet) -> int:
    """Return how many natural aces a run may hold: two need `two_aces` (R4.5).

    >>> from buraco_rules import PRESETS_BY_ID
    >>> max_aces(PRESETS_BY_ID["open"]), max_aces(PRESETS_BY_ID["burraco"])
    (2, 1)
    """
    return 2 if rules.two_aces else 1


def has_free_wild(rules: RuleSet, run: Meld) -> bool:
    """Return True if a wild acts at an end of the run and may be placed anew (R5.2)."""
    return rules.wild_moves is FREE_END and run.wild_index in (0, len(run.cards) - 1)


def run_shape(rules: RuleSet, run: Meld) -> RunShape:
    """Return the shape of a run on the table."""
    size = len(run.cards)
    naturals = ((1 << size) - 1) << run.low_position
    if run.wild_index is None:
        return RunShape(naturals, 0, 0, False)
    place = run.low_position + run.wild_index
    wild = OWN_TWO if run.cards[run.wild_index] == TWOS[run_suit(run)] else FOREIGN
    return RunShape(naturals & ~(1 << place), wild, place, has_free_wild(rules, run))


def run_ways(rules: RuleSet, run: RunShape, held: int, acting: int) -> list[RunWay]:
    """Return every way to lay any of the naturals held on `run`, with exactly one wild of the kind `acting` (0 = none).

    `held` has the bits of `PLACE_BITS`, and `SECOND_ACE`. Of ways with the same cards and the wild at the same place
    only the cheapest is listed.
    """
    if run.wild != OWN_TWO:
        ways = _spanned(rules, run, run.naturals, held, acting, comes_home=False) if not (acting and run.wild) else []
        return _distinct(ways, acting) if held & BOTH_ACES else ways
    # Of two own 2s in a run it does not matter which acts: ways that lay one are listed with the one laid acting.
    own_two = 1 << TWO
    if acting != OWN_TWO:
        return _distinct(_beside_own_two(rules, run, held & ~own_two, acting), acting)
    ways = _beside_own_two(rules, run, held, acting)
    ways += [way for way in _beside_own_two(rules, run, held | own_two, 0) if way.laid & own_two]
    return _distinct(ways, acting)


def _beside_own_two(rules: RuleSet, run: RunShape, held: int, acting: int) -> list[RunWay]:
    """Return the ways to lay off on a run whose wild is its own 2."""
    ways = [] if acting else _spanned(rules, run, run.naturals, held, acting, comes_home=False)
    if not run.naturals & (1 << TWO):
        ways += _spanned(rules, run, run.naturals | 1 << TWO, held, acting, comes_home=True)
    return ways


def _distinct(ways: list[RunWay], acting: int) -> list[RunWay]:
    """Return the cheapest of the ways that lay the same cards and put the wild at the same place."""
    best: dict[tuple[int, int, int, int], RunWay] = {}
    for way in ways:
        aces = (way.laid & BOTH_ACES).bit_count()
        twos = (way.laid >> TWO & 1) + (way.wild_is_laid and acting == OWN_TWO)
        key = (way.laid & ~BOTH_ACES & ~(1 << TWO), aces, twos, way.wild_position)
        known = best.get(key)
        if known is None or way.cost < known.cost:
            best[key] = way
    return list(best.values())


def near_places(run: RunShape) -> int:
    """Return the places of which a lay-off without a wild fills one at least, as bits; others need no closer look."""
    if run.wild_is_free:
        low, high = bounds(run.naturals)
        return (1 << high + 3) - (1 << max(low - 2, ACE))
    wild = 1 << run.wild_position if run.wild else 0
    low, high = bounds(run.naturals | wild)
    return 1 << low - 1 | wild | 1 << high + 1


def useful_places(run: RunShape, held: int, acting: int) -> int:
    """Return those of the cards held that can take part in a run or lay-off with this kind of wild; 0 for none.

    Without the others one cached answer serves many hands.
    """
    places = held & ALL_PLACES
    useful = _in_reach(run, places, acting) if run.naturals else _in_threes(places, acting)
    if held & SECOND_ACE and useful & BOTH_ACES == BOTH_ACES:
        useful |= SECOND_ACE
    return useful


def _in_threes(places: int, acting: int) -> int:
    """Return the places that have neighbours enough for a new run."""
    useful = places & places >> 1
    if acting:
        apart = places & places >> 2
        return useful | useful << 1 | apart | apart << 2
    useful &= places >> 2
    return useful | useful << 1 | useful << 2


def new_run_parts(held: int, acting: int) -> tuple[int, ...]:
    """Return the useful places of the cards held for a new run, in parts that no run joins, the highest first.

    Hands that differ elsewhere share the cached answers for a part.
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
    """Return the places that the run can reach over filled ones, a wild bridging one in each direction."""
    naturals, bridged = run.naturals, acting or run.wild
    filled = places | naturals
    if run.wild and not (acting or run.wild_is_free or places >> run.wild_position & 1):  # the wild stays
        filled, bridged = filled | 1 << run.wild_position, 0
    elif run.wild == OWN_TWO:  # the wild may become a natural
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


def move_wild(rules: RuleSet, base: Meld) -> tuple[Meld, int] | None:
    """Return the run with its wild at the other end, and the wild's place then; None if it may not move (R5.2).

    A 2 that comes to the place of the 2 is a natural there. A set gives None.
    """
    if base.kind is SET or not has_free_wild(rules, base):
        return None
    last = len(base.cards) - 1
    if base.wild_index == 0:
        wild, low, place, index = base.cards[0], base.low_position + 1, base.low_position + last + 1, last
        cards = (*base.cards[1:], wild)
    else:
        wild, index = base.cards[last], 0
        low = place = base.low_position - 1
        cards = (wild, *base.cards[:last])
    if not ACE <= place <= ACE_HIGH:
        return None
    is_natural = place == TWO and wild == TWOS[run_suit(base)]
    return make_meld(rules, RUN, cards, low, None if is_natural else index, stays_dirty=base.stays_dirty), place


def _spanned(rules: RuleSet, run: RunShape, fixed: int, held: int, acting: int, *, comes_home: bool) -> list[RunWay]:
    """Return the ways in which the run's own wild acts or, if it `comes_home`, is a natural at the 2's place."""
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
            if laid & BOTH_ACES and not _can_hold_aces(rules, fixed, laid, aces):
                continue
            own_place, new_place = (TWO, place) if comes_home else (place, 0)
            if own and not _can_wild_go(rules, run, laid, own_place, new_place):
                continue
            cost = _place_cost(rules, low, high, place)
            if own and (comes_home or place != run.wild_position):
                cost += _MOVED
            if laid & BOTH_ACES and _is_ace_misplaced(run.naturals | laid, laid, place):
                cost += _MISPLACED_ACE
            ways.append(RunWay(low, high, laid, place, acting > 0, cost))
    return ways


def _place_cost(rules: RuleSet, low: int, high: int, place: int) -> int:
    if not place:
        return 0
    if low < place < high:
        return _INSIDE
    return _FIRST_END if place == (high if rules.wild_end is HIGH else low) else _OTHER_END


def _can_hold_aces(rules: RuleSet, fixed: int, laid: int, aces: int) -> bool:
    """Return True if the aces laid are among so many in the hand, and the run may hold all of its aces (R4.5)."""
    return ((fixed | laid) & BOTH_ACES).bit_count() <= max_aces(rules) and (laid & BOTH_ACES).bit_count() <= aces


def _can_wild_go(rules: RuleSet, run: RunShape, laid: int, place: int, new_wild_at: int) -> bool:
    """Return True if the run's own wild may come to this place (R5.2, R5.3) when these naturals are laid.

    `new_wild_at` is the place of another wild that acts then; 0 = none.
    """
    if not laid & (1 << run.wild_position):
        return run.wild_is_free or place == run.wild_position
    if rules.wild_moves is FREE_END:
        return True
    # Its card has come: the wild goes to the gap, its natural place, the first end or the other end, in this order.
    filled = run.naturals | laid | (1 << new_wild_at if new_wild_at else 0)
    low, high = bounds(filled)
    gaps = ((1 << high + 1) - (1 << low)) & ~filled
    if gaps:
        return gaps == 1 << place
    if run.wild == OWN_TWO and low == TWO + 1 != new_wild_at:
        return place == TWO
    if new_wild_at:
        return False
    ends = [high + 1, low - 1] if rules.wild_end is HIGH else [low - 1, high + 1]
    return place == next((end for end in ends if 1 <= end <= ACE_HIGH), 0)


def _is_ace_misplaced(naturals: int, laid: int, place: int) -> bool:
    """Return True if an ace laid stands below the 2 though the run has a king, or above a wild in the king's place."""
    return bool(laid & 1 << ACE and naturals & 1 << KING) or bool(laid & 1 << ACE_HIGH and place == KING)


def bounds(places: int) -> tuple[int, int]:
    """Return the lowest and the highest of some places, given as bits, one at least.

    >>> bounds(0b111000)
    (3, 5)
    """
    return (places & -places).bit_length() - 1, places.bit_length() - 1


def _spans(fixed: int, held: int, wild: int) -> Iterator[tuple[int, int, int]]:
    """Yield the ends of each span of three places or more that fixed and held naturals fill, around all fixed ones.

    With a wild one place may be missing; its bit is the third item, 0 where none is.
    """
    filled = fixed | held
    if not filled:
        return
    lowest, highest = bounds(filled)
    if wild:
        lowest, highest = max(lowest - 1, ACE), min(highest + 1, ACE_HIGH)
    inner_low, inner_high = bounds(fixed) if fixed else (highest, lowest)
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
