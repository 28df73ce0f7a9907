from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, cast

import pytest

from buraco.v1 import card_pb2, move_pb2
from buraco_client import moves_for, pickable, wild_place
from buraco_codec.melds import meld_to_pb
from buraco_codec.moves import move_to_pb
from buraco_rules import Deal, Discard, LayMeld, LayOff, Move, MoveWild, apply, legal_moves
from tests.rules.playouts import played

if TYPE_CHECKING:
    from collections.abc import Sequence

    from buraco.v1.card_pb2 import Card


FIVE, SIX, SEVEN = card_pb2.CARD_FIVE_OF_SPADES, card_pb2.CARD_SIX_OF_SPADES, card_pb2.CARD_SEVEN_OF_SPADES


@pytest.fixture(scope="module")
def turns() -> list[tuple[Deal, list[Move]]]:
    """Positions of random deals under all presets, and their legal moves."""
    return [(deal, legal_moves(deal)) for deal, _ in played()[::7]]


def cards_of(move: Move) -> tuple[int, ...]:
    """The cards that a move plays from the hand."""
    return (move.card,) if isinstance(move, Discard) else getattr(move, "cards", ())


def shuffled(cards: Sequence[int], rng: random.Random) -> list[Card.ValueType]:
    """Cards in any order."""
    return cast("list[Card.ValueType]", rng.sample(cards, len(cards)))


def test_every_legal_move_is_found_by_its_cards(turns: list[tuple[Deal, list[Move]]]) -> None:
    """Picked in any order, the cards of a move make it and the other moves with just these cards, and no more."""
    rng = random.Random(0)
    for _, legal in turns:
        messages = [move_to_pb(move) for move in legal]
        for move in legal[::5]:
            found = moves_for(shuffled(cards_of(move), rng), messages)
            wanted = Counter(cards_of(move))
            assert found == [move_to_pb(other) for other in legal if Counter(cards_of(other)) == wanted]


def test_every_legal_move_can_be_picked_card_by_card(turns: list[tuple[Deal, list[Move]]]) -> None:
    """Whatever the order, each next card of a move is pickable; and each pickable card is in a move with the others."""
    rng = random.Random(1)
    for _, legal in turns[::3]:
        messages = [move_to_pb(move) for move in legal]
        for move in rng.sample(legal, min(8, len(legal))):
            picked: list[Card.ValueType] = []
            for card in shuffled(cards_of(move), rng):
                highlighted = pickable(picked, messages)
                assert card in highlighted
                assert all(
                    any(Counter([*picked, other]) <= Counter(cards_of(m)) for m in legal) for other in highlighted
                )
                picked.append(card)


def test_nothing_is_pickable_beside_a_card_of_no_move() -> None:
    """With a card that no move plays, or plays less often, no other leads to a move."""
    meld = move_pb2.LayMeld(cards=[FIVE, SIX, SEVEN])
    legal = [move_pb2.Move(lay_meld=meld), move_pb2.Move(discard=move_pb2.Discard(card=FIVE))]
    assert pickable([card_pb2.CARD_JOKER], legal) == set()
    assert pickable([FIVE, FIVE], legal) == set()
    assert pickable([SEVEN, FIVE], legal) == {SIX}
    assert moves_for([FIVE, FIVE], legal) == []


def test_no_card_picks_draws_and_moved_wilds() -> None:
    """Without a card picked the moves are those that play none."""
    draw = move_pb2.Move(draw_stock=move_pb2.DrawStock())
    wild = move_pb2.Move(move_wild=move_pb2.MoveWild(meld=1, wild_position=7))
    discard = move_pb2.Move(discard=move_pb2.Discard(card=FIVE))
    assert moves_for([], [draw, wild, discard]) == [draw, wild]


def test_place_of_the_wild(turns: list[tuple[Deal, list[Move]]]) -> None:
    """The place of the wild is the one that the meld has after the move, in all kinds of moves."""
    seen = set()
    for deal, legal in turns:
        melds = [meld_to_pb(meld) for meld in deal.side.melds]
        for move in legal:
            place = wild_place(move_to_pb(move), melds)
            if isinstance(move, LayMeld | LayOff | MoveWild):
                index = len(melds) if isinstance(move, LayMeld) else move.meld
                after = apply(deal, move)[0].sides[deal.seat_to_move % 2].melds
                if index >= len(after):
                    continue  # an opening attempt that failed is back in the hand
                meld = after[index]
                last = len(meld.cards) - 1
                # A 2 that moves to its own place no longer acts.
                acts = isinstance(move, MoveWild) or (meld.wild_index is not None and meld.low_position)
                expected = {0: "LEFT", last: "RIGHT"}.get(meld.wild_index or 0, "MIDDLE") if acts else None
                assert place == expected, (move, meld)
                seen.add((type(move), place))
            else:
                assert place is None
    laid = {(kind, place) for kind in (LayMeld, LayOff) for place in ("LEFT", "MIDDLE", "RIGHT", None)}
    assert seen == laid | {(MoveWild, "LEFT"), (MoveWild, "RIGHT")}


def test_the_place_of_the_wild_tells_moves_apart(turns: list[tuple[Deal, list[Move]]]) -> None:
    """Of legal moves with the same cards on the same meld no two have their wild at the same place, except that with an
    ace it may be in between twice: beside the low ace or the high one.
    """
    choices = 0
    for deal, legal in turns:
        melds = [meld_to_pb(meld) for meld in deal.side.melds]
        alike: Counter[object] = Counter()
        for move in legal:
            if isinstance(move, LayMeld | LayOff):
                place = wild_place(move_to_pb(move), melds)
                target = move.meld if isinstance(move, LayOff) else None
                same = (target, tuple(sorted(cards_of(move))))
                alike[same] += 1
                alike[*same, place] += 1
                choices += alike[same] > 1
                assert alike[*same, place] == 1 or (place == "MIDDLE" and {1, 14, 27, 40} & set(move.cards))
    assert choices
