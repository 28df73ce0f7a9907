"""House rules drawn by Hypothesis: any mixture of options that makes a rule set."""

from typing import Any, Final

from hypothesis import strategies as st

from buraco_rules import (
    PRESETS,
    CloseBy,
    OpeningMinimum,
    PotBy,
    RuleSet,
    StockEnd,
    Tie,
    ValidationError,
    WildEnd,
    WildMoves,
)
from tests.rules.positions import house

_FLAGS: Final = (
    "upcard",
    "closed_pile",
    "single_card_lock",
    "makart",
    "sets",
    "set_of_twos",
    "one_set_per_rank",
    "no_wild_on_full_set",
    "two_aces",
    "semi_clean_sets",
    "semi_clean_end_wild",
    "dirty_sticks",
    "pot_needs_buraco",
    "close_needs_clean",
    "close_discard_wild",
    "twos_buraco_wins",
    "unused_pot_penalty",
    "no_pot_both_free",
)
_POINTS: Final = ("value_two", "value_joker", "clean", "dirty", "semi_clean", "royal", "ace_to_ace")
_MINIMA: Final = st.builds(
    OpeningMinimum,
    threshold=st.sampled_from((-500, 0, 1000)),
    points=st.integers(1, 120),
    step=st.integers(0, 40),
    penalty=st.integers(0, 40),
    every_turn=st.booleans(),
)
_OPTIONS: Final[dict[str, st.SearchStrategy[Any]]] = {
    **{flag: st.booleans() for flag in _FLAGS},
    **{points: st.sampled_from((0, 5, 20, 150, 1000)) for points in _POINTS},
    "wild_moves": st.sampled_from(WildMoves),
    "wild_end": st.sampled_from(WildEnd),
    "pot_by": st.sampled_from(PotBy),
    "close_by": st.sampled_from(CloseBy),
    "stock_end": st.sampled_from(StockEnd),
    "tie": st.sampled_from(Tie),
    "jokers": st.sampled_from((0, 4)),
    "pots_per_side": st.sampled_from((1, 2)),
    "opening_minimum": st.none() | _MINIMA,
    "max_turns": st.sampled_from((1, 2, 7, 30, 1000)),
}


@st.composite
def house_rules(draw: st.DrawFn) -> RuleSet:
    """A preset with any options changed; an option that has no effect beside the others is off."""
    base = draw(st.sampled_from(PRESETS))
    options = draw(st.fixed_dictionaries({}, optional=_OPTIONS))
    while True:
        try:
            return house(base, **options)
        except ValidationError as error:
            refusal = error
        stated = {path: options.get(path, getattr(base, path)) for path, _ in refusal.problems}
        assert all(stated.values()), f"what is off cannot be at fault: {refusal}"
        options |= {option: type(value)(0) for option, value in stated.items()}
