"""Ask the rules without a table: `python ask_rules.py HOST:PORT`.

For a backend that stores the state of its games itself. A snapshot holds everybody's cards: never send it to a player.
"""

from __future__ import annotations

import asyncio
import sys

from buraco.v1 import card_pb2, move_pb2
from buraco_client import BuracoClient

FIVE, SIX, KING = card_pb2.CARD_FIVE_OF_HEARTS, card_pb2.CARD_SIX_OF_HEARTS, card_pb2.CARD_KING_OF_HEARTS


async def main(target: str) -> None:
    """Deal, list the legal moves, play one, view and score the deal, and ask what some cards can form."""
    async with BuracoClient(target) as client:
        rules = client.rules
        print("rule sets:", ", ".join(rule_set.id for rule_set in await rules.list_rule_sets()))

        snapshot = (await rules.deal("closed", seats=2, seed=bytes(32), starter=0)).snapshot
        moves = await rules.list_legal_moves(snapshot, seat=0)
        print("legal:", ", ".join(str(move.WhichOneof("move")) for move in moves))

        played = await rules.validate_moves(snapshot, 0, moves)
        print("events:", ", ".join(str(event.WhichOneof("event")) for event in played.events))
        view = await rules.get_view(played.snapshot, seat=0)
        print("cards in the hand:", len(view.hand))
        score = await rules.score_deal(played.snapshot)
        print("if the deal ended now:", " and ".join(str(side.total) for side in score.sides))

        refused = await rules.validate_moves(played.snapshot, 1, moves)
        print("seat 1:", ", ".join(map(move_pb2.Violation.Name, refused.violations)))

        for cards in ([FIVE, SIX, card_pb2.CARD_JOKER], [FIVE, SIX, KING]):
            answer = await rules.arrange_meld("closed", cards)
            melds = " or ".join(str(list(found.meld.cards)) for found in answer.arrangements)
            print(f"{cards}:", melds or ", ".join(map(move_pb2.Violation.Name, answer.violations)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
