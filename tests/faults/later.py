"""A later version of the service, which stores fields that this one does not know.

Run it by `python -m tests.faults.later serve …`. The environment variable TESTED_LATER says where it stores such a
field: in `tables`, or in `entries` of their log.
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


def _store_more_in(where: str) -> None:
    fields.has_unknown_fields = _knows_all
    # Imported only now: modules that have imported these by name would use this version's.
    from buraco_service.tables import repository

    name = {"tables": "serialise_table", "entries": "serialise_entry"}[where]
    serialise = getattr(repository, name)
    setattr(repository, name, lambda *values: serialise(*values) + LATER)


if __name__ == "__main__":
    _store_more_in(os.environ["TESTED_LATER"])
    from buraco_service.commands.cli import main

    main()
