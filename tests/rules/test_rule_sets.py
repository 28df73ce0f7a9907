"""The preset rule sets against the table of the rules, and the refusal of records that contradict themselves."""

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from buraco_rules import (
    PRESETS,
    PRESETS_BY_ID,
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
from buraco_rules.presets import BEYOND_SOURCES, FROM_SOURCES
from tests.rules.positions import CLASSIC, DIRECT, OPEN, house

IDS = [
    "buraco-plus-classic",
    "professional-indirect",
    "professional-direct",
    "open",
    "dirty-open",
    "closed",
    "closed-wtcc",
    "closed-dirty",
    "burraco",
]
TABLE = """
jokers             | 4 | 0 | 0 | 0 | 4 | 4 | 4 | 4 | 4
upcard             | yes | yes | yes | no | no | no | no | no | yes
closed_pile        | no | no | no | no | no | yes | yes | yes | no
sets               | yes | yes | yes | no | yes | yes | no | yes | yes
set_of_twos        | no | yes | yes | - | no | yes | - | yes | no
two_aces           | no | no | no | yes | no | yes | yes | yes | no
wild_moves         | free_end | free_end | free_end | kept | kept | kept | kept | kept | free_end
wild_end           | low | low | low | high | high | high | high | high | low
value_two          | 20 | 10 | 10 | 10 | 20 | 10 | 10 | 10 | 20
value_joker        | 30 | - | - | - | 30 | 20 | 20 | 20 | 30
clean              | 200 | 200 | 200 | 200 | 200 | 200 | 200 | 200 | 200
dirty              | 100 | 100 | 100 | 100 | 100 | 100 | 100 | 100 | 100
semi_clean         | 150 | - | - | - | - | - | - | - | 150
royal              | - | - | - | 500 | 500 | 500 | 500 | 500 | -
ace_to_ace         | - | - | - | 1000 | - | 1000 | 1000 | 1000 | -
dirty_sticks       | no | yes | yes | no | no | no | no | no | no
pots_per_side      | 1 | 2 | 2 | 1 | 1 | 1 | 1 | 1 | 1
pot_by             | any | any | flight | any | any | any | any | any | any
pot_needs_buraco   | no | yes | yes | no | no | no | no | no | no
close_needs_clean  | no | no | no | yes | no | yes | yes | no | no
close_by           | discard | discard | flight | any | discard | any | any | any | discard
close_discard_wild | no | yes | - | yes | yes | yes | yes | yes | yes
twos_buraco_wins   | no | yes | yes | no | no | no | no | no | no
unused_pot_penalty | no | no | no | yes | no | yes | yes | yes | no
stock_end          | at_two | at_two | at_two | pots_join | pots_join | pots_join | pots_join | pots_join | at_two
tie                | draw | draw | draw | starter | starter | starter | starter | starter | draw
opening_minimum    | no | yes | yes | no | no | no | no | no | no
makart             | no | no | no | no | no | no | no | no | no
single_card_lock   | yes | yes | yes | yes | yes | yes | yes | yes | yes
one_set_per_rank   | no | no | no | no | no | no | no | no | no
semi_clean_sets    | no | no | no | no | no | no | no | no | no
no_wild_on_full_set | no | no | no | no | no | no | no | no | no
semi_clean_end_wild | no | no | no | no | no | no | no | no | no
no_pot_both_free   | no | no | no | no | no | no | no | no | no
max_turns          | 1000 | 1000 | 1000 | 1000 | 1000 | 1000 | 1000 | 1000 | 1000
usual_targets      | 2005 | 2005 | 2005 | 2000 3000 0 | 2000 3000 0 | 2000 3000 0 | 2000 3000 0 | 2000 3000 0 | 2005
"""
ROWS = [[cell.strip() for cell in line.split("|")] for line in TABLE.strip().splitlines()]


def written(value: object) -> str:
    """An option as the table writes it; what is not there is written as no."""
    if isinstance(value, WildMoves | WildEnd | PotBy | CloseBy | StockEnd | Tie):
        return value.name.lower()
    if isinstance(value, OpeningMinimum):
        return "yes"
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return {True: "yes", False: "no", None: "no"}[value] if value is None or isinstance(value, bool) else str(value)


@pytest.mark.parametrize("option", [row[0] for row in ROWS])
def test_table(option: str) -> None:
    """The presets have the options of the table of the rules, a dash meaning no or 0."""
    (row,) = [row for row in ROWS if row[0] == option]
    found = [written(getattr(PRESETS_BY_ID[name], option)) for name in IDS]
    blank = "no" if option in ("set_of_twos", "close_discard_wild") else "0"
    assert found == [{"-": blank, "kept": "when_replaced"}.get(cell, cell) for cell in row[1:]]


def test_table_is_complete() -> None:
    """The table names every preset and every option that a rule set has."""
    assert [rules.id for rules in FROM_SOURCES] == IDS
    assert list(PRESETS_BY_ID) == [*IDS, *(rules.id for rules in BEYOND_SOURCES)]
    options = {field.name for field in fields(RuleSet) if field.init} - {"id", "display_name"}
    assert options == {row[0] for row in ROWS}


def test_opening_minimum_of_professional() -> None:
    """R11.2: Professional asks for 75 points from 1000 on, in steps of 20 with a penalty of 20, in attempts only."""
    assert DIRECT.opening_minimum == OpeningMinimum(threshold=1000, points=75, step=20, penalty=20, every_turn=False)


def test_indirect_and_direct_differ_in_two_options() -> None:
    """The two ways of Professional differ in how pots are taken and deals closed, and in what follows from that."""
    indirect, direct = PRESETS_BY_ID["professional-indirect"], DIRECT
    names = {f.name for f in fields(RuleSet) if f.init and getattr(indirect, f.name) != getattr(direct, f.name)}
    assert names == {"id", "display_name", "pot_by", "close_by", "close_discard_wild"}


def test_rule_sets_are_values() -> None:
    """A rule set cannot be changed; equal records are equal, hash alike and do not depend on where they come from."""
    with pytest.raises(FrozenInstanceError):
        CLASSIC.jokers = 0  # type: ignore[misc]
    same = replace(CLASSIC)
    assert (same, hash(same)) == (CLASSIC, hash(CLASSIC))
    assert house(CLASSIC, makart=True) != house(CLASSIC)


def test_display_names() -> None:
    """Every preset has a name for people and another one than every other."""
    assert len({rules.display_name for rules in PRESETS}) == len(PRESETS)


@pytest.mark.parametrize(
    ("options", "at_fault"),
    [
        ({"id": ""}, {"id"}),
        ({"id": "Classic"}, {"id"}),
        ({"id": "-x"}, {"id"}),
        ({"id": "x" * 65}, {"id"}),
        ({"id": "house\n"}, {"id"}),
        ({"display_name": ""}, {"display_name"}),
        ({"display_name": "two\nlines"}, {"display_name"}),
        ({"display_name": "x" * 101}, {"display_name"}),
        ({"jokers": 2}, {"jokers"}),
        ({"value_two": -1}, {"value_two"}),
        ({"value_two": 1001}, {"value_two"}),
        ({"value_joker": 1001}, {"value_joker"}),
        ({"clean": -1}, {"clean"}),
        ({"clean": 10_001}, {"clean"}),
        ({"dirty": 10_001}, {"dirty"}),
        ({"semi_clean": 10_001}, {"semi_clean"}),
        ({"royal": -5}, {"royal"}),
        ({"pots_per_side": 0}, {"pots_per_side"}),
        ({"pots_per_side": 3}, {"pots_per_side"}),
        ({"max_turns": 0}, {"max_turns"}),
        ({"max_turns": 100_001}, {"max_turns"}),
        ({"usual_targets": (-1,)}, {"usual_targets"}),
        ({"usual_targets": (1,) * 17}, {"usual_targets"}),
        ({"pot_by": 3}, {"pot_by"}),
        ({"wild_end": "low"}, {"wild_end"}),
        ({"opening_minimum": OpeningMinimum(points=0)}, {"opening_minimum.points"}),
        ({"opening_minimum": OpeningMinimum(step=-1, penalty=-1)}, {"opening_minimum.step", "opening_minimum.penalty"}),
    ],
)
def test_out_of_range(options: dict[str, object], at_fault: set[str]) -> None:
    """An option outside its range is refused by its name."""
    with pytest.raises(ValidationError) as refusal:
        replace(CLASSIC, **options)  # type: ignore[arg-type]
    assert {problem.path for problem in refusal.value.problems} == at_fault


@pytest.mark.parametrize(
    ("base", "options", "at_fault"),
    [
        (CLASSIC, {"jokers": 0}, {"value_joker"}),
        (OPEN, {"set_of_twos": True}, {"set_of_twos"}),
        (OPEN, {"one_set_per_rank": True}, {"one_set_per_rank"}),
        (OPEN, {"semi_clean_sets": True, "semi_clean": 150}, {"semi_clean_sets"}),
        (DIRECT, {"semi_clean_sets": True}, {"semi_clean_sets"}),
        (OPEN, {"no_wild_on_full_set": True}, {"no_wild_on_full_set"}),
        (DIRECT, {"semi_clean_end_wild": True}, {"semi_clean_end_wild"}),
        (CLASSIC, {"ace_to_ace": 1000}, {"ace_to_ace"}),
        (CLASSIC, {"twos_buraco_wins": True}, {"twos_buraco_wins"}),
        (DIRECT, {"close_discard_wild": True}, {"close_discard_wild"}),
    ],
)
def test_contradictions(base: RuleSet, options: dict[str, object], at_fault: set[str]) -> None:
    """Options that can have no effect beside the others are refused by name."""
    with pytest.raises(ValidationError) as refusal:
        house(base, **options)
    assert {problem.path for problem in refusal.value.problems} == at_fault


def test_every_inconsistency_is_named() -> None:
    """A record with several faults is refused with all of them at once, in its options and in its text."""
    with pytest.raises(ValidationError) as refusal:
        house(CLASSIC, jokers=3, value_two=-1, max_turns=0, twos_buraco_wins=True, sets=False, one_set_per_rank=True)
    options = [problem.path for problem in refusal.value.problems]
    assert set(options) == {"jokers", "value_two", "max_turns", "twos_buraco_wins", "one_set_per_rank"}
    assert all(option in str(refusal.value) for option in options)


@pytest.mark.parametrize(
    "options",
    [
        {"jokers": 0, "value_joker": 0},
        {"sets": False},
        {"set_of_twos": True, "twos_buraco_wins": True},
        {"two_aces": True, "ace_to_ace": 1000},
        {"semi_clean_sets": True},
        {"max_turns": 1},
        {"max_turns": 100_000},
        {"makart": True, "closed_pile": True},
        {"clean": 0, "dirty": 0, "semi_clean": 0},
        {"opening_minimum": OpeningMinimum(threshold=-1000)},
        {"id": "x" * 64},
    ],
)
def test_house_rules(options: dict[str, object]) -> None:
    """A consistent record of one's own is accepted."""
    rules = replace(CLASSIC, **options)  # type: ignore[arg-type]
    assert [getattr(rules, name) for name in options] == list(options.values())


def test_fibur_is_burraco_with_three_options_more() -> None:
    """The Italian federation's game differs from Classic in the sets: one of a rank, and semi-clean ones (R4.6,
    R9.2).
    """
    fibur, classic = PRESETS_BY_ID["burraco-fibur"], PRESETS_BY_ID["buraco-plus-classic"]
    assert differences(fibur, classic) == {"id", "display_name", "one_set_per_rank", "semi_clean_sets"}
    assert not fibur.close_discard_wild
    assert fibur.close_by is CloseBy.DISCARD
    assert fibur.stock_end is StockEnd.AT_TWO


def test_stbl_has_runs_only_and_closes_clean() -> None:
    """Buraco STBL has no sets and closes with a clean buraco only (R4.3, R7.1); else it is Closed without its sets of
    2s.
    """
    stbl, closed = PRESETS_BY_ID["buraco-stbl"], PRESETS_BY_ID["closed"]
    assert differences(stbl, closed) == {"id", "display_name", "sets", "set_of_twos", "usual_targets"}
    assert stbl.close_needs_clean


def differences(one: RuleSet, other: RuleSet) -> set[str]:
    """The options in which two rule sets differ."""
    return {
        field.name
        for field in fields(RuleSet)
        if field.compare and getattr(one, field.name) != getattr(other, field.name)
    }
