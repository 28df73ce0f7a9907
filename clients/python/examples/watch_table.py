"""Watch a table until its match ends, and print what happens: `python watch_table.py HOST:PORT TABLE [LANGUAGE]`.

LANGUAGE is en, es, it or pt.
"""

from __future__ import annotations

import asyncio
import sys

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client import BuracoClient, Texts


async def main(target: str, table_id: str, language: str = "en") -> None:
    """Print the state first, then every event. A watch that breaks resumes by itself."""
    texts, names = Texts(language), [""]
    async with BuracoClient(target) as client, client.watch(table_id) as updates:
        async for update in updates:
            if isinstance(update, table_pb2.Events):
                for event in update.events:
                    print(f"{update.revision}: {texts.event(event, names)}", flush=True)
                    if event.HasField("seat_changed"):
                        names[event.seat_changed.seat] = event.seat_changed.player_name
            elif isinstance(update, table_service_pb2.TableUpdate):
                names = [seat.player_name for seat in update.table.seats]
                print(f"{update.table.revision}: {', '.join(name or '(free)' for name in names)}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
