"""A bot as a program, with the standard library alone: it lays what it can, and discards its most expensive card.

    buraco match --bots 'exec:python3 bots/examples/line_bot.py,random'

Each line of standard input and output is a JSON object. Standard error is free for messages.
"""

import json
import sys
from typing import Any

discards_seen = 0


def card_value(card: str) -> int:
    """Return roughly what a card such as CARD_TWO_OF_HEARTS is worth."""
    rank = card.split("_")[1]
    return {"JOKER": 30, "TWO": 20, "ACE": 15}.get(rank, 5 if rank in ("THREE", "FOUR", "FIVE", "SIX", "SEVEN") else 10)


def choose(moves: list[dict[str, Any]]) -> int:
    """Return the index of the move to play."""
    for kind in ("takePile", "layMeld", "layOff", "drawStock"):
        for index, move in enumerate(moves):
            if kind in move and (kind != "takePile" or discards_seen % 3 == 0):
                return index
    discards = {index: card_value(move["discard"]["card"]) for index, move in enumerate(moves) if "discard" in move}
    naturals = {index: value for index, value in discards.items() if value < 20}
    return max(naturals or discards, key=discards.__getitem__, default=0)


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print(json.dumps({"type": "ready", "observe": True}), flush=True)
    elif message["type"] == "observe":
        discards_seen += "discarded" in message["event"]
    elif message["type"] == "choose":
        print(json.dumps({"move": choose(message["moves"])}), flush=True)
    elif message["type"] == "end":
        break
