from __future__ import annotations

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from buraco_rules import Problem
from buraco_service import errors
from buraco_service.errors import ApiError

DETAILS = (
    error_details_pb2.ErrorInfo,
    error_details_pb2.BadRequest,
    error_details_pb2.PreconditionFailure,
    error_details_pb2.RetryInfo,
)


def details_of(status: status_pb2.Status) -> dict[str, Message]:
    """The details of a status by the name of their message."""
    found: dict[str, Message] = {}
    for packed in status.details:
        kind = next(kind for kind in DETAILS if packed.TypeName() == kind.DESCRIPTOR.full_name)
        detail = kind()
        packed.Unpack(detail)
        found[kind.DESCRIPTOR.name] = detail
    return found


@pytest.mark.parametrize(
    ("error", "code", "reason", "metadata", "details"),
    [
        (
            errors.invalid_argument([Problem("seats", "must be 2 or 4")]),
            code_pb2.INVALID_ARGUMENT,
            "REQUEST_INVALID",
            {},
            {"BadRequest"},
        ),
        (
            errors.invalid_argument([], reason="RULE_SET_UNKNOWN", metadata={"ruleSetId": "x"}),
            code_pb2.INVALID_ARGUMENT,
            "RULE_SET_UNKNOWN",
            {"ruleSetId": "x"},
            set(),
        ),
        (errors.malformed_message(), code_pb2.INVALID_ARGUMENT, "REQUEST_INVALID", {}, set()),
        (
            errors.FailedPrecondition([("NOT_YOUR_TURN", "another seat is to move")], metadata={"seatToMove": "1"}),
            code_pb2.FAILED_PRECONDITION,
            "NOT_YOUR_TURN",
            {"seatToMove": "1"},
            {"PreconditionFailure"},
        ),
        (
            errors.failed_precondition("TABLE_FULL", "no seat is free"),
            code_pb2.FAILED_PRECONDITION,
            "TABLE_FULL",
            {},
            {"PreconditionFailure"},
        ),
        (
            errors.stale_revision(7, 5),
            code_pb2.ABORTED,
            "REVISION_STALE",
            {"currentRevision": "7", "revision": "5"},
            set(),
        ),
        (errors.table_not_found("t1"), code_pb2.NOT_FOUND, "TABLE_UNKNOWN", {"tableId": "t1"}, set()),
        (errors.token_missing(), code_pb2.UNAUTHENTICATED, "TOKEN_MISSING", {}, set()),
        (errors.seat_not_yours(), code_pb2.PERMISSION_DENIED, "SEAT_NOT_YOURS", {}, set()),
        (
            errors.limit_reached("watches", 10, "no more", 2.5),
            code_pb2.RESOURCE_EXHAUSTED,
            "LIMIT_REACHED",
            {"limit": "watches", "maximum": "10"},
            {"RetryInfo"},
        ),
        (errors.store_unavailable(), code_pb2.UNAVAILABLE, "STORE_UNAVAILABLE", {}, {"RetryInfo"}),
        (errors.internal("abc"), code_pb2.INTERNAL, "INTERNAL", {"errorId": "abc"}, set()),
    ],
)
def test_wire_form(error: ApiError, code: int, reason: str, metadata: dict[str, str], details: set[str]) -> None:
    """Every condition has its code, one ErrorInfo with domain, reason and dynamic parts, and its own details."""
    status = errors.to_status(error)
    found = details_of(status)
    info = found.pop("ErrorInfo")
    assert isinstance(info, error_details_pb2.ErrorInfo)
    assert (status.code, status.message) == (code, error.message)
    assert (info.domain, info.reason, dict(info.metadata)) == ("buraco", reason, metadata)
    assert set(found) == details


def test_every_field_at_fault() -> None:
    """A malformed request names every field at fault, with path and description."""
    error = errors.invalid_argument([Problem("seats", "must be 2 or 4"), Problem("moves[3].cards", "is empty")])
    request = details_of(errors.to_status(error))["BadRequest"]
    assert isinstance(request, error_details_pb2.BadRequest)
    assert [(one.field, one.description) for one in request.field_violations] == [
        ("seats", "must be 2 or 4"),
        ("moves[3].cards", "is empty"),
    ]
    assert error.message == "seats: must be 2 or 4; moves[3].cards: is empty"


def test_every_rule_broken() -> None:
    """A move against several rules names them all; the principal one is the error's reason."""
    error = errors.FailedPrecondition([("GAP", "4 is missing"), ("TOO_MANY_WILDS", "two wilds")], subject="moves[0]")
    failure = details_of(errors.to_status(error))["PreconditionFailure"]
    assert isinstance(failure, error_details_pb2.PreconditionFailure)
    assert error.reason == "GAP"
    assert [(one.type, one.subject, one.description) for one in failure.violations] == [
        ("GAP", "moves[0]", "4 is missing"),
        ("TOO_MANY_WILDS", "moves[0]", "two wilds"),
    ]
    with pytest.raises(ValueError, match="needs its name"):
        errors.FailedPrecondition([])


def test_retry_delay() -> None:
    """RetryInfo holds the delay with its fraction."""
    retry = details_of(errors.to_status(errors.limit_reached("watches", 1, "no more", 2.5)))["RetryInfo"]
    assert isinstance(retry, error_details_pb2.RetryInfo)
    assert retry.retry_delay.ToTimedelta().total_seconds() == 2.5


@pytest.mark.parametrize("letter", ["x", "ü", "🂡"])
def test_no_error_outgrows_the_metadata(letter: str) -> None:
    """However long what callers sent is, an error fits into the 8 KiB of metadata that clients accept."""
    many = [Problem(f"moves[{number}]", letter * 3000) for number in range(500)]
    error = errors.invalid_argument(many, metadata={"sent": letter * 5000})
    _, data = errors.details_metadata(error)
    percent_encoded = 3 * len(error.message.encode())
    base64_encoded = len(data) * 4 // 3
    assert percent_encoded + base64_encoded < 8000
    request = details_of(status_pb2.Status.FromString(data))["BadRequest"]
    assert isinstance(request, error_details_pb2.BadRequest)
    assert len(request.field_violations) > 1
    assert request.field_violations[0].field == "moves[0]"


def test_status_converts_to_grpc() -> None:
    """The status is one that grpc's own helper accepts."""
    converted = rpc_status.to_status(errors.to_status(errors.table_not_found("t1")))
    assert converted.code == grpc.StatusCode.NOT_FOUND
    key, _ = converted.trailing_metadata[0]
    assert key == errors.DETAILS_KEY
