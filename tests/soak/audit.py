"""A check of the stored tables against what was acknowledged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from buraco.v1 import table_pb2
from buraco_bots.report import RecordMismatch, replay
from buraco_codec.moves import move_from_pb
from buraco_rules import Deal, IllegalMove, Match, apply_for, deal_match, mix_seed, next_match, server_seed
from buraco_service.stores.base import Store, TableNotFound
from buraco_service.tables.state import TableState, TableValue
from buraco_service.tables.stored import CorruptTable, parse_table
from tests.soak.ledger import Acknowledged, Ledger

_PAGE = 500

Made = tuple[int, bytes]
"""A seat and its serialised move."""


@dataclass(slots=True)
class Findings:
    """The result of an audit. Everything but the first three should be 0."""

    tables: int = 0
    finished: int = 0
    moves: int = 0
    lost_tables: int = 0
    unsound: int = 0
    lost_moves: int = 0
    doubled_moves: int = 0
    """Moves at tables that were never acknowledged: made twice, or without a call."""
    problems: list[str] = field(default_factory=list)
    """Descriptions of what was wrong."""

    @property
    def has_no_loss(self) -> bool:
        """Whether everything acknowledged is stored, once."""
        return not (self.lost_tables or self.unsound or self.lost_moves or self.doubled_moves)


async def audit(store: Store, ledger: Ledger) -> Findings:
    """Check every table whose creation was acknowledged."""
    findings = Findings()
    for table_id, acknowledged in ledger.tables.items():
        findings.tables += 1
        try:
            stored = await store.load(table_id)
            table = parse_table(stored.state, stored.revision)
            made = await _history(store, table)
        except TableNotFound:
            findings.lost_tables += 1
            findings.lost_moves += len(acknowledged)
            findings.problems.append(f"table {table_id} is not stored")
        except (CorruptTable, RecordMismatch, IllegalMove, _Unsound) as error:
            findings.unsound += 1
            findings.problems.append(f"table {table_id}: {error}")
        else:
            findings.moves += len(made)
            findings.finished += table.state is TableState.FINISHED
            if table_id in ledger.finished and table.state is not TableState.FINISHED:
                findings.lost_moves += 1
                findings.problems.append(
                    f"table {table_id}: its match ended for its players, but is not stored as finished"
                )
            _compare(findings, table, made, acknowledged)
    return findings


def _compare(findings: Findings, table: TableValue, made: list[Made], acknowledged: list[Acknowledged]) -> None:
    """Compare the table's moves with those acknowledged: each call made one move, so that the revision numbers them."""
    first = 1 + len(table.seats) + 1
    lost = [
        answer
        for answer in acknowledged
        if not 0 <= answer.revision - first < len(made) or made[answer.revision - first] != (answer.seat, answer.move)
    ]
    twice = [revision for revision, count in Counter(answer.revision for answer in acknowledged).items() if count > 1]
    extra = len(made) - len({answer.revision for answer in acknowledged})
    findings.lost_moves += len(lost) + len(twice)
    findings.doubled_moves += max(0, extra)
    if lost or twice:
        findings.problems.append(f"table {table.id}: not as acknowledged: {lost[:3]}; acknowledged twice: {twice}")
    if extra > 0:
        findings.problems.append(f"table {table.id}: {extra} moves that were not acknowledged")


class _Unsound(Exception):
    """A table that does not follow from its history."""


async def _history(store: Store, table: TableValue) -> list[Made]:
    """Return every move of the table, replayed from its seed. Raise _Unsound, RecordMismatch and IllegalMove."""
    if table.deal is None:
        return []
    made: list[Made] = []
    deal: Deal | None = None
    for _, payload in await store.read_records(table.id, 0, _PAGE):
        record = table_pb2.DealRecord.FromString(payload)
        deal = replay(record).end
        made += [(move.seat, move.move.SerializeToString(deterministic=True)) for move in record.moves]
    if table.state is not TableState.FINISHED:
        match = next_match(deal) if deal is not None else Match(target_score=table.target_score, starter=-1)
        seed = mix_seed(server_seed(table.master_seed, match.deal_number), table.entropies)
        deal, _ = deal_match(table.rules, len(table.seats), seed, match)
        for entry in await _entries(store, table):
            for move in entry.moves:
                deal, _ = apply_for(deal, move.seat, move_from_pb(move.move))
                made.append((move.seat, move.move.SerializeToString(deterministic=True)))
    if deal != table.deal:
        raise _Unsound("its history does not lead to its state")
    if table.revision != 1 + len(table.seats) + len(made):
        raise _Unsound(f"{len(made)} moves in {table.revision} revisions")
    return made


async def _entries(store: Store, table: TableValue) -> list[table_pb2.StoredEntry]:
    """Return the log entries of the current deal."""
    entries: list[table_pb2.StoredEntry] = []
    after = table.deal_revision
    while page := await store.read_log(table.id, after, _PAGE):
        entries += [table_pb2.StoredEntry.FromString(entry.payload) for entry in page]
        after = page[-1].revision
    return entries
