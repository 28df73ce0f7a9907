from __future__ import annotations

import dataclasses
import random

import pytest

from buraco.v1 import deal_pb2, move_pb2, view_pb2
from buraco_bots import codec
from buraco_codec.moves import move_to_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.views import view_to_pb
from buraco_rules import (
    PRESETS,
    Discard,
    DrawStock,
    LayMeld,
    LayOff,
    Match,
    Move,
    MoveWild,
    OpeningMinimum,
    Phase,
    RuleSet,
    TakePile,
    apply,
    deal_match,
    legal_moves,
    view_of,
)
from tests.rules.positions import CLASSIC, house


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_views(rules: RuleSet) -> None:
    """A view arrives as it was sent, at every step of a deal, for every seat and for the public."""
    rng = random.Random(5)
    deal, _ = deal_match(rules, 4, b"v" * 32, Match(3, (1200, -45), 1, 2005))
    while deal.phase is not Phase.OVER:
        for seat in (None, *range(4)):
            sent = view_of(deal, seat)
            assert codec.view_from_message(view_pb2.View.FromString(view_to_pb(sent).SerializeToString())) == sent
        deal, _ = apply(deal, rng.choice(legal_moves(deal)))


@pytest.mark.parametrize(
    "move",
    [
        DrawStock(),
        TakePile(),
        LayMeld((3, 4, 5)),
        LayMeld((2, 4, 5), 3),
        LayOff(0, (53,)),
        LayOff(2, (1,), 14),
        MoveWild(0, 1),
        Discard(40),
    ],
)
def test_moves(move: Move) -> None:
    """Moves go over the wire as the service writes them, and come back as they were."""
    message = codec.move_to_message(move)
    assert message == move_to_pb(move)
    back = codec.move_from_message(move_pb2.Move.FromString(message.SerializeToString()))
    assert (back, type(back)) == (move, type(move))


def test_unknown_move() -> None:
    """A move of no known kind is refused."""
    with pytest.raises(ValueError, match="not known"):
        codec.move_from_message(move_pb2.Move())


def test_rule_sets() -> None:
    """Rule sets, house rules included, arrive as they were sent, and equal ones as the same object."""
    own = house(CLASSIC, makart=True, opening_minimum=OpeningMinimum(500, 60, 10, 5, every_turn=True), max_turns=77)
    for rules in (*PRESETS, own):
        received = codec.rule_set_from_message(rule_set_to_pb(rules))
        assert received == rules
        assert codec.rule_set_from_message(rule_set_to_pb(rules)) is received
    changed = dataclasses.replace(own, makart=False)
    assert codec.rule_set_from_message(rule_set_to_pb(changed)) == changed


def test_match_without_scores() -> None:
    """No scores are scores of 0."""
    assert codec.match_from_message(deal_pb2.Match(deal_number=1, starter=1)) == Match(starter=1)
