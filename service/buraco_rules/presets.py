"""The preset rule sets: data only. Nine come from five source documents, two are well-known games beyond them."""

from typing import Any, Final

from buraco_rules.rule_sets import CloseBy, OpeningMinimum, PotBy, RuleSet, StockEnd, Tie, WildEnd, WildMoves

_PLUS: Final[dict[str, Any]] = dict(
    upcard=True,
    sets=True,
    wild_moves=WildMoves.FREE_END,
    wild_end=WildEnd.LOW,
    clean=200,
    dirty=100,
    pot_by=PotBy.ANY,
    close_by=CloseBy.DISCARD,
    stock_end=StockEnd.AT_TWO,
    tie=Tie.DRAW,
    usual_targets=(2005,),
)
_CLASSIC: Final[dict[str, Any]] = _PLUS | dict(jokers=4, value_two=20, value_joker=30, semi_clean=150)
_PROFESSIONAL: Final[dict[str, Any]] = _PLUS | dict(
    set_of_twos=True,
    value_two=10,
    dirty_sticks=True,
    pots_per_side=2,
    pot_needs_buraco=True,
    twos_buraco_wins=True,
    opening_minimum=OpeningMinimum(),
)
_FIVE_MODES: Final[dict[str, Any]] = dict(
    sets=True,
    wild_moves=WildMoves.WHEN_REPLACED,
    wild_end=WildEnd.HIGH,
    value_two=10,
    clean=200,
    dirty=100,
    royal=500,
    pot_by=PotBy.ANY,
    close_by=CloseBy.ANY,
    close_discard_wild=True,
    stock_end=StockEnd.POTS_JOIN,
    tie=Tie.STARTER,
    usual_targets=(2000, 3000, 0),
)
_ACE_TO_ACE: Final[dict[str, Any]] = _FIVE_MODES | dict(two_aces=True, ace_to_ace=1000, unused_pot_penalty=True)
_CLOSED: Final[dict[str, Any]] = _ACE_TO_ACE | dict(jokers=4, value_joker=20, closed_pile=True)

FROM_SOURCES: Final[tuple[RuleSet, ...]] = (
    RuleSet(id="buraco-plus-classic", display_name="Buraco Plus Classic", **_CLASSIC),
    RuleSet(
        id="professional-indirect",
        display_name="Buraco Plus Professional, indirect",
        **_PROFESSIONAL | dict(close_discard_wild=True),
    ),
    RuleSet(
        id="professional-direct",
        display_name="Buraco Plus Professional, direct",
        **_PROFESSIONAL | dict(pot_by=PotBy.FLIGHT, close_by=CloseBy.FLIGHT),
    ),
    RuleSet(id="open", display_name="Open", **_ACE_TO_ACE | dict(sets=False, close_needs_clean=True)),
    RuleSet(
        id="dirty-open",
        display_name="Dirty Open",
        **_FIVE_MODES | dict(jokers=4, value_two=20, value_joker=30, close_by=CloseBy.DISCARD),
    ),
    RuleSet(id="closed", display_name="Closed", **_CLOSED | dict(set_of_twos=True, close_needs_clean=True)),
    RuleSet(id="closed-wtcc", display_name="Closed WTCC", **_CLOSED | dict(sets=False, close_needs_clean=True)),
    RuleSet(id="closed-dirty", display_name="Closed Dirty", **_CLOSED | dict(set_of_twos=True)),
    RuleSet(id="burraco", display_name="Burraco", **_CLASSIC | dict(close_discard_wild=True)),
)
"""The rule sets of the five documents that this game is made from."""

BEYOND_SOURCES: Final[tuple[RuleSet, ...]] = (
    RuleSet(
        id="burraco-fibur",
        display_name="Burraco, Italian federation",
        **_CLASSIC | dict(one_set_per_rank=True, semi_clean_sets=True),
    ),
    RuleSet(
        id="buraco-stbl",
        display_name="Buraco STBL",
        **_CLOSED | dict(sets=False, close_needs_clean=True, usual_targets=(3000, 2000, 0)),
    ),
)
"""Not from the sources: as the Italian federation plays (one set of a rank, semi-clean sets, no closing discard of a
wild), and the Brazilian "no sets, close clean" with a closed pile. The federation's code can be read in two ways: here
a set of eight takes a wild, a wild inside a run may leave it semi-clean, and sides without a pot lose 100 also where
neither took one. The other readings are options ("The federation's game" in protos/RULES.md).
"""

PRESETS: Final[tuple[RuleSet, ...]] = (*FROM_SOURCES, *BEYOND_SOURCES)
"""In the order in which they are listed."""

PRESETS_BY_ID: Final[dict[str, RuleSet]] = {preset.id: preset for preset in PRESETS}
