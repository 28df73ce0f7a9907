"""The table of the presets in protos/RULES.md, from the code."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from buraco.v1 import rule_set_pb2
from buraco_rules import PRESETS, OpeningMinimum


def format_presets_table() -> str:
    """Return a row for each option, in the order of the contract, with a column for each preset."""
    options = [
        field.name for field in rule_set_pb2.RuleSet.DESCRIPTOR.fields if field.name not in {"id", "display_name"}
    ]
    rows = [["option", *(f"`{preset.id}`" for preset in PRESETS)], ["---"] * (len(PRESETS) + 1)]
    rows += [[f"`{name}`", *(_text(getattr(preset, name)) for preset in PRESETS)] for name in options]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _text(value: Any) -> str:
    if isinstance(value, OpeningMinimum):
        return f"{value.points} from {value.threshold} on, +{value.step}, -{value.penalty}"
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return {True: "yes", False: "-", None: "-"}[value] if isinstance(value, bool | None) else str(value or "-")
