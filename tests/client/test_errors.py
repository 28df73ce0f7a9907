from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import grpc
import pytest
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2

from buraco.v1 import move_pb2, table_service_pb2
from buraco_client import (
    ApiKeyRejected,
    BuracoError,
    DeadlineExceeded,
    FieldProblem,
    InvalidRequest,
    LimitReached,
    NotCreator,
    NotInvited,
    PlayerTokenRejected,
    RequestIdReused,
    RevisionStale,
    RuleBroken,
    SeatNotYours,
    SignInDisabled,
    TableRefused,
    TableUnknown,
    TokenRejected,
)
from buraco_client.errors import from_play_error
from tests.client.scripted import refuse, rich_status

if TYPE_CHECKING:
    from buraco_client import BuracoClient
    from tests.client.scripted import Script, Step

CODE = grpc.StatusCode


async def error_of(client: BuracoClient, script: Script, step: Step, timeout: float = 20.0) -> BuracoError:
    """What a submit raises that the service answers so. What the client repeats takes the whole `timeout`."""
    script.on("SubmitMoves", step)
    with pytest.raises(BuracoError) as caught:
        await client.restore_seat("t", 0, "token").submit([], 7, timeout=timeout)
    return caught.value


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (CODE.INVALID_ARGUMENT, "REQUEST_INVALID", InvalidRequest),
        (CODE.INVALID_ARGUMENT, "RULE_SET_UNKNOWN", InvalidRequest),
        (CODE.INVALID_ARGUMENT, "RULE_SET_INVALID", InvalidRequest),
        (CODE.INVALID_ARGUMENT, "SNAPSHOT_INVALID", InvalidRequest),
        (CODE.FAILED_PRECONDITION, "NOT_YOUR_TURN", RuleBroken),
        (CODE.FAILED_PRECONDITION, "NOTHING_TO_UNDO", RuleBroken),
        (CODE.FAILED_PRECONDITION, "TABLE_FULL", TableRefused),
        (CODE.FAILED_PRECONDITION, "SEAT_TAKEN", TableRefused),
        (CODE.FAILED_PRECONDITION, "ALREADY_SEATED", TableRefused),
        (CODE.FAILED_PRECONDITION, "SIGN_IN_DISABLED", SignInDisabled),
        (CODE.UNAUTHENTICATED, "PLAYER_TOKEN_MISSING", PlayerTokenRejected),
        (CODE.UNAUTHENTICATED, "PLAYER_TOKEN_INVALID", PlayerTokenRejected),
        (CODE.UNAUTHENTICATED, "PLAYER_TOKEN_EXPIRED", PlayerTokenRejected),
        (CODE.FAILED_PRECONDITION, "TABLE_NOT_PLAYING", TableRefused),
        (CODE.FAILED_PRECONDITION, "TOO_MANY_REVERSALS", TableRefused),
        (CODE.FAILED_PRECONDITION, "TABLE_NOT_FINISHED", TableRefused),
        (CODE.FAILED_PRECONDITION, "ALREADY_OFFERED", TableRefused),
        (CODE.FAILED_PRECONDITION, "NO_OFFER", TableRefused),
        (CODE.FAILED_PRECONDITION, "CHAT_OFF", TableRefused),
        (CODE.FAILED_PRECONDITION, "PHRASES_ONLY", TableRefused),
        (CODE.FAILED_PRECONDITION, "NO_PARTNER", TableRefused),
        (CODE.PERMISSION_DENIED, "SPECTATORS_NOT_ALLOWED", SeatNotYours),
        (CODE.FAILED_PRECONDITION, "TOO_LATE_TO_ABORT", TableRefused),
        (CODE.FAILED_PRECONDITION, "TABLE_FINISHED", TableRefused),
        (CODE.FAILED_PRECONDITION, "AWAITING_CONFIRMATION", TableRefused),
        (CODE.FAILED_PRECONDITION, "SCORE_NOT_SHOWN", TableRefused),
        (CODE.ABORTED, "REVISION_STALE", RevisionStale),
        (CODE.ALREADY_EXISTS, "REQUEST_ID_REUSED", RequestIdReused),
        (CODE.NOT_FOUND, "TABLE_UNKNOWN", TableUnknown),
        (CODE.UNAUTHENTICATED, "TOKEN_MISSING", TokenRejected),
        (CODE.UNAUTHENTICATED, "TOKEN_INVALID", TokenRejected),
        (CODE.UNAUTHENTICATED, "TOKEN_EXPIRED", TokenRejected),
        (CODE.UNAUTHENTICATED, "API_KEY_MISSING", ApiKeyRejected),
        (CODE.UNAUTHENTICATED, "API_KEY_INVALID", ApiKeyRejected),
        (CODE.PERMISSION_DENIED, "SEAT_NOT_YOURS", SeatNotYours),
        (CODE.PERMISSION_DENIED, "INVITATION_WRONG", NotInvited),
        (CODE.PERMISSION_DENIED, "NOT_CREATOR", NotCreator),
        (CODE.FAILED_PRECONDITION, "SEAT_FREE", TableRefused),
        (CODE.RESOURCE_EXHAUSTED, "LIMIT_REACHED", LimitReached),
        (CODE.DEADLINE_EXCEEDED, "", DeadlineExceeded),
        (CODE.UNAUTHENTICATED, "TOKEN_OF_TOMORROW", TokenRejected),
        (CODE.FAILED_PRECONDITION, "RULE_OF_TOMORROW", BuracoError),
        (CODE.INTERNAL, "INTERNAL", BuracoError),
        (CODE.DATA_LOSS, "", BuracoError),
    ],
)
async def test_condition_has_its_class(
    client: BuracoClient, script: Script, code: grpc.StatusCode, reason: str, kind: type[BuracoError]
) -> None:
    """Every reason of the contract becomes an exception of its class; an unknown one has the class of its code."""
    repeated = code is CODE.UNAVAILABLE
    error = await error_of(client, script, refuse(code, reason, table="t"), 0.2 if repeated else 20.0)
    assert type(error) is kind
    assert (error.code, error.reason, error.message, error.metadata) == (code, reason, "no", {"table": "t"})


async def test_every_violation_is_a_broken_rule(client: BuracoClient, script: Script) -> None:
    """Every violation of the contract, by its reason alone, becomes a RuleBroken that names it."""
    for name, value in move_pb2.Violation.items()[1:]:
        step = refuse(CODE.FAILED_PRECONDITION, name.removeprefix("VIOLATION_"))
        error = await error_of(client, script, step)
        assert isinstance(error, RuleBroken)
        assert error.violations == (value,)


async def test_all_violations_are_kept_in_order(client: BuracoClient, script: Script) -> None:
    """The principal violation comes first, the others of the PreconditionFailure follow, none twice."""
    failure = error_details_pb2.PreconditionFailure(
        violations=[{"type": "GAP"}, {"type": "VIOLATION_TOO_MANY_WILDS"}, {"type": "OF_TOMORROW"}]
    )
    error = await error_of(client, script, refuse(CODE.FAILED_PRECONDITION, "GAP", failure))
    assert error.violations == (move_pb2.VIOLATION_GAP, move_pb2.VIOLATION_TOO_MANY_WILDS)


async def test_fields_at_fault_are_named(client: BuracoClient, script: Script) -> None:
    """A malformed request names every field at fault and what is wrong with it."""
    fault = error_details_pb2.BadRequest(
        field_violations=[{"field": "moves[0].discard.card", "description": "no card"}]
    )
    error = await error_of(client, script, refuse(CODE.INVALID_ARGUMENT, "REQUEST_INVALID", fault))
    assert error.fields == (FieldProblem("moves[0].discard.card", "no card"),)


async def test_foreign_domain_is_no_reason(client: BuracoClient, script: Script) -> None:
    """A proxy's ErrorInfo does not pass for one of the service."""
    info = error_details_pb2.ErrorInfo(reason="TABLE_UNKNOWN", domain="proxy.example")

    async def step(request: object, context: grpc.aio.ServicerContext[object, object]) -> None:
        await context.abort_with_status(rich_status(CODE.NOT_FOUND, info))

    error = await error_of(client, script, step)
    assert type(error) is BuracoError
    assert (error.code, error.reason) == (CODE.NOT_FOUND, "")


async def test_unreadable_details_leave_the_code(client: BuracoClient, script: Script) -> None:
    """Details that cannot be read do not hide the error itself."""
    garbage = any_pb2.Any(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=b"\xff\xff")

    async def step(request: object, context: grpc.aio.ServicerContext[object, object]) -> None:
        await context.abort_with_status(rich_status(CODE.NOT_FOUND, packed=[garbage]))

    error = await error_of(client, script, step)
    assert (error.code, error.reason, error.message) == (CODE.NOT_FOUND, "", "no")


async def test_plain_status_carries_code_and_message(client: BuracoClient, script: Script) -> None:
    """A status without details still becomes an exception with its code, its text and its cause."""
    error = await error_of(client, script, lambda _, context: context.abort(CODE.UNAUTHENTICATED, "who?"))
    assert isinstance(error, TokenRejected)
    assert str(error) == "UNAUTHENTICATED: who?"
    assert isinstance(error.__cause__, grpc.aio.AioRpcError)


async def test_error_survives_pickling(client: BuracoClient, script: Script) -> None:
    """An error crosses to another process with everything it carries."""
    error = await error_of(client, script, refuse(CODE.FAILED_PRECONDITION, "GAP", cards="As 3s"))
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - made in the line itself
    assert type(copy) is RuleBroken
    assert str(copy) == "FAILED_PRECONDITION GAP: no"
    assert vars(copy) == vars(error)


def test_play_error_becomes_the_same_exception() -> None:
    """An error answer on a play stream becomes what the status of the unary call would have become."""
    error = from_play_error(
        table_service_pb2.PlayError(
            code=9,
            reason="GAP",
            message="no",
            metadata={"index": "1"},
            violations=[move_pb2.VIOLATION_GAP, move_pb2.VIOLATION_TOO_FEW_NATURALS],
            retry_delay=duration_pb2.Duration(nanos=250_000_000),
        )
    )
    assert type(error) is RuleBroken
    assert (error.code, error.reason, error.message) == (CODE.FAILED_PRECONDITION, "GAP", "no")
    assert error.metadata == {"index": "1"}
    assert error.retry_after == 0.25
    assert error.violations == (move_pb2.VIOLATION_GAP, move_pb2.VIOLATION_TOO_FEW_NATURALS)


def test_play_error_with_an_unknown_code_is_unknown() -> None:
    """A code that gRPC does not have does not break the client."""
    assert from_play_error(table_service_pb2.PlayError(code=99)).code is CODE.UNKNOWN
