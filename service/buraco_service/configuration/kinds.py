"""The kinds of settings: which values each takes, in words for the documents, and how they are parsed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from buraco_service.configuration.key_lists import KeyList

_ON = ("true", "on", "yes", "1")
_OFF = ("false", "off", "no", "0")
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


class Kind(NamedTuple):
    """A kind of setting: its values in words, and the function that parses one (a ValueError says what is wrong)."""

    values: str
    parse: Callable[[str], Any]
    metavar: str | None = None
    is_switch: bool = False
    # The value of a secret is in no error message.
    is_secret: bool = False
    has_flag: bool = True


def text() -> Kind:
    """Return the kind of any text that is not blank; spaces around it are removed."""
    return Kind("text", _parse_text, "TEXT")


def _parse_text(raw: str) -> str:
    if not raw.strip():
        raise ValueError("is empty")
    return raw.strip()


def integer(low: int, high: int, unit: str = "") -> Kind:
    """Return the kind of a whole number from `low` to `high`; `unit` is only shown."""
    values = f"{low} to {high}{' ' + unit if unit else ''}"

    def parse(raw: str) -> int:
        try:
            value = int(raw)
        except ValueError:
            raise ValueError(f"is not a whole number ({values})") from None
        if not low <= value <= high:
            raise ValueError(f"is out of range ({values})")
        return value

    return Kind(values, parse, unit.upper() or "NUMBER")


def seconds(low: float, high: float) -> Kind:
    """Return the kind of a time in seconds, fractions allowed, from `low` to `high`."""
    values = f"{low:g} to {high:.10g} seconds"

    def parse(raw: str) -> float:
        try:
            value = float(raw)
        except ValueError:
            raise ValueError(f"is not a number ({values})") from None
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError(f"is out of range ({values})")
        return value

    return Kind(values, parse, "SECONDS")


def choice(*values: str) -> Kind:
    """Return the kind of one of these words, exactly as they are written."""

    def parse(raw: str) -> str:
        if raw not in values:
            raise ValueError(f"is none of {', '.join(values)}")
        return raw

    return Kind(" \\| ".join(f"`{value}`" for value in values), parse, "WORD")


def switch() -> Kind:
    """Return the kind of true or false, also written on/off, yes/no or 1/0, in any case."""

    def parse(raw: str) -> bool:
        if raw.lower() in _ON:
            return True
        if raw.lower() in _OFF:
            return False
        raise ValueError("is neither true nor false")

    return Kind("`true` \\| `false`", parse, is_switch=True)


def path() -> Kind:
    """Return the kind of a path in the file system, which need not exist."""
    return Kind("path", lambda raw: Path(_parse_text(raw)), "FILE")


def origins() -> Kind:
    """Return the kind of a list of web origins, `scheme://host` with a port unless it is the scheme's own."""

    def parse(raw: str) -> tuple[str, ...]:
        found = tuple([origin.strip() for origin in raw.split(",") if origin.strip()])
        if not found:
            raise ValueError("is empty")
        for origin in found:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise ValueError("is no list of origins such as https://example.org or http://localhost:5173")
        return found

    return Kind("`https://HOST[:PORT]`, comma separated, or `*`", parse, "ORIGINS")


def store_url() -> Kind:
    """Return the kind of the store's URL, which may hold a password. Only its start, `scheme://`, is checked."""

    def parse(raw: str) -> str:
        if not re.match(r"[a-z][a-z0-9+]*://", raw):
            raise ValueError("is not a URL such as sqlite:///buraco.db")
        return raw

    return Kind("URL", parse, "URL", is_secret=True)


def keys(key_list: KeyList[Any]) -> Kind:
    """Return the kind of a list of keys. It has no flag: every user of a machine can read command lines."""
    values = f"`NAME:SECRET`, comma separated; secrets of {key_list.min_bytes} bytes or more"
    return Kind(values, key_list.parse, is_secret=True, has_flag=False)
