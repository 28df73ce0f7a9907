"""How settings are written: which values each kind of them takes, in words and in code."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from buraco_service.access.api_keys import MIN_API_SECRET_BYTES, ApiKey
from buraco_service.access.seat_tokens import MIN_SECRET_BYTES, SigningKey
from buraco_service.configuration.key_lists import in_line, read_file

_T = TypeVar("_T")

_ON = ("true", "on", "yes", "1")
_OFF = ("false", "off", "no", "0")


class Kind(NamedTuple):
    """How a setting is written: its values in words, and how one is read (a ValueError says what is wrong)."""

    values: str
    read: Callable[[str], Any]
    metavar: str | None = None
    switch: bool = False
    # Values that hold secrets are never shown again.
    shown: bool = True
    flag: bool = True


def text() -> Kind:
    """Any text that is not blank."""
    return Kind("text", _read_text, "TEXT")


def _read_text(raw: str) -> str:
    if not raw.strip():
        raise ValueError("is empty")
    return raw.strip()


def integer(low: int, high: int, unit: str = "") -> Kind:
    """A whole number within bounds, of a unit."""
    values = f"{low} to {high}{' ' + unit if unit else ''}"

    def read(raw: str) -> int:
        try:
            value = int(raw)
        except ValueError:
            raise ValueError(f"is not a whole number ({values})") from None
        if not low <= value <= high:
            raise ValueError(f"is out of range ({values})")
        return value

    return Kind(values, read, unit.upper() or "NUMBER")


def seconds(low: float, high: float) -> Kind:
    """A time in seconds within bounds."""
    values = f"{low:g} to {high:.10g} seconds"

    def read(raw: str) -> float:
        try:
            value = float(raw)
        except ValueError:
            raise ValueError(f"is not a number ({values})") from None
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError(f"is out of range ({values})")
        return value

    return Kind(values, read, "SECONDS")


def choice(*values: str) -> Kind:
    """One of some words."""

    def read(raw: str) -> str:
        if raw not in values:
            raise ValueError(f"is none of {', '.join(values)}")
        return raw

    return Kind(" \\| ".join(f"`{value}`" for value in values), read, "WORD")


def switch() -> Kind:
    """True or false, on or off."""

    def read(raw: str) -> bool:
        if raw.lower() in _ON:
            return True
        if raw.lower() in _OFF:
            return False
        raise ValueError("is neither true nor false")

    return Kind("`true` \\| `false`", read, switch=True)


def path() -> Kind:
    """A path of the file system."""
    return Kind("path", lambda raw: Path(_read_text(raw)), "FILE")


def store_url() -> Kind:
    """The store's URL, which may hold a password."""

    def read(raw: str) -> str:
        if not re.match(r"[a-z][a-z0-9+]*://", raw):
            raise ValueError("is not a URL such as sqlite:///buraco.db")
        return raw

    return Kind("URL", read, "URL", shown=False)


def signing_keys() -> Kind:
    """Keys of seat tokens."""
    return _keys(lambda raw: _signing(in_line(raw, MIN_SECRET_BYTES, distinct=True)), MIN_SECRET_BYTES)


def api_keys() -> Kind:
    """Keys of callers, of which only hashes are kept."""
    return _keys(lambda raw: _api(in_line(raw, MIN_API_SECRET_BYTES, distinct=False)), MIN_API_SECRET_BYTES)


def signing_keys_of_file(path: Path) -> tuple[SigningKey, ...]:
    """The keys in a file, the signing one first. The ValueError for a bad file never quotes what may be a secret."""
    return _of_file(path, lambda: _signing(read_file(path, MIN_SECRET_BYTES, distinct=True)))


def api_keys_of_file(path: Path) -> tuple[ApiKey, ...]:
    """The callers' keys in a file. The ValueError for a bad file never quotes what may be a secret."""
    return _of_file(path, lambda: _api(read_file(path, MIN_API_SECRET_BYTES, distinct=False)))


def _of_file(path: Path, read: Callable[[], _T]) -> _T:
    """Return what is read of a file. Raise ValueError with its name before what is wrong with it."""
    try:
        return read()
    except ValueError as error:
        raise ValueError(f"{str(path)!r} {error}") from None


def _keys(read: Callable[[str], Any], least: int) -> Kind:
    # Every user of a machine can read command lines: no flag.
    values = f"`NAME:SECRET`, comma separated; secrets of {least} bytes or more"
    return Kind(values, read, shown=False, flag=False)


def _signing(pairs: list[tuple[str, bytes]]) -> tuple[SigningKey, ...]:
    return tuple([SigningKey(kid, secret) for kid, secret in pairs])


def _api(pairs: list[tuple[str, bytes]]) -> tuple[ApiKey, ...]:
    for number, (_, secret) in enumerate(pairs, 1):
        if not secret.isascii() or not secret.decode().isprintable():
            raise ValueError(f"has a secret in key {number} that cannot be sent: printable ASCII is needed")
    return tuple([ApiKey.of(name, secret) for name, secret in pairs])
