"""The stored form of a table and its public form (protobuf <-> TableValue)."""

from typing import Final

from google.protobuf.message import DecodeError
from google.protobuf.timestamp_pb2 import Timestamp

from buraco.v1 import table_pb2
from buraco_codec.caching import SERIALISED
from buraco_codec.deals import deal_from_pb
from buraco_codec.fields import has_unknown_fields
from buraco_codec.rule_sets import rule_set_from_pb, rule_set_to_pb
from buraco_codec.snapshots import match_to_pb, snapshot_bytes
from buraco_codec.wire import field, number, number_tag, numbers, tag
from buraco_rules import MatchResult, RuleSet, commitment, payouts, server_seed
from buraco_service import errors
from buraco_service.stores.base import Commit
from buraco_service.tables.changes import Change
from buraco_service.tables.state import Seat, TableState, TableValue

_UPDATED_AT: Final = tag(table_pb2.StoredTable.UPDATED_AT_FIELD_NUMBER)
_STATE: Final = numbers(table_pb2.StoredTable.STATE_FIELD_NUMBER, max(TableState))
_DEAL_REVISION: Final = number_tag(table_pb2.StoredTable.DEAL_REVISION_FIELD_NUMBER)
_REVERSALS: Final = number_tag(table_pb2.StoredTable.REVERSALS_FIELD_NUMBER)
_SNAPSHOT: Final = tag(table_pb2.StoredTable.SNAPSHOT_FIELD_NUMBER)
_RESULT: Final = tag(table_pb2.StoredTable.RESULT_FIELD_NUMBER)


class CorruptTable(Exception):
    """What the store keeps under a table's id is no table."""


def encode(table: TableValue) -> bytes:
    """The bytes that a store keeps. The revision is not among them: the store counts it."""
    # What seldom changes is remembered as bytes.
    said = [
        _settled(
            table.id,
            table.rules,
            table.seats,
            table.target_score,
            table.stake,
            table.created_at,
            table.master_seed,
            table.seeded_by_creator,
            table.request_ids_bound_since,
        ),
        field(_UPDATED_AT, _timestamp(table.updated_at).SerializeToString()),
        _STATE[table.state],
        number(_DEAL_REVISION, table.deal_revision),
        number(_REVERSALS, table.reversals),
    ]
    if table.deal is not None:
        said.append(field(_SNAPSHOT, snapshot_bytes(table.deal, with_rules=False)))
    if table.result is not None:
        said.append(field(_RESULT, result_to_pb(table.result, table).SerializeToString()))
    return b"".join(said)


@SERIALISED.cached(each=8)
def _settled(
    table_id: str,
    rules: RuleSet,
    seats: tuple[Seat, ...],
    target_score: int,
    stake: int,
    created_at: float,
    master_seed: bytes,
    seeded_by_creator: bool,
    request_ids_bound_since: int,
) -> bytes:
    """The part of a stored table that moves do not change."""
    return table_pb2.StoredTable(
        id=table_id,
        rule_set=rule_set_to_pb(rules),
        seat_count=len(seats),
        target_score=target_score,
        stake=stake,
        created_at=_timestamp(created_at),
        seats=[
            table_pb2.StoredSeat(
                player_name=seat.player_name,
                token_id=seat.token_id,
                joined_at=_timestamp(seat.joined_at),
                entropy=seat.entropy,
            )
            for seat in seats
        ],
        master_seed=master_seed,
        seeded_by_creator=seeded_by_creator,
        request_ids_bound_since=request_ids_bound_since,
    ).SerializeToString()


def commit_of(
    table: TableValue, change: Change, request_id: str, answer: bytes, records: tuple[tuple[int, bytes], ...]
) -> Commit:
    """Return what a store is to write of a change of the table."""
    return Commit(
        table_id=table.id,
        expected_revision=table.revision,
        state=encode(change.table),
        status=change.table.state.status,
        now=change.table.updated_at,
        entry=change.entry.payload(),
        request_id=request_id,
        answer=answer,
        records=records,
        # A finished deal can still be watched from its beginning; what came before it only as its record.
        keep_log_after=None if change.ended is None else table.deal_revision - 1,
    )


def decode(data: bytes, revision: int) -> TableValue:
    """The table that was stored. Raises CorruptTable where the bytes are none, TABLE_TOO_NEW where they say more than
    this version knows: played on here, what it does not know would be lost.
    """
    try:
        message = table_pb2.StoredTable.FromString(data)
        if has_unknown_fields(message):
            raise errors.table_too_new()
        rules = rule_set_from_pb(message.rule_set)
        deal = deal_from_pb(message.snapshot, rules) if message.HasField("snapshot") else None
        result = None
        if message.HasField("result"):
            first, second = message.result.scores
            winner = message.result.winner if message.result.HasField("winner") else None
            result = MatchResult(winner, (first, second))
        return TableValue(
            id=message.id,
            rules=rules,
            seats=tuple(
                Seat(seat.player_name, seat.token_id, _seconds(seat.joined_at), seat.entropy) for seat in message.seats
            ),
            target_score=message.target_score,
            stake=message.stake,
            created_at=_seconds(message.created_at),
            updated_at=_seconds(message.updated_at),
            master_seed=message.master_seed,
            seeded_by_creator=message.seeded_by_creator,
            state=TableState(message.state),
            deal=deal,
            result=result,
            deal_revision=message.deal_revision,
            reversals=message.reversals,
            revision=revision,
            request_ids_bound_since=message.request_ids_bound_since,
        )
    except (DecodeError, ValueError) as error:
        raise CorruptTable("the stored bytes are no table") from error


def table_to_pb(table: TableValue) -> table_pb2.Table:
    """What everybody may know of a table."""
    number = 1 if table.deal is None else table.deal.match.deal_number
    message = table_pb2.Table(
        id=table.id,
        revision=table.revision,
        state=_state(table.state),
        rule_set=rule_set_to_pb(table.rules),
        seats=[
            table_pb2.TableSeat(seat=number, player_name=seat.player_name) for number, seat in enumerate(table.seats)
        ],
        target_score=table.target_score,
        stake=table.stake,
        created_at=_timestamp(table.created_at),
        updated_at=_timestamp(table.updated_at),
        commitment=commitment(server_seed(table.master_seed, number)),
        seeded_by_creator=table.seeded_by_creator,
    )
    if table.deal is not None:
        message.match.CopyFrom(match_to_pb(table.deal.match))
    if table.result is not None:
        message.result.CopyFrom(result_to_pb(table.result, table))
    return message


def result_to_pb(result: MatchResult, table: TableValue) -> table_pb2.MatchResult:
    """How a match ended, with what the stake moved (R11.3)."""
    return table_pb2.MatchResult(
        winner=result.winner,
        scores=result.scores,
        payouts=payouts(result, len(table.seats), table.stake) if table.stake else (),
    )


def _state(state: TableState) -> table_pb2.TableState.ValueType:
    return table_pb2.TableState.ValueType(state)


def _timestamp(seconds: float) -> Timestamp:
    whole, micros = divmod(round(seconds * 1e6), 1_000_000)
    return Timestamp(seconds=whole, nanos=micros * 1000)


def _seconds(timestamp: Timestamp) -> float:
    return timestamp.seconds + timestamp.nanos / 1e9
