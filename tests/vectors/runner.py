"""Ask an implementation over gRPC what a vector asks, and compare the answer with what the vector expects."""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

import grpc
import grpc.aio
from google.protobuf.json_format import ParseDict
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from buraco.v1 import (
    deal_pb2,
    event_pb2,
    move_pb2,
    rules_service_pb2,
    rules_service_pb2_grpc,
    table_service_pb2,
    table_service_pb2_grpc,
)
from tests.vectors import compare
from tests.vectors.load import Json, Vector
from tests.vectors.messages import as_json, normal_meld
from tests.vectors.scorer import totals

_Answer = TypeVar("_Answer")

_TIMEOUT: Final = 60.0
"""Limit of one call."""


class Refusal(NamedTuple):
    """An error of the contract: its reason and the fields at fault."""

    reason: str
    fields: tuple[str, ...]


class Runner:
    """Checks vectors against one server."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._rules = rules_service_pb2_grpc.RulesServiceStub(channel)
        self._tables = table_service_pb2_grpc.TableServiceStub(channel)
        self._checks: dict[str, Callable[[Vector], Awaitable[list[str]]]] = {
            "moves": self._check_moves,
            "legal_moves": self._check_legal_moves,
            "score": self._check_score,
            "view": self._check_view,
            "arrange": self._check_arrange,
            "deal": self._check_deal,
            "rule_set": self._check_rule_set,
            "preset": self._check_preset,
            "replay": self._check_replay,
            "table": self._check_table,
        }

    async def check(self, vector: Vector) -> list[str]:
        """Return every difference from what the vector expects. Raise errors of the connection."""
        return await self._checks[vector.kind](vector)

    # ---- on a position -----------------------------------------------------------------------------------

    async def _check_moves(self, vector: Vector) -> list[str]:
        body = vector.body
        before = _snapshot(vector)
        moves = [ParseDict(move, move_pb2.Move()) for move in body["moves"]]
        request = rules_service_pb2.ValidateMovesRequest(snapshot=before, seat=body["seat"], moves=moves)
        answer = await _ask(self._rules.ValidateMoves(request, timeout=_TIMEOUT))
        if "refused" in body or isinstance(answer, Refusal):
            return _compare_refusal(body, answer)
        if "violations" in body:
            names = [_name(violation) for violation in answer.violations]
            index = answer.illegal_index if answer.HasField("illegal_index") else None
            return [
                *compare.violations(body["violations"], names),
                *compare.differs("illegal_index", body["illegal_index"], index),
            ]
        if not answer.legal:
            return [f"move {answer.illegal_index} is refused: {', '.join(map(_name, answer.violations))}"]
        return [
            *compare.events(body["events"], answer.events),
            *compare.after(body["after"], answer.snapshot),
            *await self._check_end(body["after"].get("score"), answer.snapshot, answer.events),
            *_check_conserved(before, answer.snapshot),
        ]

    async def _check_end(
        self, facts: Json | None, snapshot: deal_pb2.Snapshot, events: Sequence[event_pb2.Event]
    ) -> list[str]:
        """Compare what the end of the deal reports with ScoreDeal's score and the hands in the snapshot."""
        ends = [event.deal_ended for event in events if event.HasField("deal_ended")]
        if not ends:
            return [] if facts is None else ["the deal did not end"]
        score = await self._rules.ScoreDeal(rules_service_pb2.ScoreDealRequest(snapshot=snapshot), timeout=_TIMEOUT)
        hands = [sorted(hand.cards) for hand in snapshot.deal.hands]
        return [
            *compare.score(facts or {}, ends[0].score, snapshot.deal),
            *compare.message(as_json(ends[0].score), score.score),
            *compare.differs("hands at the end", hands, [sorted(hand.cards) for hand in ends[0].hands]),
        ]

    async def _check_legal_moves(self, vector: Vector) -> list[str]:
        request = rules_service_pb2.RulesServiceListLegalMovesRequest(
            snapshot=_snapshot(vector), seat=vector.body["seat"]
        )
        answer = await _ask(self._rules.ListLegalMoves(request, timeout=_TIMEOUT))
        if isinstance(answer, Refusal):
            return _compare_refusal(vector.body, answer)
        return [*compare.moves(vector.body["moves"], answer.moves)]

    async def _check_score(self, vector: Vector) -> list[str]:
        request = rules_service_pb2.ScoreDealRequest(snapshot=_snapshot(vector))
        answer = await _ask(self._rules.ScoreDeal(request, timeout=_TIMEOUT))
        if isinstance(answer, Refusal):
            return _compare_refusal(vector.body, answer)
        return [
            *compare.score(vector.body["score"], answer.score, request.snapshot.deal),
            *compare.differs("final", vector.body["final"], answer.score.final),
        ]

    async def _check_view(self, vector: Vector) -> list[str]:
        request = rules_service_pb2.RulesServiceGetViewRequest(snapshot=_snapshot(vector), seat=vector.body.get("seat"))
        answer = await _ask(self._rules.GetView(request, timeout=_TIMEOUT))
        if isinstance(answer, Refusal):
            return _compare_refusal(vector.body, answer)
        return [*compare.view(vector.body["sees"], answer.view)]

    # ---- without a position ------------------------------------------------------------------------------

    async def _check_arrange(self, vector: Vector) -> list[str]:
        body = vector.body
        request = rules_service_pb2.ArrangeMeldRequest(cards=body["cards"])
        ParseDict(vector.record, request.rule_set)
        answer = await _ask(self._rules.ArrangeMeld(request, timeout=_TIMEOUT))
        if "refused" in body or isinstance(answer, Refusal):
            return _compare_refusal(body, answer)
        if "violations" in body:
            return [*compare.violations(body["violations"], [*map(_name, answer.violations)])]
        got = [as_json(arrangement) for arrangement in answer.arrangements]
        for arrangement in got:
            arrangement["meld"] = normal_meld(arrangement["meld"])
            arrangement.setdefault("buraco_points", 0)
        expected = body["arrangements"]
        return [
            *compare.differs("the default", expected[:1], got[:1]),
            *compare.differs("arrangements", sorted(expected, key=sort_key), sorted(got, key=sort_key)),
        ]

    async def _check_deal(self, vector: Vector) -> list[str]:
        body = vector.body
        answer = await self._deal(vector)
        if "refused" in body or isinstance(answer, Refusal):
            return _compare_refusal(body, answer)
        deal, expected = answer.snapshot.deal, body["dealt"]
        got = {
            "commitment": answer.commitment.hex(),
            "seat_to_move": deal.seat_to_move,
            "hands": [sorted(hand.cards) for hand in deal.hands],
            "pots": [[*pot.cards] for pot in deal.pots],
            "pile": [*deal.pile],
            "stock": [*deal.stock],
            "opening_required": [side.opening_required for side in deal.sides],
        }
        return [*chain.from_iterable(compare.differs(name, expected[name], got[name]) for name in got)]

    async def _deal(self, vector: Vector) -> "rules_service_pb2.DealResponse | Refusal":
        request = ParseDict(vector.body["request"], rules_service_pb2.DealRequest())
        request.seed = bytes.fromhex(vector.body["seed"])
        ParseDict(vector.record, request.rule_set)
        return await _ask(self._rules.Deal(request, timeout=_TIMEOUT))

    async def _check_rule_set(self, vector: Vector) -> list[str]:
        request = rules_service_pb2.DealRequest(seats=2, seed=bytes(32))
        ParseDict(vector.body["record"], request.rule_set)
        answer = await _ask(self._rules.Deal(request, timeout=_TIMEOUT))
        expected = {
            "refused": {
                "reason": "RULE_SET_INVALID",
                "fields": [f"rule_set.{option}" for option in vector.body["defects"]],
            }
        }
        if not vector.body["defects"]:
            return [f"refused: {answer}"] if isinstance(answer, Refusal) else []
        return _compare_refusal(expected, answer)

    async def _check_preset(self, vector: Vector) -> list[str]:
        answer = await self._rules.ListRuleSets(rules_service_pb2.ListRuleSetsRequest(), timeout=_TIMEOUT)
        for rule_set in answer.rule_sets:
            if rule_set.id == vector.rule_set:
                expected = dict(vector.body["record"]) | {"display_name": rule_set.display_name}
                return [*compare.message(expected, rule_set)]
        return ["there is no such preset"]

    async def _check_replay(self, vector: Vector) -> list[str]:
        body = vector.body
        dealt = await self._deal(vector)
        if isinstance(dealt, Refusal):
            return [f"refused: {dealt}"]
        found = [*compare.differs("commitment", body["commitment"], dealt.commitment.hex())]
        snapshot = dealt.snapshot
        happened: Sequence[event_pb2.Event] = ()
        for number, turn in enumerate(body["turns"], 1):
            before, seat = snapshot, snapshot.deal.seat_to_move
            moves = [ParseDict(move, move_pb2.Move()) for move in turn]
            request = rules_service_pb2.ValidateMovesRequest(snapshot=before, seat=seat, moves=moves)
            answer = await self._rules.ValidateMoves(request, timeout=_TIMEOUT)
            if not answer.legal:
                names = ", ".join(map(_name, answer.violations))
                return [*found, f"turn {number}: move {answer.illegal_index} is refused: {names}"]
            found += _check_conserved(before, answer.snapshot)
            snapshot, happened = answer.snapshot, answer.events
        return [
            *found,
            *compare.differs("ending", body["ending"], int(snapshot.deal.ending)),
            *compare.differs("points counted anew", body["totals"], totals(snapshot)),
            *await self._check_end({"totals": body["totals"]}, snapshot, happened),
        ]

    # ---- at a table --------------------------------------------------------------------------------------

    async def _check_table(self, vector: Vector) -> list[str]:
        body = vector.body
        request = ParseDict(body["request"], table_service_pb2.CreateTableRequest())
        request.seed, request.request_id = bytes.fromhex(body["seed"]), _new_id()
        ParseDict(vector.record, request.rule_set)
        created = await _ask(self._tables.CreateTable(request, timeout=_TIMEOUT))
        if "refused" in body or isinstance(created, Refusal):
            return _compare_refusal(body, created)
        table_id = created.table.id
        tokens = []
        for seat in range(request.seats):
            join = table_service_pb2.JoinTableRequest(
                table_id=table_id, seat=seat, player_name=f"seat {seat}", request_id=_new_id()
            )
            tokens.append((await self._tables.JoinTable(join, timeout=_TIMEOUT)).token)
        found = []
        for index, step in enumerate(body["steps"]):
            answer = await self._take_step(table_id, step, tokens[step["seat"]])
            if isinstance(answer, Refusal) or "violations" in step:
                reason = answer.reason if isinstance(answer, Refusal) else "nothing refused"
                differences = compare.differs("violations", step.get("violations", []), [reason])
            else:
                differences = compare.events(step["events"], answer)
            found += [f"step {index}: {line}" for line in differences]
        if "result" in body:
            get = table_service_pb2.GetTableRequest(table_id=table_id)
            result = (await self._tables.GetTable(get, timeout=_TIMEOUT)).table.result
            got = {
                "winner": result.winner if result.HasField("winner") else None,
                "scores": [*result.scores],
                "payouts": [*result.payouts],
            }
            found += compare.differs("result", body["result"], got)
        return found

    async def _take_step(self, table_id: str, step: Json, token: str) -> "Sequence[event_pb2.Event] | Refusal":
        metadata = (("authorization", f"Bearer {token}"),)
        if "moves" not in step:
            undo = table_service_pb2.UndoMoveRequest(table_id=table_id, request_id=_new_id())
            undone = await _ask(self._tables.UndoMove(undo, metadata=metadata, timeout=_TIMEOUT))
            return undone if isinstance(undone, Refusal) else undone.events
        moves = [ParseDict(move, move_pb2.Move()) for move in step["moves"]]
        submit = table_service_pb2.SubmitMovesRequest(table_id=table_id, moves=moves, request_id=_new_id())
        answer = await _ask(self._tables.SubmitMoves(submit, metadata=metadata, timeout=_TIMEOUT))
        return answer if isinstance(answer, Refusal) else answer.events


def _new_id() -> str:
    return str(uuid.uuid4())


def _snapshot(vector: Vector) -> deal_pb2.Snapshot:
    snapshot = ParseDict(vector.body["snapshot"], deal_pb2.Snapshot())
    ParseDict(vector.record, snapshot.rule_set)
    return snapshot


def _name(violation: move_pb2.Violation.ValueType) -> str:
    return move_pb2.Violation.Name(violation).removeprefix("VIOLATION_")


def sort_key(value: Json) -> str:
    """Return a key for sorting JSON."""
    return repr(sorted(value.items(), key=str))


def _check_conserved(before: deal_pb2.Snapshot, after: deal_pb2.Snapshot) -> list[str]:
    """Check that no card comes or goes, and that what is of the whole match stays as it was (R1.1)."""
    found = [] if compare.cards_in(before) == compare.cards_in(after) else ["cards came or went"]
    for name in ("rule_set", "seats", "match"):
        found += compare.differs(name, getattr(before, name), getattr(after, name))
    return found


async def _ask(call: Awaitable[_Answer]) -> _Answer | Refusal:
    """Return the answer, or the refusal that came instead of it. Raise AioRpcError for any other error."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        refusal = _refusal(error)
        if refusal is None:
            raise
        return refusal


def _refusal(error: Any) -> Refusal | None:
    status = rpc_status.from_call(error)
    if status is None or error.code() not in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION):
        return None
    info, request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for detail in status.details:
        detail.Unpack(info)
        detail.Unpack(request)
    return Refusal(info.reason, tuple([fault.field for fault in request.field_violations]))


def _compare_refusal(body: Json, answer: Any) -> list[str]:
    if not isinstance(answer, Refusal):
        return [f"not refused: {as_json(answer)}"[:400]]
    if "refused" not in body:
        return [f"refused: {answer.reason} {', '.join(answer.fields)}"]
    return [*compare.refusal(body["refused"], answer.reason, answer.fields)]
