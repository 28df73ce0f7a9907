"""From the cards that a player picks to the moves that they make."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

from buraco.v1 import deal_pb2
from buraco_client.cards import is_wild, rank_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from buraco.v1.card_pb2 import Card
    from buraco.v1.move_pb2 import Move

WildPlace: TypeAlias = Literal["LEFT", "MIDDLE", "RIGHT"]


def moves_for(picked: Iterable[Card.ValueType], legal_moves: Iterable[Move]) -> list[Move]:
    """Return the legal moves that play exactly the picked cards, in whichever order: melds, lay-offs, each with the
    index of its meld, and the discard. Without picked cards these are the draws and the moved wilds.

    >>> from buraco.v1.move_pb2 import Discard, DrawStock, LayMeld, LayOff, Move
    >>> legal = [
    ...     Move(lay_meld=LayMeld(cards=[5, 6, 7])),
    ...     Move(lay_off=LayOff(meld=1, cards=[7])),
    ...     Move(discard=Discard(card=7)),
    ... ]
    >>> [move.WhichOneof("move") for move in moves_for([7, 5, 6], legal)]
    ['lay_meld']
    >>> [move.WhichOneof("move") for move in moves_for([7], legal)]
    ['lay_off', 'discard']
    """
    wanted = Counter(picked)
    return [move for move in legal_moves if Counter(_cards_of(move)) == wanted]


def pickable(picked: Iterable[Card.ValueType], legal_moves: Iterable[Move]) -> set[Card.ValueType]:
    """Return the cards of which one more can be picked on the way to a legal move, to be highlighted in the hand.

    >>> from buraco.v1.move_pb2 import Discard, LayMeld, Move
    >>> legal = [Move(lay_meld=LayMeld(cards=[5, 6, 7])), Move(discard=Discard(card=9))]
    >>> sorted(pickable([], legal)), sorted(pickable([6], legal)), sorted(pickable([9], legal))
    ([5, 6, 7, 9], [5, 7], [])
    """
    held = Counter(picked)
    found: set[Card.ValueType] = set()
    for move in legal_moves:
        played = Counter(_cards_of(move))
        if held <= played:
            found |= (played - held).keys()
    return found


def wild_place(move: Move, melds: Sequence[deal_pb2.Meld] = ()) -> WildPlace | None:
    """Return where a legal move puts the wild of its run: at the low end, in between or at the high end.

    None if no wild acts, or in a set. `melds` are those of the player's side, for lay-offs and moved wilds. Moves that
    play the same cards on the same meld differ in this place; only beside an ace, which may be low or high, a wild can
    be in between at two places.

    >>> from buraco.v1.move_pb2 import LayMeld, Move
    >>> [wild_place(Move(lay_meld=LayMeld(cards=[5, 6, 53], wild_position=place))) for place in (4, 7)]
    ['LEFT', 'RIGHT']
    """
    kind = move.WhichOneof("move")
    if kind not in ("lay_meld", "lay_off", "move_wild"):
        return None
    wild = getattr(move, kind).wild_position
    if not wild:
        return None
    base = deal_pb2.Meld() if kind == "lay_meld" else melds[getattr(move, kind).meld]
    laid = _cards_of(move)
    has_wild = base.HasField("wild_index")
    places = range(base.low_position, base.low_position + len(base.cards))
    naturals = {place for index, place in enumerate(places) if not has_wild or index != base.wild_index}
    naturals |= {rank_of(card) for card in laid if not is_wild(card) and rank_of(card) != 1}
    # Of two wilds one is a 2 that does not act. An ace may be low or high: the rules do not put it next to the wild.
    uncertain = {2} if has_wild + sum(map(is_wild, laid)) > 1 else set()
    uncertain |= {1, 14} if any(rank_of(card) == 1 for card in laid) else set()
    size = len(base.cards) + len(laid)
    ends: tuple[tuple[int, WildPlace], ...] = ((wild, "LEFT"), (wild - size + 1, "RIGHT"))
    for low, end in ends:
        if naturals <= set(range(low, low + size)) - {wild} <= naturals | uncertain:
            return end
    return "MIDDLE"


def _cards_of(move: Move) -> Sequence[Card.ValueType]:
    match move.WhichOneof("move"):
        case "lay_meld":
            return move.lay_meld.cards
        case "lay_off":
            return move.lay_off.cards
        case "discard":
            return [move.discard.card]
        case _:
            return []
