"""Named secrets: `NAME:SECRET` comma separated in a variable, or `NAME SECRET` a line in a file.

No ValueError quotes what may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

from buraco_service.access.api_keys import MIN_API_SECRET_BYTES, ApiKey
from buraco_service.access.key_files import read_key_file
from buraco_service.access.seat_tokens import MIN_SECRET_BYTES, SigningKey

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class KeyList(Generic[_Key]):
    """How a list of keys is written, and what it is parsed to."""

    create: Callable[[str, bytes], _Key]
    """Makes a key of its name and its secret."""
    min_bytes: int
    """Of each secret."""
    unique_names: bool
    """Whether a name that appears twice is a problem."""
    printable: bool
    """Whether secrets have to be printable ASCII."""

    def parse(self, raw: str) -> tuple[_Key, ...]:
        """Return the keys of a variable's text, in its order. Raise ValueError, also if there is none."""
        return self._parse_pairs((pair.partition(":")[::2] for pair in raw.split(",") if pair.strip()), "NAME:SECRET")

    def read(self, path: Path) -> tuple[_Key, ...]:
        """Return the keys of a file, in its order, without empty lines and `#` lines.

        Raise ValueError, also for a file that cannot be read or has no key; the message names the file.
        """
        return read_key_file(path, self._parse_lines)

    def _parse_lines(self, text: str) -> tuple[_Key, ...]:
        lines = (line.strip() for line in text.splitlines())
        pairs = ((*line.split(None, 1), "")[:2] for line in lines if line and not line.startswith("#"))
        return self._parse_pairs(pairs, "NAME SECRET")

    def _parse_pairs(self, pairs: Iterable[Sequence[str]], form: str) -> tuple[_Key, ...]:
        found: list[tuple[str, bytes]] = []
        for number, (given, text) in enumerate(pairs, 1):
            name, secret = given.strip(), text.strip().encode()
            if not secret:
                raise ValueError(f"has no secret in key {number}: write it as {form}")
            if not _NAME.fullmatch(name):
                raise ValueError(f"has a bad name in key {number}: 1 to 64 letters, digits and . _ - are allowed")
            if len(secret) < self.min_bytes:
                raise ValueError(f"has a secret of {len(secret)} bytes in key {number}; {self.min_bytes} are needed")
            if self.unique_names and name in dict(found):
                raise ValueError(f"has the name of key {number} twice")
            if self.printable and not (secret.isascii() and secret.decode().isprintable()):
                raise ValueError(f"has a secret in key {number} that cannot be sent: printable ASCII is needed")
            found.append((name, secret))
        if not found:
            raise ValueError("has no key")
        return tuple([self.create(name, secret) for name, secret in found])


SIGNING_KEYS: Final = KeyList(SigningKey, MIN_SECRET_BYTES, unique_names=True, printable=False)
"""Keys of seat tokens; the first one signs."""
API_KEYS: Final = KeyList(ApiKey.of, MIN_API_SECRET_BYTES, unique_names=False, printable=True)
"""Keys of callers, of which only hashes are kept. Callers send the secrets as metadata."""
