"""Rule sets. Equal messages are read as the same object, so that what others cache by rule set is found quickly."""

from dataclasses import asdict, fields
from functools import lru_cache
from typing import Any, Final

from buraco.v1 import rule_set_pb2
from buraco_codec.caching import cached_by_bytes
from buraco_codec.fields import Untyped, by_number, check_known
from buraco_rules import (
    PRESETS_BY_ID,
    CloseBy,
    OpeningMinimum,
    PotBy,
    Problems,
    RuleSet,
    StockEnd,
    Tie,
    WildEnd,
    WildMoves,
)

DEFAULT_MAX_TURNS: Final = 1000
"""What 0 in the field `max_turns` means (R8.3)."""

_CACHED: Final = 64
"""Rule sets of each cache: 4 KiB each at most."""
_MAX_TARGETS: Final = 16

_OPTIONS: Final = tuple(option.name for option in fields(RuleSet) if option.init)
_ENUMS: Final[dict[str, dict[int, Any]]] = {
    "wild_moves": by_number(WildMoves),
    "wild_end": by_number(WildEnd),
    "pot_by": by_number(PotBy),
    "close_by": by_number(CloseBy),
    "stock_end": by_number(StockEnd),
    "tie": by_number(Tie),
}
_PLAIN: Final = tuple(
    name for name in _OPTIONS if name not in {*_ENUMS, "opening_minimum", "max_turns", "usual_targets"}
)


@lru_cache(_CACHED)
def rule_set_to_pb(rules: RuleSet) -> rule_set_pb2.RuleSet:
    """Return a rule set as a message, which is shared: copy it before you change it."""
    options: dict[str, Untyped] = {name: getattr(rules, name) for name in _OPTIONS}
    if rules.opening_minimum is not None:
        options["opening_minimum"] = rule_set_pb2.OpeningMinimum(**asdict(rules.opening_minimum))
    return rule_set_pb2.RuleSet(**options)


@lru_cache(_CACHED)
def rule_set_bytes(rules: RuleSet) -> bytes:
    """Return a rule set, serialised."""
    return rule_set_to_pb(rules).SerializeToString()


@cached_by_bytes(rule_set_pb2.RuleSet, max_entries=_CACHED, max_bytes=1024)
def rule_set_from_pb(rule_set: rule_set_pb2.RuleSet) -> RuleSet:
    """Return the rule set of a message.

    Raise ValidationError with every option at fault: also one that is not the preset's under the id of a preset. Raise
    it if the message has fields that this version does not know.
    """
    problems = Problems()
    check_known(rule_set, problems)
    problems.raise_if_any()
    options: dict[str, Any] = {name: getattr(rule_set, name) for name in _PLAIN}
    for name, members in _ENUMS.items():
        options[name] = members.get(getattr(rule_set, name))
    options["max_turns"] = rule_set.max_turns or DEFAULT_MAX_TURNS
    # One more than allowed is enough to be refused: a list of a million costs nothing.
    options["usual_targets"] = tuple(rule_set.usual_targets[: _MAX_TARGETS + 1])
    if rule_set.HasField("opening_minimum"):
        minimum = rule_set.opening_minimum
        options["opening_minimum"] = OpeningMinimum(
            minimum.threshold, minimum.points, minimum.step, minimum.penalty, minimum.every_turn
        )
    rules = RuleSet(**options)
    preset = PRESETS_BY_ID.get(rules.id)
    if preset is None:
        return rules
    for name in _OPTIONS:
        if getattr(rules, name) != getattr(preset, name):
            problems.add(name, f"not that of the preset {rules.id!r}: give house rules an id of their own")
    problems.raise_if_any()
    return preset
