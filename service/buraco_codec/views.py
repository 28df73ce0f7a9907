"""Views: what one seat, or everybody, may know. Every move is answered with one, so they are put together as bytes."""

from functools import lru_cache
from typing import Final

from buraco.v1 import view_pb2
from buraco_codec.cards import MAX_CARDS
from buraco_codec.fields import Untyped
from buraco_codec.melds import put_meld
from buraco_codec.remembering import FORMS
from buraco_codec.rule_sets import rule_set_bytes
from buraco_codec.snapshots import match_to_pb
from buraco_codec.wire import field, list_heads, number, number_tag, numbers, tag
from buraco_rules import Ending, Match, NextAction, Phase, SideView, View
from buraco_rules.cards import JOKER

_SEAT: Final = numbers(view_pb2.View.SEAT_FIELD_NUMBER, 3, optional=True)
_HAND: Final = list_heads(view_pb2.View.HAND_FIELD_NUMBER)
_STOCK_COUNT: Final = numbers(view_pb2.View.STOCK_COUNT_FIELD_NUMBER, MAX_CARDS)
_PILE_COUNT: Final = numbers(view_pb2.View.PILE_COUNT_FIELD_NUMBER, MAX_CARDS)
_PILE: Final = list_heads(view_pb2.View.PILE_FIELD_NUMBER)
_SEAT_TO_MOVE: Final = numbers(view_pb2.View.SEAT_TO_MOVE_FIELD_NUMBER, 3)
_PHASE: Final = numbers(view_pb2.View.PHASE_FIELD_NUMBER, max(Phase))
_TURN_NUMBER: Final = number_tag(view_pb2.View.TURN_NUMBER_FIELD_NUMBER)
_LOCKED_CARD: Final = numbers(view_pb2.View.LOCKED_CARD_FIELD_NUMBER, JOKER)
_MUST_MELD: Final = numbers(view_pb2.View.MUST_MELD_FIELD_NUMBER, JOKER)
_OPENING_ATTEMPT: Final = numbers(view_pb2.View.OPENING_ATTEMPT_FIELD_NUMBER, True)
_ENDING: Final = numbers(view_pb2.View.ENDING_FIELD_NUMBER, max(Ending))
_RULE_SET: Final = tag(view_pb2.View.RULE_SET_FIELD_NUMBER)
_STARTER: Final = numbers(view_pb2.View.STARTER_FIELD_NUMBER, 3)
_REMEMBERED: Final = 4096
"""Of each kind: few numbers, half a KiB each at most, 8 MiB together."""


def view_to_pb(view: View) -> view_pb2.View:
    """A view; `seat` is absent in the public one."""
    return view_pb2.View.FromString(view_bytes(view))


def view_bytes(view: View) -> bytes:
    """A view, serialised."""
    first, second = view.sides
    return b"".join(
        [
            b"" if view.seat is None else _SEAT[view.seat],
            _HAND[len(view.hand)] + bytes(view.hand),
            _seats_fields(view.hand_counts),
            _side_field(first),
            _side_field(second),
            _STOCK_COUNT[view.stock_count],
            _PILE_COUNT[view.pile_count],
            _PILE[len(view.pile)] + bytes(view.pile),
            _pot_counts_field(view.pot_counts),
            _SEAT_TO_MOVE[view.seat_to_move],
            _PHASE[view.phase],
            _next_actions_field(view.next_actions),
            number(_TURN_NUMBER, view.turn_number),
            _LOCKED_CARD[view.locked_card],
            _MUST_MELD[view.must_meld],
            _OPENING_ATTEMPT[view.opening_attempt],
            _ENDING[view.ending],
            _match_field(view.match),
            field(_RULE_SET, rule_set_bytes(view.rules)),
            _STARTER[view.starter],
        ]
    )


@lru_cache(_REMEMBERED)
def _seats_fields(hand_counts: tuple[int, ...]) -> bytes:
    seats = [view_pb2.SeatView(seat=seat, side=seat & 1, hand_count=count) for seat, count in enumerate(hand_counts)]
    return view_pb2.View(seats=seats).SerializeToString()


@lru_cache(_REMEMBERED)
def _pot_counts_field(pot_counts: tuple[int, ...]) -> bytes:
    return view_pb2.View(pot_counts=pot_counts).SerializeToString()


@lru_cache(_REMEMBERED)
def _next_actions_field(next_actions: tuple[NextAction, ...]) -> bytes:
    pb: Untyped = view_pb2.View()
    pb.next_actions.extend(next_actions)
    data: bytes = pb.SerializeToString()
    return data


@FORMS.cached(each=16)
def _side_field(side: SideView) -> bytes:
    """A side as the next of the view's sides."""
    view = view_pb2.View()
    pb = view.sides.add(
        pots_taken=side.pots_taken,
        opening_required=side.opening_required,
        opening_penalties=side.opening_penalties,
        match_score=side.match_score,
        table_points=side.table_points,
    )
    for meld in side.melds:
        put_meld(pb.melds.add(), meld)
    return view.SerializeToString()


@lru_cache(_REMEMBERED)
def _match_field(match: Match) -> bytes:
    return view_pb2.View(match=match_to_pb(match)).SerializeToString()
