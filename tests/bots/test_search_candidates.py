from __future__ import annotations

from random import Random

import pytest

from buraco_bots.search.candidates import candidate_turns
from buraco_bots.search.policy import Policy
from buraco_notation import format_move, parse_position
from buraco_rules import PRESETS, Deal, RuleSet, apply, legal_moves, view_of
from tests.bots.watched import moments


def turns_of(deal: Deal, limit: int = 20) -> list[list[str]]:
    """The candidate turns of the seat to move, as text."""
    moves = legal_moves(deal)
    view = view_of(deal, deal.seat_to_move, moves)
    return [[*map(format_move, turn)] for turn in candidate_turns(view, moves, Policy(Random(1)), limit)]


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_every_turn_is_legal(rules: RuleSet, seats: int) -> None:
    """All moves of all candidates are legal one after the other; the first begins as the policy does; none is twice."""
    tried = 0
    for number, moment in enumerate(moments(rules, seats, 2)):
        if number % 5:
            continue
        moves = legal_moves(moment.deal)
        view = view_of(moment.deal, moment.deal.seat_to_move, moves)
        turns = candidate_turns(view, moves, Policy(Random(1)), 12)
        assert turns[0][0] == Policy(Random(1)).choose(view, moves)
        assert len(turns) <= 12
        for turn in turns:
            tried += 1
            deal = moment.deal
            assert turn[0] in moves
            for move in turn:
                deal = apply(deal, move)[0]
        assert len({(*map(format_move, turn),) for turn in turns}) == len(turns)
    assert tried > 30


def test_draws() -> None:
    """At a draw both ways to draw are candidates."""
    deal = parse_position("rules: open | hand 0: 3h 4h 9c Kd | pile: 5h | turn: seat 0 draw", verify=False)
    assert sorted(turns_of(deal)) == [["+"], ["^"]]


def test_other_discards_and_melds() -> None:
    """After a draw other discards are candidates, to keep the meld back, and to lay what the policy keeps."""
    deal = parse_position("rules: open | hand 0: 3h 4h 5h 9c Kd Jd | turn: seat 0 meld | pile: 2s 3s", verify=False)
    turns = turns_of(deal)
    own = turns[0]
    assert own[0] == "=3h 4h 5h"
    assert len(own) == 2
    assert sum([turn[0] == own[0] for turn in turns]) == 3
    assert any(len(turn) == 1 and turn[0].startswith("-") for turn in turns)


def test_limit() -> None:
    """There are no more candidates than asked for."""
    deal = parse_position("rules: open | hand 0: 3h 4h 5h 9c Kd Jd | turn: seat 0 meld | pile: 2s 3s", verify=False)
    assert len(turns_of(deal, 3)) == 3
    assert turns_of(deal, 1) == turns_of(deal)[:1]
