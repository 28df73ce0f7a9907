"""Errors of the service as exceptions, made from the rich status of a call or an answer on a play stream."""

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


class FieldProblem(NamedTuple):
    """One thing wrong with a malformed request: the path of the field, and what is wrong with it.

    >>> FieldProblem("moves[0].discard.card", "is not a card").field
    'moves[0].discard.card'
    """

    field: str
    description: str


class BuracoError(Exception):
    """A call that failed; the base class, and the class of errors without one of their own.

    >>> error = RuleBroken(grpc.StatusCode.FAILED_PRECONDITION, "NOT_YOUR_TURN", "seat 1 is to move", {"seat": "1"})
    >>> str(error), error.metadata["seat"]
    ('FAILED_PRECONDITION NOT_YOUR_TURN: seat 1 is to move', '1')
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        reason: str = "",
        message: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[move_pb2.Violation.ValueType] = (),
        fields: Sequence[FieldProblem] = (),
        retry_after: float | None = None,
    ) -> None:
        self.code = code
        #: The stable name of the condition; empty if the error does not come from the service itself.
        self.reason = reason
        #: For people, in English; programs decide by `code` and `reason`.
        self.message = message
        #: Every dynamic part of the message.
        self.metadata: dict[str, str] = dict(metadata or {})
        #: The rules that the move breaks, the principal one first; those that this client does not know are left out.
        self.violations = tuple(violations)
        #: What is wrong with the fields of a malformed request.
        self.fields = tuple(fields)
        #: Seconds after which to repeat the call; None if the service names no time.
        self.retry_after = retry_after
        #: The id of a call that changes something: a repeat with it takes effect at most once.
        self.request_id: str | None = None
        # All arguments, so that the error can be pickled by a pool of processes.
        super().__init__(code, reason, message, self.metadata, self.violations, self.fields, retry_after)

    def __str__(self) -> str:
        name = f"{self.code.name} {self.reason}" if self.reason else self.code.name
        return f"{name}: {self.message}" if self.message else name


class InvalidRequest(BuracoError):
    """The request is malformed, or its rules or snapshot are not valid; `fields` lists the problems."""


class RuleBroken(BuracoError):
    """A move breaks rules of the game, which `violations` lists."""


class TableRefused(BuracoError):
    """The table does not allow this now: TABLE_FULL, SEAT_TAKEN, SEAT_FREE, BOT_SEAT, NO_BOT_WANTED, ALREADY_SEATED,
    TABLE_NOT_WAITING, TABLE_NOT_PLAYING, TABLE_FINISHED, TABLE_NOT_FINISHED, TOO_MANY_REVERSALS, ALREADY_OFFERED,
    NO_OFFER, TOO_LATE_TO_ABORT, AWAITING_CONFIRMATION, SCORE_NOT_SHOWN, CHAT_OFF, PHRASES_ONLY or NO_PARTNER.
    """


class RevisionStale(BuracoError):
    """The table is past the revision that the moves were chosen for: get its view again."""


class RequestIdReused(BuracoError):
    """Another request was carried out under this `request_id`; this one was not."""


class TableUnknown(BuracoError):
    """There is no such table."""


class TokenRejected(BuracoError):
    """The seat token is missing, invalid or expired."""


class PlayerTokenRejected(BuracoError):
    """The player token is missing, invalid or expired: a new one comes from where it came from."""


class SignInDisabled(BuracoError):
    """The service signs in no guests."""


class CreditTooLow(BuracoError):
    """The account has fewer credits than are needed; `metadata` has what is `available` and `needed`."""


class AccountsDisabled(BuracoError):
    """The service keeps no accounts."""


class ApiKeyRejected(BuracoError):
    """The API key that this call requires is missing or invalid."""


class SeatNotYours(BuracoError):
    """The token belongs to another table, or to a player who left; or only players may see the table, and no token
    came (SPECTATORS_NOT_ALLOWED).
    """


class NotInvited(BuracoError):
    """The table is not open to the player: INVITATION_REQUIRED, INVITATION_WRONG or NOT_INVITED."""


class NotCreator(BuracoError):
    """Only who created the table may do this."""


class LimitReached(BuracoError):
    """A limit of the service is reached; repeat the call after `retry_after` seconds (None: no time is known)."""


class Unavailable(BuracoError):
    """The service, its store or the connection was unavailable for the whole timeout."""


class DeadlineExceeded(BuracoError):
    """No answer came in time. The change may have been made: repeat the call with the `request_id` to find out."""


_BY_REASON: Final[dict[str, type[BuracoError]]] = {
    "REQUEST_INVALID": InvalidRequest,
    "RULE_SET_UNKNOWN": InvalidRequest,
    "RULE_SET_INVALID": InvalidRequest,
    "SNAPSHOT_INVALID": InvalidRequest,
    "TABLE_FULL": TableRefused,
    "SEAT_TAKEN": TableRefused,
    "BOT_SEAT": TableRefused,
    "NO_BOT_WANTED": TableRefused,
    "ALREADY_SEATED": TableRefused,
    "SEAT_FREE": TableRefused,
    "TABLE_NOT_WAITING": TableRefused,
    "TABLE_NOT_PLAYING": TableRefused,
    "TOO_MANY_REVERSALS": TableRefused,
    "TABLE_FINISHED": TableRefused,
    "AWAITING_CONFIRMATION": TableRefused,
    "SCORE_NOT_SHOWN": TableRefused,
    "TABLE_NOT_FINISHED": TableRefused,
    "ALREADY_OFFERED": TableRefused,
    "NO_OFFER": TableRefused,
    "TOO_LATE_TO_ABORT": TableRefused,
    "CHAT_OFF": TableRefused,
    "PHRASES_ONLY": TableRefused,
    "NO_PARTNER": TableRefused,
    "REVISION_STALE": RevisionStale,
    "REQUEST_ID_REUSED": RequestIdReused,
    "TABLE_UNKNOWN": TableUnknown,
    "TOKEN_MISSING": TokenRejected,
    "TOKEN_INVALID": TokenRejected,
    "TOKEN_EXPIRED": TokenRejected,
    "PLAYER_TOKEN_MISSING": PlayerTokenRejected,
    "PLAYER_TOKEN_INVALID": PlayerTokenRejected,
    "PLAYER_TOKEN_EXPIRED": PlayerTokenRejected,
    "SIGN_IN_DISABLED": SignInDisabled,
    "CREDIT_TOO_LOW": CreditTooLow,
    "ACCOUNTS_DISABLED": AccountsDisabled,
    "API_KEY_MISSING": ApiKeyRejected,
    "API_KEY_INVALID": ApiKeyRejected,
    "SEAT_NOT_YOURS": SeatNotYours,
    "SPECTATORS_NOT_ALLOWED": SeatNotYours,
    "INVITATION_REQUIRED": NotInvited,
    "INVITATION_WRONG": NotInvited,
    "NOT_INVITED": NotInvited,
    "NOT_CREATOR": NotCreator,
    "LIMIT_REACHED": LimitReached,
    "STORE_UNAVAILABLE": Unavailable,
    "TABLE_TOO_NEW": Unavailable,
    **{name.removeprefix(_PREFIX): RuleBroken for name in move_pb2.Violation.keys()[1:]},
}
# For errors of gRPC itself or of a proxy, and for reasons that this client does not know.
_BY_CODE: Final[dict[grpc.StatusCode, type[BuracoError]]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.UNAUTHENTICATED: TokenRejected,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    # From the server's side: what the caller cancels raises asyncio.CancelledError.
    grpc.StatusCode.CANCELLED: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
}


def from_rpc_error(error: grpc.aio.AioRpcError) -> BuracoError:
    """Return the exception for a status that is not OK, with its details; those that cannot be parsed are left out.

    >>> status = grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata(), "closed")
    >>> from_rpc_error(status)  # doctest: +ELLIPSIS
    Unavailable(<StatusCode.UNAVAILABLE: ...>, '', 'closed', {}, (), (), None)
    """
    info = error_details_pb2.ErrorInfo()
    precondition = error_details_pb2.PreconditionFailure()
    malformed = error_details_pb2.BadRequest()
    retry = error_details_pb2.RetryInfo()
    # Details that cannot be parsed must not hide the error itself.
    with suppress(DecodeError):
        for detail in _details(error):
            for message in (info, precondition, malformed, retry):
                detail.Unpack(message)
    if info.domain != DOMAIN:
        info.Clear()
    names = [info.reason, *(violation.type for violation in precondition.violations)]
    violations = [violation for violation in map(_violation, names) if violation is not None]
    failure = _class_of(error.code(), info.reason)(
        error.code(),
        info.reason,
        error.details() or "",
        info.metadata,
        tuple(dict.fromkeys(violations)),
        [FieldProblem(problem.field, problem.description) for problem in malformed.field_violations],
        _retry_delay(retry),
    )
    failure.__cause__ = error
    return failure


def from_play_error(error: table_service_pb2.PlayError) -> BuracoError:
    """Return the exception for an error answer on a play stream: the same as for the status of a call.

    >>> from buraco.v1.table_service_pb2 import PlayError
    >>> from_play_error(PlayError(code=9, reason="SEAT_TAKEN", message="seat 0 is taken"))  # doctest: +ELLIPSIS
    TableRefused(<StatusCode.FAILED_PRECONDITION: ...>, 'SEAT_TAKEN', 'seat 0 is taken', {}, (), (), None)
    """
    code = _CODES.get(error.code, grpc.StatusCode.UNKNOWN)
    return _class_of(code, error.reason)(
        code, error.reason, error.message, error.metadata, tuple(error.violations), retry_after=_retry_delay(error)
    )


def _class_of(code: grpc.StatusCode, reason: str) -> type[BuracoError]:
    return _BY_REASON.get(reason) or _BY_CODE.get(code, BuracoError)


def _violation(name: str) -> move_pb2.Violation.ValueType | None:
    """Return the violation of a name, with or without its prefix; None if this client does not know the name."""
    value = move_pb2.Violation.DESCRIPTOR.values_by_name.get(_PREFIX + name.removeprefix(_PREFIX))
    return None if value is None or value.number == 0 else move_pb2.Violation.Value(value.name)


def _retry_delay(message: error_details_pb2.RetryInfo | table_service_pb2.PlayError) -> float | None:
    return message.retry_delay.ToTimedelta().total_seconds() if message.HasField("retry_delay") else None


def _details(error: grpc.aio.AioRpcError) -> Iterator[Any]:
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            yield from status_pb2.Status.FromString(value).details
