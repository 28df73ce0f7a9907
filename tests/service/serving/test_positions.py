"""Positions that callers send are cached, with the same results as reading them again."""

from dataclasses import replace

import pytest

from buraco.v1 import deal_pb2
from buraco_codec.deals import deal_from_pb
from buraco_codec.fields import Untyped
from buraco_codec.snapshots import snapshot_bytes, snapshot_to_pb
from buraco_rules import PRESETS, Deal, RuleSet
from buraco_service.requests import RequestProblems
from buraco_service.serving import positions
from buraco_service.serving.positions import Positions
from tests.memory import size_of
from tests.rules.playouts import playout


def read(known: Positions, deal: Deal) -> Deal | None:
    """The position that a caller sends."""
    return known.read(snapshot_to_pb(deal), RequestProblems())


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_answers_come_back(rules: RuleSet) -> None:
    """What a caller was answered is known when it comes back, and is what reading it anew would give."""
    known = Positions()
    for deal, _ in playout(rules, 2, 1):
        known.add(snapshot_bytes(deal), deal)
        assert read(known, deal) is deal
        assert deal_from_pb(snapshot_to_pb(deal)) == deal


def test_positions_are_read_once() -> None:
    """A position that comes again is not read again, whatever came between."""
    known = Positions()
    first, second = [deal for deal, _ in playout(PRESETS[0], 4, 2)][40:42]
    once = read(known, first)
    assert once == first
    assert read(known, second) == second
    assert read(known, first) is once


def test_faults_are_told_each_time() -> None:
    """What is no position is not cached as one."""
    known = Positions()
    deal = next(deal for deal, _ in playout(PRESETS[0], 4, 2))
    spoilt: Untyped = snapshot_to_pb(deal)
    spoilt.deal.stock.append(1)
    for _ in range(2):
        problems = RequestProblems()
        assert known.read(deal_pb2.Snapshot.FromString(spoilt.SerializeToString()), problems) is None
        with pytest.raises(Exception, match=r"snapshot\.deal"):
            problems.raise_if_any()


def test_positions_are_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest is evicted for a new one, and what is larger than the room for all is not kept."""
    monkeypatch.setattr(positions, "_MAX_BYTES", 15_000)
    known = Positions()
    deals = [deal for deal, _ in playout(PRESETS[0], 4, 2)][:3]
    read_first = [read(known, deal) for deal in deals]
    assert [read(known, deal) is once for deal, once in zip(deals[1:], read_first[1:], strict=True)] == [True, True]
    assert read(known, deals[0]) is not read_first[0]
    monkeypatch.setattr(positions, "_MAX_BYTES", 10)
    known = Positions()
    assert read(known, deals[0]) is not read(known, deals[0])


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_positions_take_no_more_than_is_counted(rules: RuleSet) -> None:
    """Positions take no more memory than is counted, also those with a rule set of their own."""
    known = Positions()
    house = replace(rules, id="house", display_name="House rules " * 8)
    for deal, _ in playout(house, 4, 1):
        position = deal_from_pb(snapshot_to_pb(deal))
        known.add(snapshot_bytes(position), position)
    assert 0 < size_of(known) <= known._cache.used_bytes
