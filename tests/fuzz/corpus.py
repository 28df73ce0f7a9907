"""What is valid, to be broken: messages of every RPC, stored tables, texts, all from deals played at random."""

import random
from collections.abc import Iterator
from functools import cache
from typing import Final

from google.protobuf.message import Message

from buraco.v1 import rules_service_pb2 as rules_pb
from buraco.v1 import table_service_pb2 as table_pb
from buraco_codec.moves import move_to_pb
from buraco_codec.rule_sets import rule_set_to_pb
from buraco_codec.snapshots import snapshot_to_pb
from buraco_notation import format_position, format_record
from buraco_rules import (
    PRESETS,
    Deal,
    LayMeld,
    MatchRecord,
    Phase,
    RuleSet,
    apply,
    deal_first,
    legal_moves,
    record_deal,
)
from buraco_service.tables.state import Seat, TableState, TableValue
from buraco_service.tables.stored import serialise_table
from tests.rules.playouts import playout

TABLE_ID: Final = "0123456789abcdef0123456789abcdef"
REQUEST_ID: Final = "6f1f2a0e-0a4b-4c8e-9d0a-0d8a1f3b2c11"
_CHANCE: Final = random.Random(20)


@cache
def requests() -> dict[str, tuple[bytes, ...]]:
    """Valid requests of every unary RPC and of WatchTable, by path."""
    found: dict[str, list[bytes]] = {}
    for message in (*_rules_requests(), *_table_requests()):
        service = "RulesService" if isinstance(message[1], _RULES_REQUESTS) else "TableService"
        found.setdefault(f"/buraco.v1.{service}/{message[0]}", []).append(message[1].SerializeToString())
    return {path: tuple(examples) for path, examples in found.items()}


@cache
def stored_tables() -> tuple[bytes, ...]:
    """Tables as a store keeps them."""
    seats = tuple(Seat(f"player {number}", f"token {number}", 1.0, b"entropy") for number in range(4))
    return tuple(
        serialise_table(
            TableValue(
                TABLE_ID,
                deal.rules,
                seats[: deal.seats],
                2005,
                10,
                1.0,
                2.0,
                bytes(32),
                False,
                TableState.PLAYING,
                deal,
            )
        )
        for deal in _deals()
    )


@cache
def positions() -> tuple[str, ...]:
    """Positions as text."""
    return tuple(format_position(deal, lines=deal.seats == 4) for deal in _deals())


@cache
def records() -> tuple[str, ...]:
    """Records of whole deals as text."""
    return tuple(_record(rules, seats) for rules in PRESETS for seats in (2, 4))


def _record(rules: RuleSet, seats: int) -> str:
    chance = random.Random(f"{rules.id} {seats}")
    seed = chance.randbytes(32)
    dealt, _ = deal_first(rules, seats, seed)
    deal, moves = dealt, []
    while deal.phase is not Phase.OVER:
        moves.append(chance.choice(legal_moves(deal)))
        deal, _ = apply(deal, moves[-1])
    record = record_deal(dealt, seed, moves)
    return format_record(MatchRecord(rules, seats, 0, dealt.match.starter, (record,)))


_RULES_REQUESTS: Final = (
    rules_pb.ListRuleSetsRequest,
    rules_pb.DealRequest,
    rules_pb.ValidateMovesRequest,
    rules_pb.RulesServiceListLegalMovesRequest,
    rules_pb.ScoreDealRequest,
    rules_pb.RulesServiceGetViewRequest,
    rules_pb.ArrangeMeldRequest,
)


@cache
def _deals() -> tuple[Deal, ...]:
    return tuple(
        _CHANCE.choice([deal for deal, _ in playout(rules, seats, 3)]) for rules in PRESETS for seats in (2, 4)
    )


def _rules_requests() -> Iterator[tuple[str, Message]]:
    yield "ListRuleSets", rules_pb.ListRuleSetsRequest()
    for deal in _deals():
        snapshot = snapshot_to_pb(deal)
        moves = [move_to_pb(move) for move in legal_moves(deal)[:8]]
        seat = deal.seat_to_move
        yield "ValidateMoves", rules_pb.ValidateMovesRequest(snapshot=snapshot, seat=seat, moves=moves)
        yield "ListLegalMoves", rules_pb.RulesServiceListLegalMovesRequest(snapshot=snapshot, seat=seat)
        yield "ScoreDeal", rules_pb.ScoreDealRequest(snapshot=snapshot)
        yield "GetView", rules_pb.RulesServiceGetViewRequest(snapshot=snapshot, seat=seat)
        for move in legal_moves(deal):
            if isinstance(move, LayMeld):
                cards = move_to_pb(move).lay_meld.cards
                yield "ArrangeMeld", rules_pb.ArrangeMeldRequest(rule_set_id=deal.rules.id, cards=cards)
                break
    for rules in PRESETS:
        yield "Deal", rules_pb.DealRequest(rule_set=rule_set_to_pb(rules), seats=4, seed=bytes(32), starter=1)
        yield "Deal", rules_pb.DealRequest(rule_set_id=rules.id, seats=2)


def _table_requests() -> Iterator[tuple[str, Message]]:
    for rules in PRESETS:
        yield (
            "CreateTable",
            table_pb.CreateTableRequest(
                rule_set=rule_set_to_pb(rules),
                seats=4,
                target_score=100,
                stake=5,
                seed=bytes(32),
                request_id=REQUEST_ID,
            ),
        )
    yield "GetTable", table_pb.GetTableRequest(table_id=TABLE_ID)
    yield "ListTables", table_pb.ListTablesRequest(page_size=2, page_token=TABLE_ID)
    yield (
        "JoinTable",
        table_pb.JoinTableRequest(table_id=TABLE_ID, seat=1, player_name="Ada", entropy=b"dice", request_id=REQUEST_ID),
    )
    yield "ListTables", table_pb.ListTablesRequest(page_size=2, mine=True)
    yield "SignInAsGuest", table_pb.SignInAsGuestRequest(name="Zoë")
    yield "LeaveTable", table_pb.LeaveTableRequest(table_id=TABLE_ID, request_id=REQUEST_ID)
    yield "Resign", table_pb.ResignRequest(table_id=TABLE_ID, request_id=REQUEST_ID, withdraw=True)
    yield "OfferDraw", table_pb.OfferDrawRequest(table_id=TABLE_ID, request_id=REQUEST_ID)
    yield "AbortTable", table_pb.AbortTableRequest(table_id=TABLE_ID, request_id=REQUEST_ID)
    yield "Rematch", table_pb.RematchRequest(table_id=TABLE_ID, request_id=REQUEST_ID, entropy=b"dice")
    yield "GetView", table_pb.TableServiceGetViewRequest(table_id=TABLE_ID)
    yield "ListLegalMoves", table_pb.TableServiceListLegalMovesRequest(table_id=TABLE_ID)
    yield "ArrangeMeld", table_pb.TableServiceArrangeMeldRequest(table_id=TABLE_ID, meld=1, cards=(1, 2, 3))  # type: ignore[arg-type]
    for deal in _deals():
        moves = [move_to_pb(move) for move in legal_moves(deal)[:4]]
        yield (
            "SubmitMoves",
            table_pb.SubmitMovesRequest(table_id=TABLE_ID, moves=moves, revision=3, request_id=REQUEST_ID),
        )
    yield "UndoMove", table_pb.UndoMoveRequest(table_id=TABLE_ID, revision=3, request_id=REQUEST_ID)
    yield "GetRecord", table_pb.GetRecordRequest(table_id=TABLE_ID, after_deal=1, page_size=5)
