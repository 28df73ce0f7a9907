from collections.abc import Callable
from typing import Any

import pytest

from buraco.v1 import move_pb2
from buraco_codec.moves import MAX_MOVES, move_from_pb, move_to_pb, moves_from_pb
from buraco_rules import Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile, ValidationError, legal_moves
from tests.rules.playouts import played

MOVES: list[Move] = [
    DrawStock(),
    TakePile(),
    LayMeld((3, 4, 5)),
    LayMeld((53, 4, 5), 3),
    LayMeld(()),
    LayOff(0, (7,)),
    LayOff(12, (8, 9, 53), 14),
    MoveWild(0, 1),
    MoveWild(3, 14),
    Discard(53),
]


@pytest.mark.parametrize("move", MOVES, ids=repr)
def test_moves_round_trip(move: Move) -> None:
    """A move crosses as it is; cards keep their order, and a wild's place that is not given stays absent."""
    assert move_from_pb(move_pb2.Move.FromString(move_to_pb(move).SerializeToString())) == move


def test_legal_moves_round_trip() -> None:
    """Every legal move of random deals crosses unchanged."""
    seen = set()
    for deal, _ in played()[::7]:
        for move in legal_moves(deal):
            assert move_from_pb(move_to_pb(move)) == move
            seen.add(type(move))
    assert seen == {DrawStock, TakePile, LayMeld, LayOff, MoveWild, Discard}


def spoiled(change: Callable[[Any], None]) -> move_pb2.Move:
    """A message with a move in it that cannot be."""
    message = move_pb2.Move()
    change(message)
    return message


BAD: dict[str, tuple[Callable[[Any], None], set[str]]] = {
    "nothing": (lambda m: None, {""}),
    "no card": (lambda m: m.discard.SetInParent(), {"discard.card"}),
    "unknown card": (lambda m: setattr(m.discard, "card", 54), {"discard.card"}),
    "negative card": (lambda m: setattr(m.discard, "card", -1), {"discard.card"}),
    "cards of a meld": (lambda m: m.lay_meld.cards.extend([3, 0, 5, 99]), {"lay_meld.cards[1]", "lay_meld.cards[3]"}),
    "too many cards": (lambda m: m.lay_off.cards.extend([3] * 109), {"lay_off.cards"}),
    "place 0": (lambda m: setattr(m.lay_meld, "wild_position", 0), {"lay_meld.wild_position"}),
    "place 15": (lambda m: setattr(m.lay_off, "wild_position", 15), {"lay_off.wild_position"}),
    "no place": (lambda m: setattr(m.move_wild, "meld", 1), {"move_wild.wild_position"}),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_move_is_refused(name: str) -> None:
    """What cannot be read as a move is refused with the fields at fault."""
    change, fields = BAD[name]
    with pytest.raises(ValidationError) as caught:
        move_from_pb(spoiled(change))
    assert {problem.path for problem in caught.value.problems} == fields
    assert all(problem.problem for problem in caught.value.problems)


def test_problems_of_all_moves_are_reported() -> None:
    """The moves of a request are read together; a problem names the move that has it."""
    moves = [move_to_pb(DrawStock()), spoiled(BAD["no card"][0]), spoiled(BAD["nothing"][0])]
    with pytest.raises(ValidationError) as caught:
        moves_from_pb(moves)
    assert [problem.path for problem in caught.value.problems] == ["moves[1].discard.card", "moves[2]"]


@pytest.mark.parametrize("count", [0, MAX_MOVES + 1])
def test_moves_are_bounded(count: int) -> None:
    """A request holds 1 to 256 moves."""
    with pytest.raises(ValidationError) as caught:
        moves_from_pb([move_to_pb(DrawStock())] * count)
    assert [problem.path for problem in caught.value.problems] == ["moves"]
    assert moves_from_pb([move_to_pb(DrawStock())] * MAX_MOVES) == (DrawStock(),) * MAX_MOVES
