from enum import IntEnum
from typing import Any

import pytest

import buraco_rules as rules
from buraco.v1 import card_pb2, deal_pb2, move_pb2, rule_set_pb2, score_pb2, view_pb2
from buraco_notation import parse_cards

TWINS: list[tuple[type[IntEnum], Any]] = [
    (rules.Phase, deal_pb2.Phase),
    (rules.Ending, deal_pb2.Ending),
    (rules.MeldKind, deal_pb2.MeldKind),
    (rules.BuracoKind, deal_pb2.BuracoKind),
    (rules.WildMoves, rule_set_pb2.WildMoves),
    (rules.WildEnd, rule_set_pb2.WildEnd),
    (rules.PotBy, rule_set_pb2.PotBy),
    (rules.CloseBy, rule_set_pb2.CloseBy),
    (rules.StockEnd, rule_set_pb2.StockEnd),
    (rules.Tie, rule_set_pb2.Tie),
    (rules.ScoreLineKind, score_pb2.ScoreLineKind),
    (rules.NextAction, view_pb2.NextAction),
    (rules.Violation, move_pb2.Violation),
]


@pytest.mark.parametrize(("own", "wire"), TWINS, ids=lambda kind: getattr(kind, "__name__", ""))
def test_enums_are_twins(own: type[IntEnum], wire: Any) -> None:
    """An enum of the rules has the names and numbers of its protobuf twin, which adds at most a nameless 0."""
    prefix = next(name for name, number in wire.items() if number == 0).removesuffix("UNSPECIFIED")
    names = {name.removeprefix(prefix): number for name, number in wire.items() if number}
    assert {member.name: member.value for member in own if member.value} == names


def test_cards_are_twins() -> None:
    """A card has the same number in the rules and on the wire, and stands for the same face."""
    ranks = ["ACE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE", "TEN", "JACK", "QUEEN", "KING"]
    for suit_sign, suit in zip("shdc", ("SPADES", "HEARTS", "DIAMONDS", "CLUBS"), strict=True):
        for rank_sign, rank in zip("A23456789TJQK", ranks, strict=True):
            assert parse_cards(rank_sign + suit_sign) == (card_pb2.Card.Value(f"CARD_{rank}_OF_{suit}"),)
    assert parse_cards("Jo") == (card_pb2.CARD_JOKER,)
    assert len(card_pb2.Card.values()) == 54
