"""Moves. The same few come again and again, so what they say is remembered."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from buraco.v1 import move_pb2
from buraco_codec.cards import card_from_pb, cards_from_pb
from buraco_codec.remembering import remembered
from buraco_codec.wire import field, list_heads, number, number_tag, numbers, tag
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
from buraco_rules.cards import ACE, ACE_HIGH, JOKER

MAX_MOVES: Final = 256
"""In one request: more than any turn has."""

_DRAW_STOCK: Final = field(tag(move_pb2.Move.DRAW_STOCK_FIELD_NUMBER), b"")
_TAKE_PILE: Final = field(tag(move_pb2.Move.TAKE_PILE_FIELD_NUMBER), b"")

_LAY_MELD: Final = tag(move_pb2.Move.LAY_MELD_FIELD_NUMBER)
_LAY_MELD_CARDS: Final = list_heads(move_pb2.LayMeld.CARDS_FIELD_NUMBER)
_LAY_MELD_WILD: Final = numbers(move_pb2.LayMeld.WILD_POSITION_FIELD_NUMBER, ACE_HIGH, optional=True)

_LAY_OFF: Final = tag(move_pb2.Move.LAY_OFF_FIELD_NUMBER)
_LAY_OFF_MELD: Final = number_tag(move_pb2.LayOff.MELD_FIELD_NUMBER)
_LAY_OFF_CARDS: Final = list_heads(move_pb2.LayOff.CARDS_FIELD_NUMBER)
_LAY_OFF_WILD: Final = numbers(move_pb2.LayOff.WILD_POSITION_FIELD_NUMBER, ACE_HIGH, optional=True)

_MOVE_WILD: Final = tag(move_pb2.Move.MOVE_WILD_FIELD_NUMBER)
_MOVE_WILD_MELD: Final = number_tag(move_pb2.MoveWild.MELD_FIELD_NUMBER)
_MOVE_WILD_WILD: Final = numbers(move_pb2.MoveWild.WILD_POSITION_FIELD_NUMBER, ACE_HIGH)

_DISCARD: Final = tuple(
    [move_pb2.Move(discard=move_pb2.Discard(card=card)).SerializeToString() for card in range(JOKER + 1)]  # type: ignore[arg-type]
)
"""By card."""


def move_to_pb(move: Move) -> move_pb2.Move:
    """A move."""
    return move_pb2.Move.FromString(move_bytes(move))


def move_bytes(move: Move) -> bytes:
    """A move, serialised."""
    return _BYTES[type(move)](move)


@remembered(move_pb2.Move, most=4096, largest=32)  # 4 MiB at most
def move_from_pb(move: move_pb2.Move) -> Move:
    """A move; what it names need not exist. Raises ValidationError for what cannot be read as a move at all."""
    problems = Problems()
    which = move.WhichOneof("move")
    if which is None:
        raise ValidationError([Problem("", f"one of {', '.join(_FROM_PB)} must be given")])
    read = _FROM_PB[which](move, problems)
    problems.raise_if_any()
    return read


def moves_from_pb(moves: Sequence[move_pb2.Move], field: str = "moves") -> tuple[Move, ...]:
    """The moves of a request, 1 to 256. Raises ValidationError, the problems of all moves together."""
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


def _draw_stock(move: DrawStock) -> bytes:
    return _DRAW_STOCK


def _take_pile(move: TakePile) -> bytes:
    return _TAKE_PILE


def _lay_meld(move: LayMeld) -> bytes:
    cards = _LAY_MELD_CARDS[len(move.cards)] + bytes(move.cards)
    return field(_LAY_MELD, cards if move.wild_position is None else cards + _LAY_MELD_WILD[move.wild_position])


def _lay_off(move: LayOff) -> bytes:
    laid = number(_LAY_OFF_MELD, move.meld) + _LAY_OFF_CARDS[len(move.cards)] + bytes(move.cards)
    return field(_LAY_OFF, laid if move.wild_position is None else laid + _LAY_OFF_WILD[move.wild_position])


def _move_wild(move: MoveWild) -> bytes:
    return field(_MOVE_WILD, number(_MOVE_WILD_MELD, move.meld) + _MOVE_WILD_WILD[move.wild_position])


def _discard(move: Discard) -> bytes:
    return _DISCARD[move.card]


def _draw_stock_from_pb(move: move_pb2.Move, problems: Problems) -> Move:
    return DrawStock()


def _take_pile_from_pb(move: move_pb2.Move, problems: Problems) -> Move:
    return TakePile()


def _lay_meld_from_pb(move: move_pb2.Move, problems: Problems) -> Move:
    laid = move.lay_meld
    return LayMeld(
        cards_from_pb(laid.cards, ("lay_meld", "cards"), problems), _wild_position(laid, "lay_meld", problems)
    )


def _lay_off_from_pb(move: move_pb2.Move, problems: Problems) -> Move:
    laid = move.lay_off
    cards = cards_from_pb(laid.cards, ("lay_off", "cards"), problems)
    return LayOff(laid.meld, cards, _wild_position(laid, "lay_off", problems))


def _move_wild_from_pb(move: move_pb2.Move, problems: Problems) -> Move:
    moved = move.move_wild
    return MoveWild(moved.meld, _place(moved.wild_position, "move_wild", problems))


def _discard_from_pb(move: move_pb2.Move, problems: Problems) -> Move:
    return Discard(card_from_pb(move.discard.card, ("discard", "card"), problems))


def _wild_position(laid: move_pb2.LayMeld | move_pb2.LayOff, field: str, problems: Problems) -> int | None:
    return _place(laid.wild_position, field, problems) if laid.HasField("wild_position") else None


def _place(place: int, field: str, problems: Problems) -> int:
    if not ACE <= place <= ACE_HIGH:
        problems.add((field, "wild_position"), f"a place of a run, {ACE} to {ACE_HIGH}, not {place}")
    return place


_BYTES: Final[dict[type, Callable[[Any], bytes]]] = {
    DrawStock: _draw_stock,
    TakePile: _take_pile,
    LayMeld: _lay_meld,
    LayOff: _lay_off,
    MoveWild: _move_wild,
    Discard: _discard,
}
_FROM_PB: Final[dict[str, Callable[[move_pb2.Move, Problems], Move]]] = {
    "draw_stock": _draw_stock_from_pb,
    "take_pile": _take_pile_from_pb,
    "lay_meld": _lay_meld_from_pb,
    "lay_off": _lay_off_from_pb,
    "move_wild": _move_wild_from_pb,
    "discard": _discard_from_pb,
}
