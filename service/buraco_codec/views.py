"""Views: what one seat, or everybody, may know of a deal.

Every move is answered with one, so they are assembled from serialised fields, most of them cached.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import count, repeat
from typing import Final

from buraco.v1 import view_pb2
from buraco_codec.caching import SERIALISED
from buraco_codec.cards import cards_from_pb, optional_card_from_pb
from buraco_codec.deals import match_from_pb
from buraco_codec.fields import by_number, enum_from_pb
from buraco_codec.melds import meld_bytes, meld_from_pb
from buraco_codec.rule_sets import rule_set_bytes, rule_set_from_pb
from buraco_codec.snapshots import match_to_pb
from buraco_codec.wire import Fields
from buraco_rules import Ending, Match, NextAction, Path, Phase, Problems, SideView, View

_VIEW: Final = Fields(view_pb2.View)
_SIDE: Final = Fields(view_pb2.SideView)
_SEAT: Final = Fields(view_pb2.SeatView)
_PHASES: Final = by_number(Phase)
_ENDINGS: Final = by_number(Ending)
_ACTIONS: Final = by_number(NextAction)
_CACHED: Final = 4096
"""Fields of each kind that hold few numbers: half a KiB each at most, 8 MiB together."""


def view_to_pb(view: View) -> view_pb2.View:
    """Return a view as a message; the public one has no `seat`."""
    return view_pb2.View.FromString(view_bytes(view))


def view_bytes(view: View, seat_facts: Sequence[bytes] = ()) -> bytes:
    """Return a view, serialised, with further fields of its SeatViews, which a deal does not know."""
    first, second = view.sides
    return b"".join(
        [
            b"" if view.seat is None else _VIEW.seat(view.seat),
            _VIEW.hand(view.hand),
            *map(_seat_field, count(), view.hand_counts, seat_facts or repeat(b"")),
            _side_field(first),
            _side_field(second),
            _VIEW.stock_count(view.stock_count),
            _VIEW.pile_count(view.pile_count),
            _VIEW.pile(view.pile),
            _VIEW.pot_counts(view.pot_counts),
            _VIEW.seat_to_move(view.seat_to_move),
            _VIEW.phase(view.phase),
            _next_actions_field(view.next_actions),
            _VIEW.turn_number(view.turn_number),
            _VIEW.locked_card(view.locked_card),
            _VIEW.must_meld(view.must_meld),
            _VIEW.opening_attempt(view.opening_attempt),
            _VIEW.ending(view.ending),
            _match_field(view.match),
            _VIEW.rule_set(rule_set_bytes(view.rules)),
            _VIEW.starter(view.starter),
        ]
    )


def view_from_pb(view: view_pb2.View) -> View:
    """Return the view of a message. Raise ValidationError if something in it is missing or not known here.

    Whether play can lead to it is not checked.
    """
    problems = Problems()
    rules = problems.collect(lambda: rule_set_from_pb(view.rule_set), None, "rule_set")
    sides = [_side_from_pb(side, ("sides", index), problems) for index, side in enumerate(view.sides)]
    if len(sides) != 2:
        problems.add("sides", f"two sides, not {len(sides)}")
    phase = enum_from_pb(_PHASES, view.phase, "phase", "phase", problems)
    ending = enum_from_pb(_ENDINGS, view.ending, "ending", "ending", problems)
    next_actions = [
        enum_from_pb(_ACTIONS, action, "action", ("next_actions", index), problems)
        for index, action in enumerate(view.next_actions)
    ]
    hand = cards_from_pb(view.hand, "hand", problems)
    pile = cards_from_pb(view.pile, "pile", problems)
    locked_card = optional_card_from_pb(view.locked_card, "locked_card", problems)
    must_meld = optional_card_from_pb(view.must_meld, "must_meld", problems)
    match = match_from_pb(view.match, "match", problems)
    if rules is None or phase is None or ending is None or problems:
        raise problems.error()
    return View(
        seat=view.seat if view.HasField("seat") else None,
        hand=hand,
        hand_counts=tuple([seat.hand_count for seat in view.seats]),
        sides=(sides[0], sides[1]),
        stock_count=view.stock_count,
        pile_count=view.pile_count,
        pile=pile,
        pot_counts=tuple(view.pot_counts),
        seat_to_move=view.seat_to_move,
        phase=phase,
        next_actions=tuple([action for action in next_actions if action is not None]),
        turn_number=view.turn_number,
        locked_card=locked_card,
        must_meld=must_meld,
        opening_attempt=view.opening_attempt,
        ending=ending,
        match=match,
        rules=rules,
        starter=view.starter,
    )


def _side_from_pb(side: view_pb2.SideView, path: Path, problems: Problems) -> SideView:
    melds = [meld_from_pb(meld, (path, "melds", index), problems) for index, meld in enumerate(side.melds)]
    return SideView(
        tuple([meld for meld in melds if meld is not None]),
        side.pots_taken,
        side.opening_required,
        side.opening_penalties,
        side.match_score,
        side.table_points,
    )


@lru_cache(_CACHED)
def _seat_field(seat: int, hand_count: int, facts: bytes) -> bytes:
    """Return an item of a serialised view's field `seats`."""
    return _VIEW.seats(_SEAT.seat(seat) + _SEAT.side(seat & 1) + _SEAT.hand_count(hand_count) + facts)


@lru_cache(_CACHED)
def _next_actions_field(next_actions: tuple[NextAction, ...]) -> bytes:
    return _VIEW.next_actions(next_actions)


@SERIALISED.cached(each=16)
def _side_field(side: SideView) -> bytes:
    """Return a side as an item of a serialised view's field `sides`."""
    rest = view_pb2.SideView(
        pots_taken=side.pots_taken,
        opening_required=side.opening_required,
        opening_penalties=side.opening_penalties,
        match_score=side.match_score,
        table_points=side.table_points,
    )
    return _VIEW.sides(b"".join(map(_SIDE.melds, map(meld_bytes, side.melds))) + rest.SerializeToString())


@lru_cache(_CACHED)
def _match_field(match: Match) -> bytes:
    return _VIEW.match(match_to_pb(match).SerializeToString())
