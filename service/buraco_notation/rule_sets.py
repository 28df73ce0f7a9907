"""Rule sets as text: a preset's id, and for house rules what differs from it: `open{makart=yes,max_turns=200}`.

House rules have the id `house-rules` unless `id=…` says otherwise, and every other option of the preset that they do
not name, its `display_name='…'` included. Yes and no, numbers and the names of the rules' values in lower case are
written plainly; targets as `2000/3000/0`, or `none`. `opening_minimum=no` takes the opening minimum away,
`opening_minimum=yes` gives that of the sources, `opening_minimum.points=90` changes a part of it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from enum import IntEnum
from typing import Any, Final

from buraco_notation.reading import (
    Cursor,
    TextProblems,
    Token,
    compile_tokens,
    is_integer,
    parse,
    quote,
    take_required,
    unquote,
)
from buraco_rules import PRESETS, PRESETS_BY_ID, OpeningMinimum, RuleSet, ValidationError

HOUSE_RULES: Final = "house-rules"
"""The id of house rules that name none."""

TOKENS: Final = compile_tokens("|\n[]{}=,:!&~", "'")
"""The tokens of rule sets and positions."""

_OPENING: Final = "opening_minimum"
_OPTIONS: Final = {option.name: option.type for option in fields(RuleSet) if option.init}
_OPENING_PARTS: Final = {f"{_OPENING}.{option.name}": option.type for option in fields(OpeningMinimum)}
_ENDS: Final = ("", "\n", "|")
_ENDS_OF_OPTION: Final = (*_ENDS, ",", "}")
_BOOLS: Final = {"no": False, "yes": True}
_TARGETS: Final = re.compile(r"[0-9]{1,10}(?:/[0-9]{1,10})*\Z")


def format_rule_set(rules: RuleSet) -> str:
    """Return a rule set as text: the preset that needs the fewest changes, and the changes in braces.

    >>> format_rule_set(replace(PRESETS_BY_ID["open"], id="house-rules", makart=True))
    'open{makart=yes}'
    """
    if PRESETS_BY_ID.get(rules.id) == rules:
        return rules.id
    base, changes = min([(preset, _changes(preset, rules)) for preset in PRESETS], key=lambda pair: len(pair[1]))
    return f"{base.id}{{{','.join(changes or [f'id={rules.id}'])}}}"


def parse_rule_set(text: str) -> RuleSet:
    """Return the rule set of a text. Raise NotationError for what is not one, or contradicts itself.

    >>> parse_rule_set("open{makart=yes}") == replace(PRESETS_BY_ID["open"], id="house-rules", makart=True)
    True
    """
    return parse(text, TOKENS, read_rule_set)


def read_rule_set(cursor: Cursor, problems: TextProblems) -> RuleSet | None:
    """Read a rule set; None, and problems, if there is none, or it is faulty or contradicts itself."""
    name = cursor.take()
    base = PRESETS_BY_ID.get(name.text)
    if base is None:
        problems.add_unexpected(name, f"the id of a preset ({', '.join(PRESETS_BY_ID)})")
    given = _read_options(cursor, problems) if cursor.take_if("{") else {}
    if base is None or given is None:
        return None
    if not given:
        return base
    values = {option: value for option, (_, value) in given.items() if option not in _OPENING_PARTS}
    values.setdefault("id", HOUSE_RULES)
    values[_OPENING] = _opening_minimum(base, given, problems)
    try:
        return replace(base, **values)
    except ValidationError as error:
        for option, problem in error.problems:
            problems.add(given[option][0] if option in given else name, f"{option}: {problem}")
        return None


def _changes(base: RuleSet, rules: RuleSet) -> list[str]:
    """Return the options of `rules` that are others in `base`, as text."""
    known = dict(_options_of(base))
    changes = [] if rules.id == HOUSE_RULES else [f"id={rules.id}"]
    for option, value in _options_of(rules):
        is_void = option in _OPENING_PARTS and rules.opening_minimum is None
        if value != known[option] and option != "id" and not is_void:
            changes.append(f"{option}={_format_value(value)}")
    return changes


def _options_of(rules: RuleSet) -> Iterator[tuple[str, Any]]:
    """Yield all options with their values; the opening minimum as yes or no, then its parts."""
    for option in _OPTIONS:
        if option != _OPENING:
            yield option, getattr(rules, option)
            continue
        yield _OPENING, rules.opening_minimum is not None
        for part in _OPENING_PARTS:
            yield part, getattr(rules.opening_minimum or OpeningMinimum(), part.removeprefix(f"{_OPENING}."))


def _format_value(value: Any) -> str:
    if isinstance(value, tuple):
        return "/".join(map(str, value)) or "none"
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, str):
        return quote(value, "'")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


_Options = dict[str, tuple[Token, Any]]
"""By option: where it is named, and its value."""


def _read_options(cursor: Cursor, problems: TextProblems) -> _Options | None:
    """Read options up to the closing brace. None, and a problem, if one is faulty."""
    given: _Options = {}
    before = len(problems)
    while not cursor.take_if("}"):
        name = cursor.take()
        value = _read_option(name, cursor, problems)
        if value is not None and name.text in given:
            problems.add(name, "given twice")
        if value is not None and cursor.peek().text not in (",", "}"):
            problems.add_unexpected(cursor.peek(), "',' or '}' after an option")
        while cursor.peek().text not in _ENDS_OF_OPTION:
            cursor.take()
        if cursor.peek().text in _ENDS:
            return None
        cursor.take_if(",")
        given.setdefault(name.text, (name, value))
    return given if len(problems) == before else None


def _read_option(name: Token, cursor: Cursor, problems: TextProblems) -> Any:
    """Read the value of an option; None, and a problem, if it has none."""
    if name.text not in _READERS:
        problems.add_unexpected(name, "'}' or ','" if name.text in _ENDS else "an option of a rule set")
        return None
    if not take_required(cursor, problems, "=", "'=' after the option"):
        return None
    expected, read = _READERS[name.text]
    value = read(cursor.peek(), problems)
    if value is None:
        problems.add_unexpected(cursor.peek(), expected)
    else:
        cursor.take()
    return value


def _opening_minimum(base: RuleSet, given: _Options, problems: TextProblems) -> OpeningMinimum | None:
    is_wanted = given[_OPENING][1] if _OPENING in given else base.opening_minimum is not None
    parts = {part: given[part] for part in _OPENING_PARTS if part in given}
    if not is_wanted:
        for token, _ in parts.values():
            problems.add(token, "there is no opening minimum: opening_minimum=yes gives one")
        return None
    known = base.opening_minimum or OpeningMinimum()
    return replace(known, **{part.removeprefix(f"{_OPENING}."): value for part, (_, value) in parts.items()})


_Reader = tuple[str, Callable[[Token, TextProblems], Any]]
"""How an option's value is read: what is expected, and a function that returns None for what is not a value."""


def _one_of(values: dict[str, Any]) -> _Reader:
    return " or ".join(values), lambda token, _: values.get(token.text)


def _read_targets(token: Token, _: TextProblems) -> tuple[int, ...] | None:
    if token.text == "none":
        return ()
    return tuple(map(int, token.text.split("/"))) if _TARGETS.match(token.text) else None


def _read_name(token: Token, problems: TextProblems) -> str | None:
    is_quotation = len(token.text) >= 2 and token.text.startswith("'")
    return unquote(token, problems)[0] if is_quotation else None


_NUMBER: Final[_Reader] = ("a number", lambda token, _: int(token.text) if is_integer(token) else None)


def _reader_of(kind: Any) -> _Reader:
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return _one_of({member.name.lower(): member for member in kind})
    return _one_of(_BOOLS) if kind is bool else _NUMBER


_READERS: Final[dict[str, _Reader]] = {
    option: _reader_of(kind) for option, kind in (_OPTIONS | _OPENING_PARTS).items()
} | {
    "id": ("an id", lambda token, _: token.text if token.text[:1].isalnum() else None),
    "display_name": ("a name in single quotes", _read_name),
    "usual_targets": ("targets as 2000/3000/0, or none", _read_targets),
    _OPENING: _one_of(_BOOLS),
}
