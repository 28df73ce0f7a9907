"""What the codec caches takes no more memory than is counted for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from buraco.v1 import deal_pb2
from buraco_codec import sides, views
from buraco_codec.caching import SERIALISED
from buraco_codec.snapshots import snapshot_bytes, snapshot_to_pb
from buraco_codec.views import view_bytes
from buraco_rules import PRESETS, BuracoKind, Meld, MeldKind, RuleSet, Side, view_of
from buraco_service.tables import stored
from buraco_service.tables.state import Seat, TableValue
from buraco_service.tables.stored import serialise_table
from tests.memory import size_of
from tests.rules.playouts import playout
from tests.service.table_server import SEED

CACHES = (sides.side_field, views._side_field, stored._settled_fields)


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_serialised_sides(rules: RuleSet) -> None:
    """Serialised sides take no more than is counted, at any point of a deal."""
    SERIALISED.clear()
    for deal, _ in playout(rules, 4, 1):
        snapshot_bytes(deal)
        view_bytes(view_of(deal, 0))
    assert 0 < size_of(CACHES) <= SERIALISED.used_bytes <= SERIALISED.max_bytes


def test_serialised_tables() -> None:
    """Tables take no more than is counted, with long names in any script and a rule set of their own."""
    SERIALISED.clear()
    for number in range(50):
        rules = replace(PRESETS[0], id=f"house-{number}", display_name="House rules " * 8)
        seats = [Seat(chr(0x1F0A1 + seat) * 64, f"{number:031}{seat}", 1.0, bytes([number]) * 32) for seat in range(4)]
        serialise_table(TableValue(f"{number:032}", rules, tuple(seats), 0, 0, 1.0, 1.0, SEED, seeded_by_creator=True))
    assert 0 < size_of(CACHES) <= SERIALISED.used_bytes <= SERIALISED.max_bytes


def test_sides_as_read() -> None:
    """A side takes no more than `cached_by_bytes` says, though it has as many melds as there can be."""
    melds = [Meld(MeldKind.RUN, (1, 2, 3), 1, None, BuracoKind.NONE, False)] * 36
    message = deal_pb2.Side()
    message.ParseFromString(sides.side_field(Side(tuple(melds)))[3:])
    data = message.SerializeToString()
    assert len(message.melds) == 36
    for deal, _ in playout(PRESETS[0], 4, 1):
        for side in snapshot_to_pb(deal).deal.sides:
            assert size_of((side.SerializeToString(), as_read(side))) <= 16 * side.ByteSize() + 512
    assert size_of((data, as_read(message))) <= 16 * len(data) + 512


def as_read(side: deal_pb2.Side) -> Side:
    """A side as it is read for the first time: no meld of it is known."""
    return Side(
        tuple(
            Meld(MeldKind(meld.kind), tuple(meld.cards), meld.low_position, None, BuracoKind(meld.buraco), False)
            for meld in side.melds
        ),
        side.pots_taken,
    )
