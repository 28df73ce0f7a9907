"""Messages as JSON that can be compared: enums by number, fields by their names, what has no order sorted."""

from typing import Any, Final

from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message

from buraco.v1 import rule_set_pb2
from tests.vectors.words import SET, Json

_UNORDERED: Final = ("took_rest", "laid_off", "pot_taken", "opening_failed", "undone")
"""Events whose cards may come in any order."""
_COMPARED_APART: Final = ("score", "hands", "seed", "payouts")
"""Of the end of a deal and of a match."""


def as_json(message: Message) -> Json:
    """Return a message as JSON; fields at their defaults are left out."""
    found: Json = MessageToDict(message, preserving_proto_field_name=True, use_integers_for_enums=True)
    return found


def normal(value: Json, kind: type[Message]) -> Json:
    """Return JSON of a message in the one form that `as_json` gives it."""
    return as_json(ParseDict(value, kind()))


def normal_meld(meld: Json) -> Json:
    """Return a meld with the naturals of a set in order: they have none of their own."""
    if meld.get("kind") != SET:
        return meld
    count = meld.get("wild_index", len(meld["cards"]))
    return meld | {"cards": [*sorted(meld["cards"][:count]), *meld["cards"][count:]]}


def normal_event(event: Json) -> Json:
    """Return an event without what is compared apart from it, and with all that has no order sorted."""
    ((name, fields),) = event.items()
    fields = {key: value for key, value in fields.items() if key not in _COMPARED_APART}
    if name in _UNORDERED and "cards" in fields:
        fields["cards"] = sorted(fields["cards"])
    if "meld" in fields:
        fields["meld"] = normal_meld(fields["meld"])
    return {name: fields}


def normal_move(move: Json) -> Json:
    """Return a move with its cards sorted: their order in a request means nothing."""
    ((name, fields),) = move.items()
    return {name: fields | {"cards": sorted(fields["cards"])} if "cards" in fields else fields}


def rule_set_json(options: Json) -> Json:
    """Return options with enums by their short names (`free_end`) or numbers as JSON of a RuleSet."""
    known: dict[str, Any] = dict(rule_set_pb2.RuleSet.DESCRIPTOR.fields_by_name)
    found = dict(options)
    for name, value in options.items():
        enum = known[name].enum_type
        if enum is not None and isinstance(value, str):
            found[name] = enum.values_by_name[f"{name.upper()}_{value.upper()}"].number
    return normal(found, rule_set_pb2.RuleSet)
