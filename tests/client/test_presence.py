"""Who is seen at a table, in the Python client."""

from __future__ import annotations

from buraco.v1 import table_service_pb2
from buraco_client import BuracoClient
from buraco_client.streams import Cursor


async def test_watch_and_play_with_presence(client: BuracoClient) -> None:
    """A watch and a session yield who is seen after the state, and again whenever that changes."""
    table = await client.create_table("buraco-plus-classic", 2)
    ada = await client.join_table(table.id, "Ada")
    async with client.watch(table.id, presence=True) as watch:
        assert isinstance(await anext(watch), table_service_pb2.TableUpdate)
        assert await anext(watch) == table_service_pb2.Presence()
        async with ada.play(presence=True) as session:
            assert isinstance(await anext(session), table_service_pb2.TableUpdate)
            assert await anext(session) == table_service_pb2.Presence(seats=[0])
            assert await anext(watch) == table_service_pb2.Presence(seats=[0])
        assert await anext(watch) == table_service_pb2.Presence()
        async with ada.watch(presence=True) as seen:
            assert isinstance(await anext(seen), table_service_pb2.TableUpdate)
            assert await anext(seen) == table_service_pb2.Presence(seats=[0])


def test_repeated_presence_is_not_new() -> None:
    """A stream that is opened again begins with who is seen: that is yielded only if it has changed."""
    cursor = Cursor()
    seen = [(), (0,), (0,), (0, 1), ()]
    assert [cursor.advance(table_service_pb2.Presence(seats=seats)) for seats in seen] == [
        *(True, True, False, True, True)
    ]
    assert cursor.revision is None
