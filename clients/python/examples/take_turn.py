"""Take part in a match without a stream, call by call: `python take_turn.py HOST:PORT`.

For a frontend that asks when its player does something. Both players are in this program.
"""

from __future__ import annotations

import asyncio
import sys

from buraco.v1 import move_pb2, table_pb2
from buraco_client import BuracoClient, RuleBroken, SeatNotYours


async def main(target: str) -> None:
    """Find a table, take its seats, play a turn, take a move back, and leave."""
    async with BuracoClient(target) as client:
        created = await client.create_table("burraco", seats=2, target_score=0, seed=bytes(32))
        waiting = [table.id async for table in client.list_tables(table_pb2.TABLE_STATE_WAITING)]
        print("the table waits for players:", created.id in waiting)

        ada, blaise = [await client.join_table(created.id, name) for name in ("Ada", "Blaise")]
        started = await client.get_view(created.id)
        player, other = (ada, blaise) if started.view.seat_to_move == ada.seat else (blaise, ada)

        answer = await player.list_legal_moves()
        drawn = await player.submit([answer.moves[0]], answer.revision)
        print("events:", ", ".join(str(event.WhichOneof("event")) for event in drawn.events))
        print("cards in the hand:", len((await player.get_view()).view.hand))
        try:
            await player.undo(drawn.revision)
        except RuleBroken as error:
            print("undo:", ", ".join(map(move_pb2.Violation.Name, error.violations)))

        # Another process can hold the same seat, from what this one has stored.
        await player.renew()
        restored = client.restore_seat(player.table_id, player.seat, player.token, expires_at=player.token_expires_at)
        discard = (await restored.list_legal_moves()).moves[-1]
        print("the discard is revision", (await restored.submit([discard])).revision)

        print("finished deals:", len([deal async for deal in client.get_record(created.id)]))
        await other.leave()
        try:
            await other.get_view()
        except SeatNotYours as error:
            print("after leaving:", error.reason)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
