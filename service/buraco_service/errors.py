"""The errors that callers get, and how they are serialised.

All have one shape (AIP-193): a status code, a message for developers, and a `google.rpc.ErrorInfo` with the domain
"buraco", a stable reason in UPPER_SNAKE_CASE and every dynamic part as metadata. Some carry more: the fields at fault
(BadRequest), the rules broken (PreconditionFailure), or when to try again (RetryInfo). Programs decide by code and
reason, never by the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from buraco_rules import Problem

DOMAIN = "buraco"
DETAILS_KEY = "grpc-status-details-bin"
TABLE_TOO_NEW = "TABLE_TOO_NEW"
# Clients accept 8 KiB of metadata by default. The message is sent twice, and base64 makes the details a third larger.
_MAX_TEXT_BYTES = 512
_MAX_STATUS_BYTES = 4096
# Seconds. No client waits so long for one call: it gives up instead of retrying.
_NO_RETRY = 3600.0
# Bytes that a repeated field takes beside its content.
_FIELD_OVERHEAD = 4

_Violation = TypeVar("_Violation", bound=Message)


class PreconditionViolation(NamedTuple):
    """A rule that is broken: `type` is its stable name, `subject` what breaks it (`moves[2]`)."""

    type: str
    subject: str
    description: str


class ApiError(Exception):
    """A refusal; the caller may see all of it. `retry_after` is in seconds, None: a retry is not announced.

    The message and the values of the metadata are cut to 512 bytes each.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        reason: str,
        message: str,
        metadata: Mapping[str, str] | None = None,
        *,
        problems: Sequence[Problem] = (),
        precondition_violations: Sequence[PreconditionViolation] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = _clipped(message)
        self.metadata: Mapping[str, str] = {key: _clipped(value) for key, value in (metadata or {}).items()}
        self.problems = tuple(problems)
        self.precondition_violations = tuple(precondition_violations)
        self.retry_after = retry_after


class FailedPrecondition(ApiError):
    """FAILED_PRECONDITION: a move, at `subject`, breaks rules, or the table is not in a state for the call.

    `violations` are pairs of stable name and description, at least one, the principal first: its name is the reason.
    """

    def __init__(
        self,
        violations: Iterable[tuple[str, str]],
        *,
        subject: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        found = tuple(PreconditionViolation(name, subject, description) for name, description in violations)
        if not found:
            raise ValueError("a broken rule needs its name")
        super().__init__(
            grpc.StatusCode.FAILED_PRECONDITION,
            found[0].type,
            "; ".join(f"{violation.type}: {violation.description}" for violation in found),
            metadata,
            precondition_violations=found,
        )


def invalid_argument(
    problems: Iterable[Problem],
    *,
    reason: str = "REQUEST_INVALID",
    metadata: Mapping[str, str] | None = None,
) -> ApiError:
    """Return INVALID_ARGUMENT: fields of the request are at fault, or without `problems` all of it."""
    found = tuple(problems)
    message = "; ".join([f"{path}: {problem}" for path, problem in found])
    return ApiError(
        grpc.StatusCode.INVALID_ARGUMENT,
        reason,
        message or "the request is malformed",
        metadata,
        problems=found,
    )


def malformed_message() -> ApiError:
    """Return INVALID_ARGUMENT: the bytes are no message of the method's request type."""
    return ApiError(grpc.StatusCode.INVALID_ARGUMENT, "REQUEST_INVALID", "the bytes sent are no request of this method")


def failed_precondition(reason: str, message: str, metadata: Mapping[str, str] | None = None) -> FailedPrecondition:
    """Return FAILED_PRECONDITION: the table is not in a state for this call (full, not yet playing, finished)."""
    return FailedPrecondition([(reason, message)], metadata=metadata)


def request_id_reused() -> ApiError:
    """Return ALREADY_EXISTS: the request id was used before, for another request."""
    message = "the request id was used for another request: every request needs one of its own"
    return ApiError(grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED", message)


def stale_revision(current: int, expected: int | None = None) -> ApiError:
    """Return ABORTED: another change came first. `current` is the table's revision, `expected` that of the request."""
    metadata = {"currentRevision": str(current)}
    if expected is not None:
        metadata["revision"] = str(expected)
    return ApiError(
        grpc.StatusCode.ABORTED,
        "REVISION_STALE",
        f"the table is at revision {current}: read it again",
        metadata,
    )


def table_not_found(table_id: str) -> ApiError:
    """Return NOT_FOUND: there is no such table, or it has expired."""
    return ApiError(grpc.StatusCode.NOT_FOUND, "TABLE_UNKNOWN", "there is no such table", {"tableId": table_id})


def unauthenticated(reason: str, message: str) -> ApiError:
    """Return UNAUTHENTICATED: the call needs a valid token; `reason` names what is wrong, as TOKEN_MISSING."""
    return ApiError(grpc.StatusCode.UNAUTHENTICATED, reason, message)


def token_missing() -> ApiError:
    """Return UNAUTHENTICATED: the call is for players only, and no seat token came with it."""
    return unauthenticated("TOKEN_MISSING", "this call needs a seat token: `authorization: Bearer <token>`")


def permission_denied(reason: str, message: str, metadata: Mapping[str, str] | None = None) -> ApiError:
    """Return PERMISSION_DENIED: the token is valid, but does not allow this call."""
    return ApiError(grpc.StatusCode.PERMISSION_DENIED, reason, message, metadata)


def seat_not_yours(message: str = "the token is not for a seat of this table") -> ApiError:
    """Return PERMISSION_DENIED: the token is for another table, or for a seat that was given back."""
    return permission_denied("SEAT_NOT_YOURS", message)


def spectators_not_allowed() -> ApiError:
    """Return PERMISSION_DENIED: only players may see the table."""
    return permission_denied("SPECTATORS_NOT_ALLOWED", "only players may see this table: send the token of a seat")


def limit_reached(limit: str, maximum: int, message: str, retry_after: float = 1.0) -> ApiError:
    """Return RESOURCE_EXHAUSTED: a limit is reached. `limit` names it for programs; `retry_after` is in seconds."""
    return ApiError(
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "LIMIT_REACHED",
        message,
        {"limit": limit, "maximum": str(maximum)},
        retry_after=retry_after,
    )


def resource_exhausted(limit: str, maximum: int) -> ApiError:
    """Return RESOURCE_EXHAUSTED: a limit of this replica is reached; another one may have room.

    `limit` names in the plural what there are too many of: `concurrent_calls`.
    """
    message = f"this replica has as many {limit.replace('_', ' ')} as it allows ({maximum})"
    return limit_reached(limit, maximum, message)


def peer_exhausted(things: str, maximum: int) -> ApiError:
    """Return RESOURCE_EXHAUSTED: one peer has as many things as it may have at once; the limit is `peer_{things}`."""
    message = f"you have as many {things.replace('_', ' ')} as a peer may have ({maximum})"
    return limit_reached(f"peer_{things}", maximum, message)


def malformed_protocol(message: str, code: grpc.StatusCode = grpc.StatusCode.INVALID_ARGUMENT) -> ApiError:
    """Return INVALID_ARGUMENT, or another code: what came is no request by the protocol that it came by."""
    return ApiError(code, "REQUEST_INVALID", message)


def needs_grpc() -> ApiError:
    """Return UNIMPLEMENTED: a two-way stream was asked for by a protocol that has none."""
    message = "two-way streams are for gRPC only: use WatchTable and SubmitMoves"
    return ApiError(grpc.StatusCode.UNIMPLEMENTED, "NEEDS_GRPC", message)


def message_overdue(seconds: float) -> ApiError:
    """Return RESOURCE_EXHAUSTED: the message of a call did not arrive in time."""
    return limit_reached("message_timeout", int(seconds), f"the message did not come within {seconds:g} seconds")


def message_too_large(size: int, maximum: int) -> ApiError:
    """Return RESOURCE_EXHAUSTED: a message is too large to be read. `retry_after` is an hour: a retry does not help."""
    message = f"the message has {size} bytes, and {maximum} are allowed"
    return limit_reached("message_bytes", maximum, message, _NO_RETRY)


def store_unavailable(retry_after: float = 1.0) -> ApiError:
    """Return UNAVAILABLE: the store cannot be reached or cannot write. The log says why."""
    return ApiError(
        grpc.StatusCode.UNAVAILABLE,
        "STORE_UNAVAILABLE",
        "the store is not available",
        retry_after=retry_after,
    )


def table_too_new() -> ApiError:
    """Return UNAVAILABLE: a newer version wrote the table to the store. A replica of that version can answer."""
    message = "the table was written by a newer version of the service"
    return ApiError(grpc.StatusCode.UNAVAILABLE, TABLE_TOO_NEW, message)


def internal(error_id: str) -> ApiError:
    """Return INTERNAL: something unforeseen failed. The cause is in the log under `error_id`."""
    return ApiError(grpc.StatusCode.INTERNAL, "INTERNAL", "internal error", {"errorId": error_id})


def to_status(error: ApiError) -> status_pb2.Status:
    """Return an error as google.rpc.Status. Of many violations it has the first that fit into 4 KiB, one at least."""
    status = status_pb2.Status(code=error.code.value[0], message=error.message)
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata)
    status.details.add().Pack(info)
    if error.retry_after is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromMilliseconds(round(error.retry_after * 1000))
        status.details.add().Pack(retry)
    if error.problems:
        fields = [
            error_details_pb2.BadRequest.FieldViolation(field=_clipped(path), description=_clipped(problem))
            for path, problem in error.problems
        ]
        request = error_details_pb2.BadRequest(field_violations=_fitting(fields, status))
        status.details.add().Pack(request)
    if error.precondition_violations:
        rules = [
            error_details_pb2.PreconditionFailure.Violation(
                type=violation.type,
                subject=_clipped(violation.subject),
                description=_clipped(violation.description),
            )
            for violation in error.precondition_violations
        ]
        failure = error_details_pb2.PreconditionFailure(violations=_fitting(rules, status))
        status.details.add().Pack(failure)
    return status


def details_metadata(error: ApiError) -> tuple[str, bytes]:
    """Return the entry of the trailing metadata that carries the details of an error."""
    return DETAILS_KEY, to_status(error).SerializeToString()


def _fitting(violations: Sequence[_Violation], status: status_pb2.Status) -> list[_Violation]:
    """Return the first violations that still fit into the status, at least one."""
    left = _MAX_STATUS_BYTES - status.ByteSize()
    fitting: list[_Violation] = []
    for violation in violations:
        left -= violation.ByteSize() + _FIELD_OVERHEAD
        if left < 0 and fitting:
            break
        fitting.append(violation)
    return fitting


def _clipped(text: str) -> str:
    """Return at most 512 bytes of a text, which may quote what a stranger sent. Percent-encoding may triple them."""
    encoded = text.encode()
    if len(encoded) <= _MAX_TEXT_BYTES:
        return text
    return encoded[: _MAX_TEXT_BYTES - 3].decode(errors="ignore") + "..."
