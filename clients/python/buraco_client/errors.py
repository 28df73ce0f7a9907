"""What can go wrong, as exceptions: made from the rich status of a call or an answer on a play stream."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from buraco.v1 import move_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from buraco.v1 import table_service_pb2

DOMAIN: Final = "buraco"
_PREFIX: Final = "VIOLATION_"
_DETAILS_KEY: Final = "grpc-status-details-bin"
_CODES: Final[dict[int, grpc.StatusCode]] = {code.value[0]: code for code in grpc.StatusCode}


class FieldFault(NamedTuple):
    """One field of a malformed request: its path and what is wrong with it."""

    field: str
    description: str


class BuracoError(Exception):
    """A call that did not succeed; the base class, and the class of all without one of their own."""

    def __init__(
        self,
        code: grpc.StatusCode,
        reason: str = "",
        message: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[move_pb2.Violation.ValueType] = (),
        fields: Sequence[FieldFault] = (),
        retry_after: float | None = None,
    ) -> None:
        self.code = code
        #: The stable name of the condition; empty when the error does not come from the service itself.
        self.reason = reason
        #: For people, in English.
        self.message = message
        #: Every dynamic part of the message.
        self.metadata: dict[str, str] = dict(metadata or {})
        #: The rules broken, the principal first.
        self.violations = tuple(violations)
        #: The fields at fault in a malformed request.
        self.fields = tuple(fields)
        #: Seconds after which the service wants to be asked again, when it says so.
        self.retry_after = retry_after
        #: The id that a mutating call was sent with: a repeat with it changes nothing twice.
        self.request_id: str | None = None
        # Everything, so that the error survives being pickled by a pool of bots.
        super().__init__(code, reason, message, self.metadata, self.violations, self.fields, retry_after)

    def __str__(self) -> str:
        name = f"{self.code.name} {self.reason}" if self.reason else self.code.name
        return f"{name}: {self.message}" if self.message else name


class InvalidRequest(BuracoError):
    """The request is malformed; `fields` says where."""


class RuleBroken(BuracoError):
    """A move breaks a rule of the game; `violations` says which."""


class TableRefused(BuracoError):
    """The table does not allow this now: TABLE_FULL, SEAT_TAKEN, TABLE_NOT_PLAYING, TABLE_FINISHED or
    TOO_MANY_REVERSALS.
    """


class RevisionStale(BuracoError):
    """The table is past the revision the moves were meant for: look at it again."""


class RequestIdReused(BuracoError):
    """Another request was carried out under this `request_id`; this one was not."""


class TableUnknown(BuracoError):
    """There is no such table."""


class TokenRejected(BuracoError):
    """The seat token is missing, invalid or expired."""


class ApiKeyRejected(BuracoError):
    """The service wants an API key for this call, or does not know the one it got."""


class SeatNotYours(BuracoError):
    """The token is another table's, or of a player who left."""


class LimitReached(BuracoError):
    """A limit of the service is reached; `retry_after` says when to try again."""


class Unavailable(BuracoError):
    """The service, its store or the way to it is away, and stayed so for the time given."""


class DeadlineExceeded(BuracoError):
    """No answer in time. A mutating call may have been carried out: repeat it with the `request_id`."""


_BY_REASON: Final[dict[str, type[BuracoError]]] = {
    "REQUEST_INVALID": InvalidRequest,
    "RULE_SET_UNKNOWN": InvalidRequest,
    "RULE_SET_INVALID": InvalidRequest,
    "SNAPSHOT_INVALID": InvalidRequest,
    "TABLE_FULL": TableRefused,
    "SEAT_TAKEN": TableRefused,
    "TABLE_NOT_PLAYING": TableRefused,
    "TOO_MANY_REVERSALS": TableRefused,
    "TABLE_FINISHED": TableRefused,
    "REVISION_STALE": RevisionStale,
    "REQUEST_ID_REUSED": RequestIdReused,
    "TABLE_UNKNOWN": TableUnknown,
    "TOKEN_MISSING": TokenRejected,
    "TOKEN_INVALID": TokenRejected,
    "TOKEN_EXPIRED": TokenRejected,
    "API_KEY_MISSING": ApiKeyRejected,
    "API_KEY_INVALID": ApiKeyRejected,
    "SEAT_NOT_YOURS": SeatNotYours,
    "LIMIT_REACHED": LimitReached,
    "STORE_UNAVAILABLE": Unavailable,
    "TABLE_TOO_NEW": Unavailable,
    **{name.removeprefix(_PREFIX): RuleBroken for name in move_pb2.Violation.keys()[1:]},
}
# For errors of gRPC itself, of a proxy, or with a reason that this client does not know yet.
_BY_CODE: Final[dict[grpc.StatusCode, type[BuracoError]]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.UNAUTHENTICATED: TokenRejected,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    # Not ours: what a caller cancels ends with asyncio.CancelledError.
    grpc.StatusCode.CANCELLED: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
}


def _class_of(code: grpc.StatusCode, reason: str) -> type[BuracoError]:
    return _BY_REASON.get(reason) or _BY_CODE.get(code, BuracoError)


def _violation(name: str) -> move_pb2.Violation.ValueType | None:
    """The violation of this name, with or without its prefix; None for a name this client does not know."""
    value = move_pb2.Violation.DESCRIPTOR.values_by_name.get(_PREFIX + name.removeprefix(_PREFIX))
    return None if value is None or value.number == 0 else move_pb2.Violation.Value(value.name)


def _details(error: grpc.aio.AioRpcError) -> Iterator[Any]:
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            yield from status_pb2.Status.FromString(value).details


def from_rpc_error(error: grpc.aio.AioRpcError) -> BuracoError:
    """The exception for a status that is not OK."""
    info = error_details_pb2.ErrorInfo()
    precondition = error_details_pb2.PreconditionFailure()
    malformed = error_details_pb2.BadRequest()
    retry = error_details_pb2.RetryInfo()
    retry_after: float | None = None
    # Details that cannot be read must not hide the error itself.
    with suppress(DecodeError):
        for detail in _details(error):
            for message in (info, precondition, malformed):
                detail.Unpack(message)
            if detail.Unpack(retry):
                retry_after = retry.retry_delay.ToTimedelta().total_seconds()
    if info.domain != DOMAIN:
        info.Clear()
    named = [info.reason, *(violation.type for violation in precondition.violations)]
    known = [violation for violation in map(_violation, named) if violation is not None]
    failure = _class_of(error.code(), info.reason)(
        error.code(),
        info.reason,
        error.details() or "",
        info.metadata,
        tuple(dict.fromkeys(known)),
        [FieldFault(fault.field, fault.description) for fault in malformed.field_violations],
        retry_after,
    )
    failure.__cause__ = error
    return failure


def from_play_error(error: table_service_pb2.PlayError) -> BuracoError:
    """The exception for an error that came as an answer on a play stream."""
    code = _CODES.get(error.code, grpc.StatusCode.UNKNOWN)
    retry_after = error.retry_delay.ToTimedelta().total_seconds() if error.HasField("retry_delay") else None
    return _class_of(code, error.reason)(
        code, error.reason, error.message, error.metadata, tuple(error.violations), retry_after=retry_after
    )
