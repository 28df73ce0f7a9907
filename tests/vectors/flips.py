"""Every option of a preset with another value: house rules under which some vector must fail."""

from collections.abc import Iterator
from enum import IntEnum
from typing import Any, Final

from buraco_rules import OpeningMinimum, RuleSet

_OPENING: Final = "opening_minimum"
_PARTS: Final = {"threshold": "500", "points": "90", "step": "5", "penalty": "50", "every_turn": "yes"}
_NUMBERS: Final = {"jokers": (0, 4), "pots_per_side": (1, 2), "max_turns": (5,)}
_COMPANIONS: Final = {
    "jokers=0": {"value_joker": "0"},
    "sets=no": {"set_of_twos": "no", "twos_buraco_wins": "no"},
    "set_of_twos=no": {"twos_buraco_wins": "no"},
    "two_aces=no": {"ace_to_ace": "0"},
    "close_by=flight": {"close_discard_wild": "no"},
}
"""What has to change with an option, for the record would contradict itself otherwise."""


def flipped(preset: RuleSet, option: str) -> Iterator[str]:
    """Yield house rules that differ from a preset in one option, in the text notation, one for each other value."""
    for value in _others(preset, option):
        companions = _COMPANIONS.get(f"{option}={value}", {})
        changed = {option: value} | {name: to for name, to in companions.items() if _text(getattr(preset, name)) != to}
        yield f"{preset.id}{{{','.join([f'{name}={to}' for name, to in changed.items()])}}}"


def _others(preset: RuleSet, option: str) -> Iterator[str]:
    if option == _OPENING:
        yield "yes" if preset.opening_minimum is None else "no"
    elif option.startswith(_OPENING):
        part = option.partition(".")[2]
        known = getattr(preset.opening_minimum or OpeningMinimum(), part)
        assert _PARTS[part] != _text(known), "another value is meant"
        yield _PARTS[part]
    else:
        known = getattr(preset, option)
        yield from [_text(other) for other in _values(option, known) if other != known]


def _values(option: str, value: Any) -> list[Any]:
    if isinstance(value, IntEnum):
        return list(type(value))
    if isinstance(value, bool):
        return [False, True]
    return list(_NUMBERS.get(option, (value + 10 if value else 150,)))


def _text(value: Any) -> str:
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
