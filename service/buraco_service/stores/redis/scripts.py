"""The scripts of the Redis store, in the folder `lua`: each reads or changes one table or account atomically.

All begin with `#!lua` (Redis 7), so that a server that is full, read only or short of replicas refuses a script before
it begins and never in its middle.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple


class Script(NamedTuple):
    """A script, and the hash by which the server knows it."""

    text: bytes
    sha: str
    writes: bool
    """False only for a script that declares `no-writes`."""


def _script(name: str) -> Script:
    text = (Path(__file__).parent / "lua" / f"{name}.lua").read_bytes()
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest(), b"no-writes" not in text)


CREATE = _script("create")
COMMIT = _script("commit")
LOG = _script("log")
RECORDS = _script("records")
REMOVE = _script("remove")
PING = _script("ping")
APPEND_MESSAGE = _script("append_message")
READ_MESSAGES = _script("read_messages")
APPEND = _script("append")
ENTRIES = _script("entries")
