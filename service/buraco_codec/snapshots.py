"""Writing snapshots: all of a match, hidden cards included. They are read by `deals`.

Every move writes one into the store, so they are put together as bytes.
"""

from functools import lru_cache
from typing import Final

from buraco.v1 import deal_pb2
from buraco_codec.melds import meld_bytes
from buraco_codec.rule_sets import rule_set_bytes
from buraco_codec.sides import side_field
from buraco_codec.wire import field, list_heads, number, number_tag, numbers, tag
from buraco_rules import Deal, Ending, Match, Phase, Turn, UndoStep
from buraco_rules.cards import JOKER

_RULE_SET: Final = tag(deal_pb2.Snapshot.RULE_SET_FIELD_NUMBER)
_DEAL: Final = tag(deal_pb2.Snapshot.DEAL_FIELD_NUMBER)

_STOCK: Final = list_heads(deal_pb2.Deal.STOCK_FIELD_NUMBER)
_PILE: Final = list_heads(deal_pb2.Deal.PILE_FIELD_NUMBER)
_POTS: Final = list_heads(deal_pb2.Deal.POTS_FIELD_NUMBER, deal_pb2.Cards.CARDS_FIELD_NUMBER)
_HANDS: Final = list_heads(deal_pb2.Deal.HANDS_FIELD_NUMBER, deal_pb2.Cards.CARDS_FIELD_NUMBER)
_SEAT_TO_MOVE: Final = numbers(deal_pb2.Deal.SEAT_TO_MOVE_FIELD_NUMBER, 3)
_PHASE: Final = numbers(deal_pb2.Deal.PHASE_FIELD_NUMBER, max(Phase))
_ENDING: Final = numbers(deal_pb2.Deal.ENDING_FIELD_NUMBER, max(Ending))

_TURN: Final = tag(deal_pb2.Deal.TURN_FIELD_NUMBER)
_TURN_NUMBER: Final = number_tag(deal_pb2.Turn.NUMBER_FIELD_NUMBER)
_TURN_LOCKED: Final = numbers(deal_pb2.Turn.LOCKED_CARD_FIELD_NUMBER, JOKER)
_TURN_MUST_MELD: Final = numbers(deal_pb2.Turn.MUST_MELD_FIELD_NUMBER, JOKER)
_TURN_ATTEMPT: Final = numbers(deal_pb2.Turn.OPENING_ATTEMPT_FIELD_NUMBER, True)
_TURN_UNDO: Final = tag(deal_pb2.Turn.UNDO_FIELD_NUMBER)

_STEP_MELD: Final = number_tag(deal_pb2.UndoStep.MELD_FIELD_NUMBER)
_STEP_BEFORE: Final = tag(deal_pb2.UndoStep.BEFORE_FIELD_NUMBER)
_STEP_CARDS: Final = list_heads(deal_pb2.UndoStep.CARDS_FIELD_NUMBER)
_STEP_LOCKED: Final = numbers(deal_pb2.UndoStep.LOCKED_CARD_FIELD_NUMBER, JOKER)
_STEP_MUST_MELD: Final = numbers(deal_pb2.UndoStep.MUST_MELD_FIELD_NUMBER, JOKER)
_STEP_UNPLAYED_POT: Final = numbers(deal_pb2.UndoStep.UNPLAYED_POT_FIELD_NUMBER, True)

_REMEMBERED: Final = 4096
"""Half a KiB each at most, 2 MiB together."""


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
    return b"".join(
        [
            _STOCK[len(deal.stock)] + bytes(deal.stock),
            _PILE[len(deal.pile)] + bytes(deal.pile),
            *[_POTS[len(pot)] + bytes(pot) for pot in deal.pots],
            *[_HANDS[len(hand)] + bytes(hand) for hand in deal.hands],
            side_field(first),
            side_field(second),
            _SEAT_TO_MOVE[deal.seat_to_move],
            _PHASE[deal.phase],
            field(_TURN, _turn_bytes(deal.turn)),
            _ENDING[deal.ending],
        ]
    )


def _turn_bytes(turn: Turn) -> bytes:
    turn_number, locked_card, must_meld, opening_attempt, undo = turn
    said = (
        number(_TURN_NUMBER, turn_number)
        + _TURN_LOCKED[locked_card]
        + _TURN_MUST_MELD[must_meld]
        + _TURN_ATTEMPT[opening_attempt]
    )
    return said + b"".join([field(_TURN_UNDO, _undo_step_bytes(step)) for step in undo]) if undo else said


def _undo_step_bytes(step: UndoStep) -> bytes:
    meld, before, cards, locked_card, must_meld, unplayed_pot = step
    return (
        number(_STEP_MELD, meld)
        + (b"" if before is None else field(_STEP_BEFORE, meld_bytes(before)))
        + _STEP_CARDS[len(cards)]
        + bytes(cards)
        + _STEP_LOCKED[locked_card]
        + _STEP_MUST_MELD[must_meld]
        + _STEP_UNPLAYED_POT[unplayed_pot]
    )
