"""Show a hand, and what its cards can do, in a language: `python choose_cards.py HOST:PORT [LANGUAGE]`.

For a frontend where a player picks cards and then a move. LANGUAGE is en, es, it or pt.
"""

from __future__ import annotations

import asyncio
import sys

from buraco.v1 import move_pb2
from buraco_client import BuracoClient, Texts, moves_for, pickable, sorted_hand, wild_place


async def main(target: str, language: str = "en") -> None:
    """Draw, sort the hand, pick the cards of a meld one by one, and show the moves that they make."""
    texts = Texts(language)
    async with BuracoClient(target) as client:
        rules = client.rules
        snapshot = (await rules.deal("burraco", seats=2, seed=bytes(31) + b"\x05", starter=0)).snapshot
        drawn = await rules.validate_moves(snapshot, 0, [move_pb2.Move(draw_stock=move_pb2.DrawStock())])
        print(texts.event(drawn.events[0], ["Ada", "Blaise"]))

        view = await rules.get_view(drawn.snapshot, seat=0)
        print("suit: ", texts.cards(sorted_hand(view.hand, "suit")))
        print("rank: ", texts.cards(sorted_hand(view.hand, "rank")))
        print("melds:", texts.cards(sorted_hand(view.hand, "melds", sets=view.rule_set.sets)))

        legal = await rules.list_legal_moves(drawn.snapshot, seat=0)
        melds = view.sides[0].melds
        wanted = next(list(move.lay_meld.cards) for move in legal if len(moves_for(move.lay_meld.cards, legal)) > 1)
        for count in range(1, len(wanted)):
            picked = wanted[:count]
            print(f"{texts.cards(picked)} + {texts.cards(sorted_hand(pickable(picked, legal), 'suit'))}")
        for move in moves_for(wanted, legal):
            print(f"{texts.move(move)}: {texts.text(f'wild_place.{wild_place(move, melds)}')}")

        refused = await rules.validate_moves(drawn.snapshot, 1, legal[:1])
        print(" ".join(map(texts.violation, refused.violations)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
