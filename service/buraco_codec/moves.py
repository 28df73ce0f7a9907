"""Moves. The same few come again and again, so what is read is cached."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from buraco.v1 import move_pb2
from buraco_codec.caching import cached_by_bytes
from buraco_codec.cards import card_from_pb, cards_from_pb
from buraco_codec.wire import Fields
from buraco_rules import (
    Discard,
    DrawStock,
    LayMeld,
    LayOff,
    Move,
    MoveWild,
    Problem,
    Problems,
    TakePile,
    ValidationError,
)
from buraco_rules.cards import ACE, ACE_HIGH

MAX_MOVES: Final = 256
"""Moves of one request: more than any turn has."""

_KINDS: Final = [field.name for field in move_pb2.Move.DESCRIPTOR.oneofs_by_name["move"].fields]

_MOVE: Final = Fields(move_pb2.Move)
_LAY_MELD: Final = Fields(move_pb2.LayMeld)
_LAY_OFF: Final = Fields(move_pb2.LayOff)
_MOVE_WILD: Final = Fields(move_pb2.MoveWild)
_DISCARD: Final = Fields(move_pb2.Discard)


def move_to_pb(move: Move) -> move_pb2.Move:
    """Return a move as a new message, which the caller may change."""
    return move_pb2.Move.FromString(move_bytes(move))


@lru_cache(4096, typed=True)  # equal tuples are other moves if their types differ
def move_bytes(move: Move) -> bytes:
    """Return a move, serialised."""
    match move:
        case Discard(card):
            return _MOVE.discard(_DISCARD.card(card))
        case DrawStock():
            return _MOVE.draw_stock(b"")
        case TakePile():
            return _MOVE.take_pile(b"")
        case LayMeld(cards, wild_position):
            return _MOVE.lay_meld(_LAY_MELD.cards(cards) + _optional(_LAY_MELD.wild_position, wild_position))
        case LayOff(meld, cards, wild_position):
            laid = _LAY_OFF.meld(meld) + _LAY_OFF.cards(cards)
            return _MOVE.lay_off(laid + _optional(_LAY_OFF.wild_position, wild_position))
        case MoveWild(meld, wild_position):
            return _MOVE.move_wild(_MOVE_WILD.meld(meld) + _MOVE_WILD.wild_position(wild_position))


@cached_by_bytes(move_pb2.Move, max_entries=4096, max_bytes=32)  # 4 MiB at most
def move_from_pb(move: move_pb2.Move) -> Move:
    """Return the move of a message. Raise ValidationError if it is none, or names what is no card or place of a run.

    Whether the hand has its cards and the side its meld is not checked.
    """
    problems = Problems()
    read = _read(move, problems)
    if read is None or problems:
        raise problems.error()
    return read


def moves_from_pb(moves: Sequence[move_pb2.Move], field: str = "moves") -> tuple[Move, ...]:
    """Return the moves of a request, 1 to MAX_MOVES. Raise ValidationError with the problems of all, in `field`."""
    if not 1 <= len(moves) <= MAX_MOVES:
        raise ValidationError([Problem(field, f"1 to {MAX_MOVES} moves, not {len(moves)}")])
    problems = Problems()
    read = []
    for index, move in enumerate(moves):
        try:
            read.append(move_from_pb(move))
        except ValidationError as error:
            problems.add_all((field, index), error.problems)
    problems.raise_if_any()
    return tuple(read)


def _optional(serialise: Callable[[int], bytes], value: int | None) -> bytes:
    return b"" if value is None else serialise(value)


def _read(move: move_pb2.Move, problems: Problems) -> Move | None:
    match move.WhichOneof("move"):
        case "draw_stock":
            return DrawStock()
        case "take_pile":
            return TakePile()
        case "lay_meld":
            lay_meld = move.lay_meld
            cards = cards_from_pb(lay_meld.cards, "lay_meld.cards", problems)
            return LayMeld(cards, _wild_position(lay_meld, "lay_meld", problems))
        case "lay_off":
            lay_off = move.lay_off
            cards = cards_from_pb(lay_off.cards, "lay_off.cards", problems)
            return LayOff(lay_off.meld, cards, _wild_position(lay_off, "lay_off", problems))
        case "move_wild":
            return MoveWild(move.move_wild.meld, _place(move.move_wild.wild_position, "move_wild", problems))
        case "discard":
            return Discard(card_from_pb(move.discard.card, "discard.card", problems))
    problems.add("", f"one of {', '.join(_KINDS)} must be given")
    return None


def _wild_position(laid: move_pb2.LayMeld | move_pb2.LayOff, field: str, problems: Problems) -> int | None:
    return _place(laid.wild_position, field, problems) if laid.HasField("wild_position") else None


def _place(place: int, field: str, problems: Problems) -> int:
    if not ACE <= place <= ACE_HIGH:
        problems.add((field, "wild_position"), f"a place of a run, {ACE} to {ACE_HIGH}, not {place}")
    return place
