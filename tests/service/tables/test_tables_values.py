from __future__ import annotations

import hmac
import random
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buraco.v1 import table_pb2
from buraco_codec.events import event_bytes
from buraco_rules import (
    PRESETS,
    DrawStock,
    LayMeld,
    MatchResult,
    RuleSet,
    Violation,
    commitment,
    mix_seed,
    server_seed,
)
from buraco_service.errors import ApiError
from buraco_service.tables import changes
from buraco_service.tables.entries import Entry, make_entry, parse_entry, serialise_entry
from buraco_service.tables.offers import Aborted, DrawOffered
from buraco_service.tables.recent import MAX_BYTES, MAX_ENTRIES, RecentTables
from buraco_service.tables.state import Seat, TableState, TableValue
from buraco_service.tables.stored import CorruptTable, parse_table, serialise_table, table_to_pb
from tests.memory import size_of
from tests.rules.playouts import playout
from tests.service.scripts import CLASSIC, dealt, plain_turn, played, turns
from tests.service.table_server import SEED

NOW = 1_800_000_000.123456
FIRST_SEED = "99411f24bfa9ee8e144e132c46b3b7d1f6d6bfbe2b82ab47b4963e43bfe8bdb6"
MIXED_SEED = "7feec3ece5d2f319b3a4567cefbf5ee8b25c6e8fa9e354a3f491da9a3cad5420"


def opened(
    seats: int = 2, rules: RuleSet = CLASSIC, *, target: int = 0, stake: int = 0, now: float = NOW
) -> TableValue:
    """A new table."""
    return TableValue("0" * 32, rules, (Seat(),) * seats, target, stake, now, now, SEED, seeded_by_creator=True)


def begun(seats: int = 2, rules: RuleSet = CLASSIC, *, target: int = 0, stake: int = 0) -> TableValue:
    """A table whose match has begun."""
    table = opened(seats, rules, target=target, stake=stake)
    for seat in range(seats):
        table = changes.join(table, seat, f"player {seat}", b"", f"token {seat}", NOW).table
    return table


# ---- seeds ----


def test_seed_vectors() -> None:
    """The seeds of deals are what the contract says, computed here by other means and written down once."""
    master = bytes(range(32))
    first = server_seed(master, 1)
    assert first == hmac.new(master, b"\x00\x00\x00\x01", sha256).digest()
    assert first.hex() == FIRST_SEED
    assert server_seed(master, 2**32 - 1) == hmac.new(master, b"\xff" * 4, sha256).digest()
    assert mix_seed(first, (b"", b"ab")) == sha256(first + bytes(4) + b"\x00\x00\x00\x02ab").digest()
    assert mix_seed(first, (b"", b"ab")).hex() == MIXED_SEED


def test_no_entropy() -> None:
    """Where nobody added anything the service's seed shuffles as it is."""
    assert mix_seed(SEED, ()) == mix_seed(SEED, (b"", b"")) == SEED


def test_entropies_are_not_run_together() -> None:
    """Who added what matters, and where one player's part ends: no two ways of sharing bytes out give one seed."""
    ways = [(b"ab", b""), (b"", b"ab"), (b"a", b"b"), (b"b", b"a"), (b"ab", b"\x00"), (b"ab",)]
    assert len({mix_seed(SEED, way) for way in ways}) == len(ways)


# ---- what can happen ----


def test_time_does_not_run_backwards() -> None:
    """A change made by a clock that is behind leaves the table's time where it was."""
    table = begun()
    turn = plain_turn(dealt())
    after = changes.submit(table, turn.seat, turn.moves, NOW - 50).table
    assert after.updated_at == NOW
    assert changes.submit(table, turn.seat, turn.moves, NOW + 50).table.updated_at == NOW + 50


def test_changes_leave_the_table_alone() -> None:
    """A change that was decided and is not committed has changed nothing."""
    table = begun()
    before = serialise_table(table)
    turn = plain_turn(dealt())
    changes.submit(table, turn.seat, turn.moves, NOW)
    changes.leave(table, 0, NOW)
    assert serialise_table(table) == before


def test_entry_of_a_change() -> None:
    """An entry holds the moves and the events with every hidden card: what the record and all watchers are made of."""
    table = begun()
    turn = plain_turn(dealt())
    change = changes.submit(table, turn.seat, turn.moves, NOW)
    assert change.table.revision == table.revision + 1
    entry = make_entry(change)
    payload = serialise_entry(entry, change)
    stored = table_pb2.StoredEntry.FromString(payload)
    assert [move.seat for move in stored.moves] == [turn.seat] * 2
    assert stored.events[0].drew.card == dealt().stock[-1]
    assert change.ended is None
    assert parse_entry(entry.revision, payload) == entry


def test_events_of_different_kinds_are_unequal() -> None:
    """Events are equal only if they are of one kind: that a player returned is not that the player offered a draw."""
    kinds = [changes.SeatAbsent, changes.SeatReturned, changes.SubstituteLeft, DrawOffered, Aborted]
    assert len({kind(1) for kind in kinds}) == len(kinds)
    assert kinds[0](1) != kinds[0](2)


def test_moves_after_the_end_of_a_deal() -> None:
    """Moves sent along after the one that ends the deal are refused, and with them all (R3.2)."""
    steps = list(played(dealt(), random.Random(1)))
    table = begun()
    *before, last = turns(steps)
    for turn in before:
        table = changes.submit(table, turn.seat, turn.moves, NOW).table
    with pytest.raises(changes.RuleBroken) as caught:
        changes.submit(table, last.seat, (*last.moves, DrawStock()), NOW)
    assert caught.value.violations == (Violation.DEAL_OVER,)
    assert caught.value.metadata == {"moveIndex": str(len(last.moves))}
    assert changes.submit(table, last.seat, last.moves, NOW).ended == steps[-1].after


def test_all_violations_are_told() -> None:
    """A move that breaks several rules names them all."""
    table = begun()
    deal = dealt()
    seat = deal.seat_to_move
    absent = next(card for card in range(1, 53) if card not in deal.hand and card != deal.stock[-1])
    with pytest.raises(changes.RuleBroken) as caught:
        changes.submit(table, seat, [DrawStock(), LayMeld((absent, absent))], NOW)
    assert caught.value.violations == (Violation.CARD_NOT_IN_HAND, Violation.TOO_FEW_CARDS)
    assert [violation.type for violation in caught.value.precondition_violations] == [
        "CARD_NOT_IN_HAND",
        "TOO_FEW_CARDS",
    ]


@pytest.mark.parametrize("state", [TableState.WAITING, TableState.FINISHED])
def test_nothing_to_play(state: TableState) -> None:
    """Where no deal is being played there is nothing to submit or to take back."""
    table = opened()._replace(state=state)
    reason = "TABLE_FINISHED" if state is TableState.FINISHED else "TABLE_NOT_PLAYING"
    with pytest.raises(ApiError) as submitting:
        changes.submit(table, 0, [DrawStock()], NOW)
    with pytest.raises(ApiError) as undoing:
        changes.undo_move(table, 0, NOW)
    assert submitting.value.reason == undoing.value.reason == reason


def test_seats_are_independent_values() -> None:
    """A seat given back in a running match keeps nothing of its player but what was mixed into the shuffles."""
    table = opened()
    for seat in (0, 1):
        table = changes.join(table, seat, "Ada", b"mine", "token", NOW).table
    left = changes.leave(table, 1, NOW + 1).table
    assert left.seats[1] == Seat(entropy=b"mine")
    assert left.seats[0] == table.seats[0]
    assert left.entropies == (b"mine", b"mine")


# ---- the stored form ----


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_stored_form(rules: RuleSet) -> None:
    """A table survives encoding and decoding unchanged at every step, and its bytes do as well."""
    table = begun(4, rules, target=2005, stake=7)
    for turn in turns(list(played(dealt(rules, 4, target=2005), random.Random(9)))):
        data = serialise_table(table)
        again = parse_table(data, table.revision)
        assert serialise_table(again) == data
        assert again._replace(created_at=NOW, updated_at=NOW, seats=()) == table._replace(
            created_at=NOW, updated_at=NOW, seats=()
        )
        assert [seat._replace(joined_at=0) for seat in again.seats] == [
            seat._replace(joined_at=0) for seat in table.seats
        ]
        table = changes.submit(table, turn.seat, turn.moves, NOW).table


@pytest.mark.parametrize("result", [None, MatchResult(0, (2010, -55)), MatchResult(None, (5, 5))])
def test_stored_result(result: MatchResult | None) -> None:
    """A result is kept, a draw too (R10.2), and shown with what the stake moved (R11.3)."""
    table = begun(4, stake=9)._replace(result=result)
    assert parse_table(serialise_table(table), table.revision).result == result
    shown = table_to_pb(table)
    assert shown.HasField("result") is (result is not None)
    if result is not None:
        assert shown.result.HasField("winner") is (result.winner is not None)
        assert list(shown.result.payouts) == ([9, -9, 9, -9] if result.winner == 0 else [0, 0, 0, 0])


@given(st.floats(0, 4e9))
def test_stored_times(seconds: float) -> None:
    """Times are kept to the microsecond, and what was read is written the same: no copy runs ahead of another."""
    table = opened(now=seconds)
    again = parse_table(serialise_table(table), 1)
    assert again.updated_at == pytest.approx(seconds, abs=1e-6)
    assert serialise_table(again) == serialise_table(table)
    assert table_to_pb(again) == table_to_pb(table)


@pytest.mark.parametrize("data", [b"", b"\xff", b"\x0a\x01x", serialise_table(opened())[:-5]])
def test_corrupt_table(data: bytes) -> None:
    """Bytes that are no table are not taken for one."""
    with pytest.raises(CorruptTable):
        parse_table(data, 1)


def test_public_form_tells_no_secret() -> None:
    """What everybody may see of a table holds neither its seeds nor its tokens nor what players added."""
    table = opened()
    change = changes.join(table, 1, "Ada", b"entropy of Ada", "token of Ada", NOW)
    data = table_to_pb(change.table).SerializeToString()
    for secret in (SEED, server_seed(SEED, 1), b"entropy of Ada", b"token of Ada"):
        assert secret in serialise_table(change.table) or secret == server_seed(SEED, 1)
        assert secret not in data
    assert commitment(server_seed(SEED, 1)) in data


# ---- what a replica remembers ----


def at(revision: int, table_id: str = "a") -> TableValue:
    """A table at a revision."""
    return opened()._replace(id=table_id, revision=revision)


SIZE = 500
"""Bytes of a stored table."""


def revisions(recent: RecentTables, after: int, table_id: str = "a") -> list[int]:
    """The revisions of the cached changes after one."""
    return [entry.revision for entry in recent.entries_after(table_id, after)]


def test_recent_keeps_the_newest() -> None:
    """A copy is never replaced by an older one."""
    recent = RecentTables()
    assert recent.get("a") is None
    recent.put(at(3), SIZE)
    recent.put(at(2), SIZE)
    assert recent.get("a") == at(3)
    recent.put(at(4), SIZE, Entry(4))
    assert recent.get("a") == at(4)
    recent.drop("a")
    assert recent.get("a") is None
    assert revisions(recent, 3) == []


def test_recent_entries_have_no_gaps() -> None:
    """Changes are returned only as far as they follow without a gap, in order, also where they came out of order."""
    recent = RecentTables()
    for revision in (1, 2, 5, 4, 7):
        recent.put(at(revision), SIZE, Entry(revision))
    assert revisions(recent, 0) == [1, 2]
    assert revisions(recent, 2) == []
    assert revisions(recent, 3) == [4, 5]
    assert revisions(recent, 6) == [7]
    assert revisions(recent, 7) == []
    recent.put(at(3), SIZE, Entry(3))
    assert revisions(recent, 0) == [1, 2, 3, 4, 5]


def test_recent_is_bounded() -> None:
    """The tables used longest ago are evicted first, and of each table the oldest changes."""
    recent = RecentTables(max_bytes=80_000)
    for table_id in "ab":
        recent.put(at(1, table_id), 3_000)
    assert recent.get("a") is not None
    recent.put(at(1, "c"), 3_000)
    assert recent.get("b") is None
    assert recent.get("a") is not None
    for revision in range(1, MAX_ENTRIES + 11):
        recent.put(at(revision), 3_000, Entry(revision))
    assert revisions(recent, 9) == []
    assert revisions(recent, 10) == list(range(11, MAX_ENTRIES + 11))
    recent.put(at(1, "c"), 3_000)
    recent.put(at(MAX_ENTRIES + 11), 3_000, Entry(MAX_ENTRIES + 11, (bytes(30_000),)))
    assert recent.get("c") is None
    assert revisions(recent, MAX_ENTRIES + 10) == [MAX_ENTRIES + 11]


def test_recent_keeps_no_finished_table() -> None:
    """A table whose match is over makes room at once, with its changes."""
    recent = RecentTables()
    recent.put(at(1), SIZE, Entry(1))
    recent.put(at(2)._replace(state=TableState.FINISHED), SIZE, Entry(2))
    assert recent.get("a") is None
    assert revisions(recent, 0) == []


@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_recent_tables_take_no_more_than_is_counted(rules: RuleSet) -> None:
    """Tables at any point of a deal, with their newest changes, take no more memory than the cache counts."""
    recent = RecentTables()
    seated = begun(4, rules)
    for number, (deal, events) in enumerate(playout(rules, 4, 1), 1):
        state = serialise_table(seated._replace(id=f"{number // 40:032}", deal=deal))
        # As it comes from a store: it shares little with the one before.
        recent.put(parse_table(state, number), len(state), Entry(number, tuple(map(event_bytes, events))))
    assert 0 < size_of(recent, RuleSet) <= recent._copies.used_bytes <= MAX_BYTES
