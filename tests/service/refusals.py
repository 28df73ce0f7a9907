"""Errors as a client sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, NamedTuple, cast

import grpc
import grpc.aio
from google.rpc import error_details_pb2
from grpc_status import rpc_status


class Refusal(NamedTuple):
    """An error as a client sees it."""

    code: grpc.StatusCode
    reason: str
    domain: str
    metadata: dict[str, str]
    message: str
    fields: dict[str, str]
    """Of the BadRequest: what is wrong, by field."""
    broken: list[tuple[str, str]]
    """Of the PreconditionFailure: type and subject."""
    retry_after: float | None

    @property
    def short(self) -> tuple[str, str]:
        """Code and reason."""
        return self.code.name, self.reason


async def refused(call: Awaitable[Any]) -> Refusal:
    """The error that a call ends with."""
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return read_refusal(error)
    raise AssertionError(f"not refused: {answer}")


def read_refusal(error: grpc.aio.AioRpcError) -> Refusal:
    """An error and its details, of which none may be missing or unknown."""
    status = rpc_status.from_call(cast(grpc.Call, error))
    assert status is not None, error
    assert (status.code, status.message) == (error.code().value[0], error.details())
    info, request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    failure, retry = error_details_pb2.PreconditionFailure(), error_details_pb2.RetryInfo()
    for detail in status.details:
        assert any([detail.Unpack(known) for known in (info, request, failure, retry)]), detail.type_url
    return Refusal(
        error.code(),
        info.reason,
        info.domain,
        dict(info.metadata),
        status.message,
        {violation.field: violation.description for violation in request.field_violations},
        [(violation.type, violation.subject) for violation in failure.violations],
        retry.retry_delay.ToTimedelta().total_seconds() if retry.HasField("retry_delay") else None,
    )


async def gathered(*calls: Awaitable[Any]) -> list[Any]:
    """The outcomes of calls that run at the same time: answers and AioRpcErrors; anything else is raised."""
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, grpc.aio.AioRpcError):
            raise outcome
    return outcomes


def assert_invalid(refusal: Refusal, *fields: str, reason: str = "REQUEST_INVALID") -> None:
    """The request was refused for exactly these fields."""
    assert refusal.short == ("INVALID_ARGUMENT", reason)
    assert refusal.domain == "buraco"
    assert tuple(refusal.fields) == fields
    assert all(refusal.fields.values())
