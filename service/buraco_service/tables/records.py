"""The record of a deal, finished or cut off: its seed and every move that stood, so that anybody can play it again."""

from collections.abc import Iterable

from buraco.v1 import move_pb2, table_pb2
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.scores import score_to_pb
from buraco_codec.snapshots import match_to_pb
from buraco_rules import Deal, commitment, mix_seed, score_deal
from buraco_service.stores.base import Store
from buraco_service.tables.entries import parse_moves
from buraco_service.tables.state import TableValue

_PAGE = 512


async def make_record(store: Store, table: TableValue, last_entry: bytes, ended: Deal) -> table_pb2.DealRecord:
    """Return the record of the deal that the change with this StoredEntry ends or cuts off at `table`.

    The moves before it are read from the log.
    """
    entries = [*await _entries_of_deal(store, table), parse_moves(last_entry)]
    server_seed = table.server_seed(ended.match.deal_number)
    return table_pb2.DealRecord(
        deal_number=ended.match.deal_number,
        rule_set=rule_set_to_pb(table.rules),
        seats=ended.seats,
        match=match_to_pb(ended.match),
        server_seed=server_seed,
        entropies=table.entropies,
        seed=mix_seed(server_seed, table.entropies),
        commitment=commitment(server_seed),
        moves=_standing_moves(entries),
        ending=table_pb2.DealRecord(ending=int(ended.ending)).ending,  # type: ignore[arg-type]
        score=score_to_pb(score_deal(ended)) if ended.ending else None,
    )


async def _entries_of_deal(store: Store, table: TableValue) -> list[table_pb2.StoredEntry]:
    entries: list[table_pb2.StoredEntry] = []
    after = table.deal_revision
    while True:
        page = await store.read_log(table.id, after, _PAGE)
        entries += [parse_moves(entry.payload) for entry in page if entry.revision <= table.revision]
        if len(page) < _PAGE:
            return entries
        after = page[-1].revision


def _standing_moves(entries: Iterable[table_pb2.StoredEntry]) -> list[move_pb2.SeatMove]:
    """Return the moves of the entries but those taken back, each of which was the newest then."""
    moves: list[move_pb2.SeatMove] = []
    for entry in entries:
        if entry.undo:
            moves.pop()
        moves += entry.moves
    return moves
