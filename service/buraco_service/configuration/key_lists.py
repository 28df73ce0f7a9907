"""Named secrets as they are written: `NAME:SECRET` comma separated in a variable, `NAME SECRET` a line in a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


def in_line(raw: str, least: int, *, distinct: bool) -> list[tuple[str, bytes]]:
    """Names and secrets of a variable's text; see `read_file`."""
    return _checked(
        (pair.partition(":")[::2] for pair in raw.split(",") if pair.strip()), "NAME:SECRET", least, distinct
    )


def read_file(path: Path, least: int, *, distinct: bool) -> list[tuple[str, bytes]]:
    """Names and secrets of a file, in its order; empty lines and `#` lines are skipped.

    Secrets have `least` bytes or more; `distinct` says whether a name may stand only once. The ValueError for bad ones
    never quotes what may be a secret.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("is not a text in UTF-8") from None
    lines = (line.strip() for line in text.splitlines())
    pairs = ((*line.split(None, 1), "")[:2] for line in lines if line and not line.startswith("#"))
    return _checked(pairs, "NAME SECRET", least, distinct)


def _checked(pairs: Iterable[Sequence[str]], form: str, least: int, distinct: bool) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for number, (given, text) in enumerate(pairs, 1):
        name, secret = given.strip(), text.strip().encode()
        if not secret:
            raise ValueError(f"has no secret in key {number}: write it as {form}")
        if not _NAME.fullmatch(name):
            raise ValueError(f"has a bad name in key {number}: 1 to 64 letters, digits and . _ - are allowed")
        if len(secret) < least:
            raise ValueError(f"has a secret of {len(secret)} bytes in key {number}; {least} are needed")
        if distinct and name in dict(found):
            raise ValueError(f"has the name of key {number} twice")
        found.append((name, secret))
    if not found:
        raise ValueError("has no key")
    return found
