"""Writes snapshots: everything of a deal, hidden cards included. `deals` reads them.

Every move writes one into the store, so they are assembled from serialised fields, in the order in which the library
writes them.
"""

from functools import lru_cache
from typing import Final

from buraco.v1 import deal_pb2
from buraco_codec.melds import meld_bytes
from buraco_codec.rule_sets import rule_set_bytes
from buraco_codec.sides import side_field
from buraco_codec.wire import Fields
from buraco_rules import Deal, Match, Turn, UndoStep

_SNAPSHOT: Final = Fields(deal_pb2.Snapshot)
_DEAL: Final = Fields(deal_pb2.Deal)
_CARDS: Final = Fields(deal_pb2.Cards)
_TURN: Final = Fields(deal_pb2.Turn)
_STEP: Final = Fields(deal_pb2.UndoStep)

_CACHED: Final = 4096
"""Matches: half a KiB each at most, 2 MiB together."""


def snapshot_to_pb(deal: Deal, *, with_rules: bool = True) -> deal_pb2.Snapshot:
    """Return the snapshot of a deal. Its rule set may be left out, for those who keep that elsewhere."""
    return deal_pb2.Snapshot.FromString(snapshot_bytes(deal, with_rules=with_rules))


def snapshot_bytes(deal: Deal, *, with_rules: bool = True) -> bytes:
    """Return the snapshot of a deal, serialised; as `snapshot_to_pb`."""
    rule_set = _SNAPSHOT.rule_set(rule_set_bytes(deal.rules)) if with_rules else b""
    return rule_set + _match_fields(deal.seats, deal.match) + _SNAPSHOT.deal(_deal_bytes(deal))


@lru_cache(_CACHED)
def _match_fields(seats: int, match: Match) -> bytes:
    return deal_pb2.Snapshot(seats=seats, match=match_to_pb(match)).SerializeToString()


def match_to_pb(match: Match) -> deal_pb2.Match:
    """Return a match as a message."""
    return deal_pb2.Match(
        deal_number=match.deal_number, scores=match.scores, starter=match.starter, target_score=match.target_score
    )


def _deal_bytes(deal: Deal) -> bytes:
    first, second = deal.sides
    return b"".join(
        [
            _DEAL.stock(deal.stock),
            _DEAL.pile(deal.pile),
            *map(_DEAL.pots, map(_CARDS.cards, deal.pots)),
            *map(_DEAL.hands, map(_CARDS.cards, deal.hands)),
            side_field(first),
            side_field(second),
            _DEAL.seat_to_move(deal.seat_to_move),
            _DEAL.phase(deal.phase),
            _DEAL.turn(_turn_bytes(deal.turn)),
            _DEAL.ending(deal.ending),
        ]
    )


def _turn_bytes(turn: Turn) -> bytes:
    number, locked_card, must_meld, opening_attempt, undo = turn
    fields = (
        _TURN.number(number)
        + _TURN.locked_card(locked_card)
        + _TURN.must_meld(must_meld)
        + _TURN.opening_attempt(opening_attempt)
    )
    return fields + b"".join(map(_TURN.undo, map(_undo_step_bytes, undo))) if undo else fields


def _undo_step_bytes(step: UndoStep) -> bytes:
    meld, before, cards, locked_card, must_meld, unplayed_pot = step
    return (
        _STEP.meld(meld)
        + (b"" if before is None else _STEP.before(meld_bytes(before)))
        + _STEP.cards(cards)
        + _STEP.locked_card(locked_card)
        + _STEP.must_meld(must_meld)
        + _STEP.unplayed_pot(unplayed_pot)
    )
