"""Who is seen at a table, in the Python client."""

from __future__ import annotations

from buraco.v1 import table_service_pb2
from buraco_client.streams import Cursor


def test_repeated_presence_is_not_new() -> None:
    """A stream that is opened again begins with who is seen: that is yielded only if it has changed."""
    cursor = Cursor()
    seen = [(), (0,), (0,), (0, 1), ()]
    assert [cursor.advance(table_service_pb2.Presence(seats=seats)) for seats in seen] == [
        *(True, True, False, True, True)
    ]
    assert cursor.revision is None
