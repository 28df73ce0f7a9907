"""Writing snapshots: all of a match, hidden cards included. They are read by `deals`.

Every move writes one into the store, so they are put together as bytes.
"""

from functools import lru_cache
from typing import Final

from buraco.v1 import deal_pb2
from buraco_rules.deal import Deal, Match, Turn, UndoStep
from buraco_service.codec.fields import Untyped
from buraco_service.codec.melds import put_meld
from buraco_service.codec.rule_sets import rule_set_bytes
from buraco_service.codec.sides import side_field
from buraco_service.codec.wire import cards_field, field, tag

_RULE_SET: Final = tag(deal_pb2.Snapshot.RULE_SET_FIELD_NUMBER)
_DEAL: Final = tag(deal_pb2.Snapshot.DEAL_FIELD_NUMBER)
_STOCK: Final = tag(deal_pb2.Deal.STOCK_FIELD_NUMBER)
_PILE: Final = tag(deal_pb2.Deal.PILE_FIELD_NUMBER)
_POTS: Final = tag(deal_pb2.Deal.POTS_FIELD_NUMBER)
_HANDS: Final = tag(deal_pb2.Deal.HANDS_FIELD_NUMBER)
_CARDS: Final = tag(deal_pb2.Cards.CARDS_FIELD_NUMBER)
_REMEMBERED: Final = 4096


def snapshot_to_pb(deal: Deal, *, with_rules: bool = True) -> deal_pb2.Snapshot:
    """All of a match. Its rule set may be left out where it is kept beside the snapshot."""
    return deal_pb2.Snapshot.FromString(snapshot_bytes(deal, with_rules=with_rules))


def snapshot_bytes(deal: Deal, *, with_rules: bool = True) -> bytes:
    """All of a match, serialised; as `snapshot_to_pb`."""
    rule_set = field(_RULE_SET, rule_set_bytes(deal.rules)) if with_rules else b""
    return rule_set + _match_fields(deal.seats, deal.match) + field(_DEAL, _deal_bytes(deal))


@lru_cache(_REMEMBERED)
def _match_fields(seats: int, match: Match) -> bytes:
    return deal_pb2.Snapshot(seats=seats, match=match_to_pb(match)).SerializeToString()


def match_to_pb(match: Match) -> deal_pb2.Match:
    """Where a match stands."""
    return deal_pb2.Match(
        deal_number=match.deal_number, scores=match.scores, starter=match.starter, target_score=match.target_score
    )


def _deal_bytes(deal: Deal) -> bytes:
    first, second = deal.sides
    pb: Untyped = deal_pb2.Deal(seat_to_move=deal.seat_to_move)
    pb.phase = deal.phase
    pb.ending = deal.ending
    _put_turn(pb.turn, deal.turn)
    return b"".join(
        [
            cards_field(_STOCK, deal.stock),
            cards_field(_PILE, deal.pile),
            *[field(_POTS, cards_field(_CARDS, pot)) for pot in deal.pots],
            *[field(_HANDS, cards_field(_CARDS, hand)) for hand in deal.hands],
            side_field(first),
            side_field(second),
            pb.SerializeToString(),
        ]
    )


def _put_turn(pb: Untyped, turn: Turn) -> None:
    number, locked_card, must_meld, opening_attempt, undo = turn
    pb.number = number
    if locked_card:
        pb.locked_card = locked_card
    if must_meld:
        pb.must_meld = must_meld
    if opening_attempt:
        pb.opening_attempt = True
    for step in undo:
        _put_undo_step(pb.undo.add(), step)


def _put_undo_step(pb: Untyped, step: UndoStep) -> None:
    pb.meld = step.meld
    if step.before is not None:
        put_meld(pb.before, step.before)
    pb.cards.extend(step.cards)
    pb.locked_card = step.locked_card
    pb.must_meld = step.must_meld
    pb.unplayed_pot = step.unplayed_pot
