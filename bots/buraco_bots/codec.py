"""Messages of the contract as values of the rules, and moves the other way. Enum numbers are the same on both sides."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import Any, Final

from buraco.v1 import deal_pb2, move_pb2, rule_set_pb2, view_pb2
from buraco_rules import (
    BuracoKind,
    CloseBy,
    Discard,
    DrawStock,
    Ending,
    LayMeld,
    LayOff,
    Match,
    Meld,
    MeldKind,
    Move,
    MoveWild,
    NextAction,
    OpeningMinimum,
    Phase,
    PotBy,
    RuleSet,
    SideView,
    StockEnd,
    TakePile,
    Tie,
    View,
    WildEnd,
    WildMoves,
)

_ENUMS: Final[dict[str, type]] = {
    "wild_moves": WildMoves,
    "wild_end": WildEnd,
    "pot_by": PotBy,
    "close_by": CloseBy,
    "stock_end": StockEnd,
    "tie": Tie,
}
_OPTIONS: Final = [option.name for option in fields(RuleSet) if option.init]
_DEFAULT_MAX_TURNS: Final = 1000


def view_from_message(view: view_pb2.View) -> View:
    """A view. Raises ValueError where it holds what these rules do not know."""
    return View(
        seat=view.seat if view.HasField("seat") else None,
        hand=tuple(view.hand),
        hand_counts=tuple([seat.hand_count for seat in view.seats]),
        sides=(_side(view.sides[0]), _side(view.sides[1])),
        stock_count=view.stock_count,
        pile_count=view.pile_count,
        pile=tuple(view.pile),
        pot_counts=tuple(view.pot_counts),
        seat_to_move=view.seat_to_move,
        phase=Phase(view.phase),
        next_actions=tuple([NextAction(action) for action in view.next_actions]),
        turn_number=view.turn_number,
        locked_card=view.locked_card,
        must_meld=view.must_meld,
        opening_attempt=view.opening_attempt,
        ending=Ending(view.ending),
        match=match_from_message(view.match),
        rules=rule_set_from_message(view.rule_set),
        starter=view.starter,
    )


def match_from_message(match: deal_pb2.Match) -> Match:
    """Where a match stands."""
    first, second = match.scores or (0, 0)
    return Match(match.deal_number, (first, second), match.starter, match.target_score)


def meld_from_message(meld: deal_pb2.Meld) -> Meld:
    """A meld."""
    return Meld(
        MeldKind(meld.kind),
        tuple(meld.cards),
        meld.low_position,
        meld.wild_index if meld.HasField("wild_index") else None,
        BuracoKind(meld.buraco),
        meld.stays_dirty,
    )


def rule_set_from_message(rule_set: rule_set_pb2.RuleSet) -> RuleSet:
    """A rule set: for equal messages the same object, so that what is remembered by rule set is found again."""
    return _rule_set(rule_set.SerializeToString(deterministic=True))


def move_from_message(move: move_pb2.Move) -> Move:
    """A move. Raises ValueError where it is none."""
    match move.WhichOneof("move"):
        case "draw_stock":
            return DrawStock()
        case "take_pile":
            return TakePile()
        case "lay_meld":
            lay_meld = move.lay_meld
            return LayMeld(
                tuple(lay_meld.cards), lay_meld.wild_position if lay_meld.HasField("wild_position") else None
            )
        case "lay_off":
            lay_off = move.lay_off
            place = lay_off.wild_position if lay_off.HasField("wild_position") else None
            return LayOff(lay_off.meld, tuple(lay_off.cards), place)
        case "move_wild":
            return MoveWild(move.move_wild.meld, move.move_wild.wild_position)
        case "discard":
            return Discard(move.discard.card)
        case unknown:
            raise ValueError(f"a move of a kind that is not known here: {unknown}")


def move_to_message(move: Move) -> move_pb2.Move:
    """The message for a move."""
    message = move_pb2.Move()
    # The numbers of cards are those of the contract, whose stubs want them of a type of their own.
    untyped: Any = message
    match move:
        case DrawStock():
            message.draw_stock.SetInParent()
        case TakePile():
            message.take_pile.SetInParent()
        case LayMeld(cards, wild_position):
            untyped.lay_meld.cards.extend(cards)
            if wild_position is not None:
                message.lay_meld.wild_position = wild_position
        case LayOff(meld, cards, wild_position):
            message.lay_off.meld = meld
            untyped.lay_off.cards.extend(cards)
            if wild_position is not None:
                message.lay_off.wild_position = wild_position
        case MoveWild(meld, wild_position):
            message.move_wild.meld = meld
            message.move_wild.wild_position = wild_position
        case Discard(card):
            untyped.discard.card = card
    return message


def _wild_position(lay: move_pb2.LayMeld | move_pb2.LayOff) -> int | None:
    return lay.wild_position if lay.HasField("wild_position") else None


def _side(side: view_pb2.SideView) -> SideView:
    return SideView(
        tuple([meld_from_message(meld) for meld in side.melds]),
        side.pots_taken,
        side.opening_required,
        side.opening_penalties,
        side.match_score,
        side.table_points,
    )


@lru_cache(64)
def _rule_set(data: bytes) -> RuleSet:
    message = rule_set_pb2.RuleSet.FromString(data)
    options: dict[str, Any] = {name: getattr(message, name) for name in _OPTIONS}
    for name, kind in _ENUMS.items():
        options[name] = kind(options[name])
    options["max_turns"] = message.max_turns or _DEFAULT_MAX_TURNS
    options["usual_targets"] = tuple(message.usual_targets)
    minimum = message.opening_minimum
    options["opening_minimum"] = (
        OpeningMinimum(minimum.threshold, minimum.points, minimum.step, minimum.penalty, minimum.every_turn)
        if message.HasField("opening_minimum")
        else None
    )
    return RuleSet(**options)
