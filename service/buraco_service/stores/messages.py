"""Messages beside a table: a log of their own, which has nothing to do with the table's revisions."""

from __future__ import annotations

from typing import NamedTuple

KEPT_MESSAGES = 200
"""Messages of a table, counted from the newest, that are kept; older ones are dropped."""


class NewMessage(NamedTuple):
    """A message to append."""

    table_id: str
    request_id: str
    """A kept message of the table under this id was appended by the same request."""
    sender: int
    """Who sends it: those of each sender are counted apart. 0 or more."""
    now: float
    payload: bytes
    most: int
    """The message is refused if its sender has so many kept ones of later than `since`. 1 or more."""
    since: float


class StoredMessage(NamedTuple):
    """A message as it is stored."""

    number: int
    """Grows by one with every message of the table, from 1."""
    payload: bytes
