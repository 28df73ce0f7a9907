"""The audit of online tables finds lost credits, messages and moves."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from buraco.v1 import table_pb2
from buraco_codec.moves import move_to_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_service.accounts.entries import HOUSE
from buraco_service.stores.base import Commit, Store
from buraco_service.tables.stored import parse_table, serialise_table
from tests.service.chatting import send
from tests.service.credits import INITIAL, owner
from tests.service.endings import resign
from tests.service.scripts import dealt, plain_turns, short_rules
from tests.service.table_server import SEED, create, get, serving
from tests.service.tables.test_timing import TOLERANCE, TURN, Clock, options, seconds
from tests.soak.ledger import Acknowledged, Ledger
from tests.soak.online import Account, Guest, OnlineNotes, SentMessage
from tests.soak.online_audit import OnlineFindings, audit_online

RULES = short_rules(8)
STAKE = 100


class Kept(NamedTuple):
    """A finished match in a store, and what was acknowledged of it."""

    store: Store
    table_id: str
    ledger: Ledger
    notes: OnlineNotes

    async def audit(self) -> OnlineFindings:
        """The findings."""
        return await audit_online(self.store, self.ledger, self.notes)


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    """A match for a stake with a turn by the clock and two messages; a player resigned, and the stakes are settled."""
    clock = Clock()
    async with serving(tmp_path / "tables.db", credits=True, clock=clock, clock_tolerance=TOLERANCE) as replica:
        chosen = options(turn_time=TURN)
        chosen.spectator_delay.CopyFrom(seconds(1))
        table = await create(
            replica, rule_set=rule_set_to_pb(RULES), target_score=10_000, stake=STAKE, options=chosen, seed=SEED
        )
        guests = [await owner(replica, name) for name in ("Ada", "Bo")]
        players = [await guest.join(table.id) for guest in guests]
        ledger, notes = Ledger(0.0, random.Random(1)), OnlineNotes()
        notes.guests += [Guest(guest.id, guest.token) for guest in guests]
        acknowledged = ledger.tables[table.id] = []
        for turn in plain_turns(dealt(RULES, target=10_000), 4):
            for move in turn.moves:
                answer = await players[turn.seat].submit(move)
                payload = move_to_pb(move).SerializeToString(deterministic=True)
                acknowledged.append(Acknowledged(answer.revision, turn.seat, payload))
        clock.now += TURN + TOLERANCE + 0.1
        assert await replica.deadlines.look() == 1
        sent = [await send(player, f"hello of {player.seat}") for player in players]
        notes.messages[table.id] = [SentMessage(message.number, message.seat, message.text) for message in sent]
        await resign(players[0])
        clock.now += TOLERANCE + 0.1
        await replica.deadlines.look()
        assert (await get(replica, table.id)).stakes_settled
        for guest in guests:
            balance, held, _ = await guest.account()
            notes.accounts[guest.id] = Account(balance, held)
        notes.accounts[HOUSE] = Account(0, 0)
        yield Kept(replica.store, table.id, ledger, notes)


async def test_match_as_acknowledged_has_no_loss(kept: Kept) -> None:
    """A match that holds all that was acknowledged, and the accounts its outcome, has no loss."""
    findings = await kept.audit()
    assert findings.has_no_loss, findings.problems
    assert (findings.tables, findings.finished, findings.settled, findings.timeouts) == (1, 1, 1, 1)
    assert findings.messages == 2
    assert findings.moves == len(kept.ledger.tables[kept.table_id]) + 2


async def test_lost_credits_are_found(kept: Kept) -> None:
    """Credits that are missing, or held for a match that is over, are lost."""
    loser, winner = [guest.id for guest in kept.notes.guests]
    assert kept.notes.accounts[winner] == Account(INITIAL + STAKE, 0)
    kept.notes.accounts[winner] = Account(INITIAL + STAKE - 1, 0)
    findings = await kept.audit()
    assert findings.credits_lost == 2  # of the account, and of the sum
    assert not findings.has_no_loss
    kept.notes.accounts[winner] = Account(INITIAL + STAKE, 0)
    kept.notes.accounts[loser] = Account(INITIAL - STAKE, STAKE)
    assert (await kept.audit()).credits_lost == STAKE


async def test_credits_that_only_change_places_are_found(kept: Kept) -> None:
    """An outcome in the wrong account is a loss, though the sum is right."""
    loser, winner = [guest.id for guest in kept.notes.guests]
    accounts = kept.notes.accounts
    accounts[loser], accounts[winner] = accounts[winner], accounts[loser]
    assert (await kept.audit()).credits_lost == 4 * STAKE


async def test_unsettled_stake_is_found(kept: Kept) -> None:
    """A match that is over, and whose stakes are not settled, is found."""
    stored = await kept.store.load(kept.table_id)
    table = parse_table(stored.state, stored.revision)
    assert table.stakes is not None
    state = serialise_table(table._replace(stakes=table.stakes._replace(settled=False)))
    entry = table_pb2.StoredEntry().SerializeToString()
    now = table.updated_at
    await kept.store.commit(Commit(kept.table_id, stored.revision, state, stored.status, now, entry, None, b""))
    findings = await kept.audit()
    assert (findings.unsettled, findings.has_no_loss) == (1, False)


async def test_lost_and_doubled_messages_are_found(kept: Kept) -> None:
    """A message that is not there is lost; one that was not acknowledged was made twice."""
    messages = kept.notes.messages[kept.table_id]
    last = messages.pop()
    findings = await kept.audit()
    assert (findings.lost_messages, findings.doubled_messages, findings.has_no_loss) == (0, 1, False)
    messages += [last, last._replace(number=3)]
    findings = await kept.audit()
    assert (findings.lost_messages, findings.doubled_messages, findings.has_no_loss) == (1, 0, False)


async def test_lost_and_doubled_moves_are_found(kept: Kept) -> None:
    """A move that is not there is lost; one that neither a player nor the clock made was made twice."""
    moves = kept.ledger.tables[kept.table_id]
    last = moves.pop()
    findings = await kept.audit()
    assert (findings.lost_moves, findings.doubled_moves, findings.has_no_loss) == (0, 1, False)
    moves += [last, last._replace(revision=last.revision + 1)]
    findings = await kept.audit()
    assert (findings.lost_moves, findings.doubled_moves, findings.has_no_loss) == (1, 0, False)


async def test_state_without_history_is_found(kept: Kept) -> None:
    """A table whose state does not follow from its log is unsound."""
    stored = await kept.store.load(kept.table_id)
    table = parse_table(stored.state, stored.revision)
    assert table.deal is not None
    state = serialise_table(table._replace(deal=table.deal._replace(stock=table.deal.stock[::-1])))
    entry = table_pb2.StoredEntry().SerializeToString()
    now = table.updated_at
    await kept.store.commit(Commit(kept.table_id, stored.revision, state, stored.status, now, entry, None, b""))
    findings = await kept.audit()
    assert (findings.unsound, findings.has_no_loss) == (1, False)


async def test_lost_table_is_found(kept: Kept) -> None:
    """An acknowledged table that is not stored is lost, with its moves."""
    kept.ledger.tables["0" * 32] = list(kept.ledger.tables[kept.table_id])
    kept.notes.messages["0" * 32] = []
    findings = await kept.audit()
    assert (findings.lost_tables, findings.lost_moves, findings.has_no_loss) == (1, 8, False)
