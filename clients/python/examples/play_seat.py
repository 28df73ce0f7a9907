"""Play one seat to the end of its match: `python play_seat.py HOST:PORT NAME [TABLE]`.

Without TABLE a new table for two is created and its id printed; a second player joins with that id, or a bot does with
`buraco fleet --server HOST:PORT`.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from buraco.v1 import table_service_pb2
from buraco_client import BuracoClient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from buraco.v1 import move_pb2


async def main(target: str, name: str, table_id: str = "") -> None:
    """Take a seat, play until the match ends, and print the scores."""
    async with BuracoClient(target) as client:
        if not table_id:
            table_id = (await client.create_table("burraco", seats=2, target_score=0)).id
            print("table", table_id, flush=True)
        seat = await client.join_table(table_id, name)
        async with seat.play() as session:
            async for update in session:
                if isinstance(update, table_service_pb2.PlayTurn):
                    await session.submit([choose(update.moves)], update.revision)
        table = await client.get_table(table_id)
        print(f"{name} is at side {seat.seat % 2}, scores {list(table.result.scores)}")


def choose(moves: Sequence[move_pb2.Move]) -> move_pb2.Move:
    """Return the first meld or lay-off if there is one, else draw from the stock or discard.

    Wilds stay where they are: who moves one to and fro is refused after a while (TOO_MANY_REVERSALS).
    """
    for kinds in (("lay_meld", "lay_off"), ("draw_stock", "discard")):
        for move in moves:
            if move.WhichOneof("move") in kinds:
                return move
    return moves[0]


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
