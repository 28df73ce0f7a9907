"""The scripts of the Redis store: each does one step at one table, as a whole.

They lie in `lua`. All are marked as Redis 7 asks for (`#!lua`), so that a server that is full, read only or short
of replicas refuses a script before it begins and never in its middle.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple


class Script(NamedTuple):
    """A script and the name the server keeps it under."""

    text: bytes
    sha: str
    writes: bool


def _script(name: str) -> Script:
    text = (Path(__file__).parent / "lua" / f"{name}.lua").read_bytes()
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest(), b"no-writes" not in text)


CREATE = _script("create")
COMMIT = _script("commit")
LOG = _script("log")
RECORDS = _script("records")
REMOVE = _script("remove")
PING = _script("ping")
