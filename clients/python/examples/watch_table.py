"""Watch a table until its match ends, and print what happens: `python watch_table.py HOST:PORT TABLE`."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from buraco.v1 import table_pb2, table_service_pb2
from buraco_client import BuracoClient

if TYPE_CHECKING:
    from collections.abc import Iterable

    from buraco.v1 import card_pb2, event_pb2


async def main(target: str, table_id: str) -> None:
    """Print the state first, then every event. A watch that breaks resumes by itself."""
    async with BuracoClient(target) as client, client.watch(table_id) as updates:
        async for update in updates:
            if isinstance(update, table_pb2.Events):
                for event in update.events:
                    print(f"{update.revision}: {describe(event)}", flush=True)
            elif isinstance(update, table_service_pb2.TableUpdate):
                names = [seat.player_name or "(free)" for seat in update.table.seats]
                print(f"{update.table.revision}: {', '.join(names)}", flush=True)


def describe(event: event_pb2.Event) -> str:
    """Return an event in words. Cards that spectators may not see are not in it."""
    match event.WhichOneof("event"):
        case "seat_changed":
            return f"seat {event.seat_changed.seat}: {event.seat_changed.player_name or '(free)'}"
        case "dealt":
            return f"deal {event.dealt.deal_number}, seat {event.dealt.starter} starts"
        case "drew":
            return f"seat {event.drew.seat} draws, {event.drew.stock_count} left"
        case "took_pile":
            return f"seat {event.took_pile.seat} takes the pile of {event.took_pile.count}"
        case "melded":
            return f"seat {event.melded.seat} melds {text(event.melded.meld.cards)}"
        case "laid_off":
            return f"seat {event.laid_off.seat} lays off, the meld is {text(event.laid_off.meld.cards)}"
        case "discarded":
            return f"seat {event.discarded.seat} discards {text([event.discarded.card])}"
        case "deal_ended":
            return f"deal over, {' and '.join(str(side.total) for side in event.deal_ended.score.sides)} points"
        case "match_ended":
            return f"match over, {' to '.join(map(str, event.match_ended.scores))}"
        case kind:  # also events that a later version of the service adds
            return str(kind)


def text(cards: Iterable[card_pb2.Card.ValueType]) -> str:
    """Return cards as text: 13 * suit + rank is a suited card, 53 the joker."""
    faces = [f"{'A23456789TJQK'[(card - 1) % 13]}{'shdc'[(card - 1) // 13]}" if card < 53 else "Jo" for card in cards]
    return " ".join(faces)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
