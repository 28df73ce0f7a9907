"""Moves."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from buraco.v1 import move_pb2
from buraco_rules.cards import ACE, ACE_HIGH
from buraco_rules.moves import Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile
from buraco_service.codec.cards import card_from_pb, cards_from_pb
from buraco_service.codec.fields import Faults, FieldErrors, Untyped

MAX_MOVES: Final = 256
"""In one request: more than any turn has."""


def move_to_pb(move: Move) -> move_pb2.Move:
    """A move."""
    pb = move_pb2.Move()
    put_move(pb, move)
    return pb


def put_move(pb: Untyped, move: Move) -> None:
    """Write a move into an empty message."""
    _PUT[type(move)](pb, move)


def move_from_pb(move: move_pb2.Move) -> Move:
    """A move; what it names need not exist. Raises FieldErrors for what cannot be read as a move at all."""
    faults = Faults()
    which = move.WhichOneof("move")
    if which is None:
        raise FieldErrors([("", f"one of {', '.join(_FROM_PB)} must be given")])
    read = _FROM_PB[which](move, faults)
    faults.refuse()
    return read


def moves_from_pb(moves: Sequence[move_pb2.Move], field: str = "moves") -> tuple[Move, ...]:
    """The moves of a request, 1 to 256. Raises FieldErrors, the faults of all moves together."""
    if not 1 <= len(moves) <= MAX_MOVES:
        raise FieldErrors([(field, f"1 to {MAX_MOVES} moves, not {len(moves)}")])
    faults = Faults()
    read = []
    for index, move in enumerate(moves):
        try:
            read.append(move_from_pb(move))
        except FieldErrors as errors:
            faults.add_all((field, index), errors)
    faults.refuse()
    return tuple(read)


def _put_draw_stock(pb: Untyped, move: DrawStock) -> None:
    pb.draw_stock.SetInParent()


def _put_take_pile(pb: Untyped, move: TakePile) -> None:
    pb.take_pile.SetInParent()


def _put_lay_meld(pb: Untyped, move: LayMeld) -> None:
    laid = pb.lay_meld
    laid.SetInParent()
    laid.cards.extend(move.cards)
    if move.wild_position is not None:
        laid.wild_position = move.wild_position


def _put_lay_off(pb: Untyped, move: LayOff) -> None:
    laid = pb.lay_off
    laid.meld = move.meld
    laid.cards.extend(move.cards)
    if move.wild_position is not None:
        laid.wild_position = move.wild_position


def _put_move_wild(pb: Untyped, move: MoveWild) -> None:
    moved = pb.move_wild
    moved.meld = move.meld
    moved.wild_position = move.wild_position


def _put_discard(pb: Untyped, move: Discard) -> None:
    pb.discard.card = move.card


def _draw_stock_from_pb(move: move_pb2.Move, faults: Faults) -> Move:
    return DrawStock()


def _take_pile_from_pb(move: move_pb2.Move, faults: Faults) -> Move:
    return TakePile()


def _lay_meld_from_pb(move: move_pb2.Move, faults: Faults) -> Move:
    laid = move.lay_meld
    return LayMeld(cards_from_pb(laid.cards, ("lay_meld", "cards"), faults), _wild_position(laid, "lay_meld", faults))


def _lay_off_from_pb(move: move_pb2.Move, faults: Faults) -> Move:
    laid = move.lay_off
    cards = cards_from_pb(laid.cards, ("lay_off", "cards"), faults)
    return LayOff(laid.meld, cards, _wild_position(laid, "lay_off", faults))


def _move_wild_from_pb(move: move_pb2.Move, faults: Faults) -> Move:
    moved = move.move_wild
    return MoveWild(moved.meld, _place(moved.wild_position, "move_wild", faults))


def _discard_from_pb(move: move_pb2.Move, faults: Faults) -> Move:
    return Discard(card_from_pb(move.discard.card, ("discard", "card"), faults))


def _wild_position(laid: move_pb2.LayMeld | move_pb2.LayOff, field: str, faults: Faults) -> int | None:
    return _place(laid.wild_position, field, faults) if laid.HasField("wild_position") else None


def _place(place: int, field: str, faults: Faults) -> int:
    if not ACE <= place <= ACE_HIGH:
        faults.add((field, "wild_position"), f"a place of a run, {ACE} to {ACE_HIGH}, not {place}")
    return place


_PUT: Final[dict[type, Callable[[Untyped, Any], None]]] = {
    DrawStock: _put_draw_stock,
    TakePile: _put_take_pile,
    LayMeld: _put_lay_meld,
    LayOff: _put_lay_off,
    MoveWild: _put_move_wild,
    Discard: _put_discard,
}
_FROM_PB: Final[dict[str, Callable[[move_pb2.Move, Faults], Move]]] = {
    "draw_stock": _draw_stock_from_pb,
    "take_pile": _take_pile_from_pb,
    "lay_meld": _lay_meld_from_pb,
    "lay_off": _lay_off_from_pb,
    "move_wild": _move_wild_from_pb,
    "discard": _discard_from_pb,
}
