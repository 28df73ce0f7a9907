"""The audit of the load test finds lost, changed and repeated moves."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from buraco_codec.moves import move_to_pb
from buraco_rules import deal_match
from buraco_service.stores.base import Commit, Store
from buraco_service.stores.urls import open_store
from buraco_service.tables.stored import parse_table, serialise_table
from tests.service.scripts import SeatTurn, dealt, played, short_rules
from tests.service.usecases import NOW, UseCases
from tests.soak.audit import audit
from tests.soak.ledger import Acknowledged, Ledger

RULES = short_rules(8)
FIRST = 4
"""The revision of a two-seat table's first move."""


class Kept(NamedTuple):
    """A table in a store, and the ledger of what was acknowledged."""

    store: Store
    table_id: str
    ledger: Ledger

    @property
    def acknowledged(self) -> list[Acknowledged]:
        return self.ledger.tables[self.table_id]


@pytest.fixture(params=[10, None], ids=["in the middle of a deal", "to its end"])
async def kept(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kept]:
    """A table played move by move, so far or to the end of its match."""
    store = await open_store(f"sqlite:///{tmp_path}/tables.db")
    cases = UseCases(store)
    table_id, claims = await cases.start(RULES)
    steps = list(played(dealt(RULES), random.Random(1)))[: request.param]
    await cases.play_singly(claims, [SeatTurn(step.seat, (step.move,)) for step in steps])
    ledger = Ledger(0.0, random.Random(1))
    ledger.tables[table_id] = [
        Acknowledged(FIRST + number, step.seat, move_to_pb(step.move).SerializeToString(deterministic=True))
        for number, step in enumerate(steps)
    ]
    yield Kept(store, table_id, ledger)
    await store.close()


async def test_table_as_acknowledged_has_no_loss(kept: Kept) -> None:
    """A table that holds every acknowledged move once, and no other, has no loss."""
    findings = await audit(kept.store, kept.ledger)
    assert findings.has_no_loss, findings.problems
    assert (findings.tables, findings.moves) == (1, len(kept.acknowledged))


async def test_lost_move_is_found(kept: Kept) -> None:
    """An acknowledged move that is not in the table is lost, whether it is missing or in another's place."""
    last = kept.acknowledged[-1]
    kept.acknowledged.append(last._replace(revision=last.revision + 1))
    assert (await audit(kept.store, kept.ledger)).lost_moves == 1
    kept.acknowledged[-1] = kept.acknowledged[0]._replace(seat=1)
    findings = await audit(kept.store, kept.ledger)
    assert findings.lost_moves == 2  # it differs from the stored move, and its revision is acknowledged twice
    assert not findings.has_no_loss


async def test_move_made_twice_is_found(kept: Kept) -> None:
    """A move in the table that was not acknowledged counts as made twice."""
    del kept.acknowledged[3]
    findings = await audit(kept.store, kept.ledger)
    assert (findings.doubled_moves, findings.lost_moves) == (1, 0)
    assert not findings.has_no_loss


async def test_lost_table_is_found(kept: Kept) -> None:
    """An acknowledged table that is not stored is lost, with its moves."""
    kept.ledger.tables["0" * 32] = list(kept.acknowledged)
    findings = await audit(kept.store, kept.ledger)
    assert (findings.lost_tables, findings.lost_moves) == (1, len(kept.acknowledged))
    assert not findings.has_no_loss


async def test_state_without_history_is_found(kept: Kept) -> None:
    """A table whose state does not follow from its moves is unsound."""
    stored = await kept.store.load(kept.table_id)
    table = parse_table(stored.state, stored.revision)
    assert table.deal is not None
    other, _ = deal_match(RULES, 2, bytes(32), table.deal.match)
    state = serialise_table(table._replace(deal=other))
    await kept.store.commit(Commit(kept.table_id, stored.revision, state, stored.status, NOW, b"", None, b""))
    findings = await audit(kept.store, kept.ledger)
    assert findings.unsound == 1
    assert not findings.has_no_loss
