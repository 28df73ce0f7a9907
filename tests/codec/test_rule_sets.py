from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buraco.v1 import rule_set_pb2
from buraco_codec.rule_sets import rule_set_from_pb, rule_set_to_pb
from buraco_rules import PRESETS, PRESETS_BY_ID, OpeningMinimum, RuleSet, ValidationError

CLASSIC = PRESETS_BY_ID["buraco-plus-classic"]
INDIRECT = PRESETS_BY_ID["professional-indirect"]
ENUMS = ("wild_moves", "wild_end", "pot_by", "close_by", "stock_end", "tie")


def house(base: RuleSet = CLASSIC, **changes: Any) -> rule_set_pb2.RuleSet:
    """A preset's record under an id of its own, with some fields changed."""
    record = rule_set_pb2.RuleSet()
    record.CopyFrom(rule_set_to_pb(base))
    record.id = "house-rules"
    for name, value in changes.items():
        setattr(record, name, value)
    return record


def problems_of(record: rule_set_pb2.RuleSet) -> dict[str, str]:
    """What is wrong with a record, by field."""
    with pytest.raises(ValidationError) as caught:
        rule_set_from_pb(record)
    return dict(caught.value.problems)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.id)
def test_presets_round_trip(preset: RuleSet) -> None:
    """A preset crosses unchanged and comes back as the very same object, so that what is cached for it is found."""
    record = rule_set_pb2.RuleSet.FromString(rule_set_to_pb(preset).SerializeToString())
    assert rule_set_from_pb(record) is preset
    assert record.max_turns == 1000
    assert rule_set_to_pb(preset) is rule_set_to_pb(preset)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.id)
def test_house_rules_round_trip(preset: RuleSet) -> None:
    """House rules cross unchanged, and the same record gives the same object."""
    minimum = OpeningMinimum(threshold=-5, points=10, step=0, penalty=7, every_turn=True)
    rules = replace(preset, id="house-rules-2", display_name="Bei uns", opening_minimum=minimum, max_turns=30)
    record = rule_set_to_pb(rules)
    assert rule_set_from_pb(record) == rules
    assert rule_set_from_pb(rule_set_pb2.RuleSet.FromString(record.SerializeToString())) is rule_set_from_pb(record)


def test_every_option_crosses() -> None:
    """The message has a field for every option of the rules, by its name, and no other."""
    options = {option.name for option in fields(RuleSet) if option.init}
    assert {field.name for field in rule_set_pb2.RuleSet.DESCRIPTOR.fields} == options
    own = {option.name for option in fields(OpeningMinimum)}
    assert {field.name for field in rule_set_pb2.OpeningMinimum.DESCRIPTOR.fields} == own


def test_max_turns_has_a_default() -> None:
    """0 turns mean 1000, in house rules and in a preset alike (R8.3)."""
    assert rule_set_from_pb(house(max_turns=0)).max_turns == 1000
    record = house(max_turns=0)
    record.id = CLASSIC.id
    assert rule_set_from_pb(record) is CLASSIC


def test_preset_ids_are_reserved() -> None:
    """A record with a preset's id must be the preset; every option that is not the preset's is named."""
    record = house(INDIRECT, id=INDIRECT.id, clean=201, display_name="Mine", sets=True)
    record.opening_minimum.points = 80
    assert set(problems_of(record)) == {"clean", "display_name", "opening_minimum"}
    record = house(id=CLASSIC.id)
    record.usual_targets.append(7)
    assert set(problems_of(record)) == {"usual_targets"}


@pytest.mark.parametrize("option", ENUMS)
@pytest.mark.parametrize("number", [0, 9, -1])
def test_unknown_enum_numbers_are_named(option: str, number: int) -> None:
    """An enum that is absent or unknown is a problem of its field, which lists the members."""
    record = house()
    setattr(record, option, number)
    found = problems_of(record)
    assert set(found) == {option}
    assert "must be one of" in found[option]


def test_all_inconsistencies_are_named() -> None:
    """A record that contradicts itself is refused with every contradiction."""
    record = house(id="No Id", display_name="", jokers=3, max_turns=100_001, twos_buraco_wins=True, pot_by=0)
    record.opening_minimum.points = 0
    record.usual_targets.extend([1] * 30)
    assert set(problems_of(record)) == {
        "id",
        "display_name",
        "pot_by",
        "max_turns",
        "jokers",
        "usual_targets",
        "opening_minimum.points",
        "twos_buraco_wins",
    }


@pytest.mark.parametrize("size", [3, 10_000])
def test_options_of_a_later_version_are_refused(size: int) -> None:
    """An option that is not known is not passed over, however large it is: without it other rules would hold."""
    option = b"\xfa\x7f" + bytes((size & 0x7F | 0x80, size >> 7)) + b"x" * size
    later = rule_set_pb2.RuleSet.FromString(house().SerializeToString() + option)
    assert problems_of(later) == {"": "says what this version does not know: ask a later one"}


def numbers() -> st.SearchStrategy[int]:
    """Numbers around the limits."""
    return st.sampled_from((0, 1, 2, 4, 100, 1000, 1001, 10_001, 100_001, 2**32 - 1))


@settings(deadline=None, database=None, derandomize=True, max_examples=300)
@given(st.data())
def test_any_record_is_read_or_refused(data: st.DataObject) -> None:
    """Whatever a record holds, it is a rule set that crosses back unchanged, or its problems are named by field."""
    record = house(data.draw(st.sampled_from(PRESETS)))
    names = [field.name for field in record.DESCRIPTOR.fields]
    for name in data.draw(st.lists(st.sampled_from(names), max_size=4)):
        value = getattr(record, name)
        if isinstance(value, bool):
            setattr(record, name, not value)
        elif name in ENUMS:
            setattr(record, name, data.draw(st.integers(-2, 5)))
        elif isinstance(value, str):
            setattr(record, name, data.draw(st.sampled_from(("open", "", "x" * 101, "a-b", "naïve", "\n"))))
        elif name == "usual_targets":
            value.append(data.draw(numbers()))
        elif name == "opening_minimum":
            value.points = data.draw(numbers())
            value.threshold = data.draw(st.integers(-(2**31), 2**31 - 1))
        else:
            setattr(record, name, data.draw(numbers()))
    rules, at_fault = read(record)
    assert (rules is None) == bool(at_fault)
    assert at_fault <= set(names)
    assert rules is None or read(rule_set_to_pb(rules)) == (rules, set())


def read(record: rule_set_pb2.RuleSet) -> tuple[RuleSet | None, set[str]]:
    """The rule set of a record, or the fields at fault."""
    try:
        return rule_set_from_pb(record), set()
    except ValidationError as error:
        return None, {problem.path.split(".")[0] for problem in error.problems}
