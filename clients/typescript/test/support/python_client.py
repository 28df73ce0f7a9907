"""What the Python client makes of the cases on standard input: for the test that both clients agree."""

from __future__ import annotations

import json
import sys
from typing import Any, get_args

import grpc
from google.protobuf.json_format import ParseDict

from buraco.v1 import account_service_pb2, deal_pb2, event_pb2, move_pb2, table_pb2, table_service_pb2, view_pb2
from buraco_client import (
    BuracoError,
    HandOrder,
    Texts,
    languages,
    moves_for,
    pickable,
    sorted_hand,
    wild_place,
)

MODULES = (account_service_pb2, deal_pb2, event_pb2, move_pb2, table_pb2, table_service_pb2, view_pb2)


def sort(hand: list[Any]) -> list[Any]:
    """Return the hand in all orders, with sets and without."""
    return [sorted_hand(hand, order, sets=sets) for order in get_args(HandOrder) for sets in (True, False)]


def pick(case: dict[str, Any]) -> dict[str, Any]:
    """Return the moves of the picked cards by their indices, the cards to pick next, and the places of wilds."""
    moves = [ParseDict(move, move_pb2.Move()) for move in case["moves"]]
    melds = [ParseDict(meld, deal_pb2.Meld()) for meld in case["melds"]]
    return {
        "moves": [index for index, move in enumerate(moves) if move in moves_for(case["picked"], moves)],
        "pickable": sorted(pickable(case["picked"], moves)),
        "places": [wild_place(move, melds) for move in moves],
    }


def texts(language: str, cases: dict[str, Any]) -> dict[str, Any]:
    """Return the texts of events, moves, reasons, phrases and enums in a language."""
    found = Texts(language)
    return {
        "language": found.language,
        "events": [
            found.event(ParseDict(event, event_pb2.Event()), names)
            for event in cases["events"]
            for names in (["Ada", "Blaise"], [])
        ],
        "moves": [found.move(ParseDict(move, move_pb2.Move())) for move in cases["moves"]],
        "reasons": [found.reason(BuracoError(grpc.StatusCode.UNAVAILABLE, reason)) for reason in cases["reasons"]],
        "codes": [found.reason(BuracoError(code)) for code in grpc.StatusCode if code is not grpc.StatusCode.OK],
        "phrases": list(found.phrases.items()),
        "cards": found.cards(range(1, 54)),  # type: ignore[arg-type]
        "values": {
            f"{name}.{value.number}": found.value(getattr(module, name), value.number)
            for module in MODULES
            for name, enum in module.DESCRIPTOR.enum_types_by_name.items()
            for value in enum.values
        },
    }


def main() -> None:
    """Read cases, write results."""
    cases = json.load(sys.stdin)
    results = {
        "hands": [sort(hand) for hand in cases["hands"]],
        "picks": [pick(case) for case in cases["picks"]],
        "languages": languages(),
        "texts": [texts(language, cases) for language in cases["languages"]],
    }
    json.dump(results, sys.stdout)


main()
