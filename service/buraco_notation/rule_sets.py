"""Rule sets as text: a preset's id, and for house rules what differs from it: `open{makart=yes,max_turns=200}`.

House rules have the id `house-rules` unless `id=…` says otherwise, and every other option of the preset that they do
not name, its `display_name='…'` included. Yes and no, numbers and the names of the rules' values in lower case are
written plainly; targets as `2000/3000/0`, or `none`. `opening_minimum=no` takes the opening minimum away,
`opening_minimum=yes` gives that of the sources, `opening_minimum.points=90` changes a part of it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any, Final

from buraco_notation.reading import Cursor, Faults, Token, is_integer, quoted, tokens_of, unquoted
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

HOUSE_RULES: Final = "house-rules"
"""The id of house rules that name none."""

TOKEN: Final = re.compile(r"(?:[^\S\n]|\#[^\n]*)+|([|\n\[\]{}=,:!&~]|'(?:[^'\\\n]|\\[^\n])*'|[^\s|#'\[\]{}=,:!&~]+|')")
"""Words, signs and quotations; white space and comments are passed over."""

_OPENING: Final = "opening_minimum"
_OPTIONS: Final = tuple([option.name for option in fields(RuleSet) if option.init])
_OPENING_OPTIONS: Final = tuple([option.name for option in fields(OpeningMinimum)])
_ENUMS: Final[dict[str, type[IntEnum]]] = {
    "wild_moves": WildMoves,
    "wild_end": WildEnd,
    "pot_by": PotBy,
    "close_by": CloseBy,
    "stock_end": StockEnd,
    "tie": Tie,
}
_ENDS: Final = ("", "\n", "|")
_ENDS_OF_OPTION: Final = (*_ENDS, ",", "}")
_BOOLS: Final = {"no": False, "yes": True}
_TARGETS: Final = re.compile(r"[0-9]{1,10}(?:/[0-9]{1,10})*\Z")


def format_rule_set(rules: RuleSet) -> str:
    """A rule set as text; of all presets that which needs the fewest changes stands before the braces.

    >>> format_rule_set(replace(PRESETS_BY_ID["open"], id="house-rules", makart=True))
    'open{makart=yes}'
    """
    if PRESETS_BY_ID.get(rules.id) == rules:
        return rules.id
    base, changes = min([(preset, _changes(preset, rules)) for preset in PRESETS], key=lambda pair: len(pair[1]))
    return f"{base.id}{{{','.join(changes or [f'id={rules.id}'])}}}"


def parse_rule_set(text: str) -> RuleSet:
    """A rule set from text. Raises NotationFaults."""
    faults = Faults(text)
    cursor = Cursor(list(tokens_of(TOKEN, text)), len(text))
    rules = read_rule_set(cursor, faults)
    if not cursor.at_end:
        faults.expected(cursor.peek(), "nothing more")
    if rules is None or faults:
        raise faults.error()
    return rules


def read_rule_set(cursor: Cursor, faults: Faults) -> RuleSet | None:
    """The rule set that stands next; None, and a fault, where there is none."""
    name = cursor.take()
    base = PRESETS_BY_ID.get(name.text)
    if base is None:
        faults.expected(name, f"the id of a preset ({', '.join(PRESETS_BY_ID)})")
    given = _read_options(cursor, faults) if cursor.takes("{") else {}
    if base is None or given is None:
        return None
    if not given:
        return base
    values = {option: value for option, (_, value) in given.items() if "." not in option}
    values.setdefault("id", HOUSE_RULES)
    values[_OPENING] = _opening(base, given, faults)
    try:
        return replace(base, **values)
    except ValidationError as error:
        for option, problem in error.problems:
            faults.add(given[option][0] if option in given else name, f"{option}: {problem}")
        return None


def _changes(base: RuleSet, rules: RuleSet) -> list[str]:
    changes = [] if rules.id == HOUSE_RULES else [f"id={rules.id}"]
    for option in _OPTIONS[1:]:
        value, known = getattr(rules, option), getattr(base, option)
        if value == known:
            continue
        if option != _OPENING:
            changes.append(f"{option}={_format_value(option, value)}")
        elif value is None:
            changes.append(f"{_OPENING}=no")
        else:
            if known is None:
                changes.append(f"{_OPENING}=yes")
            parts = [
                (part, getattr(value, part), getattr(known or OpeningMinimum(), part)) for part in _OPENING_OPTIONS
            ]
            changes += [f"{_OPENING}.{part}={_format_value(part, new)}" for part, new, old in parts if new != old]
    return changes


def _format_value(option: str, value: Any) -> str:
    if option == "usual_targets":
        return "/".join(map(str, value)) or "none"
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, str):
        return quoted(value, "'")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


Options = dict[str, tuple[Token, Any]]
"""By option: where it is named, and its value."""


def _read_options(cursor: Cursor, faults: Faults) -> Options | None:
    """Options up to the closing brace. None where one is faulty."""
    given: Options = {}
    sound = True
    while not cursor.takes("}"):
        name = cursor.take()
        value = _read_option(name, cursor, faults)
        sound = sound and value is not None and name.text not in given
        if value is not None and name.text in given:
            faults.add(name, "given twice")
        if value is not None and cursor.peek().text not in (",", "}"):
            faults.expected(cursor.peek(), "',' or '}' after an option")
            sound = False
        while cursor.peek().text not in _ENDS_OF_OPTION:
            cursor.take()
        if cursor.peek().text in _ENDS:
            return None
        cursor.takes(",")
        given.setdefault(name.text, (name, value))
    return given if sound else None


def _read_option(name: Token, cursor: Cursor, faults: Faults) -> Any:
    """The value of an option; None, and a fault, where it has none."""
    reader = _READERS.get(name.text)
    if reader is None:
        faults.expected(name, "'}' or ','" if name.text in _ENDS else "an option of a rule set")
        return None
    if not cursor.takes("="):
        faults.expected(cursor.peek(), "'=' after the option")
        return None
    token = cursor.peek()
    value = reader.read(token, faults)
    if value is not None:
        cursor.take()
    else:
        faults.expected(token, reader.expects)
    return value


def _opening(base: RuleSet, given: Options, faults: Faults) -> OpeningMinimum | None:
    wanted = given[_OPENING][1] if _OPENING in given else base.opening_minimum is not None
    parts = {option.removeprefix(f"{_OPENING}."): pair for option, pair in given.items() if "." in option}
    if not wanted:
        for token, _ in parts.values():
            faults.add(token, "there is no opening minimum: opening_minimum=yes gives one")
        return None
    known = base.opening_minimum or OpeningMinimum()
    return replace(known, **{part: value for part, (_, value) in parts.items()})


@dataclass(frozen=True, slots=True)
class _Reader:
    """How an option's value is read: a function that gives None for what is no value, and what it expects."""

    expects: str
    read: Callable[[Token, Faults], Any]


def _one_of(values: dict[str, Any]) -> _Reader:
    return _Reader(" or ".join(values), lambda token, _: values.get(token.text))


def _targets(token: Token, _: Faults) -> tuple[int, ...] | None:
    if token.text == "none":
        return ()
    return tuple(map(int, token.text.split("/"))) if _TARGETS.match(token.text) else None


def _string(token: Token, faults: Faults) -> str | None:
    is_quotation = len(token.text) >= 2 and token.text.startswith("'")
    return unquoted(token, faults)[0] if is_quotation else None


_NUMBER: Final = _Reader("a number", lambda token, _: int(token.text) if is_integer(token) else None)


def _reader_of(option: str, owner: Sequence[Any]) -> _Reader:
    kind = next(field.type for field in owner if field.name == option)
    if option in _ENUMS:
        return _one_of({member.name.lower(): member for member in _ENUMS[option]})
    return _one_of(_BOOLS) if kind is bool else _NUMBER


_READERS: Final[dict[str, _Reader]] = {
    **{option: _reader_of(option, fields(RuleSet)) for option in _OPTIONS},
    **{f"{_OPENING}.{part}": _reader_of(part, fields(OpeningMinimum)) for part in _OPENING_OPTIONS},
    "id": _Reader("an id", lambda token, _: token.text if token.text[:1].isalnum() else None),
    "display_name": _Reader("a name in single quotes", _string),
    "usual_targets": _Reader("targets as 2000/3000/0, or none", _targets),
    _OPENING: _one_of(_BOOLS),
}
