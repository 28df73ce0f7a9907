"""A table as a store keeps it, and as everybody may see it (protobuf <-> TableValue)."""

from typing import Final

from google.protobuf.message import DecodeError

from buraco.v1 import event_pb2, table_pb2
from buraco_codec.caching import SERIALISED
from buraco_codec.deals import deal_from_pb
from buraco_codec.fields import has_unknown_fields
from buraco_codec.rule_sets import rule_set_from_pb, rule_set_to_pb
from buraco_codec.snapshots import match_to_pb, snapshot_bytes
from buraco_codec.wire import Fields
from buraco_rules import MatchResult, RuleSet, commitment
from buraco_service import errors
from buraco_service.tables.creators import creator_player_id
from buraco_service.tables.idempotency import derive_rematch_id
from buraco_service.tables.state import MatchEnd, Offer, OfferKind, Seat, Stakes, TableOptions, TableState, TableValue
from buraco_service.tables.stored_stakes import put_stake, stake_from_pb, stakes_from_pb, stakes_to_pb
from buraco_service.tables.stored_timing import (
    from_timestamp,
    options_from_pb,
    options_to_pb,
    put_timing,
    timing_from_pb,
    timing_to_pb,
    to_timestamp,
)

_TABLE: Final = Fields(table_pb2.StoredTable)


class CorruptTable(Exception):
    """What the store keeps under a table's id is no table."""


def serialise_table(table: TableValue) -> bytes:
    """Return the StoredTable that a store keeps. The revision is not among its fields: the store counts it."""
    parts = [
        _settled_fields(
            table.id,
            table.rules,
            table.seats,
            table.target_score,
            table.stake,
            table.created_at,
            table.master_seed,
            table.seeded_by_creator,
            table.request_ids_bound_since,
            table.options,
            table.first_starter,
            table.invitation_code,
            table.creator,
            table.removed_player_ids,
            table.stakes,
        ),
        _TABLE.updated_at(to_timestamp(table.updated_at).SerializeToString()),
        _TABLE.state(table.state),
        _TABLE.deal_revision(table.deal_revision),
        _TABLE.reversals(table.reversals),
    ]
    if table.deal is not None:
        parts.append(_TABLE.snapshot(snapshot_bytes(table.deal, with_rules=False)))
    if table.timing is not None:
        parts.append(_TABLE.timing(timing_to_pb(table.timing).SerializeToString()))
    if table.result is not None:
        parts.append(_TABLE.result(_result_to_pb(table, table.result).SerializeToString()))
    if table.offers:
        parts += [_TABLE.offers(offer.SerializeToString()) for offer in _offers_to_pb(table.offers)]
    return b"".join(parts)


@SERIALISED.cached(each=8)
def _settled_fields(
    table_id: str,
    rules: RuleSet,
    seats: tuple[Seat, ...],
    target_score: int,
    stake: int,
    created_at: float,
    master_seed: bytes,
    seeded_by_creator: bool,
    request_ids_bound_since: int,
    options: TableOptions,
    first_starter: int,
    invitation_code: str,
    creator: str,
    removed_player_ids: tuple[str, ...],
    stakes: Stakes | None,
) -> bytes:
    """Return the fields of a StoredTable that moves do not change."""
    message = table_pb2.StoredTable(
        id=table_id,
        rule_set=rule_set_to_pb(rules),
        seat_count=len(seats),
        target_score=target_score,
        stake=stake,
        created_at=to_timestamp(created_at),
        seats=[
            table_pb2.StoredSeat(
                player_name=seat.player_name,
                token_id=seat.token_id,
                joined_at=to_timestamp(seat.joined_at),
                entropy=seat.entropy,
                player_id=seat.player_id,
            )
            for seat in seats
        ],
        master_seed=master_seed,
        seeded_by_creator=seeded_by_creator,
        request_ids_bound_since=request_ids_bound_since,
        options=options_to_pb(options),
        first_starter=None if first_starter < 0 else first_starter,
        invitation_code=invitation_code,
        creator=creator,
        removed_player_ids=removed_player_ids,
        stakes=None if stakes is None else stakes_to_pb(stakes),
    )
    for seat, stored in zip(seats, message.seats, strict=True):
        put_stake(seat.stake, stored)
    return message.SerializeToString()


def parse_table(data: bytes, revision: int) -> TableValue:
    """Return the table of a StoredTable. Raise CorruptTable if the bytes are none.

    Raise TABLE_TOO_NEW if it has fields that this version does not know: they would be lost with the next change.
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
                Seat(
                    *(seat.player_name, seat.token_id, from_timestamp(seat.joined_at), seat.entropy, seat.player_id),
                    stake=stake_from_pb(seat),
                )
                for seat in message.seats
            ),
            target_score=message.target_score,
            stake=message.stake,
            created_at=from_timestamp(message.created_at),
            updated_at=from_timestamp(message.updated_at),
            master_seed=message.master_seed,
            seeded_by_creator=message.seeded_by_creator,
            state=TableState(message.state),
            deal=deal,
            result=result,
            deal_revision=message.deal_revision,
            reversals=message.reversals,
            revision=revision,
            request_ids_bound_since=message.request_ids_bound_since,
            options=options_from_pb(message.options),
            timing=timing_from_pb(message.timing) if message.HasField("timing") else None,
            first_starter=message.first_starter if message.HasField("first_starter") else -1,
            offers=tuple([Offer(offer.seat, OfferKind(offer.kind)) for offer in message.offers]),
            # An earlier version kept only matches that were played.
            how=MatchEnd(message.result.how),
            invitation_code=message.invitation_code,
            creator=message.creator,
            removed_player_ids=tuple(message.removed_player_ids),
            stakes=stakes_from_pb(message.stakes) if message.HasField("stakes") else None,
        )
    except (DecodeError, ValueError) as error:
        raise CorruptTable("the stored bytes are no table") from error


def table_to_pb(table: TableValue) -> table_pb2.Table:
    """Return what everybody may see of a table."""
    deal_number = 1 if table.deal is None else table.deal.match.deal_number
    message = table_pb2.Table(
        id=table.id,
        revision=table.revision,
        state=table_pb2.TableState.ValueType(table.state),
        rule_set=rule_set_to_pb(table.rules),
        seats=[
            table_pb2.TableSeat(seat=number, player_name=seat.player_name, player_id=seat.player_id)
            for number, seat in enumerate(table.seats)
        ],
        target_score=table.target_score,
        stake=table.stake,
        created_at=to_timestamp(table.created_at),
        updated_at=to_timestamp(table.updated_at),
        commitment=commitment(table.server_seed(deal_number)),
        seeded_by_creator=table.seeded_by_creator,
        offers=_offers_to_pb(table.offers),
        creator_player_id=creator_player_id(table.creator),
        stakes_settled=table.stakes is not None and table.stakes.settled,
    )
    if table.deal is not None:
        message.match.CopyFrom(match_to_pb(table.deal.match))
    if table.result is not None:
        message.result.CopyFrom(_result_to_pb(table, table.result))
        message.rematch_table_id = derive_rematch_id(table.id)
    put_timing(table, message)
    return message


def _result_to_pb(table: TableValue, result: MatchResult) -> table_pb2.MatchResult:
    return table_pb2.MatchResult(
        winner=result.winner,
        scores=result.scores,
        payouts=table.payouts,
        how=event_pb2.MatchEnd.ValueType(table.how),
        resigned_side=table.resigned_side,
    )


def _offers_to_pb(offers: tuple[Offer, ...]) -> list[event_pb2.Offer]:
    return [event_pb2.Offer(seat=offer.seat, kind=event_pb2.OfferKind.ValueType(offer.kind)) for offer in offers]
