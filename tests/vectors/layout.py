"""Write JSON that people can read: whatever fits on a line is on one."""

import json
from typing import Any, Final

WIDTH: Final = 118


def dumps(value: Any) -> str:
    """Return a value as JSON with short lines and a newline at its end."""
    return _written(value, "", 0) + "\n"


def _written(value: Any, indent: str, taken: int) -> str:
    """Return a value as JSON; `taken` characters are before it in its line, the indent left out."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value:
        return line
    fits = len(indent) + taken + len(line) < WIDTH
    if fits and not _is_long(value):
        return line
    inner = indent + "  "
    if isinstance(value, list):
        if all([_is_word(entry) for entry in value]):
            return f"[\n{inner}{_filled(value, inner)}\n{indent}]"
        parts = [_written(entry, inner, 0) for entry in value]
        return "[\n" + ",\n".join([inner + part for part in parts]) + f"\n{indent}]"
    entries = []
    for key, entry in value.items():
        name = json.dumps(key, ensure_ascii=False) + ": "
        entries.append(inner + name + _written(entry, inner, len(name)))
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"


def _is_long(value: dict[str, Any] | list[Any]) -> bool:
    """Return True if a value is broken into lines though it would fit on one: vectors, and what consists of them."""
    if isinstance(value, dict):
        return "name" in value or "vectors" in value
    return any([isinstance(entry, dict) and "name" in entry for entry in value])


def _is_word(value: Any) -> bool:
    """Return True if several values of this sort may stand on one line."""
    return not isinstance(value, dict | list) and not (isinstance(value, str) and " " in value)


def _filled(values: list[Any], indent: str) -> str:
    """Return values side by side, as many as a line holds."""
    lines = [""]
    for index, value in enumerate(values):
        word = json.dumps(value, ensure_ascii=False) + ("," if index + 1 < len(values) else "")
        if len(indent) + len(lines[-1]) + len(word) + 1 > WIDTH:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return f"\n{indent}".join(lines)
