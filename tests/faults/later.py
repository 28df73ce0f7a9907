"""A later version of the service, which stores more than this one knows: `python -m tests.faults.later serve …`.

Where it does so the environment variable TESTED_LATER says: in `tables`, or in `entries` of their log.
"""

from __future__ import annotations

import os

from google.protobuf.message import Message

from buraco_codec import fields

LATER = b"\xc2\x3e\x05later"
"""Field 1000, which no version has: its number and kind, its length, its value."""


def _knows_all(message: Message) -> bool:
    message.DiscardUnknownFields()
    return False


def _become_later(where: str) -> None:
    fields.says_more = _knows_all
    # Only now: whoever has taken the functions already would go on with this version's.
    from buraco_service.tables import repository

    name = {"tables": "serialise_table", "entries": "serialise_entry"}[where]
    serialise = getattr(repository, name)
    setattr(repository, name, lambda *values: serialise(*values) + LATER)


if __name__ == "__main__":
    _become_later(os.environ["TESTED_LATER"])
    from buraco_service.commands.cli import main

    main()
