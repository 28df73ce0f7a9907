"""Views: what one seat, or everybody, may know. Every move is answered with one, so they are put together as bytes."""

from functools import lru_cache
from typing import Final

from buraco.v1 import view_pb2
from buraco_rules.deal import Match
from buraco_rules.view import SideView, View
from buraco_service.codec.fields import Untyped
from buraco_service.codec.melds import put_meld
from buraco_service.codec.rule_sets import rule_set_bytes
from buraco_service.codec.snapshots import match_to_pb
from buraco_service.codec.wire import cards_field, field, tag

_HAND: Final = tag(view_pb2.View.HAND_FIELD_NUMBER)
_PILE: Final = tag(view_pb2.View.PILE_FIELD_NUMBER)
_RULE_SET: Final = tag(view_pb2.View.RULE_SET_FIELD_NUMBER)
_REMEMBERED: Final = 4096


def view_to_pb(view: View) -> view_pb2.View:
    """A view; `seat` is absent in the public one."""
    return view_pb2.View.FromString(view_bytes(view))


def view_bytes(view: View) -> bytes:
    """A view, serialised."""
    pb: Untyped = view_pb2.View(
        seat=view.seat,
        stock_count=view.stock_count,
        pile_count=view.pile_count,
        pot_counts=view.pot_counts,
        seat_to_move=view.seat_to_move,
        turn_number=view.turn_number,
        opening_attempt=view.opening_attempt,
        starter=view.starter,
    )
    pb.phase = view.phase
    pb.next_actions.extend(view.next_actions)
    if view.locked_card:
        pb.locked_card = view.locked_card
    if view.must_meld:
        pb.must_meld = view.must_meld
    if view.ending:
        pb.ending = view.ending
    first, second = view.sides
    return b"".join(
        [
            pb.SerializeToString(),
            cards_field(_HAND, view.hand),
            cards_field(_PILE, view.pile),
            _seats_fields(view.hand_counts),
            _side_field(first),
            _side_field(second),
            _match_field(view.match),
            field(_RULE_SET, rule_set_bytes(view.rules)),
        ]
    )


@lru_cache(_REMEMBERED)
def _seats_fields(hand_counts: tuple[int, ...]) -> bytes:
    seats = [view_pb2.SeatView(seat=seat, side=seat & 1, hand_count=count) for seat, count in enumerate(hand_counts)]
    return view_pb2.View(seats=seats).SerializeToString()


@lru_cache(_REMEMBERED)
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
