"""Views: what one seat, or everybody, may know."""

from buraco.v1 import view_pb2
from buraco_rules.view import View
from buraco_service.codec.deals import put_match
from buraco_service.codec.fields import Untyped
from buraco_service.codec.melds import put_meld
from buraco_service.codec.rule_sets import rule_set_to_pb


def view_to_pb(view: View) -> view_pb2.View:
    """A view; `seat` is absent in the public one."""
    message = view_pb2.View(
        stock_count=view.stock_count,
        pile_count=view.pile_count,
        pot_counts=view.pot_counts,
        seat_to_move=view.seat_to_move,
        turn_number=view.turn_number,
        opening_attempt=view.opening_attempt,
        starter=view.starter,
    )
    pb: Untyped = message
    if view.seat is not None:
        pb.seat = view.seat
    pb.hand.extend(view.hand)
    pb.pile.extend(view.pile)
    pb.phase = view.phase
    pb.next_actions.extend(view.next_actions)
    pb.locked_card = view.locked_card
    pb.must_meld = view.must_meld
    pb.ending = view.ending
    for seat, count in enumerate(view.hand_counts):
        pb.seats.add(seat=seat, side=seat & 1, hand_count=count)
    for side in view.sides:
        own = pb.sides.add(
            pots_taken=side.pots_taken,
            opening_required=side.opening_required,
            opening_penalties=side.opening_penalties,
            match_score=side.match_score,
            table_points=side.table_points,
        )
        for meld in side.melds:
            put_meld(own.melds.add(), meld)
    put_match(pb.match, view.match)
    pb.rule_set.CopyFrom(rule_set_to_pb(view.rules))
    return message
